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


def tables(block: str) -> list[list[list[str]]]:
    """Return the tables in what is computed of the page under a name: the rows of each below its header, in cells."""
    text = PAGE.read_text(encoding="utf-8").partition(f"<!-- computed: {block} -->\n")[2].partition("<!-- end -->")[0]
    found = [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines()]
        for part in text.split("\n\n")
        if part.startswith("|")
    ]
    return [rows[2:] for rows in found]


def documented(paper: str) -> list[Row]:
    """Return the rows of a paper's table, those of claims that are not done too."""
    [rows] = tables(paper)
    return [Row(*cells) for cells in rows]


def verdicts(paper: str) -> Counter[str]:
    """Return how many rows of a paper's table have which verdict."""
    return Counter(row.verdict for row in documented(paper))


def wheres(paper: str) -> set[str]:
    """Return the figures and tables of a paper that are drawn or listed."""
    return {each.where for each in pictures(paper)}
