"""What was found as tables for people."""

from collections.abc import Iterable

from sledsim.show import Table
from sledsim_papers.harness.ledger import title
from sledsim_papers.harness.reproduction import VERDICTS, Answer, Reproduction
from sledsim_papers.harness.wording import data_text, ours_text, published_text

__all__ = ["tables"]


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
    listed = [Table(["not done", "why"], missing, left=frozenset({1}))] if missing else []
    return [*by_paper, _counts(found), *listed]


def _claims(paper: str, answers: Iterable[Answer]) -> Table:
    """Return the claims of a paper; each line says where a stand-in takes the place of a trace."""
    rows = []
    for answer in answers:
        claim, finding = answer.claim, answer.finding
        ours = ours_text(finding.ours, finding) if finding else "–"
        rows.append(
            [claim.name, data_text(claim), published_text(claim), ours, answer.verdict, f"{answer.seconds:.1f}"]
        )
    headers = ["claim", "data", "published", "ours (95 % interval)", "verdict", "took (s)"]
    return Table(headers, rows, title(paper), left=frozenset({1, 2, 3, 4}))


def _counts(found: Reproduction) -> Table:
    """Return how many claims have which verdict, by paper and in total."""
    groups: list[tuple[str, str | None]] = [(paper, paper) for paper in found.papers()]
    rows = []
    for label, paper in [*groups, ("in total", None)]:
        counts = found.count(paper)
        rows.append([label, *(str(counts[verdict]) for verdict in VERDICTS), str(sum(counts.values()))])
    mode = "quick: samples smaller than the papers'" if found.quick else "full: the papers' sample sizes"
    whole = mode if found.complete else f"INCOMPLETE: interrupted; {mode}"
    return Table(["paper", *VERDICTS, "claims"], rows, whole)
