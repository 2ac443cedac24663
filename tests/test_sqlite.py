"""A database on a simulated system: answers match SQLite, and time is the sum of the waits of statements."""

from __future__ import annotations

import json
import runpy
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import apsw
import pytest

import sledsim
from conftest import ROOT
from sledsim.sqlite import connect
from sledsim.sqlite.extents import EXTENT_BYTES, Extents
from sledsim.sqlite.files import Charges

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
def test_answers_match_sqlite_and_times_add_up_to_the_clock(tmp_path: Path, journal: str) -> None:
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


def test_times_are_reproducible_and_less_on_a_faster_device(tmp_path: Path) -> None:
    times = {}
    for name, device in (("a", "g1"), ("b", "g1"), ("c", "g3")):
        answer, connection = filled(tmp_path / f"{name}.db", device)
        times[name] = [each.time_ns for each in connection.statements]
        connection.close()
        assert answer == [(2000, 4001000, 3000)]
    assert times["a"] == times["b"]
    assert all(slow > fast for slow, fast in zip(times["a"], times["c"], strict=True) if slow)


def test_cached_pages_are_read_once(tmp_path: Path) -> None:
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


def test_energy_equals_that_of_the_requests(tmp_path: Path) -> None:
    _, connection = filled(tmp_path / "x.db", "g2")
    with connection:
        found = connection.statements
        total_j = connection.result().to_dict()["energy"]["total_j"]
        assert 0 < sum(each.energy_j or 0 for each in found) <= total_j


def test_triggers_and_commented_statements_are_charged_to_their_statement(tmp_path: Path) -> None:
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
    with pytest.raises(sledsim.SledsimError, match="overrides") as caught:
        connect(tmp_path / "c.db", session, overrides=["device=g1"])
    assert caught.value.path == "overrides"


#: Syncs of files and folders in a transaction that inserts a row, counted with strace on Linux (SQLite's own VFS).
SYNCS = {
    ("delete", "normal"): 3,
    ("delete", "full"): 4,
    ("delete", "extra"): 5,
    ("truncate", "normal"): 3,
    ("truncate", "full"): 5,
    ("truncate", "extra"): 5,
    ("wal", "normal"): 0,
    ("wal", "full"): 1,
    ("wal", "extra"): 1,
}


@pytest.mark.parametrize(("journal", "synchronous"), SYNCS)
def test_syncs_of_folders_are_flushes(tmp_path: Path, journal: str, synchronous: str) -> None:
    with connect(tmp_path / "x.db", "g2") as connection:
        connection.execute(f"pragma journal_mode={journal}").fetchall()
        connection.execute(f"pragma synchronous={synchronous}; create table t(a); insert into t values(0)")
        for row in range(10):
            connection.execute("insert into t values(?)", (row,))
        inserts = list(connection.statements)[-10:]
        assert [each.syncs for each in inserts] == [SYNCS[journal, synchronous]] * 10
        assert connection.statements.time_ns == connection.now_ns


def test_a_table_of_statements_names_units(tmp_path: Path) -> None:
    _, connection = filled(tmp_path / "x.db", "g2")
    text = str(connection.statements)
    assert "time (ms)" in text
    assert "select count(*)" in text
    assert connection.statements.to_dict()["statements"][-1]["reads"] == connection.statements[-1].reads
    assert "statements" in repr(connection)
    connection.close()


def test_files_get_the_lowest_free_extents() -> None:
    extents = Extents(10 * 2048 + 5, 512)
    blocks = EXTENT_BYTES // 512
    assert extents.lbns("a", 0, 1) == [(0, 1)]
    assert extents.lbns("b", 0, 513) == [(blocks, 2)]
    # Adjacent file blocks that are not adjacent on the system are two requests; partial blocks are accessed whole.
    assert extents.lbns("a", EXTENT_BYTES - 100, 200) == [(blocks - 1, 1), (2 * blocks, 1)]
    assert extents.lbns("c", 0, 2 * EXTENT_BYTES) == [(3 * blocks, 2 * blocks)]
    extents.truncate("a", EXTENT_BYTES)
    extents.truncate("b", 0)
    assert extents.lbns("d", 0, 2 * EXTENT_BYTES) == [(blocks, 2 * blocks)]
    assert extents.lbns("e", 0, 6 * EXTENT_BYTES) is None
    extents.truncate("nothing", 0)


def test_full_and_too_small_systems_raise_errors(tmp_path: Path) -> None:
    small = {"device": "g2", "kind": "drive"}
    with connect(tmp_path / "x.db", small, overrides={"device.tips": 1280, "device.x_range_um": 2.0}) as connection:
        room = connection.session.capacity_blocks * connection.session.block_bytes
        assert room < 64 << 20
        connection.execute(MAKE)
        with pytest.raises(apsw.FullError, match="no room left"):
            connection.execute(LARGE)
        assert connection.execute("select count(*) from t").fetchall() == [(0,)]
    with pytest.raises(sledsim.SledsimError, match="extents") as caught:
        Extents(100, 512)
    assert caught.value.path == "system"


def test_unopenable_databases_raise_errors(tmp_path: Path) -> None:
    with pytest.raises(sledsim.SledsimError, match="cannot be opened"):
        connect(tmp_path / "none" / "x.db", "g2")
    with pytest.raises(sledsim.ScenarioError, match="g22"):
        connect(tmp_path / "x.db", "g22")


def test_error_of_the_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apsw", None)
    with pytest.raises(sledsim.SledsimError, match=r"pip install 'apsw>="):
        connect(tmp_path / "x.db", "g2")


def test_failed_reads_fail_the_statement_and_are_charged(tmp_path: Path) -> None:
    faults = [{"member": member, "fails_at_s": 100.0 + member} for member in (0, 1)]
    system = {"kind": "raid5", "members": [{"count": 3, "device": "g2"}], "faults": faults}
    session = sledsim.Session(system, log=True)
    with connect(tmp_path / "x.db", session, cache_kib=8) as connection:
        connection.execute(f"{MAKE}; {FILL}")
        passed_ns = 200 * 10**9 - session.now_ns
        session.advance(200 * 10**9)
        with pytest.raises(apsw.IOError, match="failed"):
            connection.execute(ASK).fetchall()
        failed = connection.statements[-1]
        assert (failed.sql, failed.time_ns > 0, failed.reads > 0) == (ASK, True, True)
    # The other parts of a failed access count too; clock, log and statements agree.
    requests = session.result().requests
    assert requests.failed > 0
    found = connection.statements
    assert sum(each.reads + each.writes + each.syncs for each in found) == requests.completed + requests.failed
    assert found.time_ns + passed_ns == session.now_ns


def test_partially_failed_accesses_are_charged_completely(tmp_path: Path) -> None:
    """A file of two extents: a read across both finds one of them on a disk that has failed."""
    small = {"kind": "partition", "child": {"device": "g2"}, "first_block": 0, "bytes": "3 MiB"}
    lost = {"kind": "raid5", "members": [{"count": 3, "device": "g2"}]}
    lost["faults"] = [{"member": member, "fails_at_s": 100.0 + member} for member in (0, 1)]
    session = sledsim.Session({"kind": "volumes", "members": [small, lost]}, log=True)
    charges = Charges(session)
    charges.extents.lbns("other", 0, 1)
    charges.extents.lbns("file", 0, 1)
    charges.extents.lbns("other", EXTENT_BYTES, 1)
    session.advance(200 * 10**9)
    with pytest.raises(apsw.IOError, match="file: a request completed with status 'failed'"):
        charges.access("file", 0, EXTENT_BYTES + 4096, read=True)
    log, found = session.result().log, charges.statement
    assert (found.reads, found.read_bytes) == (2, EXTENT_BYTES + 4096)
    # The log has the served request, which completed last; the failed one has used energy, too.
    assert [found.time_ns] == log["response_ns"].tolist() == [session.now_ns - 200 * 10**9]
    assert found.energy_j > log["energy_j"].sum() > 0


def test_connections_sharing_a_session_have_separate_extents(tmp_path: Path) -> None:
    session = sledsim.Session("g2", log=True)
    places: list[set[int]] = []
    for name in ("a.db", "b.db", "a.db"):
        before = session.result().requests.completed
        with connect(tmp_path / name, session) as connection:
            # A journal is removed after each statement, and the next one may use its place.
            connection.execute(f"pragma journal_mode=memory; {MAKE if len(places) < 2 else ASK}").fetchall()
        rows = zip(*(session.result().log[name][before:] for name in ("lbn", "flush")), strict=True)
        places.append({int(lbn) // 2048 for lbn, flush in rows if not flush})
    assert places[0] & places[1] == set()
    assert places[2]
    assert places[2] <= places[0]
    one, other = Charges(session).extents, Charges(session).extents
    assert one.temporary_name() != other.temporary_name()
    assert Charges(sledsim.Session("g2")).extents is not one


def test_requests_of_the_program_are_not_charged_to_statements(tmp_path: Path) -> None:
    apart = {"kind": "volumes", "members": [{"count": 2, "device": "g2"}]}
    session = sledsim.Session(apart)
    with connect(tmp_path / "x.db", session) as connection:
        connection.execute(MAKE)
        last = session.capacity_blocks
        # One that is served, one that is refused, and one that takes longer than the statement.
        numbers = [session.submit(last - 8, 8), session.submit(last, 8), session.submit(last // 2, last // 2 - 8)]
        began_ns = session.now_ns
        connection.execute("insert into t values(1, 2)")
        assert session.under_way == 1
        assert connection.statements[-1].time_ns == session.now_ns - began_ns > 0
        assert connection.statements.time_ns == session.now_ns
        back = {each.id: each.status for each in session.drain()}
        assert back == dict(zip(numbers, ["served", "refused", "served"], strict=True))
        # A request scheduled later than the access of a statement is an error.
        session.submit(0, 8, at_ns=session.now_ns + 10**9)
        with pytest.raises(sledsim.SledsimError, match="time runs back"):
            connection.execute("insert into t values(2, 3)")
        assert len(session.drain()) == 1
        connection.execute("insert into t values(2, 4)")
        assert connection.execute("select text from t").fetchall() == [(2,), (4,)]


def test_connections_in_several_threads_take_turns(tmp_path: Path) -> None:
    session = sledsim.Session({"device": "g2", "scheduler": "sptf"}, log=True)
    connections = [connect(tmp_path / f"{number}.db", session, cache_kib=8) for number in range(4)]
    every_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(connections)) as pool:
            answers = list(pool.map(lambda each: each.execute(f"{MAKE}; {FILL}; {ASK}").fetchall(), connections))
    finally:
        sys.setswitchinterval(every_s)
    assert answers == [[(2000, 4001000, 3000)]] * 4
    for connection in connections:
        connection.close()
    found = [each for connection in connections for each in connection.statements]
    assert sum(each.time_ns for each in found) == session.now_ns
    assert sum(each.energy_j or 0 for each in found) == pytest.approx(sum(session.result().log["energy_j"]))


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
    # The chart draws the values of the tables: marks of each device, cold and warm, with the same sum.
    [marks] = json.loads(chart.read_text(encoding="utf-8"))["datasets"].values()
    heads = next(line.split() for line in shown.splitlines() if line.startswith("query"))[1:]
    assert heads[:3] == ["g1", "g2", "g3"]
    for cache, expected in zip(("cold", "warm"), sums, strict=True):
        drawn = [
            sum(mark["wait"] for mark in marks if (mark["device"], mark["cache"]) == (device, cache))
            for device in heads
        ]
        assert drawn == pytest.approx(expected, rel=1e-3, abs=0.1)


def test_sync_time_includes_the_write_back(tmp_path: Path) -> None:
    cached = {"kind": "ram-cache", "bytes": "8 MiB", "child": {"device": "atlas10k"}, "volatile": True}
    times = {}
    for synchronous in ("off", "full"):
        with connect(tmp_path / f"{synchronous}.db", cached) as connection:
            connection.execute(f"pragma synchronous={synchronous}; {MAKE}; {FILL}")
            times[synchronous] = connection.now_ns
            assert any(each.syncs for each in connection.statements) == (synchronous == "full")
    assert times["full"] > 2 * times["off"]


@pytest.mark.parametrize("name", ["a\x00b", "\ud800", "gone/x.db"])
def test_unopenable_files_are_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(sledsim.SledsimError, match="cannot be opened"):
        connect(tmp_path / name, "g2")


@pytest.mark.parametrize("size", [0, -1, 2**31, 10**5000, 1.5, "2", True], ids=lambda size: type(size).__name__)
def test_caches_of_size_zero_are_refused(tmp_path: Path, size: Any) -> None:
    with pytest.raises(sledsim.SledsimError, match="cache_kib"):
        connect(tmp_path / "x.db", "g2", cache_kib=size)


@pytest.mark.parametrize("path", [5, None, ["x.db"], 1.5])
def test_wrong_path_types_are_refused_like_the_standard_library(path: Any) -> None:
    for opens in (sqlite3.connect, lambda path: connect(path, "g2")):
        with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike object"):
            opens(path)


def test_paths_may_be_bytes(tmp_path: Path) -> None:
    with connect(bytes(tmp_path / "x.db"), "g2") as connection:
        connection.execute(MAKE)
    assert (tmp_path / "x.db").exists()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ((5,), TypeError),
        ((None,), TypeError),
        ((b"select 1",), TypeError),
        (("select ?", 5), TypeError),
        (("select ?", ({},)), TypeError),
        (("select ?", (2**70,)), OverflowError),
        (("select ?", ()), apsw.BindingsError),
        (("select :a", {}), KeyError),
    ],
    ids=str,
)
def test_wrong_statement_types_are_refused_by_apsw(
    tmp_path: Path, arguments: tuple[Any, ...], kind: type[Exception]
) -> None:
    plain = apsw.Connection(":memory:")
    with connect(tmp_path / "x.db", "g2") as connection:
        messages = []
        for execute in (plain.execute, connection.execute):
            with pytest.raises(kind) as caught:
                execute(*arguments).fetchall()
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert connection.execute("select 1").fetchall() == [(1,)]
        assert connection.statements.time_ns == connection.now_ns


@pytest.mark.parametrize("change", ["create table u(b)", "vacuum", "by another"])
def test_reprepared_statements_are_charged(tmp_path: Path, change: str) -> None:
    with connect(tmp_path / "a.db", "g2") as connection, connect(tmp_path / "a.db", connection.session) as other:
        connection.execute("create table t(a)")
        insert = "insert into t values (1)"
        connection.execute(insert)
        usual = connection.statements[-1]
        (other if change == "by another" else connection).execute("create table w(c)" if change[0] == "b" else change)
        outside = replace(connection.statements[0])
        connection.execute(insert)
        found = connection.statements
        assert [each.sql for each in found].count(insert) == 2
        assert found[0] == outside, "none of it belongs to no statement"
        last = found[-1]
        assert (last.sql, last.writes, last.syncs) == (insert, usual.writes, usual.syncs)
        assert found.time_ns + other.statements.time_ns == connection.now_ns


def test_reads_between_statements_are_charged_to_the_active_statement(tmp_path: Path) -> None:
    with connect(tmp_path / "a.db", "g2", cache_kib=1) as connection:
        connection.execute("create table t(a)")
        for _ in range(50):
            connection.execute("insert into t values (?)", ("x" * 3000,))
        rows = connection.execute("select a from t")
        next(rows)
        connection.execute("select 1").fetchall()
        before = connection.statements
        slow, quick = before[-2], before[-1]
        reads = slow.reads
        assert len(rows.fetchall()) == 49
        after = connection.statements
        assert after[-2].reads > reads
        assert after[-1].reads == quick.reads == 0
        assert after.time_ns == connection.now_ns


def test_unmodelled_energy_is_none(tmp_path: Path) -> None:
    with connect(tmp_path / "a.db", "atlas10k") as connection:
        connection.execute("create table t(a)")
        assert [each.energy_j for each in connection.statements] == [None, None]
        assert connection.statements.table().rows[1][-1] == "–"
        assert connection.statements.to_dict()["statements"][1]["energy_j"] is None
