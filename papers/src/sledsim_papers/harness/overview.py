"""Tables of the outcomes for the terminal."""

from collections.abc import Iterable

from sledsim.show import Table
from sledsim_papers.harness.change import Change
from sledsim_papers.harness.claim import VERDICTS, figures_of, title
from sledsim_papers.harness.reproduction import Answer, Reproduction
from sledsim_papers.harness.wording import data_text, ours_text, published_text

__all__ = ["COUNTED", "change_tables", "counts_row", "tables"]


def tables(found: Reproduction) -> list[Table]:
    """Return a table of claims for each paper, of verdicts, and of claims not done with the reasons.

    Parameters
    ----------
    found
        The outcomes.
    """
    by_paper = [
        _claims(paper, [answer for answer in found.answers if answer.claim.paper == paper]) for paper in found.papers()
    ]
    missing = [(answer.claim.name, answer.reason) for answer in found.answers if answer.finding is None]
    missing += [
        (f"{each.picture.paper}, {each.picture.where}", each.reason)
        for each in found.redrawn
        if each.drawn is None and each.picture.draw is not None
    ]
    return [*by_paper, *_by_seed(found.answers), *_perturbed(found.answers), _counts(found), *_missing(missing)]


def _by_seed(answers: Iterable[Answer]) -> list[Table]:
    """Return a table of the claims whose verdict depends on the seed, if several seeds were used."""
    several = [answer for answer in answers if answer.by_seed]
    if not several:
        return []
    rows = [[answer.claim.name, ", ".join(answer.by_seed)] for answer in several if answer.unstable]
    title = (
        f"{len(several)} claims with {len(several[0].by_seed)} seeds; the verdict of {len(rows)} depends on the seed"
    )
    return [Table(["claim", "verdict, seed by seed"], rows, title, left=frozenset({1}))]


def _perturbed(answers: Iterable[Answer]) -> list[Table]:
    """Return a table of perturbed claims, if any."""
    rows = []
    for answer in answers:
        perturbed, finding = answer.perturbed, answer.finding
        if perturbed is None or finding is None:
            continue
        ours = perturbed.reason if perturbed.ours is None else ours_text(perturbed.ours, finding, intervals=False)
        rows.append(
            [
                answer.claim.name,
                perturbed.perturbation.change,
                ours,
                perturbed.verdict,
                "insensitive" if answer.insensitive else "",
            ]
        )
    insensitive = sum(row[-1] != "" for row in rows)
    title = f"{len(rows)} claims perturbed; {insensitive} keep their verdict"
    headers = ["claim", "change", "ours perturbed", "verdict perturbed", ""]
    return [Table(headers, rows, title, left=frozenset({1, 2, 3, 4}))] if rows else []


def change_tables(found: Change) -> list[Table]:
    """Return a table of a claim without and with settings, and the reasons for what is not done.

    Parameters
    ----------
    found
        Both outcomes.
    """
    plain, changed = found.answers
    settings = "with " + " and ".join(found.settings)
    rows = [["published", published_text(plain.claim), "–"]]
    for label, answer in (("ours", plain), (settings, changed)):
        rows.append([label, _ours(answer), answer.verdict])
    missing = [(label, each.reason) for label, each in (("ours", plain), (settings, changed)) if not each.finding]
    heading = f"{plain.claim.name}: {plain.claim.what}"
    return [Table(["", "figure (95 % interval)", "verdict"], rows, heading, left=frozenset({1, 2})), *_missing(missing)]


def _ours(answer: Answer) -> str:
    """Return the figures with the unit of the claim."""
    finding = answer.finding
    if finding is None:
        return "–"
    text = ours_text(finding.ours, finding)
    return text if figures_of(finding.ours) is None else f"{text} {answer.claim.unit}".rstrip()


def _missing(rows: list[tuple[str, str]]) -> list[Table]:
    """Return a table of what is not done with the reasons, if anything."""
    return [Table(["not done", "why"], rows, left=frozenset({1}))] if rows else []


def _claims(paper: str, answers: Iterable[Answer]) -> Table:
    """Return a table of the claims of a paper."""
    rows = []
    for answer in answers:
        claim = answer.claim
        cells = [data_text(claim), published_text(claim), _ours(answer), answer.verdict]
        rows.append([claim.name, *cells, f"{answer.seconds:.1f}"])
    headers = ["claim", "data", "published", "ours (95 % interval)", "verdict", "took (s)"]
    return Table(headers, rows, title(paper), left=frozenset({1, 2, 3, 4}))


def _counts(found: Reproduction) -> Table:
    """Return a table of the number of claims with each verdict."""
    groups: list[tuple[str, str | None]] = [(paper, paper) for paper in found.papers()]
    rows = []
    for label, paper in [*groups, ("in total", None)]:
        rows.append([label, *counts_row(found, paper)])
    mode = "quick: samples smaller than the papers'" if found.quick else "full: the papers' sample sizes"
    whole = mode if found.complete else f"INCOMPLETE: interrupted; {mode}"
    return Table(["paper", *COUNTED], rows, whole)


#: Columns of the counts. The simulated claims are a subset of the reproduced ones.
COUNTED = ("by construction", "reproduced", "of them simulated", *VERDICTS[2:], "claims")


def counts_row(found: Reproduction, paper: str | None) -> list[str]:
    """Return the cells of :data:`COUNTED` for a paper, or for all.

    Parameters
    ----------
    found
        The outcomes.
    paper
        Name of the paper; all papers if ``None``.
    """
    made, reproduced, *others = found.count(paper).values()
    return [str(each) for each in (made, reproduced, found.simulated(paper), *others, made + reproduced + sum(others))]
