"""Recorded outcomes of the papers' claims, which tests compare with; `make claims` records them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import recorded
from sledsim_papers.harness.registry import pictures


class Row(NamedTuple):
    """A claim without the paper's name, its verdict and its figures as text."""

    claim: str
    verdict: str
    ours: str


def documented(paper: str) -> list[Row]:
    """Return the recorded outcomes of a quick run for a paper's claims."""
    return [Row(each.name.partition(".")[2], each.verdict, each.text) for each in recorded.read("quick").of(paper)]


def verdicts(paper: str) -> Counter[str]:
    """Return how many claims of a paper have which verdict."""
    return Counter(row.verdict for row in documented(paper))


def figures_and_tables(paper: str) -> set[str]:
    """Return the figures and tables of a paper that are drawn or listed."""
    return {each.where for each in pictures(paper)}
