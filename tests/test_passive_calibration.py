"""`sledsim calibrate --from`: fits to passive traces of simulated drives and, where these are present, real ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sledsim
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
