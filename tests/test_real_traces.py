"""Real traces, where they are at hand: their totals, and a replay of each through the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sledsim
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

REFERENCE = Path(os.environ.get("SLEDSIM_REFERENCE", ROOT.parent / "shared"))

# Records and share of reads, as published with the traces; the share is given to the digits printed.
TOTALS = {
    "hplajw-1992-1week.srt": (44_519, None),
    "hplabs-2003-1hour.srt.bz2": (43_000, 0.246),
    "cloudphysics-2hour.vscsi.zst": (113_872, 0.413),
    "websearch-60s.mqsim.trace": (24_783, 0.9998),
    "tpcc-7k.mqsim.trace": (6_999, 0.626),
}


def sample(name: str) -> Path:
    path = REFERENCE / "traces" / name
    if not path.exists() and os.environ.get("CI") != "true":
        pytest.skip(f"{path} is not at hand")
    return path


@pytest.mark.parametrize("name", TOTALS)
def test_totals_of_real_traces(name: str) -> None:
    records, read_share = TOTALS[name]
    info = sledsim.traces.open_trace(sample(name)).info()
    assert info.records == records
    assert info.skipped == 0
    if read_share is not None:
        assert info.read_share == pytest.approx(read_share, abs=5e-4)


@pytest.mark.parametrize("name", TOTALS)
def test_every_record_is_replayed(sledsim_cli: Callable[..., Outcome], name: str) -> None:
    found = sledsim_cli("replay", sample(name), "--device", "g2", "--fit", "scale", "--scheduler", "sptf", "--json")
    assert found.status == 0, found.err
    requests = json.loads(found.out)["requests"]
    assert requests["submitted"] == requests["completed"] == TOTALS[name][0]
