"""Standalone devices and their catalogue data."""

from __future__ import annotations

import tomllib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sledsim
from sledsim import ScenarioError
from sledsim.devices.entries import device_entry

if TYPE_CHECKING:
    from pathlib import Path


def test_geometry_of_g2() -> None:
    g2 = sledsim.device("g2")
    assert (g2.cylinders, g2.tracks, g2.rows, g2.blocks_per_row) == (2500, 5, 27, 20)
    assert g2.capacity_blocks == 2500 * 5 * 27 * 20
    assert g2.capacity_bytes == g2.capacity_blocks * g2.block_bytes
    assert g2.raw_capacity_bytes > g2.capacity_bytes
    assert g2.settle_ms == pytest.approx(1e3 / (2 * np.pi * 739), abs=1e-6)  # times are whole nanoseconds
    assert g2.place(0) == (0, 0, 0, 0)
    assert "g2" in repr(g2)


def test_blocks_beside_failed_tips_can_be_read() -> None:
    whole = sledsim.device("g2")
    assert whole.readable_bytes == whole.capacity_bytes
    # One of the 64 tips of a block, and two of the next one's.
    broken = sledsim.Device("g2", failed_tips=[0, 64, 65])
    lost = 2 * broken.cylinders * broken.rows * broken.block_bytes
    assert broken.capacity_bytes - broken.readable_bytes == lost
    assert [value for label, value, _ in broken.facts() if label == "of which can be read"] == [
        broken.readable_bytes / 1e9
    ]
    spared = sledsim.Device("g2", failed_tips=[0, 64, 65], spare_tips=1280)
    assert spared.readable_bytes == spared.capacity_bytes == whole.capacity_bytes * 4 // 5


def test_values_can_be_replaced() -> None:
    assert sledsim.Device("g2", settle_constants=0).settle_ms == 0
    once = sledsim.Device("g2").settle_ms
    twice = sledsim.Device("g2", overrides=["device.settle_constants=2"]).settle_ms
    assert twice == pytest.approx(2 * once, abs=2e-6)


def test_equivalent_blocks_share_a_sled_position() -> None:
    g2 = sledsim.Device("g2")
    for lbn in (0, 123_456, g2.capacity_blocks - 1):
        blocks = g2.equivalent(lbn).tolist()
        assert lbn not in blocks
        assert len(set(blocks)) == len(blocks) == g2.tracks * g2.blocks_per_row - 1
        cylinder, _, row, _ = g2.place(lbn)
        assert {(g2.place(block)[0], g2.place(block)[2]) for block in blocks} == {(cylinder, row)}


def test_batches_are_served_together() -> None:
    g2 = sledsim.Device("g2")
    together = g2.equivalent(500)[:4]
    served = g2.serve_batch(together)
    assert {len(column) for column in served.values()} == {4}
    alone = g2.serve_batch(together[:1])
    assert served["end_ns"].max() < 2 * alone["end_ns"].max()


def test_seeks_have_the_shape_of_their_arguments() -> None:
    g2 = sledsim.Device("g2")
    grid = np.linspace(-50, 50, 12).reshape(3, 4)
    assert g2.seek_x_ms(0.0, grid).shape == (3, 4)
    assert g2.seek_y_ms(grid, 0.0, from_direction=1).shape == (3, 4)
    assert g2.seek_x_ms(10.0, 10.0) == 0


def test_the_seek_curve_rises_and_starts_with_settling() -> None:
    g2 = sledsim.Device("g2")
    curve = g2.seek_curve(21)
    assert len(curve["axis"]) == 42
    x = curve["mean_ms"][curve["axis"] == "X"]
    assert x[0] == 0
    assert x[1] > g2.settle_ms
    assert np.all(np.diff(x) > 0)
    least, mean, most = (curve[name].astype(float) for name in ("min_ms", "mean_ms", "max_ms"))
    rounding = 1e-12
    assert np.all(least <= mean + rounding)
    assert np.all(mean <= most + rounding)


def test_the_seek_surface_is_symmetric() -> None:
    surface = sledsim.Device("g2").seek_surface(11)
    times = surface["seek_ms"].reshape(11, 11).astype(float)
    assert times == pytest.approx(times[::-1, :], abs=1e-9)
    assert times == pytest.approx(times[:, ::-1], abs=1e-9)
    assert times[5, 5] == times.min()
    longer = np.maximum(surface["seek_x_ms"].astype(float), surface["seek_y_ms"].astype(float))
    assert surface["seek_ms"].astype(float) == pytest.approx(longer)


def test_every_catalogue_entry_can_be_created_and_shown() -> None:
    entries = sledsim.devices.catalog()
    assert {"g1", "g2", "g3", "g1-paper", "g2-paper", "g3-paper", "griffin1999", "hong2006"} <= set(entries)
    for name, entry in entries.items():
        assert sledsim.Device(name).capacity_bytes > 0
        text = str(entry)
        for key, value in entry.values.items():
            assert key in text
            assert value.source in text
            assert value.kind in {"published", "measured", "derived", "assumed"}
        assert "<table>" in entry._repr_html_()


@pytest.mark.parametrize("make", [sledsim.Device, device_entry])
def test_error_of_an_unknown_device_suggests_the_nearest(make: object) -> None:
    assert callable(make)
    with pytest.raises(ScenarioError, match=r"grifin1999.*griffin1999"):
        make("grifin1999")


def test_schedulers_are_listed_with_their_sources() -> None:
    catalog = sledsim.schedulers.catalog()
    assert {"fcfs", "look", "sptf"} <= set(catalog)
    for each in catalog.values():
        assert each.title
        assert each.description
        assert each.source


def test_devices_can_be_used_from_any_thread() -> None:
    devices = [sledsim.Device("g2"), sledsim.Device("atlas10k"), sledsim.devices.MemsStorage("g3")]
    lbns = np.arange(0, 100_000, 1000)
    alone = [device.positioning_ms(lbns) for device in devices]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda device: device.positioning_ms(lbns), devices * 4))
        # The last reference to a device may be dropped by another thread.
        made = pool.submit(lambda: sledsim.devices.MemsStorage("g1")).result()
        assert pool.submit(made.seek_x_ms, 0.0, 10.0).result() == made.seek_x_ms(0.0, 10.0)
        del made
    for times, index in zip(together, range(12), strict=True):
        np.testing.assert_array_equal(times, alone[index % 3])


def test_capacity_is_that_of_all_actuators() -> None:
    drive = sledsim.Device("exos-2x14")
    assert drive.capacity_blocks == sledsim.Session("exos-2x14").capacity_blocks
    assert drive.capacity_bytes == drive.capacity_blocks * drive.block_bytes


@pytest.mark.parametrize("name", ["g2", "cheetah73", "simpledisk-constant", "exos-2x14"])
def test_devices_can_be_used_in_scenarios_and_exported(name: str, tmp_path: Path) -> None:
    device = sledsim.Device(name)
    assert sledsim.Device(device.to_dict()).parameters == device.parameters
    file = tmp_path / "device.toml"
    file.write_text(device.to_toml(), encoding="utf-8")
    tomllib.loads(device.to_toml())
    assert sledsim.Device(file).parameters | {"name": name} == device.parameters  # type: ignore[arg-type]
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 50.0}}
    run = {"requests": 100}
    given, named = (
        sledsim.run({"workload": workload, "system": {"device": each}, "run": run}) for each in (device, name)
    )
    assert given.to_dict() == named.to_dict()
