"""How claims and findings are written for people."""

from sledsim_papers.harness.averaging import SEEDS
from sledsim_papers.harness.finding import Finding, Ours
from sledsim_papers.harness.ledger import Claim, figures_of

__all__ = [
    "WORK",
    "command_text",
    "data_text",
    "fewer_seeds_text",
    "ours_text",
    "published_text",
    "rests_text",
    "time_optimal_text",
    "work_text",
]


#: Trends in words.
TRENDS = {"+": "rises", "-": "falls", "~": "hardly moves", "?": "rises and falls"}


def command_text(claim: Claim, *, quick: bool = True) -> str:
    """Return the command that checks a claim again: ``sledsim reproduce griffin1999.settle-time``.

    Parameters
    ----------
    claim
        The claim.
    quick
        Whether samples may be smaller than the paper's.
    """
    return f"sledsim reproduce {claim.name}{'' if quick else ' --full'}"


def data_text(claim: Claim) -> str:
    """Say what a claim rests on: ``model``, ``trace NAME`` or ``STAND-IN``, which has to catch the eye.

    Parameters
    ----------
    claim
        The claim.
    """
    return "STAND-IN" if claim.stand_in else claim.data.replace(":", " ")


def rests_text(claim: Claim) -> str:
    """Say what a claim rests on, with the results of the paper from which our figure is made.

    Parameters
    ----------
    claim
        The claim.
    """
    data = "stand-in" if claim.stand_in else data_text(claim)
    return "; from the paper's own results: ".join([data, " ".join(claim.inputs_from)]) if claim.inputs_from else data


#: How claims are computed: by running a workload, or by a formula, a chain or the geometry of a device.
WORK = ("simulated", "computed")


def work_text(finding: Finding) -> str:
    """Say how a claim was computed: one of :data:`WORK`.

    Parameters
    ----------
    finding
        What was found.
    """
    return WORK[0] if finding.simulates else WORK[1]


def fewer_seeds_text(seeds: int | None, probe_seeds: int | None = None) -> str:
    """Say with how many seeds runs were made where that is fewer than usual; nothing where it is not.

    Parameters
    ----------
    seeds
        The fewest of a figure; ``None`` where nothing of it is drawn at random.
    probe_seeds
        The same of the probes beside it.
    """
    counts = {"the figure": seeds, "probes": probe_seeds}
    fewer = [f"runs of {of} with {count}" for of, count in counts.items() if count is not None and count < len(SEEDS)]
    return f"{'; '.join(fewer).capitalize()} in place of {len(SEEDS)}." if fewer else ""


def published_text(claim: Claim) -> str:
    """Write what a paper says, with its unit and the tolerance: ``0.72 ms ± 1 %``.

    Parameters
    ----------
    claim
        The claim.
    """
    if claim.kind == "range" and claim.low is not None and claim.high is not None:
        return f"{_plain(claim.low)} to {_plain(claim.high)} {claim.unit}".rstrip()
    figures = figures_of(claim.published)
    if figures is None:
        within = f" (by {100 * claim.hardly_moves:g} % at most)" if claim.published == "~" else ""
        return f"{_several(claim.published)}{within}"
    unit = f" {claim.unit}" if claim.unit else ""
    return f"{', '.join(map(_plain, figures))}{unit} ± {100 * (claim.tol or 0.0):g} %"


def ours_text(ours: Ours, finding: Finding, *, intervals: bool = True) -> str:
    """Write what was found, each figure with its confidence interval where it has one: ``1.742 (1.731 to 1.753)``.

    Parameters
    ----------
    ours
        What was found: that of the finding, or of one of its probes.
    finding
        Where it belongs to; says how many digits are worth printing.
    intervals
        Whether the intervals are those of ``ours``.
    """
    figures = figures_of(ours)
    if figures is None:
        return _several(ours)
    texts = [f"{figure:.{finding.decimals}f}" for figure in figures]
    if intervals and finding.intervals:
        ends = [tuple(f"{end:.{finding.decimals}f}" for end in interval) for interval in finding.intervals]
        texts = [f"{text} ({low} to {high})" for text, (low, high) in zip(texts, ends, strict=True)]
    return ", ".join(texts)


def time_optimal_text(ours: Ours | None, finding: Finding | None) -> str:
    """Write what was found under time-optimal motion, or that it is the same.

    Parameters
    ----------
    ours
        What was found then; ``None`` where it was not asked for.
    finding
        What was found by the paper's model.
    """
    if ours is None or finding is None:
        return "–"
    text = ours_text(ours, finding, intervals=False)
    return "the same" if text == ours_text(finding.ours, finding, intervals=False) else text


def _plain(figure: float) -> str:
    """Write a published figure as it is printed, large ones as powers of ten."""
    return f"{figure:.15g}" if abs(figure) < 1e6 else f"{figure:.3g}".replace("e+0", "e")


def _several(names: object) -> str:
    return ", ".join(names) if isinstance(names, tuple) else TRENDS[str(names)]
