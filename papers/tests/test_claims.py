"""The claims are well formed and match the reference data, in other words."""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from conftest import reference
from sledsim_papers.harness.claim import PAPERS, claims, figures_of, set_ups, title
from sledsim_papers.harness.registry import experiments, pictures
from sledsim_papers.harness.study import TRACES

if TYPE_CHECKING:
    from sledsim_papers.harness.claim import Claim

CLAIMS = 292
#: Claims that the reference does not have.
ADDED = {"schlosser2000.idle-electronics", "schlosser2004.repeated-access"}
#: The fields of a claim that must equal those of the reference.
FACTS = (
    *("id", "where", "kind", "unit", "published", "tol", "low", "high", "data", "set_up"),
    *("other", "other_tol", "other_low", "other_high"),
)
#: The fields with text, which must be there if they are in the reference, in other words.
TEXTS = ("what", "shape", "inputs_from", "contradicts")


def normalised(text: str) -> str:
    """Return a text without case, punctuation and spaces."""
    return " ".join(re.findall(r"\w+", text.lower()))


def reference_claims(paper: str) -> dict[str, Any]:
    return tomllib.loads(reference(f"ledger-3/{paper}.toml").read_text(encoding="utf-8"))


def test_there_are_as_many_claims_as_in_the_reference_and_added_ones() -> None:
    assert len(claims()) == CLAIMS
    assert set(claims()) >= ADDED
    assert sum(len(claims(paper)) for paper in PAPERS) == CLAIMS


@pytest.mark.parametrize("claim", claims().values(), ids=lambda claim: claim.name)
def test_a_claim_is_well_formed(claim: Claim) -> None:
    assert claim.what
    assert claim.where
    figures = figures_of(claim.published)
    if claim.kind == "value":
        assert figures
        assert claim.tol
        assert claim.tol > 0
    elif claim.kind == "range":
        assert claim.published is None
        assert claim.low is not None
        assert claim.high is not None
        assert claim.low < claim.high
    elif claim.kind == "order":
        assert figures is None
        assert isinstance(claim.published, tuple)
        assert len(claim.published) > 1
        assert all(re.fullmatch(r"(saturated:)?\w+([+~]\w+)*", name) for name in map(str, claim.published))
    else:
        assert claim.published in {"+", "-", "~"}
        assert claim.tol is None or claim.published == "~"
    if claim.shape:
        assert claim.stand_in
        assert claim.kind in {"value", "range"}
        assert not claim.inputs_from
    if claim.contradicts:
        assert (claim.other is None) == (claim.other_tol is None) == (claim.other_low is not None)
        assert (claim.other_low is None) == (claim.other_high is None)
    else:
        assert (claim.other, claim.other_tol, claim.other_low, claim.other_high) == (None,) * 4
    assert {*claim.set_up} <= {*set_ups(claim.paper)}
    assert claim.data in {"model", "stand-in", *(f"trace:{name}" for name in TRACES)}


@pytest.mark.parametrize("paper", PAPERS)
def test_facts_match_the_reference_and_texts_do_not(paper: str) -> None:
    written = reference_claims(paper)
    assert title(paper) == written["title"]
    ours = [claim.model_dump(mode="json") for name, claim in claims(paper).items() if name not in ADDED]
    assert [claim["id"] for claim in ours] == [claim["id"] for claim in written["claim"]]
    for mine, theirs in zip(ours, written["claim"], strict=True):
        assert {key: mine[key] or None for key in FACTS} == {key: theirs.get(key) or None for key in FACTS}
        sentences = {normalised(theirs[key]) for key in ("what", "note", "shape", "contradicts") if key in theirs}
        for key in ("what", "note", "shape", "contradicts"):
            assert normalised(mine[key]) not in sentences, (mine["id"], key)
        for key in TEXTS:
            assert bool(mine[key]) == (key in theirs), (mine["id"], key)
    assert {*set_ups(paper)} == {*written.get("set_ups", {})}


def test_every_experiment_and_picture_is_registered() -> None:
    assert set(experiments()) <= set(claims())
    assert len({picture.stem for picture in pictures()}) == len(pictures())
    for picture in pictures():
        assert picture.paper in PAPERS
        assert re.match(r"(Figure|Table) [\dI]+", picture.where), picture.where
        assert picture.title


def test_paths_of_traces() -> None:
    if not os.environ.get("SLEDSIM_REFERENCE"):
        reference("traces")
    for place in TRACES.values():
        assert reference(place).exists()
