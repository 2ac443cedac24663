"""Lin et al. 2002: recorded verdicts, causes of differences, and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import reference
from documented_claims import figures_and_tables, verdicts
from sledsim.show.tables import Table
from sledsim_papers.harness.claim import claims, figures_of
from sledsim_papers.harness.registry import experiments, pictures
from sledsim_papers.lin2002.workload import saved

if TYPE_CHECKING:
    from sledsim_papers.harness.registry import Picture
    from sledsim_papers.harness.study import Study

PAPER = "lin2002"


def test_verdicts_are_those_expected() -> None:
    assert verdicts(PAPER) == {"reproduced": 26, "paper inconsistent": 3, "shape only": 9, "differs": 6}


@pytest.mark.parametrize(
    "claim",
    [
        "snake-startup",
        "snake-shares",
        *(
            pytest.param(claim, marks=pytest.mark.slow)
            for claim in ("merge-energy", "subsector-last-block", "subsector-metadata-extremes", "combined-energy")
        ),
    ],
)
def test_a_figure_of_the_day_is_the_mean_over_seeds(study: Study, claim: str) -> None:
    finding = experiments()[f"{PAPER}.{claim}"](study.unprobed())
    ours = figures_of(finding.ours)
    assert ours
    # The mean over seeds is near this figure.
    assert ours == pytest.approx([sum(ends) / 2 for ends in finding.intervals])
    assert all(low < high for low, high in finding.intervals)


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [
        "timeout-throughput",
        "subsector-metadata",
        "combined-energy",
        "combined-response",
    ],
)
def test_a_probe_of_the_cause_gives_the_published_figure(study: Study, claim: str) -> None:
    name = f"{PAPER}.{claim}"
    if claims()[name].data.startswith("trace:"):
        reference("drives/st41601n/st41601n.trace")
    finding = experiments()[name](study)
    assert claims()[name].verdict(finding) != "reproduced"
    held = [claims()[name].verdict(type(finding)(probe.ours, "")) for probe in finding.probes]
    assert "reproduced" in held


def test_every_figure_and_table_is_drawn_or_listed() -> None:
    assert figures_and_tables(PAPER) == {f"Figure {number}" for number in range(1, 10)} | {"Table 1"}
    assert {each.where for each in pictures(PAPER) if each.draw is None} == {"Figure 1", "Figure 2", "Figure 4"}


@pytest.mark.slow
@pytest.mark.parametrize("picture", [each for each in pictures(PAPER) if each.draw], ids=lambda each: each.where)
def test_a_picture_has_the_simulated_points(study: Study, picture: Picture) -> None:
    reference("drives/st41601n/st41601n.trace")
    assert picture.draw is not None
    drawn = picture.draw(study)
    if isinstance(drawn.shown, Table):
        assert drawn.stand_in
        return
    rows = [row for rows in drawn.shown.to_dict()["datasets"].values() for row in rows]
    assert len(rows) >= 5


def test_savings_are_shares() -> None:
    assert saved(4.0, 3.0) == 0.25
