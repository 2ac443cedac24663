"""Charts of single claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.claim_charts import claim_chart
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.reproduction import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable


def rows_of(name: str, finding: Finding | None) -> list[dict[str, Any]]:
    """Return the data of the chart of a claim with this finding."""
    chart = claim_chart(Answer(claims()[name], finding))
    assert chart is not None
    found: Iterable[list[dict[str, Any]]] = chart.to_dict()["datasets"].values()
    [rows] = found
    return rows


def test_a_figure_stands_beside_its_tolerated_range_and_interval() -> None:
    claim = claims()["griffin1999.settle-time"]
    [row] = rows_of(claim.name, Finding(0.73, "", intervals=((0.72, 0.74),)))
    assert claim.tol
    assert (row["low"], row["high"]) == pytest.approx((0.72 * (1 - claim.tol), 0.72 * (1 + claim.tol)))
    assert (row["ours"], row["from"], row["to"]) == (0.73, 0.72, 0.74)
    claim = claims()["griffin1999.factor-of-five"]
    [row] = rows_of(claim.name, Finding(5.0, ""))
    assert (row["low"], row["high"], row["from"], row["to"]) == (claim.low, claim.high, 5.0, 5.0)


def test_names_that_are_not_ranked_share_a_place() -> None:
    rows = rows_of("schlosser2000.postmark-order", Finding(("g2", "g3", "g1", "superdisk", "atlas10k"), ""))
    places = {(row["side"], row["name"]): row["place"] for row in rows}
    assert [places["paper", name] for name in ("g1", "g2", "g3", "superdisk", "atlas10k")] == [2, 2, 2, 4, 5]
    assert [places["Sledsim", name] for name in ("g2", "g3", "g1", "superdisk", "atlas10k")] == [1, 2, 3, 4, 5]


def test_a_trend_is_the_curve_behind_it() -> None:
    curve = ({"device": "a", "size, KB": 1, "ms": 2.0}, {"device": "b", "size, KB": 2, "ms": 3.0})
    rows = rows_of("schlosser2004.contract-near", Finding("+", "", curve=curve))
    assert [(row["x"], row["y"]) for row in rows] == [(1, 2.0), (2, 3.0)]


def test_a_claim_without_figures_has_no_chart() -> None:
    claim = claims()["schlosser2004.contract-near"]
    assert claim_chart(Answer(claim, None)) is None
    assert claim_chart(Answer(claim, Finding("+", ""))) is None
