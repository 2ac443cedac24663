"""Texts of claims and findings for tables and pages."""

from sledsim_papers.harness.averaging import SEEDS
from sledsim_papers.harness.claim import Claim, figures_of
from sledsim_papers.harness.finding import Finding, Ours

__all__ = [
    "WORK",
    "command_text",
    "data_text",
    "fewer_seeds_text",
    "other_text",
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
        False to use the paper's sample sizes.
    """
    return f"sledsim reproduce {claim.name}{'' if quick else ' --full'}"


def data_text(claim: Claim) -> str:
    """Return the data of a claim: ``model``, ``trace NAME`` or, to stand out, ``STAND-IN``.

    Parameters
    ----------
    claim
        The claim.
    """
    return "STAND-IN" if claim.stand_in else claim.data.replace(":", " ")


def rests_text(claim: Claim) -> str:
    """Return the data of a claim with the results of the paper that its figure is made from.

    Parameters
    ----------
    claim
        The claim.
    """
    data = "stand-in" if claim.stand_in else data_text(claim)
    return "; from the paper's own results: ".join([data, " ".join(claim.inputs_from)]) if claim.inputs_from else data


#: How a claim is computed: by simulating a workload, or from a formula, a Markov chain or a geometry.
WORK = ("simulated", "computed")


def work_text(finding: Finding) -> str:
    """Return how a claim was computed, one of :data:`WORK`.

    Parameters
    ----------
    finding
        The finding.
    """
    return WORK[0] if finding.simulates else WORK[1]


def fewer_seeds_text(seeds: int | None, probe_seeds: int | None = None) -> str:
    """Return a remark if fewer seeds than usual were used, else an empty text.

    Parameters
    ----------
    seeds
        Smallest number of seeds for the figure; ``None`` if nothing is random.
    probe_seeds
        The same for the probes.
    """
    counts = {"the figure": seeds, "probes": probe_seeds}
    fewer = [f"runs of {of} with {count}" for of, count in counts.items() if count is not None and count < len(SEEDS)]
    return f"{'; '.join(fewer).capitalize()} in place of {len(SEEDS)}." if fewer else ""


def published_text(claim: Claim) -> str:
    """Return the published figures with unit and tolerance, such as ``0.72 ms ± 1 %``.

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


def other_text(claim: Claim) -> str:
    """Return the figures of the statement that contradicts a claim, with unit; empty if there is none.

    Parameters
    ----------
    claim
        The claim.
    """
    if not claim.contradicts:
        return ""
    others = figures_of(claim.other)
    if others is None:
        return f"{_plain(claim.other_low or 0.0)} to {_plain(claim.other_high or 0.0)} {claim.unit}".rstrip()
    unit = f" {claim.unit}" if claim.unit else ""
    return f"{', '.join(map(_plain, others))}{unit} ± {100 * (claim.other_tol or 0.0):g} %"


def ours_text(ours: Ours, finding: Finding, *, intervals: bool = True) -> str:
    """Return figures with their confidence intervals, if any, such as ``1.742 (1.731 to 1.753)``.

    Parameters
    ----------
    ours
        The figures of the finding or of one of its probes.
    finding
        The finding, which has the number of digits.
    intervals
        False if the intervals of the finding do not belong to the figures.
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
    """Return the figures with time-optimal motion, or ``the same``.

    Parameters
    ----------
    ours
        The figures with time-optimal motion; ``None`` if not computed.
    finding
        The finding with the paper's model.
    """
    if ours is None or finding is None:
        return "–"
    text = ours_text(ours, finding, intervals=False)
    return "the same" if text == ours_text(finding.ours, finding, intervals=False) else text


def _plain(figure: float) -> str:
    """Return a published figure as printed, from a million on as a power of ten."""
    return f"{figure:.15g}" if abs(figure) < 1e6 else f"{figure:.3g}".replace("e+0", "e")


def _several(names: object) -> str:
    return ", ".join(names) if isinstance(names, tuple) else TRENDS[str(names)]
