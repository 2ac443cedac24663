"""Griffin et al. 1999: recorded verdicts, causes of differences, and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from documented_claims import figures_and_tables, verdicts
from sledsim.show.tables import Table
from sledsim_papers.griffin1999.traces import cello_schedulers
from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.registry import experiments, pictures

if TYPE_CHECKING:
    from sledsim_papers.harness.study import Study

PAPER = "griffin1999"


def test_verdicts_are_those_expected() -> None:
    assert verdicts(PAPER) == {"by construction": 2, "reproduced": 30, "paper inconsistent": 3, "differs": 12}


@pytest.mark.slow
def test_probes_distinguish_the_causes(study: Study) -> None:
    one_by_one, as_it_is = cello_schedulers(study).probes
    assert one_by_one.ours == claims()[f"{PAPER}.cello-schedulers"].published
    assert as_it_is.ours != one_by_one.ours
    # A sled that is slower along X than the printed one has all three of the printed figures of seeks.
    for name in ("seek-mean", "seek-std", "seek-max"):
        claim, found = claims()[f"{PAPER}.{name}"], experiments()[f"{PAPER}.{name}"](study)
        assert claim.verdict(found) == ("paper inconsistent" if name == "seek-max" else "differs")
        assert claim.verdict(Finding(found.probes[0].ours, "")) == "reproduced"
    # With fluid transfers besides, services have the printed mean and deviation.
    for name in ("service-mean", "service-std"):
        claim, found = claims()[f"{PAPER}.{name}"], experiments()[f"{PAPER}.{name}"](study)
        assert [claim.verdict(Finding(probe.ours, "")) for probe in found.probes][-1] == "reproduced"
    # Reversals decide where the best velocity is, and transfers only with them.
    optimum = experiments()[f"{PAPER}.velocity-optimum"](study)
    by_track, both, one_way, fluid = (float(str(probe.ours)) for probe in optimum.probes)
    assert one_way <= 25.0 < both <= 27.0 < by_track < fluid <= float(str(optimum.ours))
    gap = experiments()[f"{PAPER}.fcfs-gap-wider-than-disk"](study)
    assert [probe.ours for probe in gap.probes] == [("disk", "mems"), ("disk", "mems"), ("mems", "disk")]


def test_every_figure_and_table_is_drawn_or_listed() -> None:
    assert figures_and_tables(PAPER) == {f"Figure {number}" for number in range(1, 15)} | {"Table 1", "Table 2"}
    sketches = {each.where for each in pictures(PAPER) if each.draw is None}
    assert sketches == {f"Figure {number}" for number in range(1, 5)}


@pytest.mark.parametrize("where", ["Figure 5", "Figure 6", "Figure 10", "Table 1", "Table 2"])
def test_a_picture_has_the_simulated_points(study: Study, where: str) -> None:
    [picture] = [each for each in pictures(PAPER) if each.where == where]
    assert picture.draw is not None
    drawn = picture.draw(study)
    if isinstance(drawn.shown, Table):
        assert drawn.shown.headers[1:] == ("ours", "published")
        return
    rows = [row for rows in drawn.shown.to_dict()["datasets"].values() for row in rows]
    assert len(rows) >= 9
    assert all(value == float(f"{value:.5g}") for row in rows for value in row.values() if isinstance(value, float))
