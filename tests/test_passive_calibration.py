"""`sledsim calibrate` with passive traces of simulated drives and, where these are present, real ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sledsim
from random_drives import random_drive
from sledsim import SledsimError, TraceError
from sledsim.studies.drive_calibration import refine_drive
from test_real_drives import DRIVES
from test_real_traces import REFERENCE, sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from conftest import Outcome

GIVEN: Mapping[str, Any] = sledsim.Device("hp_c2247a").parameters


def measured_on(device: Mapping[str, Any], path: Path, requests: int = 2000, jitter_ms: float = 0.05) -> Path:
    """Write a trace of random accesses and sequential reads, 5 ms apart, measured on a simulated drive."""
    random = np.random.default_rng(5)
    blocks = random.integers(1, 64, requests)
    lbns = random.integers(0, sledsim.Device(device).capacity_blocks - 128, requests)
    kinds = np.where(random.random(requests) < 0.6, "R", "W")
    for row in np.flatnonzero(random.random(requests - 1) < 0.3) + 1:
        lbns[row] = lbns[row - 1] + blocks[row - 1]

    def write(times_ms: Any) -> Path:
        rows = zip(kinds, lbns, blocks, times_ms, strict=True)
        path.write_text("".join(f"{kind} Miss {lbn} {size} {1000 * ms:.3f} 5000\n" for kind, lbn, size, ms in rows))
        return path

    times = sledsim.studies.validate_drive(device, write(np.ones(requests))).columns["modelled_ms"].astype(float)
    return write(times + jitter_ms * np.abs(random.standard_normal(requests)))


def test_changed_times_are_recovered(tmp_path: Path) -> None:
    true = {**GIVEN, "read_completion_ms": GIVEN["read_completion_ms"] + 0.4, "write_settle_ms": 1.5}
    trace = measured_on(true, tmp_path / "drive.trace")
    found = refine_drive(GIVEN, trace)
    # The jitter, 0.04 ms on average, is part of the fitted time.
    assert found.device["read_completion_ms"] == pytest.approx(true["read_completion_ms"] + 0.04, abs=0.05)
    assert found.device["write_settle_ms"] == pytest.approx(true["write_settle_ms"], abs=0.15)
    fitted, given = (each.demerit_ms for each in found.residuals[:2])
    assert fitted is not None
    assert given is not None
    assert fitted < given / 2


def test_a_model_without_errors_stays_unchanged(tmp_path: Path) -> None:
    found = refine_drive(GIVEN, measured_on(GIVEN, tmp_path / "drive.trace", jitter_ms=0.0))
    assert {each.value for each in found.parameters} == {"unchanged"}
    assert found.device == {**GIVEN, **found.device}
    assert all(found.device[key] == GIVEN[key] for key in ("seek", "write_settle_ms", "bus_ms_per_block"))


def test_short_traces_are_refused(tmp_path: Path) -> None:
    trace = measured_on(GIVEN, tmp_path / "drive.trace", requests=999)
    with pytest.raises(TraceError, match="999 requests: a fit needs at least 1,000"):
        refine_drive(GIVEN, trace)


def test_other_devices_are_refused(tmp_path: Path) -> None:
    trace = measured_on(GIVEN, tmp_path / "drive.trace", requests=10)
    with pytest.raises(SledsimError, match="is not a disk"):
        refine_drive("g2", trace)


def test_a_model_of_another_drive_is_noted(tmp_path: Path) -> None:
    other = {**GIVEN, "read_completion_ms": 60.0, "write_completion_ms": 60.0}
    found = refine_drive(other, measured_on(GIVEN, tmp_path / "drive.trace", requests=1000))
    assert any("is it another drive's?" in note for note in found.notes)
    assert "is it another drive's?" in str(found)


#: Demerits of the second half with DiskSim's parameters and after the fit, ms, in docs/how-to/calibrate.md.
DEMERITS = {
    "atlas10k": (0.129, 0.118),
    "barracuda": (0.243, 0.158),
    "cheetah4LP": (0.221, 0.146),
    "cheetah9LP": (0.106, 0.093),
    "dec_rz26": (0.275, 0.275),
    "hp_c2247a": (0.142, 0.142),
    "hp_c2490a": (0.129, 0.074),
    "st41601n": (0.099, 0.074),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIVES)
def test_fits_do_not_worsen_the_unseen_half_of_real_traces(sledsim_cli: Callable[..., Outcome], name: str) -> None:
    trace = sample(f"../drives/{name}/{name}.trace")
    found = sledsim_cli("calibrate", trace, "--from", REFERENCE / "drives" / name / f"{name}.parv", "--json")
    demerits = {each["kind"]: each["demerit_ms"] for each in json.loads(found.out)["residuals"]}
    assert demerits["all, fitted"] <= demerits["all, as given"]
    assert (round(demerits["all, as given"], 3), round(demerits["all, fitted"], 3)) == DEMERITS[name]


@pytest.mark.slow
def test_a_fit_that_worsens_reads_is_not_accepted() -> None:
    trace = sample("../drives/cheetah9LP/cheetah9LP.trace")
    # The file has no overheads, bus and buffer: writes, which the drive's buffer takes, are 5 ms too slow.
    found = refine_drive(REFERENCE / "drives/cheetah9LP/cheetah9LP.model", trace)
    demerits = {each.kind: each.demerit_ms for each in found.residuals}
    assert demerits["reads, fitted"] == demerits["reads, as given"]
    assert "no overheads" in str(found)


def test_a_layout_is_found_without_a_model(tmp_path: Path) -> None:
    zones = [
        {
            "first_cylinder": first,
            "last_cylinder": first + 199,
            "sectors_per_track": sectors,
            "track_skew_sectors": round(0.12 * sectors),
            "cylinder_skew_sectors": round(0.3 * sectors),
        }
        for first, sectors in ((0, 60), (200, 52), (400, 43))
    ]
    seek = {"curve": "lee", "single_ms": 1.5, "average_ms": 8.0, "full_ms": 16.0}
    true = {
        "name": "old",
        "mechanism": "disk",
        "block_bytes": 512,
        "surfaces": 5,
        "cylinders": 600,
        "zones": zones,
        "rotation_rpm": 5400.0,
        "seek": seek,
        "head_switch_ms": 1.0,
        "read_ahead": "segment",
        "segment_blocks": 256,
        "bus_ms_per_block": 0.05,
        "request_overhead_ms": 0.5,
    }
    found = refine_drive(None, measured_on(true, tmp_path / "drive.trace", requests=4000, jitter_ms=0.0))
    made = found.device
    assert (made["surfaces"], made["cylinders"]) == (5, 600)
    assert made["rotation_rpm"] == pytest.approx(5400, rel=1e-5)
    for zone, each in zip(made["zones"], zones, strict=True):
        assert zone["last_cylinder"] == each["last_cylinder"]
        assert zone["sectors_per_track"] == each["sectors_per_track"]
        for name in ("track_skew_sectors", "cylinder_skew_sectors"):
            assert zone[name] == pytest.approx(each[name], abs=1)
    assert found.residuals[0].demerit_ms == pytest.approx(0, abs=0.3)
    assert found.residuals[0].mean_absolute_error_ms == pytest.approx(0, abs=0.5)


def test_traces_that_hide_the_rotation_are_an_error(tmp_path: Path) -> None:
    trace = measured_on({**GIVEN, "rotation": "average"}, tmp_path / "drive.trace", jitter_ms=3.0)
    with pytest.raises(TraceError, match=r"does not show the rotation.*add --from"):
        refine_drive(None, trace)


#: Bounds of demerits of models of the first half alone, ms, on the second half; docs/how-to/calibrate.md has them.
BLIND = {"hp_c2247a": 0.18, "hp_c2490a": 0.12, "st41601n": 0.12}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIVES)
def test_models_from_real_traces_alone(name: str) -> None:
    trace = sample(f"../drives/{name}/{name}.trace")
    if name not in BLIND:
        with pytest.raises(TraceError, match="does not show the rotation"):
            refine_drive(None, trace)
        return
    found = refine_drive(None, trace)
    assert found.residuals[0].demerit_ms is not None
    assert found.residuals[0].demerit_ms < BLIND[name]
    assert found.device["surfaces"] == {"hp_c2247a": 13, "hp_c2490a": 18, "st41601n": 17}[name]


def small_drive(seed: int) -> dict[str, Any]:
    """Return a random drive of some gigabytes, with a layout by cylinder and without a write cache."""
    drive = random_drive(2 * seed + 1)
    drive.pop("write_cache", None)
    for zone in drive["zones"]:
        # An eighth of the cylinders, and a sixth of the sectors of a track, of which each takes six times as long.
        zone["sectors_per_track"] = max(zone["sectors_per_track"] // 6, 30)
        for key in ("track_skew_sectors", "cylinder_skew_sectors"):
            zone[key] = float(round(zone[key] / 6))
        zone["first_cylinder"] //= 8
        zone["last_cylinder"] = (zone["last_cylinder"] + 1) // 8 - 1
    drive["cylinders"] = drive["zones"][-1]["last_cylinder"] + 1
    drive["bus_ms_per_block"] *= 6
    return drive


def local_trace(device: Mapping[str, Any], path: Path, requests: int = 8000) -> Path:
    """Write a trace of which a quarter is sequential and a fifth within 400 sectors, at exponential gaps."""
    random = np.random.default_rng(5)
    capacity = sledsim.Device(device).capacity_blocks
    blocks, lbns = random.integers(1, 33, requests), random.integers(0, capacity - 64, requests)
    kinds = np.where(random.random(requests) < 0.6, "R", "W")
    chosen = random.random(requests)
    for row in range(1, requests):
        if chosen[row] < 0.25:
            lbns[row], kinds[row] = min(lbns[row - 1] + blocks[row - 1], capacity - 64), kinds[row - 1]
        elif chosen[row] < 0.45:
            lbns[row] = np.clip(lbns[row - 1] + random.integers(-400, 400), 0, capacity - 64)
    gaps = random.exponential(15_000, requests) + 500

    def write(times_ms: Any, gaps_us: Any) -> Path:
        rows = zip(kinds, lbns, blocks, times_ms, gaps_us, strict=True)
        path.write_text(
            "".join(f"{kind} Miss {lbn} {size} {1e3 * ms:.3f} {gap:.3f}\n" for kind, lbn, size, ms, gap in rows)
        )
        return path

    times = sledsim.studies.validate_drive(device, write(np.ones(requests), gaps)).columns["modelled_ms"].astype(float)
    # Completions are up to tens of microseconds late; the next request is not.
    late = 0.01 * np.abs(random.standard_normal(requests))
    return write(times + late, gaps - 1e3 * late)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_layouts_of_random_drives_are_found(tmp_path: Path, seed: int) -> None:
    true = small_drive(seed)
    found = refine_drive(None, local_trace(true, tmp_path / "drive.trace"))
    tracks = [[zone["sectors_per_track"] for zone in each["zones"]] for each in (true, found.device)]
    agreement = found.residuals[0]
    print(
        seed,
        true["surfaces"],
        found.device["surfaces"],
        true["cylinders"],
        found.device["cylinders"],
        *tracks,
        agreement,
    )
    # docs/how-to/calibrate.md has these figures.
    assert agreement.demerit_ms is not None
    assert agreement.demerit_ms < 0.06 * agreement.measured_mean_ms
