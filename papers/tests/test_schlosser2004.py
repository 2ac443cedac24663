"""The experiments and pictures of Schlosser and Ganger 2004."""

from __future__ import annotations

import pytest

from documented_claims import documented
from sledsim.devices.disk import DiskDrive
from sledsim.devices.mems import MemsStorage
from sledsim.show.tables import Table
from sledsim_papers.harness import Study, claims, experiments, pictures
from sledsim_papers.schlosser2004.array import DISK, FASTER, G2, alone, moved, moved_to
from sledsim_papers.schlosser2004.figures import SMALL

PAPER = "schlosser2004"

#: Claims that are not reproduced, but for those that agree by construction.
DIFFERS = {
    "disk-seek",
    "sdf-lead-no-settle",
}
BY_CONSTRUCTION = {
    "simpledisk-constant",
    "array-before",
    "array-overall",
    "array-rest",
    "array-moved",
    "array-simpledisks",
    "array-all-disks",
    "tip-set-free",
    "uberdisk-streaming",
}


def test_verdicts_are_those_expected() -> None:
    expected = [("differs", DIFFERS), ("by construction", BY_CONSTRUCTION), ("paper inconsistent", {"table-size"})]
    for verdict, names in expected:
        assert {row.claim for row in documented(PAPER) if row.verdict == verdict} == names
    others = {row.verdict for row in documented(PAPER)} - {verdict for verdict, _ in expected}
    assert others == {"reproduced"}


def test_writes_that_cross_the_bus_before_their_pass_give_the_access_time_printed(study: Study) -> None:
    claim = claims()["schlosser2004.g2-access"]
    finding = experiments()[claim.name](study)
    reads, overlapped, exponential, overhead = (
        claim.verdict(type(finding)(probe.ours, "")) for probe in finding.probes
    )
    assert claim.verdict(finding) == exponential == "reproduced"
    assert reads == overlapped == overhead == "differs"
    # One request at a time never waits: the response is longer than the access by the overhead of 0.2 ms.
    assert finding.probes[-1].ours == pytest.approx(float(str(finding.ours)) + 0.2, abs=1e-9)


def test_the_move_of_the_busiest_volume(study: Study) -> None:
    means = moved(study, G2)
    for before, after, stays, volume in zip(
        means.before_ms, means.after_ms, means.stays_ms, means.volume_ms, strict=True
    ):
        # The whole is the mean of both parts.
        assert volume < after < stays < before


@pytest.mark.slow
def test_constant_time_gains_nothing_and_writes_decide_the_rank_of_g2(study: Study) -> None:
    claim = claims()["schlosser2004.simpledisk-constant"]
    finding = experiments()[claim.name](study)
    # Agreement is by construction: three of the four values were inputs of the stand-in.
    assert claim.verdict(finding) == "by construction"
    assert {claim.verdict(type(finding)(probe.ours, "")) for probe in finding.probes} == {"differs"}
    # It can't respond sooner than it accesses.
    assert min(moved(study, FASTER["simpledisk_constant"]).volume_ms) > 0.88


def test_volumes_cover_the_disk_and_the_busiest_fits_g2() -> None:
    volumes = moved_to("g2", 1)["system"]["volumes"]
    assert sum(each["bytes"] for each in volumes) == DiskDrive(DISK).capacity_bytes
    assert [each["name"] for each in volumes].count("busiest") == 1
    assert next(each["bytes"] for each in volumes if each["name"] == "busiest") < MemsStorage("g2").capacity_bytes


def test_all_volumes_of_a_disk_equal_the_disk(study: Study) -> None:
    scenario = moved_to("g2", 1)
    unmoved = {**scenario, "system": {**scenario["system"], "moved": {}}}
    part = {"run.requests": 5_000}
    assert study.run(unmoved, part).response.mean_ms == study.run(alone(1), part).response.mean_ms


def test_layout_of_the_small_device_matches_figure_5() -> None:
    # The squares of the paper's figure, row by row from the top, left to right.
    device = MemsStorage("g2", **SMALL)
    squares = {(track, slot): {} for track in range(3) for slot in range(3)}  # type: dict[tuple[int, int], dict[tuple[int, int], int]]
    for lbn in range(device.capacity_blocks):
        cylinder, track, row, slot = device.place(lbn)
        squares[track, slot][row, cylinder] = lbn
    top_left = [squares[0, 0][row, cylinder] for row in range(3) for cylinder in range(3)]
    bottom_right = [squares[2, 2][row, cylinder] for row in range(3) for cylinder in range(3)]
    assert top_left == [0, 33, 54, 3, 30, 57, 6, 27, 60]
    assert bottom_right == [20, 53, 74, 23, 50, 77, 26, 47, 80]
    assert device.equivalent(33).tolist() == [34, 35, 36, 37, 38, 51, 52, 53]


def test_every_figure_and_table_is_listed() -> None:
    listed = [each.where for each in pictures(PAPER)]
    assert listed == [*(f"Figure {number}" for number in range(1, 9)), "Table 1", "Table 2"]


@pytest.mark.parametrize("where", ["Figure 2", "Figure 3", "Figure 5", "Figure 7", "Table 1", "Table 2"])
def test_pictures_describe_their_runs(study: Study, where: str) -> None:
    drawn = next(each for each in pictures(PAPER) if each.where == where)
    assert drawn.draw
    picture = drawn.draw(study)
    assert picture.how
    assert picture.stand_in == (where == "Figure 3")
    if isinstance(picture.shown, Table):
        assert all(len(row) == len(picture.shown.headers) for row in picture.shown.rows)
    elif where != "Figure 5":
        assert "time (ms)" in str(picture.shown.to_dict())
