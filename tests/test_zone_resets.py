"""Resets of zones from Python sessions and traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sledsim

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

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
    assert plain.summary["replay"]["resets_left_out"] == 2


@pytest.mark.parametrize("words", [("W", "reset"), ("R", "reset"), ("reset", "write"), ("ZR", "R"), ("reset", "RESET")])
def test_each_word_for_a_reset_is_read(tmp_path: Path, words: tuple[str, str]) -> None:
    path = tmp_path / "trace.csv"
    rows = [f"{row},0,{row * MIB},{MIB},{word}\n" for row, word in enumerate(words)]
    path.write_text("".join(["t_ns,device,offset_bytes,bytes,op\n", *rows]))
    info = sledsim.traces.open_trace(path).info()
    count = sum(word.lower() in {"zr", "reset"} for word in words)
    assert (info["records"], info["resets"], info["other"]) == (2 - count, count, 0)
    result = sledsim.run({"workload": {"kind": "trace", "path": str(path)}, "system": ZONES})
    assert (result.requests.submitted, result.requests.completed) == (2, 2)


def test_a_trace_with_only_resets_needs_zones() -> None:
    trace = sledsim.Trace.from_columns(time_ns=[0, 1], offset_bytes=[0, MIB], bytes=MIB, op=["ZR", "reset"])
    assert trace.info()["resets"] == 2
    assert resets(sledsim.run({"workload": trace, "system": ZONES})) == 2
    with pytest.raises(sledsim.TraceError, match="no requests but 2 resets, which need a system with zones"):
        sledsim.replay(trace, "atlas10k")


def test_resets_are_converted_or_counted_as_left_out(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    path = tmp_path / "trace.iolog"
    path.write_text(TRACES["fio"])
    for name in ("copy.csv", "copy.parquet"):
        assert sledsim.traces.open_trace(path).convert(tmp_path / name) == 3
        result = sledsim.run(
            {"workload": {"kind": "trace", "path": str(tmp_path / name), "repeat": 2}, "system": ZONES}
        )
        # The first write of a pass resets nothing, as its zone is empty, and the next pass empties it again.
        assert (resets(result), result.requests.failed) == (3, 2)
    converted = sledsim_cli("trace", path, "--to", "mqsim", "-o", tmp_path / "without")
    assert "note: 2 resets left out: mqsim has none" in converted.err
    assert "2 resets left out (no zones at the root)" in sledsim_cli("replay", path, "-d", "atlas10k").out


def test_resets_of_many_blocks_survive_power_cuts(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"t_ns,offset_bytes,bytes,op\n0,0,{16 << 30},ZR\n1000000,0,4096,W\n900000000,4096,4096,W\n")
    zones = {"kind": "zoned", "child": "barracuda-2t", "full": True}
    workload = {"kind": "trace", "path": str(path)}
    result = sledsim.run({"workload": workload, "system": zones, "run": {"power_cuts": {"times_s": [0.5]}}})
    assert (resets(result), result.requests.completed) == (64, 3)


def test_resets_in_bytes_empty_only_zones_that_lie_in_them(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    # From within the last block of the first zone to within the first block of the fourth; and within a block.
    path.write_text(f"t_ns,offset_bytes,bytes,op\n0,{MIB - 9},{2 * MIB + 18},ZR\n9,{MIB + 1},9,ZR\n")
    result = sledsim.run({"workload": {"kind": "trace", "path": str(path)}, "system": ZONES})
    assert (resets(result), result.requests.failed) == (2, 1)


def test_copies_of_sessions_keep_outstanding_resets() -> None:
    session = sledsim.Session({**ZONES, "out_of_order": "rewrite"})
    session.submit(0, 8, read=False)
    reset = session.reset(0, MIB // session.block_bytes)
    ends = [{each.id: each.end_ns for each in one.drain()}[reset] for one in (session.snapshot(), session)]
    assert ends[0] == ends[1] > 0
