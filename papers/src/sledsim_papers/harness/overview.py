"""What was found as tables for people."""

from collections.abc import Iterable

from sledsim.show import Table
from sledsim_papers.harness.change import Change
from sledsim_papers.harness.ledger import VERDICTS, figures_of, title
from sledsim_papers.harness.reproduction import Answer, Reproduction
from sledsim_papers.harness.wording import data_text, ours_text, published_text

__all__ = ["COUNTED", "change_tables", "counts_row", "tables"]


def tables(found: Reproduction) -> list[Table]:
    """Return a table of the claims for each paper, the counts of verdicts, and what is not done with the reasons.

    Parameters
    ----------
    found
        What came of the claims.
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
    """Return the claims whose verdicts depend on the seed, where several were asked for."""
    several = [answer for answer in answers if answer.by_seed]
    if not several:
        return []
    rows = [[answer.claim.name, ", ".join(answer.by_seed)] for answer in several if answer.unstable]
    title = (
        f"{len(several)} claims with {len(several[0].by_seed)} seeds; the verdict of {len(rows)} depends on the seed"
    )
    return [Table(["claim", "verdict, seed by seed"], rows, title, left=frozenset({1}))]


def _perturbed(answers: Iterable[Answer]) -> list[Table]:
    """Return what comes of claims under changes that contradict them, where that was asked for."""
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
    headers = ["claim", "change", "ours then", "verdict then", ""]
    return [Table(headers, rows, title, left=frozenset({1, 2, 3, 4}))] if rows else []


def change_tables(found: Change) -> list[Table]:
    """Return a table of a claim without and with settings, and what is not done with the reasons.

    Parameters
    ----------
    found
        What came of both.
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
    """Write what was found, with the unit of what is published."""
    finding = answer.finding
    if finding is None:
        return "–"
    text = ours_text(finding.ours, finding)
    return text if figures_of(finding.ours) is None else f"{text} {answer.claim.unit}".rstrip()


def _missing(rows: list[tuple[str, str]]) -> list[Table]:
    """Return a table of what is not done with the reasons; none where all is."""
    return [Table(["not done", "why"], rows, left=frozenset({1}))] if rows else []


def _claims(paper: str, answers: Iterable[Answer]) -> Table:
    """Return the claims of a paper; each line says where a stand-in takes the place of a trace."""
    rows = []
    for answer in answers:
        claim = answer.claim
        told = [data_text(claim), published_text(claim), _ours(answer), answer.verdict]
        rows.append([claim.name, *told, f"{answer.seconds:.1f}"])
    headers = ["claim", "data", "published", "ours (95 % interval)", "verdict", "took (s)"]
    return Table(headers, rows, title(paper), left=frozenset({1, 2, 3, 4}))


def _counts(found: Reproduction) -> Table:
    """Return how many claims have which verdict, by paper and in total."""
    groups: list[tuple[str, str | None]] = [(paper, paper) for paper in found.papers()]
    rows = []
    for label, paper in [*groups, ("in total", None)]:
        rows.append([label, *counts_row(found, paper)])
    mode = "quick: samples smaller than the papers'" if found.quick else "full: the papers' sample sizes"
    whole = mode if found.complete else f"INCOMPLETE: interrupted; {mode}"
    return Table(["paper", *COUNTED], rows, whole)


#: What is counted, in the order of the ledger. Those that a workload was simulated for are some of those reproduced.
COUNTED = ("by construction", "reproduced", "of them simulated", *VERDICTS[2:], "claims")


def counts_row(found: Reproduction, paper: str | None) -> list[str]:
    """Return the figures of :data:`COUNTED` for a paper, or for all.

    Parameters
    ----------
    found
        What came of the claims.
    paper
        Which paper; all if ``None``.
    """
    made, reproduced, *others = found.count(paper).values()
    return [str(each) for each in (made, reproduced, found.simulated(paper), *others, made + reproduced + sum(others))]
