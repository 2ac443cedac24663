"""Real drives, where their files are at hand: each goes from its parameter file and its trace to an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sledsim
from test_real_traces import REFERENCE, sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

DRIVES = ("atlas10k", "barracuda", "cheetah4LP", "cheetah9LP", "hp_c2247a", "st41601n")


@pytest.mark.parametrize("name", DRIVES)
def test_a_drive_is_validated_as_its_files_come(sledsim_cli: Callable[..., Outcome], name: str) -> None:
    sample(f"../drives/{name}/{name}.trace")
    folder = REFERENCE / "drives" / name
    found = sledsim_cli("validate-drive", folder / f"{name}.parv", folder / f"{name}.trace", "--json")
    groups = json.loads(found.out)["groups"]
    assert groups["all"]["requests"] in {9_999, 10_000}
    # The core's tests hold each drive to a bound of its own; this one tells a drive from a mistaken one.
    assert groups["all"]["demerit_percent"] < 10


def test_the_catalogue_has_the_drive_that_the_file_describes() -> None:
    trace = sample("../drives/hp_c2247a/hp_c2247a.trace")
    from_file = sledsim.validate_drive(trace.with_suffix(".parv"), trace)
    from_catalogue = sledsim.validate_drive("hp_c2247a", trace)
    assert np.array_equal(from_file.columns["modelled_ms"], from_catalogue.columns["modelled_ms"])
    # In this trace alone every outcome is recorded.
    assert {"reads, Hit", "reads, Miss", "writes, Doub", "writes, Trip"} <= set(from_file.groups)
