"""The experiments and pictures of Schlosser and Ganger 2004."""

from collections.abc import Iterator

import pytest

from sledsim.mechanisms.disk import DiskDrive
from sledsim.mechanisms.mems import MemsStorage
from sledsim.papers import Study, claims, experiments, pictures
from sledsim.papers.schlosser2004_array import DISK, FASTER, alone, moved, moved_to
from sledsim.papers.schlosser2004_figures import SMALL
from sledsim.tables import Table

#: What docs/validation.md says of each claim that follows from the model, to the digits there.
FOUND = {
    "g2-capacity": "3.456",
    "g2-access": "0.802",
    "g2-streaming": "77.65",
    "uberdisk-access": "0.884",
    "seek-y-uncorrelated": "0.004",
    "spring-position-effect": "0.015",
    "turnaround-under-tenth-ms": "0.0987",
    "device-scan": "50.2",
}


@pytest.fixture(scope="module")
def study() -> Iterator[Study]:
    with Study(quick=True, workers=2) as made:
        yield made


def test_every_claim_has_an_experiment() -> None:
    assert {name for name in experiments() if name.startswith("schlosser2004.")} == set(claims("schlosser2004"))


@pytest.mark.parametrize("name", FOUND)
def test_figures_and_verdicts_are_those_documented(study: Study, name: str) -> None:
    claim = claims()[f"schlosser2004.{name}"]
    found = experiments()[claim.name](study)
    assert isinstance(found.ours, float)
    assert f"{found.ours:.{found.decimals}f}" == FOUND[name]
    assert claim.verdict(found) == ("differs" if name == "g2-access" else "reproduced")
    for low, high in found.intervals:
        assert low < found.ours < high


def test_a_command_overhead_between_none_and_disksims_gives_the_access_time_printed(study: Study) -> None:
    claim = claims()["schlosser2004.g2-access"]
    found = experiments()[claim.name](study)
    verdicts = [claim.verdict(type(found)(probe.ours, "")) for probe in found.probes]
    assert verdicts == ["differs", "reproduced"]
    # One request at a time never waits: the response is longer than the access by the overhead of 0.2 ms.
    assert found.probes[0].ours == pytest.approx(float(str(found.ours)) + 0.2, abs=1e-9)


@pytest.mark.parametrize("name", ["seek-y-correlated-without-settle", "sdf-order", "sdf-no-settle"])
def test_trends_and_orders_are_the_papers(study: Study, name: str) -> None:
    claim = claims()[f"schlosser2004.{name}"]
    assert claim.verdict(experiments()[claim.name](study)) == "reproduced"


def test_the_move_of_the_busiest_volume(study: Study) -> None:
    ratio = experiments()["schlosser2004.array-all-disks"](study)
    assert claims()["schlosser2004.array-all-disks"].verdict(ratio) == "reproduced"
    found = moved(study, "g2")
    for before, after, stays, volume in zip(
        found.before_ms, found.after_ms, found.stays_ms, found.volume_ms, strict=True
    ):
        # The whole is the mean of both parts.
        assert volume < after < stays < before
    specific = experiments()["schlosser2004.array-not-specific"](study)
    assert claims()["schlosser2004.array-not-specific"].verdict(specific) == "reproduced"


def test_constant_time_gains_nothing_and_the_overhead_is_why_g2_comes_last(study: Study) -> None:
    claim = claims()["schlosser2004.simpledisk-constant"]
    found = experiments()[claim.name](study)
    assert claim.verdict(found) == "shape only"
    assert found.cause
    assert claim.verdict(type(found)(found.probes[-1].ours, "")) == "reproduced"
    # It can't respond sooner than it accesses.
    assert min(moved(study, FASTER["simpledisk_constant"]).volume_ms) > 0.88


def test_volumes_cover_the_disk_and_the_busiest_fits_g2() -> None:
    volumes = moved_to("g2", 1)["system"]["volumes"]
    assert sum(each["bytes"] for each in volumes) == DiskDrive(DISK).capacity_bytes
    assert [each["name"] for each in volumes].count("busiest") == 1
    assert next(each["bytes"] for each in volumes if each["name"] == "busiest") < MemsStorage("g2").capacity_bytes


def test_all_volumes_on_the_disk_are_the_disk_alone(study: Study) -> None:
    scenario = moved_to("g2", 1)
    unmoved = {**scenario, "system": {**scenario["system"], "moved": {}}}
    part = {"run.requests": 5_000}
    assert study.run(unmoved, part).response.mean_ms == study.run(alone(1), part).response.mean_ms


def test_the_small_device_lies_as_in_figure_5() -> None:
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
    listed = [each.where for each in pictures("schlosser2004")]
    assert listed == [*(f"Figure {number}" for number in range(1, 9)), "Table 1", "Table 2"]


@pytest.mark.parametrize("where", ["Figure 2", "Figure 3", "Figure 5", "Figure 7", "Table 1", "Table 2"])
def test_pictures_say_what_they_show(study: Study, where: str) -> None:
    drawn = next(each for each in pictures("schlosser2004") if each.where == where)
    assert drawn.draw
    found = drawn.draw(study)
    assert found.how
    assert found.stand_in == (where == "Figure 3")
    if isinstance(found.shown, Table):
        assert all(len(row) == len(found.shown.headers) for row in found.shown.rows)
    elif where != "Figure 5":
        assert "time (ms)" in str(found.shown.to_dict())
