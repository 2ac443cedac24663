"""Pictures of enclosures: drawn values match the computed ones, with units and distinct styles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sledsim import reliability
from sledsim.reliability.charts import shades
from test_plots import SMALL, parts

if TYPE_CHECKING:
    from pathlib import Path

    from sledsim.reliability.shown import Shown

ENCLOSURE: dict[str, Any] = {
    "enclosure": {"data": 19, "parity": 1, "spares": 5},
    "device": {"mttf": "200000 h"},
    "rebuild": {"time": "15 min"},
    "repair": {"strategy": "none", "preventive": "1 week"},
    "cost": {"device": 100.0, "visit": 500.0, "loss": 100_000.0},
}


@pytest.fixture(scope="module")
def shown() -> dict[str, Shown]:
    return {
        "survival": reliability.analyse(ENCLOSURE),
        "compared": reliability.compare_enclosures(
            {"one": ENCLOSURE, "other": {**ENCLOSURE, "device": {"mttf": "100000 h"}}}
        ),
        "spares": reliability.survival_by_spares(ENCLOSURE),
        "maintenance": reliability.mttf_by_maintenance(ENCLOSURE),
        "failures": reliability.failure_counts(ENCLOSURE),
        "cost": reliability.cost_curve(ENCLOSURE),
    }


@pytest.fixture(scope="module")
def charts(shown: dict[str, Shown]) -> dict[str, dict[str, Any]]:
    return {name: each.plot().to_dict() for name, each in shown.items()}


def rows_with(chart: dict[str, Any], *keys: str) -> list[dict[str, Any]]:
    """Return the rows of a chart's data that have these keys."""
    rows = [row for rows in chart["datasets"].values() for row in rows]
    return [row for row in rows if set(keys) <= set(row)]


def test_charts_are_small_and_labelled(charts: dict[str, dict[str, Any]]) -> None:
    for name, chart in charts.items():
        assert len(json.dumps(chart)) < SMALL, name
        assert chart["title"]["text"], name
        assert chart["title"]["subtitle"], name
        axes = [axis for channel in ("x", "y") for axis in parts(chart, channel) if isinstance(axis, dict)]
        titles = [axis["title"] for axis in axes if axis.get("title")]
        assert any("(years)" in title or "(USD)" in title for title in titles), f"{name}: units in {titles}"
        assert any("Probability" in title or "MTTF" in title for title in titles), name


def test_survival_is_drawn_as_it_was_computed(charts: dict[str, dict[str, Any]]) -> None:
    rows = rows_with(charts["survival"], "survival", "loss")
    model = reliability.MarkovModel(reliability.load(ENCLOSURE))
    for row in [row for row in rows if row["name"] != "a device, MTTF 200,000 h" and row["years"] in (1, 3, 5)]:
        # A picture has five digits.
        assert row["loss"] == pytest.approx(model.loss_probability(row["years"] * 8760), rel=1e-4)
        assert row["survival"] == pytest.approx(1 - row["loss"], abs=1e-4)
    assert {row["years"] for row in rows} >= {0, 1, 3, 5}


def test_curves_have_distinct_styles(charts: dict[str, dict[str, Any]]) -> None:
    for name, count in (("survival", 2), ("compared", 4), ("spares", 8)):
        [colours, *_] = parts(charts[name], "color")
        [dashes, *_] = [dash for dash in parts(charts[name], "strokeDash") if isinstance(dash, dict)]
        assert colours["scale"]["domain"] == dashes["scale"]["domain"]
        looks = list(zip(colours["scale"]["range"], map(tuple, dashes["scale"]["range"]), strict=True))
        assert len(looks) == len(set(looks)) == count, name


def test_shades_run_from_one_end_to_the_other() -> None:
    assert shades(1) == ["#7ad151"]
    for count in range(2, 9):
        found = shades(count)
        assert len(set(found)) == count
        assert (found[0], found[-1]) == ("#7ad151", "#440154")


def test_figures_of_the_paper_are_complete(charts: dict[str, dict[str, Any]], shown: dict[str, Shown]) -> None:
    drawn = rows_with(charts["maintenance"], "mttf", "strategy", "spares")
    found = [row for row in shown["maintenance"].to_dict()["rows"] if row["repair"]]
    # Spares 0 to 5, two strategies, five times of repair.
    assert len(drawn) == len(found) == 6 * 2 * 5
    # A picture has five digits.
    assert sorted(row["mttf"] for row in drawn) == pytest.approx(sorted(row["mttf_years"] for row in found), rel=1e-4)
    names = {row["name"] for row in rows_with(charts["spares"], "survival")}
    assert len(names) == 6 + 2
    counts = {row["failures"] for row in rows_with(charts["failures"], "probability")}
    assert counts == {"no failure", *(f"up to {count}" for count in range(1, 7))}


def test_every_design_is_drawn_and_the_cheapest_ringed(charts: dict[str, dict[str, Any]]) -> None:
    found = reliability.cost_curve(ENCLOSURE)
    drawn = rows_with(charts["cost"], "strategy", "spent", "loss")
    assert len(drawn) == len(found.designs)
    assert f"preventive repair, {found.cheapest.spares} spares" in " ".join(charts["cost"]["title"]["subtitle"])
    visits = rows_with(charts["cost"], "price", "instead")
    assert len(visits) == sum(each.price is not None for each in found.visit_prices)


def test_intervals_are_drawn_beside_the_chain() -> None:
    report = reliability.report(ENCLOSURE, simulated=True, lifetimes=2000, years=[1, 5])
    assert isinstance(report, reliability.SimulatedReport)
    chart = report.plot().to_dict()
    drawn = rows_with(chart, "low", "high")
    found = report.simulated.loss
    assert [row["years"] for row in drawn] == [1, 5]
    for row, loss in zip(drawn, found, strict=True):
        assert (row["what"], row["loss"], row["high"]) == ("simulated", loss["estimate"], loss["high"])
    [line] = [row["loss"] for row in rows_with(chart, "what") if row["what"] == "chain" and row["years"] == 5]
    # A picture has five digits.
    assert line == pytest.approx(reliability.MarkovModel(report.description).loss_probability("5 years"), rel=1e-4)


def test_bounds_are_marked() -> None:
    plain = reliability.simulate(ENCLOSURE, years=[0.1], lifetimes=1000, method="plain")
    chart = plain.plot().to_dict()
    [row] = rows_with(chart, "low", "high")
    assert (row["what"], row["loss"]) == ("bound: nothing seen", plain.loss[0]["high"])
    [axis] = {json.dumps(y["scale"]["domain"]) for y in parts(chart, "y") if isinstance(y, dict) and "scale" in y}
    low, high = json.loads(axis)
    assert 0 < low < row["loss"] < high == 1


def test_number_of_curves_is_limited() -> None:
    found = reliability.survival_by_spares(ENCLOSURE, overrides={"enclosure.spares": 40})
    names = [curve.name for curve in found.curves if not curve.is_disk]
    assert len(names) <= 8
    assert (names[0], names[-1]) == ("no spares", "40 spares")


def test_charts_can_be_saved(shown: dict[str, Shown], tmp_path: Path) -> None:
    for name, each in shown.items():
        each.save_plot(tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").read_text().startswith("<svg")
        assert "<table>" in each._repr_html_()


def test_enclosures_without_failures_are_drawn() -> None:
    # Probabilities far below the range of a logarithmic axis of doubles next to 1.
    found = reliability.analyse(
        ENCLOSURE,
        overrides={
            "enclosure.parity": 8,
            "rebuild.time": "1 s",
            "device.mttf": "1000 years",
            "repair.strategy": "preventive",
            "repair.preventive": "1 min",
        },
    )
    assert 0 < found.rows[-1]["loss"] < 1e-50
    assert found.plot().to_dict()["title"]
