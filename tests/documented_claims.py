"""What docs/claims.md says of the papers' claims, beside what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from conftest import ROOT, reference
from sledsim.papers.ledger import claims
from sledsim.papers.registry import experiments, pictures
from sledsim.papers.wording import ours_text, published_text

if TYPE_CHECKING:
    from sledsim.papers.finding import Finding
    from sledsim.papers.study import Study

PAGE = ROOT / "docs" / "claims.md"


class Row(NamedTuple):
    """A row of the page's table of a paper: the cells."""

    claim: str
    what: str
    published: str
    ours: str
    verdict: str
    how: str


def documented(paper: str) -> list[Row]:
    """Return the rows of a paper's table, without those of claims that are not done."""
    table = PAGE.read_text(encoding="utf-8").partition(f"<!-- computed: {paper} -->")[2].partition("<!-- end -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    rows = [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in lines[2:]]
    return [row for row in rows if row.verdict != "not done"]


def found(study: Study, row: Row, paper: str) -> Finding:
    """Make a row's experiment, and hold what the page says against it."""
    name = f"{paper}.{row.claim}"
    claim = claims()[name]
    if claim.data.startswith("trace:"):
        reference("traces")
    finding = experiments()[name](study)
    assert row.ours == ours_text(finding.ours, finding)
    assert row.published == published_text(claim)
    verdict = claim.verdict(finding)
    assert row.verdict == verdict
    assert not claim.stand_in or "stand-in" in row.how.lower()
    if verdict in {"differs", "shape only"}:
        assert finding.cause
        assert finding.probes
    return finding


def wheres(paper: str) -> set[str]:
    """Return the figures and tables of a paper that are drawn or listed."""
    return {each.where for each in pictures(paper)}
