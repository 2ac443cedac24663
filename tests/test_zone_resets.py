"""Resets of zones from Python sessions and traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sledsim

if TYPE_CHECKING:
    from pathlib import Path

#: Zones of 1 MiB, all written.
ZONES = {"kind": "zoned", "child": "atlas10k", "zone_bytes": "1 MiB", "full": True}
MIB = 1 << 20
#: A trim of two zones and one of half a zone, and a write at the start of the first.
TRACES = {
    "fio": "fio version 3 iolog\n0 d add\n0 d trim 0 2097152\n9 d trim 2097152 524288\n900 d write 0 4096\n",
    "csv": "t_ns,device,offset_bytes,bytes,op\n0,0,0,2097152,reset\n9000,0,2097152,524288,ZR\n900000,0,0,4096,W\n",
}


def resets(result: sledsim.Result) -> float:
    [found] = [each["value"] for each in result.components[0]["counts"] if each["name"] == "zone_resets"]
    return float(found)


def test_sessions_reset_zones() -> None:
    session = sledsim.Session(ZONES)
    blocks = MIB // session.block_bytes
    numbers = [session.reset(0, 3 * blocks), session.reset(0, 1), session.submit(blocks, 8, read=False)]
    done = {each.id: each for each in session.drain()}
    assert [done[number].status for number in numbers] == ["served", "refused", "served"]
    assert done[numbers[0]].response_ns == 0
    result = session.result()
    assert resets(result) == 3
    assert (result.summary["requests"]["completed"], result.summary["requests"]["failed"]) == (2, 1)
    # Resets transfer nothing.
    assert result.summary["response"]["count"] == 1


@pytest.mark.parametrize("format_name", TRACES)
def test_traces_reset_zones(tmp_path: Path, format_name: str) -> None:
    path = tmp_path / f"trace.{format_name}"
    path.write_text(TRACES[format_name])

    def replay(system: Any) -> sledsim.Result:
        return sledsim.run({"workload": {"kind": "trace", "path": str(path), "format": format_name}, "system": system})

    result = replay(ZONES)
    assert resets(result) == 2
    assert (result.summary["requests"]["submitted"], result.summary["requests"]["failed"]) == (3, 1)
    # Other systems have no zones, and get reads and writes only.
    plain = replay("atlas10k")
    assert (plain.summary["requests"]["submitted"], plain.summary["requests"]["failed"]) == (1, 0)
