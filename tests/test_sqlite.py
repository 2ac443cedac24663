"""A database on a simulated system: the answers are SQLite's own, and time is the sum of what statements waited."""

from __future__ import annotations

import json
import runpy
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import apsw
import pytest

import sledsim
from conftest import ROOT
from sledsim.sqlite import connect
from sledsim.sqlite.extents import EXTENT_BYTES, Extents

if TYPE_CHECKING:
    from pathlib import Path

MAKE = "create table t(key integer primary key, text); create index by_text on t(text)"
FILL = """with recursive n(i) as (values(1) union all select i + 1 from n where i < 3000)
insert into t select i, i * 7919 % 3001 from n"""
#: A trigger that writes down what has been inserted.
COPY = """create table copies(key);
create trigger c after insert on t begin insert into copies values(new.key); end"""
LARGE = """create table large as with recursive n(i) as (values(1) union all select i + 1 from n where i < 1000)
select zeroblob(100000) from n"""
ASK = "select count(*), sum(text), max(key) from t where text > 1000"


def filled(path: Path, system: Any, **options: Any) -> tuple[list[Any], sledsim.sqlite.Connection]:
    connection = connect(path, system, **options)
    connection.execute(f"{MAKE}; {FILL}")
    return connection.execute(ASK).fetchall(), connection


@pytest.mark.parametrize("journal", ["delete", "wal", "memory"])
def test_answers_are_sqlites_own_and_times_add_up_to_the_clock(tmp_path: Path, journal: str) -> None:
    plain = apsw.Connection(str(tmp_path / "plain.db"))
    plain.execute(f"{MAKE}; {FILL}")
    with connect(tmp_path / "charged.db", "g2") as connection:
        connection.execute(f"pragma journal_mode={journal}").fetchall()
        connection.execute(f"{MAKE}; {FILL}")
        assert connection.execute(ASK).fetchall() == plain.execute(ASK).fetchall()
        found = connection.statements
        assert found.time_ns == connection.now_ns > 0
        assert [each.sql.split()[0] for each in found if each.sql] == ["pragma", "create", "create", "with", "select"]
        assert found[0].sql == ""
        assert (found[4].writes > 5, found[4].syncs > 0) == (True, True)
        served = connection.result().requests.completed
        assert served == sum(each.reads + each.writes + each.syncs for each in found)
    assert connection.session.now_ns == connection.statements.time_ns
    assert apsw.Connection(str(tmp_path / "charged.db")).execute(ASK).fetchall() == plain.execute(ASK).fetchall()


def test_the_same_statements_take_the_same_time_and_less_of_a_faster_device(tmp_path: Path) -> None:
    times = {}
    for name, device in (("a", "g1"), ("b", "g1"), ("c", "g3")):
        answer, connection = filled(tmp_path / f"{name}.db", device)
        times[name] = [each.time_ns for each in connection.statements]
        connection.close()
        assert answer == [(2000, 4001000, 3000)]
    assert times["a"] == times["b"]
    assert all(slow > fast for slow, fast in zip(times["a"], times["c"], strict=True) if slow)


def test_what_sqlite_keeps_in_its_cache_is_read_once(tmp_path: Path) -> None:
    filled(tmp_path / "x.db", "g2")[1].close()
    with connect(tmp_path / "x.db", "g2") as connection:
        for _ in range(2):
            connection.execute(ASK).fetchall()
        cold, warm = list(connection.statements)[-2:]
        assert (cold.reads > 5, warm.read_bytes < 100) == (True, True)
    with connect(tmp_path / "x.db", "g2", cache_kib=8) as connection:
        for _ in range(2):
            connection.execute(ASK).fetchall()
        cold, again = list(connection.statements)[-2:]
        assert again.reads > cold.reads // 2


def test_energy_is_that_of_the_requests(tmp_path: Path) -> None:
    _, connection = filled(tmp_path / "x.db", "g2")
    with connection:
        found = connection.statements
        total_j = connection.result().to_dict()["energy"]["total_j"]
        assert 0 < sum(each.energy_j for each in found) <= total_j


def test_what_a_trigger_does_and_a_statement_after_a_remark_count_for_their_statement(tmp_path: Path) -> None:
    with connect(tmp_path / "x.db", "g2") as connection:
        connection.execute(f"{MAKE}; {COPY}")
        connection.execute("-- a remark\ninsert into t values(1, 2)")
        last = connection.statements[-1]
        assert "insert into t" in last.sql
        assert (last.writes > 0, connection.execute("select key from copies").fetchall()) == (True, [(1,)])
        assert connection.statements.time_ns == connection.now_ns


def test_two_connections_share_a_system(tmp_path: Path) -> None:
    session = sledsim.Session({"device": "g2", "scheduler": "sptf"})
    first, second = (connect(tmp_path / f"{name}.db", session) for name in "ab")
    for connection in (first, second):
        connection.execute(f"{MAKE}; {FILL}")
    assert session.now_ns == first.statements.time_ns + second.statements.time_ns
    session.advance(session.now_ns + 10**9)
    before = first.statements.time_ns
    first.execute("insert into t values(9000, 1)")
    assert session.now_ns == first.statements.time_ns + second.statements.time_ns + 10**9 > before
    with pytest.raises(sledsim.SledsimError, match="set") as caught:
        connect(tmp_path / "c.db", session, set=["device=g1"])
    assert caught.value.path == "set"


def test_a_table_of_statements_names_units(tmp_path: Path) -> None:
    _, connection = filled(tmp_path / "x.db", "g2")
    text = str(connection.statements)
    assert "time (ms)" in text
    assert "select count(*)" in text
    assert connection.statements.to_dict()["statements"][-1]["reads"] == connection.statements[-1].reads
    assert "statements" in repr(connection)
    connection.close()


def test_files_lie_in_extents_the_lowest_free_ones_first() -> None:
    extents = Extents(10 * 2048 + 5, 512)
    blocks = EXTENT_BYTES // 512
    assert extents.lbns("a", 0, 1) == [(0, 1)]
    assert extents.lbns("b", 0, 513) == [(blocks, 2)]
    # Neighbours in the file that are none on the system are two pieces; a block of which a part is asked for is whole.
    assert extents.lbns("a", EXTENT_BYTES - 100, 200) == [(blocks - 1, 1), (2 * blocks, 1)]
    assert extents.lbns("c", 0, 2 * EXTENT_BYTES) == [(3 * blocks, 2 * blocks)]
    extents.cut("a", EXTENT_BYTES)
    extents.cut("b", 0)
    assert extents.lbns("d", 0, 2 * EXTENT_BYTES) == [(blocks, 2 * blocks)]
    assert extents.lbns("e", 0, 6 * EXTENT_BYTES) is None
    extents.cut("nothing", 0)


def test_a_full_system_and_one_too_small_say_so(tmp_path: Path) -> None:
    small = {"device": "g2", "kind": "drive"}
    with connect(tmp_path / "x.db", small, set={"device.tips": 1280, "device.x_range_um": 2.0}) as connection:
        room = connection.session.capacity_blocks * connection.session.block_bytes
        assert room < 64 << 20
        connection.execute(MAKE)
        with pytest.raises(apsw.FullError, match="room for"):
            connection.execute(LARGE)
        assert connection.execute("select count(*) from t").fetchall() == [(0,)]
    with pytest.raises(sledsim.SledsimError, match="extents") as caught:
        Extents(100, 512)
    assert caught.value.path == "system"


def test_what_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(sledsim.SledsimError, match="cannot be opened"):
        connect(tmp_path / "none" / "x.db", "g2")
    with pytest.raises(sledsim.ScenarioError, match="g22"):
        connect(tmp_path / "x.db", "g22")


def test_without_the_package_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apsw", None)
    with pytest.raises(sledsim.SledsimError, match=r"sledsim\[sqlite\]"):
        connect(tmp_path / "x.db", "g2")


def test_a_failed_read_is_an_error_of_the_statement(tmp_path: Path) -> None:
    faults = [{"member": member, "fails_at_s": 100.0 + member} for member in (0, 1)]
    system = {"kind": "raid5", "members": [{"count": 3, "device": "g2"}], "faults": faults}
    with connect(tmp_path / "x.db", system, cache_kib=8) as connection:
        connection.execute(f"{MAKE}; {FILL}")
        connection.session.advance(200 * 10**9)
        with pytest.raises(apsw.IOError, match="failed"):
            connection.execute(ASK).fetchall()


def test_the_22_queries_of_the_example_give_the_answers_of_the_plain_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chart = tmp_path / "tpch.json"
    monkeypatch.setattr(sys, "argv", ["run.py", "--scale", "0.0005", "--plot", str(chart)])
    assert runpy.run_path(str(ROOT / "examples" / "tpch" / "run.py"))["main"]() == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if line[:3].strip().isdigit() or line.startswith("all")]
    assert len(rows) == 46
    sums = [[float(cell.replace(",", "")) for cell in row[1:]] for row in rows if row[0] == "all"]
    for g1, g2, g3, *_ in sums:
        assert g1 > g2 > g3
    assert all(cold >= warm for cold, warm in zip(*sums, strict=True)), list(pairwise(sums))
    # The chart draws what the tables say: marks of each device, cold and warm, that add up to the same.
    [marks] = json.loads(chart.read_text(encoding="utf-8"))["datasets"].values()
    heads = next(line.split() for line in shown.splitlines() if line.startswith("query"))[1:]
    assert heads[:3] == ["g1", "g2", "g3"]
    for cache, expected in zip(("cold", "warm"), sums, strict=True):
        drawn = [
            sum(mark["wait"] for mark in marks if (mark["device"], mark["cache"]) == (device, cache))
            for device in heads
        ]
        assert drawn == pytest.approx(expected, rel=1e-3, abs=0.1)


def test_a_sync_takes_what_a_volatile_cache_has_to_write(tmp_path: Path) -> None:
    cached = {"kind": "ram-cache", "bytes": "8 MiB", "child": {"device": "atlas10k"}, "volatile": True}
    times = {}
    for synchronous in ("off", "full"):
        with connect(tmp_path / f"{synchronous}.db", cached) as connection:
            connection.execute(f"pragma synchronous={synchronous}; {MAKE}; {FILL}")
            times[synchronous] = connection.now_ns
            assert any(each.syncs for each in connection.statements) == (synchronous == "full")
    assert times["full"] > 2 * times["off"]


@pytest.mark.parametrize("name", ["a\x00b", "\ud800", "gone/x.db"])
def test_a_file_that_cannot_be_opened_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(sledsim.SledsimError, match="cannot be opened"):
        connect(tmp_path / name, "g2")


@pytest.mark.parametrize("size", [0, -1, 2**31, 10**5000, 1.5, "2", True], ids=lambda size: type(size).__name__)
def test_a_cache_of_no_size_is_refused(tmp_path: Path, size: Any) -> None:
    with pytest.raises(sledsim.SledsimError, match="cache_kib"):
        connect(tmp_path / "x.db", "g2", cache_kib=size)
