"""Figure 6 of schlosser2004 and its claims, and the table read along two axes."""

from __future__ import annotations

import pytest

from sledsim.show.tables import Table
from sledsim_papers.harness import Study, claims, experiments, pictures

# The recorded figures, with three decimals.
FIGURES = {
    "table-normal-layout": 4.000,
    "table-mems-layout": 1.004,
    "table-attribute-proportional": 0.013,
    "point-access-axes": 1.015,
}


@pytest.mark.parametrize("claim", FIGURES)
def test_scans_have_the_recorded_figures(study: Study, claim: str) -> None:
    name = f"schlosser2004.{claim}"
    found = experiments()[name](study)
    assert isinstance(found.ours, float)
    assert round(found.ours, 3) == FIGURES[claim]
    assert claims()[name].verdict(found) == "reproduced"
    assert [row["scan"] for row in found.curve] == ["scan", *(f"scan of a{i}" for i in range(1, 5))]


def test_figure_6_has_both_layouts_and_every_scan(study: Study) -> None:
    [figure] = [each for each in pictures("schlosser2004") if each.where == "Figure 6"]
    assert figure.draw is not None
    shown = figure.draw(study).shown
    assert not isinstance(shown, Table)
    [rows] = shown.to_dict()["datasets"].values()
    assert {(row["layout"], row["part"]) for row in rows} == {
        (layout, part) for layout in ("normal", "MEMStore") for part in ("all", "a1", "a2", "a3", "a4")
    }
