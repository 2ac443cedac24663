"""The experiments and pictures of Schlosser et al. 2000."""

from __future__ import annotations

import pytest

from documented_claims import verdicts
from sledsim.devices.device import Device
from sledsim.devices.disk import DiskDrive
from sledsim.show.tables import Table
from sledsim_papers.harness import Study, claims, experiments, pictures
from sledsim_papers.schlosser2000.cache import ARRANGEMENTS, LARGE_G2, arrangement
from sledsim_papers.schlosser2000.energy import APPLICATIONS, spent

PAPER = "schlosser2000"

#: Claims about applications, whose block traces are recorded by `make applications`.
APPLICATION_CLAIMS = {
    "andrew-generations",
    "andrew-order",
    "andrew-two-way",
    "application-speedup",
    "gnuld-order",
    "io-stall-reduction",
    "postmark-order",
    "postmark-rotations",
    "postmark-write-back",
    "system-time",
    "tpcd-q4",
    "tpcd-q4-inner-tracks",
    "tpcd-q6-cpu-bound",
}

#: Claims that differ for one cause alone, and the place of the probe that brings the figure back.
ONE_CAUSE = {
    "access-speed": 0,
    "power-limited-bandwidth": 0,
    "rewrite-turnaround": 0,
    "superdisk-bandwidth": 0,
}


def test_verdicts_are_those_expected() -> None:
    agree = {"by construction": 16, "reproduced": 51}
    assert verdicts(PAPER) == {**agree, "paper inconsistent": 7, "shape only": 2, "differs": 22}


def test_removing_the_whole_cause_gives_the_published_figure(study: Study) -> None:
    for name, place in ONE_CAUSE.items():
        claim = claims()[f"{PAPER}.{name}"]
        finding = experiments()[claim.name](study)
        assert claim.verdict(finding) in {"differs", "paper inconsistent"}, name
        of_probe = claim.verdict(type(finding)(finding.probes[place].ours, ""))
        assert of_probe in {"reproduced", "by construction"}, name


def test_one_setting_of_the_buffers_gives_all_figures_of_the_microbenchmark(study: Study) -> None:
    names = ("atlas-speedup", "superdisk-speedup", "atlas-cov", "superdisk-cov", "microbenchmark-order")
    for name in names:
        claim = claims()[f"{PAPER}.{name}"]
        assert claim.verdict(experiments()[claim.name](study)) == "reproduced", name


def test_mode_times_of_the_mems_device_follow_from_the_disks(study: Study) -> None:
    for application in APPLICATIONS.values():
        energy = spent(study, application)
        # Accessing at 1.1 W, start-ups of 0.5 ms, and the rest inactive at 50 mW. The run ends with an access, and so
        # lacks an idle period; the device is inactive, too, while the bus hands over eight blocks at 5.12 µs at most.
        idle_s = energy.length_s - application.mems_active_j / 1.1 - energy.startups * 0.5e-3
        least_s, most_s = idle_s * (1 - 1 / energy.startups), idle_s + energy.startups * 8 * 5.12e-6
        assert least_s <= energy.inactive_j / 0.05 <= most_s
        assert energy.startup_j == pytest.approx(application.mems_startup_j, rel=1e-3)


def test_arrangements_with_a_cache_have_the_published_capacity(study: Study) -> None:
    disk_bytes = DiskDrive("atlas10k").capacity_bytes
    assert disk_bytes == pytest.approx(9.2e9, rel=0.01)
    assert Device(LARGE_G2).capacity_bytes > disk_bytes
    whole = arrangement("one cache for all")["system"]
    assert whole["mems_bytes"] == pytest.approx(2.5e9, rel=1e-4)
    assert DiskDrive(whole["disk"]["device"]).capacity_bytes == 8 * disk_bytes


def test_part_of_the_day_gives_the_order_of_the_arrangements(study: Study) -> None:
    part = {"run.requests": 30_000}
    names = ("MEMS alone", "disk with cache", "disk", "one large disk")
    assert set(names) < set(ARRANGEMENTS)
    runs = study.runs([arrangement(name) for name in names], part)
    means = [run.response.mean_ms for run in runs]
    assert means == sorted(means)
    assert all(run.stand_in == "cello-like" for run in runs)


def test_every_figure_and_table_is_listed() -> None:
    listed = [each.where for each in pictures(PAPER)]
    assert listed == [*(f"Figure {number}" for number in range(1, 12)), *(f"Table {number}" for number in range(1, 5))]


@pytest.mark.parametrize("where", ["Table 1", "Table 2", "Table 3", "Table 4"])
def test_tables_are_complete(study: Study, where: str) -> None:
    drawn = next(each for each in pictures(PAPER) if each.where == where)
    assert drawn.draw
    shown = drawn.draw(study).shown
    assert isinstance(shown, Table)
    assert all(len(row) == len(shown.headers) for row in shown.rows)
    assert drawn.draw(study).stand_in == (where == "Table 4")


def test_figure_7_shows_the_run_of_the_claims(study: Study) -> None:
    drawn = next(each for each in pictures(PAPER) if each.where == "Figure 7")
    assert drawn.draw
    text = str(drawn.draw(study).shown.to_dict())  # type: ignore[union-attr]
    assert "Response time (ms)" in text
    curve = experiments()[f"{PAPER}.microbenchmark-order"](study).curve
    [atlas_ms] = [float(row["response, ms"]) for row in curve if row["device"] == "atlas10k"]
    assert f"'mean': {round(atlas_ms, 4):.5g}" in text


def test_a_picture_that_is_not_drawn_has_a_reason() -> None:
    reasons = {each.where: each.reason for each in pictures(PAPER) if each.draw is None}
    assert reasons["Figure 4"] == "a drawing that holds no data"
