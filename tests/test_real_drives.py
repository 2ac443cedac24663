"""`sledsim validate-drive` on the parameter files and traces of real drives, where these are present."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sledsim
from sledsim import TraceError
from test_real_traces import REFERENCE, sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

DRIVES = ("atlas10k", "barracuda", "cheetah4LP", "cheetah9LP", "dec_rz26", "hp_c2247a", "hp_c2490a", "st41601n")


@pytest.mark.parametrize("name", DRIVES)
def test_validate_drive_reads_files_of_real_drives(sledsim_cli: Callable[..., Outcome], name: str) -> None:
    sample(f"../drives/{name}/{name}.trace")
    folder = REFERENCE / "drives" / name
    found = sledsim_cli("validate-drive", folder / f"{name}.parv", folder / f"{name}.trace", "--json")
    groups = json.loads(found.out)["groups"]
    assert groups["all"]["requests"] in {7_980, 9_984, 9_999, 10_000}
    # The core's tests have a bound for each drive; this one detects a wrong drive.
    assert groups["all"]["demerit_percent"] < 10


def test_catalogue_drive_equals_its_parameter_file() -> None:
    trace = sample("../drives/hp_c2247a/hp_c2247a.trace")
    from_file = sledsim.studies.validate_drive(trace.with_suffix(".parv"), trace)
    from_catalogue = sledsim.studies.validate_drive("hp_c2247a", trace)
    assert np.array_equal(from_file.columns["modelled_ms"], from_catalogue.columns["modelled_ms"])
    # In this trace alone every outcome is recorded.
    assert {"reads, Hit", "reads, Miss", "writes, Doub", "writes, Trip"} <= set(from_file.groups)


def with_block_count(name: str, count: int, folder: Path) -> Path:
    """Return a drive's parameter file, copied, with another number of blocks in its model."""
    shutil.copytree(REFERENCE / "drives" / name, folder)
    (model,) = folder.glob("*.model")
    text, found = re.subn(r"Block count = +\d+", f"Block count = {count}", model.read_text())
    assert found == 1
    model.write_text(text)
    return folder / f"{name}.parv"


def test_block_count_below_the_trace_is_replaced_by_that_of_the_zones(tmp_path: Path) -> None:
    trace = sample("../drives/hp_c2247a/hp_c2247a.trace")
    specs = with_block_count("hp_c2247a", 1_300_000, tmp_path / "less")
    found = sledsim.studies.validate_drive(specs, trace)
    as_it_is = sledsim.studies.validate_drive(trace.with_suffix(".parv"), trace)
    assert np.array_equal(found.columns["modelled_ms"], as_it_is.columns["modelled_ms"])
    (note,) = [each for each in found.left_out if each.name == "Block count"]
    assert (note.file, note.line, note.value) == ("hp_c2247a_validate.model", 4, "1300000")
    assert note.changes_results
    assert "the zones have 2,054,864 blocks" in str(found.notes())
    # A block count that covers the trace is used; a given setting overrides the file.
    assert "Block count" not in {each.name for each in as_it_is.left_out}
    with pytest.raises(TraceError, match="reaches beyond"):
        sledsim.studies.validate_drive(specs, trace, overrides=["device.capacity_blocks=1300000"])
    # The drive has no blocks beyond its zones.
    beyond = tmp_path / "beyond.trace"
    beyond.write_text("R Miss 2054864 1 1.0 2.0\n")
    with pytest.raises(TraceError, match="reaches beyond"):
        sledsim.studies.validate_drive(specs, beyond)
