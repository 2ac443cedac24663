"""What docs/reference/claims.md says of the papers' claims; tests/test_papers_verdicts.py holds it to what is found."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from conftest import ROOT
from sledsim_papers.harness.registry import pictures

PAGE = ROOT / "docs" / "reference" / "claims.md"


class Row(NamedTuple):
    """A row of the page's table of a paper: the cells."""

    claim: str
    what: str
    published: str
    ours: str
    time_optimal: str
    verdict: str
    rests_on: str
    how: str


def documented(paper: str) -> list[Row]:
    """Return the rows of a paper's table, those of claims that are not done too."""
    table = PAGE.read_text(encoding="utf-8").partition(f"<!-- computed: {paper} -->")[2].partition("<!-- end -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in lines[2:]]


def verdicts(paper: str) -> Counter[str]:
    """Return how many rows of a paper's table have which verdict."""
    return Counter(row.verdict for row in documented(paper))


def wheres(paper: str) -> set[str]:
    """Return the figures and tables of a paper that are drawn or listed."""
    return {each.where for each in pictures(paper)}
