"""Disk drives by themselves: zones, places, seeks, service, pictures, and the commands that show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from sledsim import SledsimError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome


@pytest.fixture
def drive(disk_file: Path) -> sledsim.devices.DiskDrive:
    made = sledsim.Device(str(disk_file))
    assert isinstance(made, sledsim.devices.DiskDrive)
    return made


def test_the_mechanism_decides_the_kind_of_device(disk_file: Path) -> None:
    assert isinstance(sledsim.Device("g2"), sledsim.devices.MemsStorage)
    assert isinstance(sledsim.device("simpledisk-linear"), sledsim.devices.SimpleDevice)
    assert type(sledsim.devices.DiskDrive(str(disk_file))) is sledsim.devices.DiskDrive
    with pytest.raises(SledsimError, match="g2 is MEMS storage, not a disk drive"):
        sledsim.devices.DiskDrive("g2")


@pytest.mark.parametrize(
    ("name", "attribute", "message"),
    [
        ("g2", "zones", "g2 is MEMS storage: only a disk drive has zones"),
        ("simpledisk-constant", "rotation_ms", "is a simple device: only a disk drive has rotation_ms"),
        ("simpledisk-constant", "seek_x_ms", "is a simple device: only MEMS storage has seek_x_ms"),
    ],
)
def test_errors_name_the_mechanism_that_has_the_attribute(name: str, attribute: str, message: str) -> None:
    made = sledsim.Device(name)
    assert not hasattr(made, attribute)
    with pytest.raises(SledsimError, match=message):
        getattr(made, attribute)
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        _ = made.colour


def test_figures_of_a_drive(drive: sledsim.devices.DiskDrive) -> None:
    assert drive.capacity_blocks == 2 * 100 * (80 + 40)
    assert drive.capacity_bytes == 24_000 * 512
    assert (drive.cylinders, drive.surfaces) == (200, 2)
    assert drive.rotation_ms == pytest.approx(10.0, abs=1e-6)  # times are whole nanoseconds
    assert drive.longest_seek_ms == 10.0
    distances = np.arange(200)
    pairs = np.where(distances == 0, 200, 2 * (200 - distances))
    assert drive.mean_seek_ms == pytest.approx(float(np.average(drive.seek_ms(distances), weights=pairs)))
    assert drive.seek_ms([[0, 1], [10, 199]]).tolist() == [[0.0, 1.0], [2.0, 10.0]]
    assert drive.seek_ms([0, 1], read=False).tolist() == [0.0, 1.5]
    with pytest.raises(SledsimError, match="distance_cylinders = 200: expected whole numbers from 0 to 199"):
        drive.seek_ms(200)


def test_capacity_and_rate_are_those_of_all_actuators(disk_file: Path) -> None:
    keys: dict[int, dict[str, Any]] = {n: {"surfaces": 2 * n, "actuator_ranges": n} for n in (1, 2)}
    one, two = (sledsim.devices.DiskDrive(str(disk_file), **each) for each in keys.values())
    session = sledsim.Session({"device": {"name": str(disk_file), **keys[2]}})
    assert two.capacity_bytes == 2 * one.capacity_bytes == session.capacity_blocks * 512
    assert two.streaming_bandwidth_mb_s == pytest.approx(2 * one.streaming_bandwidth_mb_s)
    facts = {label: value for label, value, _ in two.facts()}
    assert (facts["capacity"], facts["blocks"]) == (two.capacity_bytes / 1e9, two.capacity_bytes // 512)


def test_zones_tile_the_drive_and_stream_with_their_skews(drive: sledsim.devices.DiskDrive) -> None:
    zones = drive.zones()
    assert zones["first_lbn"].tolist() == [0, 16_000]
    assert zones["blocks"].tolist() == [16_000, 8_000]
    assert zones["media_mb_s"].astype(float) == pytest.approx([80 * 512 / 10e-3 / 1e6, 40 * 512 / 10e-3 / 1e6])
    # Two revolutions, an eighth for the other track and a quarter for the next cylinder.
    assert zones["streaming_mb_s"].astype(float)[0] == pytest.approx(160 * 512 / 23.75e-3 / 1e6, rel=1e-6)
    assert "from LBN" in str(drive.zone_table())


def test_places_follow_the_layout_and_its_skews(drive: sledsim.devices.DiskDrive) -> None:
    assert drive.place(0) == (0, 0, 0, 0.0)
    assert drive.place(79)[:3] == (0, 0, 79)
    assert drive.place(80)[:3] == (0, 1, 0)
    assert drive.place(80).angle == pytest.approx(10 / 80)
    assert drive.place(160)[:3] == (1, 0, 0)
    assert drive.place(23_999)[:3] == (199, 1, 39)
    with pytest.raises(SledsimError, match="lbn = 24000: expected whole numbers from 0 to 23999"):
        drive.place(24_000)


def test_service_includes_rotational_latency(drive: sledsim.devices.DiskDrive) -> None:
    served = drive.serve([0, 16_000, 16_000], 4, read=[True, True, False], due_ms=[0.0, 5.0, 90.0])
    assert served["start_ns"].tolist()[2] == 90_000_000
    parts = ["startup", "command", "background", "seek", "rotation", "turnaround", "servo", "transfer", "bus"]
    taken = np.sum([served[f"{part}_ns"].astype(np.int64) for part in parts], axis=0)
    assert taken.tolist() == (served["end_ns"].astype(np.int64) - served["start_ns"].astype(np.int64)).tolist()
    assert (served["rotation_ns"].astype(np.int64) < 10_000_000).all()
    assert "energy_j" not in served
    assert "energy_j" in sledsim.Device("g2").serve([0])
    waits = drive.positioning_ms([0, 0], at_ms=0.0)
    assert waits.shape == (2,)
    # A revolution later the platters are at the same angle.
    assert drive.positioning_ms(40, at_ms=10.0).item() == pytest.approx(drive.positioning_ms(40).item(), abs=1e-5)


def test_the_seek_curve_marks_the_points_of_the_table(drive: sledsim.devices.DiskDrive) -> None:
    curve = drive.seek_curve(21)
    marked = curve["in_table"].astype(bool)
    assert curve["distance_cylinders"][marked].tolist() == [1, 10, 199]
    assert set(curve["op"][marked].tolist()) == {"read"}
    assert curve["seek_ms"][marked].tolist() == [1.0, 2.0, 10.0]
    assert "write (ms)" in str(drive.seek_table())


def test_a_run_on_a_drive_has_its_phases_and_no_energy(disk_file: Path) -> None:
    workload = {"arrival": {"kind": "closed", "outstanding": 1}, "read_fraction": 0.5}
    scenario = {"workload": workload, "system": {"device": str(disk_file)}, "run": {"requests": 400}}
    result = sledsim.run(scenario, log=True)
    assert result.energy is None
    assert not [name for name in result.log if name.startswith("energy")]
    assert result.rotation.mean_ms > 0
    assert result.state_time.rotation_s > 0
    text = str(result)
    background = "wait for background work or earlier parts"
    for words in ("rotation", "command", "between tracks, and read retries", background):
        assert f"\n{words} " in text
    for words in ("along X", "servo", "start-up", "energy (", "inactive"):
        assert words not in text
    assert "energy is not modelled" in text
    with pytest.raises(SledsimError, match=r"powers of .*small-disk\.toml are not known"):
        result.plot("energy")
    phases = [row["part"] for data in result.plot("phases").to_dict()["datasets"].values() for row in data]
    assert phases[:2] == ["wait", "command"]
    both = sledsim.compare({"disk": result, "mems": sledsim.run(scenario, overrides=['device={name="g2"}'])})
    values = {metric["key"]: metric["values"] for metric in both.metrics()}
    assert values["energy.total_j"][0] is None
    assert values["rotation.mean_ms"][1] is None
    assert both.plot("energy.total_j").to_dict()["title"]
    with pytest.raises(SledsimError, match=r"no run has energy\.total_j"):
        sledsim.compare([result]).plot("energy.total_j")


def test_angles_stay_within_a_revolution(disk_file: Path) -> None:
    zone = {"first_cylinder": 0, "last_cylinder": 9, "sectors_per_track": 10}
    skews = {"track_skew_sectors": 2, "cylinder_skew_sectors": 3}
    parameters = {**sledsim.Device(str(disk_file)).parameters, "surfaces": 2, "cylinders": 10, "sparing": "none"}
    drive = sledsim.Device({**parameters, "zones": [{**zone, **skews}], "capacity_blocks": None})
    angles = [drive.place(lbn).angle for lbn in range(drive.capacity_blocks)]
    # Ten sectors and skews of whole sectors: tenths of a revolution, never a whole one.
    assert max(angles) < 1.0
    assert {round(angle * 10) % 10 for angle in angles} == set(range(10))


def test_complete_devices_need_no_catalogue_entry(disk_file: Path) -> None:
    parameters = {**sledsim.Device(str(disk_file)).parameters, "name": "nowhere to be found"}
    scenario = {"workload": {"arrival": {"kind": "closed", "outstanding": 1}}, "run": {"requests": 5}}
    assert sledsim.run({**scenario, "system": {"device": parameters}}).device.name == "nowhere to be found"
    own = sledsim.Device(parameters)
    assert (own.name, own.capacity_blocks) == ("nowhere to be found", sledsim.Device(str(disk_file)).capacity_blocks)
    del parameters["rotation_rpm"]
    with pytest.raises(SledsimError, match=r"path of a device file.*a complete device also needs rotation_rpm"):
        sledsim.run({**scenario, "system": {"device": parameters}})


def test_pictures_of_a_drive(drive: sledsim.devices.DiskDrive, tmp_path: Path) -> None:
    for kind in ("curve", "zones"):
        definition: Any = drive.plot(kind).to_dict()
        assert "small-disk" in definition["title"]["text"]
        assert len(json.dumps(definition)) < 200_000
        for suffix in ("svg", "png", "html"):
            path = tmp_path / f"{kind}.{suffix}"
            drive.save_plot(path, kind)
            assert path.stat().st_size > 1000
    with pytest.raises(SledsimError, match=r"no plot 'surface' of a disk drive .known: curve, zones"):
        drive.plot("surface")
    with pytest.raises(SledsimError, match="no plot 'curve' of a simple device"):
        sledsim.Device("simpledisk-constant").plot()


def test_a_device_file_is_shown_like_a_device(
    sledsim_cli: Callable[..., Outcome], disk_file: Path, tmp_path: Path
) -> None:
    shown = sledsim_cli("device", disk_file)
    assert (shown.status, shown.err) == (0, "")
    assert "rotation_rpm" in shown.out
    assert "derived figure" in shown.out
    bare = tmp_path / "bare.toml"
    bare.write_text(
        'mechanism = "simpledisk-constant"\n[values]\nblock_bytes = 512\ncapacity_blocks = 9\naccess_ms = 1\n'
    )
    assert json.loads(sledsim_cli("device", bare, "--json").out)["values"]["access_ms"]["value"] == 1
    bare.write_text(bare.read_text().replace("access_ms = 1", "access_ms = nan"))
    wrong = sledsim_cli("device", bare)
    assert (wrong.status, wrong.out) == (2, "")
    assert "bare.toml" in wrong.err
    assert "line 5" in wrong.err
    gone = sledsim_cli("device", tmp_path / "gone.toml")
    assert gone.status == 2
    assert "gone.toml" in gone.err


def test_commands_show_a_drive(sledsim_cli: Callable[..., Outcome], disk_file: Path, tmp_path: Path) -> None:
    assert "distance (cylinders)" in sledsim_cli("device", disk_file, "--seeks").out
    data, picture = tmp_path / "zones.csv", tmp_path / "zones.svg"
    assert sledsim_cli("device", disk_file, "--zones", "--out", data, "--plot", picture).status == 0
    assert data.read_text().startswith("first_cylinder,last_cylinder,sectors_per_track,first_lbn,blocks,media_mb_s")
    assert "<svg" in picture.read_text()
    assert json.loads(sledsim_cli("device", disk_file, "--zones", "--json").out)["sectors_per_track"] == [80, 40]
    assert "sectors per track" in sledsim_cli("device", disk_file, "--zones").out
    assert json.loads(sledsim_cli("device", disk_file, "--seeks", "--json").out)["op"][0] == "read"
    for arguments in (
        ["device", "g2", "--zones"],
        ["device", "simpledisk-constant", "--seeks"],
        ["device", disk_file, "--seek-surface"],
    ):
        found = sledsim_cli(*arguments)
        assert found.status == 2
        assert "error: " in found.err
        assert found.out == ""


def test_the_catalogue_is_listed_kind_by_kind(sledsim_cli: Callable[..., Outcome]) -> None:
    out = sledsim_cli("list", "devices").out
    assert out.index("MEMS storage") < out.index("simple device")
    assert "longest time (ms)" in out
