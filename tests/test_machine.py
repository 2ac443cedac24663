"""Machines in virtual time, without an emulator: inputs, outputs and errors."""

from __future__ import annotations

import json
import sys
import tarfile
from collections import Counter
from math import exp
from pathlib import Path
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Any

import pytest

import machine_build
from sledsim import RunError, SledsimError
from sledsim.machine import Guest, is_there, run, run_each
from sledsim.machine.archive import Archive
from sledsim.machine.assembled import Assembled
from sledsim.machine.browsing import Cache, browsing
from sledsim.machine.description import FILE_SYSTEMS
from sledsim.machine.emulation import unpack_results
from sledsim.machine.programs import program
from sledsim.machine.running import _path_us
from sledsim.machine.sources import sources
from stand_in import NOTES, TRACE, WHOLE, entries, sent

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the emulator of these tests is a script of a shell")


def test_an_archive_has_folders_before_files_modes_and_links(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "run").write_bytes(b"#!")
    (tmp_path / "tree" / "run").chmod(0o755)
    (tmp_path / "tree" / "link").symlink_to("run")
    archive = Archive()
    archive.file("a/b/c", b"12345")
    archive.file("a/b/d", b"", runs=True)
    archive.link("e", "a/b/c")
    archive.copy("t", tmp_path / "tree")
    archive.file("a/b/c", b"another of that name is left out")
    archive.write(tmp_path / "one")
    found = entries((tmp_path / "one").read_bytes())
    assert list(found) == ["a", "a/b", "a/b/c", "a/b/d", "e", "t", "t/link", "t/run"]
    assert found["a/b"] == (0o040755, b"")
    assert found["a/b/c"] == (0o100644, b"12345")
    assert found["a/b/d"] == (0o100755, b"")
    assert found["e"] == (0o120777, b"a/b/c")
    assert found["t/link"] == (0o120777, b"run")
    assert found["t/run"] == (0o100755, b"#!")


@pytest.mark.parametrize(
    ("cpu", "shift", "dilation"), [(1, 0, 1.0), (0.5, 1, 1.0), (2, 0, 2.0), (0.75, 1, 1.5), (0.25, 2, 1.0)]
)
def test_processor_speed_follows_the_setting(cpu: float, shift: int, dilation: float) -> None:
    guest = Guest(cpu=cpu)
    assert (guest.shift, guest.dilation) == (shift, dilation)
    assert guest.dilation / 2**guest.shift == cpu


def test_size_of_the_file_system_is_an_argument_of_its_command() -> None:
    assert Guest(file_system="ext2").make_arguments == (FILE_SYSTEMS["ext2"], "")
    assert Guest(file_system="ext2", file_system_mib=2048).make_arguments == (FILE_SYSTEMS["ext2"], "2048m")
    assert Guest(file_system="xfs", file_system_mib=2048).make_arguments == (
        f"{FILE_SYSTEMS['xfs']} -d size=2048m",
        "",
    )


@pytest.mark.parametrize(
    ("given", "path", "kind"),
    [
        ({"memory_mib": 8}, "memory_mib", "out-of-range"),
        ({"memory_mib": 1.5}, "memory_mib", "out-of-range"),
        ({"cpu": 0}, "cpu", "out-of-range"),
        ({"cpu": "fast"}, "cpu", "out-of-range"),
        ({"file_system": "ffs"}, "file_system", "unknown-name"),
        ({"cache": "hot"}, "cache", "unknown-name"),
        ({"mount": "sync; reboot"}, "mount", "misfit"),
        ({"read_ahead_kib": -1}, "read_ahead_kib", "out-of-range"),
        ({"file_system_mib": 10}, "file_system_mib", "out-of-range"),
    ],
)
def test_invalid_guests_are_refused(given: dict[str, Any], path: str, kind: str) -> None:
    with pytest.raises(SledsimError) as refused:
        Guest(**given)
    [fault] = refused.value.faults
    assert (fault.path, fault.kind) == (path, kind)


def test_each_program_has_its_command_and_files(machine: Path, tmp_path: Path) -> None:
    def find() -> Assembled:
        return Assembled(machine, json.loads((machine / "contents.json").read_text()))

    assert "set number 20\n" in program("postmark", find, {"files": 20}).script
    assert program("link", find, {"objects": 1}).files == {"objects/a.o": machine / "objects" / "a.o"}
    assert set(program("tpch", find).files) == {"tpch.db", "4.sql"}
    assert len(program("andrew", find).files) == 72
    (tmp_path / "jobs").write_text("[a]")
    assert program("fio", find, job=tmp_path / "jobs").files == {"job.fio": tmp_path / "jobs"}
    asked = program("command", find, command="ls", files=[tmp_path / "jobs"])
    assert (asked.script, asked.files) == ("ls\n", {"jobs": tmp_path / "jobs"})


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("bonnie", {}, "is not known (known: postmark"),
        ("postmark", {"sizes": {"folder": 3}}, "no size 'folder'; did you mean folders?"),
        ("postmark", {"sizes": {"files": 0}}, "files = 0 is not a whole number from 1 to"),
        ("browse", {"sizes": {"cache_kib": 0}}, "cache_kib = 0 is not a whole number from 1 to"),
        ("browse", {"sizes": {"pause_ms": -1}}, "pause_ms = -1 is not a whole number from 0 to"),
        ("browse", {"sizes": {"pages": 100_000, "visits": 20_000}}, "visits = 20000 to pages = 100000 need "),
        ("tpch", {"sizes": {"last": 9}}, "expected from 4 to 4, the last query"),
        ("tpch", {"sizes": {"scale_percent": 5}}, "scale_percent = 5: the machine has databases of 1"),
        ("postmark", {"job": "x"}, "a job file needs the program fio"),
        ("fio", {"job": "nothing.fio"}, "no such file"),
        ("fio", {"command": "ls"}, "not both"),
        ("command", {}, "the command is missing"),
        ("command", {"command": "ls", "files": ["nothing"]}, "no such file"),
    ],
)
def test_invalid_programs_are_refused(machine: Path, name: str, options: dict[str, Any], says: str) -> None:
    made = Assembled(machine, json.loads((machine / "contents.json").read_text()))
    with pytest.raises(SledsimError) as refused:
        program(name, lambda: made, **options)
    assert says in str(refused.value)


def test_missing_machine_error_has_the_remedy(
    sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLEDSIM_MACHINE", "nowhere")
    found = sledsim_cli("machine", "g2", "--program", "fio")
    assert found.status == 2
    assert found.err.startswith("error: --machine: there is no machine in nowhere: `make machine`")
    assert machine_build.KERNEL in found.err
    assert "SLEDSIM_MACHINE names its folder" in found.err


@pytest.mark.parametrize("what", ["kernel", "a folder"])
def test_error_of_a_missing_kernel_names_its_package(
    machine: Path, sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (machine / "kernel").unlink()
    if what == "a folder":
        (machine / "kernel").mkdir()
    found = sledsim_cli("machine", "g2", "--machine", machine, "--", "ls")
    assert found.status == 2
    assert found.err.startswith(
        f"error: --machine: {machine / 'kernel'} is missing, the machine's kernel: `make machine`"
    )
    assert found.err.rstrip().endswith(f"Debian's package {machine_build.KERNEL}")
    monkeypatch.setenv("SLEDSIM_MACHINE", str(machine))
    assert not is_there()


def test_sources_are_reproducible_and_named_once() -> None:
    files = sources()
    assert files == sources()
    assert files != sources(2)
    assert 100_000 < sum(map(len, files.values())) < 300_000


def test_browsed_pages_are_reproducible_and_fit_the_cache(machine: Path) -> None:
    def find() -> Assembled:
        return Assembled(machine, json.loads((machine / "contents.json").read_text()))

    sizes = {"pages": 50, "visits": 200, "cache_kib": 1024}
    asked = program("browse", find, sizes)
    assert asked == program("browse", find, sizes)
    # A shell, a server and a client are in every machine.
    assert asked.needs == ()
    index = asked.files.pop("cache/index")
    assert isinstance(index, bytes)
    kept = {name: int(size) for name, size in map(str.split, index.decode().splitlines())}
    assert 0 < sum(kept.values()) <= 1 << 20
    for name, size in kept.items():
        content = asked.files.pop(f"cache/{name}")
        assert isinstance(content, bytes)
        assert len(content) == size
        assert asked.memory[f"web/pages/{name}"] == content
    assert not asked.files
    visits = [line.split() for line in asked.memory["web/visits"].decode().splitlines()]
    assert len(visits) == 200
    assert {pause for pause, *_ in visits} == {"0"}
    looked_at = {name for _, *page in visits for name in page}
    assert {f"web/pages/{name}" for name in looked_at | set(kept)} == set(asked.memory) - {"web/visits"}


def test_page_choice_follows_the_documented_distribution() -> None:
    drawn = browsing(500, 20_000, 1 << 20, 400)
    assert drawn != browsing(500, 20_000, 1 << 20, 400, seed=2)
    sizes = sorted(drawn.sizes.values())
    # Sizes are lognormal but for 7 %, so that the median of all is that of the lognormal's 0.5 / 0.93.
    assert sizes[len(sizes) // 2] == pytest.approx(exp(9.357 + 1.318 * NormalDist().inv_cdf(0.5 / 0.93)), rel=0.15)
    assert sum(size >= 133_000 for size in sizes) / len(sizes) == pytest.approx(0.07 + 0.93 * 0.034, abs=0.02)
    pages = Counter(page[0] for page in drawn.visits)
    # Of 500 pages by Zipf's law the first has 1 / 6.79 of all visits, the tenth a tenth of that.
    assert pages["p0o0"] / 20_000 == pytest.approx(1 / 6.79, rel=0.1)
    assert pages["p9o0"] / pages["p0o0"] == pytest.approx(0.1, rel=0.2)
    assert fmean(drawn.pauses_s) == pytest.approx(0.4, rel=0.05)


def test_oldest_entries_are_evicted_until_the_rest_fits() -> None:
    cache, sizes = Cache(10), {"a": 4, "b": 4, "c": 4, "d": 11}
    cache.look("ab", sizes)
    cache.look("ac", sizes)
    assert list(cache.kept) == ["b", "c"]
    assert (cache.fetched, cache.found, cache.removed) == (3, 1, 1)
    cache.look("d", sizes)
    assert (list(cache.kept), cache.removed) == ([], 4)


def test_server_path_is_reported_where_kernel_milliseconds_suffice() -> None:
    rows = [{"op": letter, "response_ns": "500000"} for letter in ["R"] * 99 + ["W"] * 200]
    notes = {"synced_disk": "99 0 792 60 200 0 1600 110 0 0 0"}
    assert _path_us(rows, notes, Guest()) == pytest.approx(50), "of writes: 110 ms for 200"
    rows, notes["synced_disk"] = [*rows, {"op": "RF", "response_ns": "500000"}], "100 0 800 60 200 0 1600 110 0 0 0"
    assert _path_us(rows, notes, Guest()) == pytest.approx(100), "of reads: 60 ms for 100"
    assert _path_us(rows[:99], notes, Guest()) is None


def test_guest_output_becomes_times_trace_and_result(
    machine: Path, emulated: Callable[..., None], tmp_path: Path
) -> None:
    emulated(WHOLE)
    found = run("g2", command="false", machine=machine, guest=Guest(cpu=0.5))
    asked = (tmp_path / "bin" / "asked").read_text()
    assert "shift=1,sleep=off" in asked
    assert "-smp 1 " in asked
    assert (found.status, found.output, found.requests) == (3, "done\n", 2)
    assert (found.run_ms, found.user_ms, found.system_ms, found.waiting_ms) == (200, 60, 20, 120)
    assert (found.kernel_ms, found.server_ms, found.sync_ms) == (0.02, 0.3, 10)
    assert (found.starts_s, found.ends_s) == (0.5, 0.7)
    assert found.path_us is None, "the kernel's whole ms say little of two requests"
    assert (found.result.requests.warmup, found.result.requests.completed) == (2, 5)
    assert found.trace == TRACE.encode()
    assert "output" in str(found)
    assert json.loads(found.to_json())["processor_ms"] == 80


def test_device_times_are_used_where_the_guest_clock_is_slower(machine: Path, emulated: Callable[..., None]) -> None:
    emulated(WHOLE)
    found = run("g2", command="false", machine=machine, guest=Guest(cpu=2))
    assert (found.run_ms, found.user_ms, found.starts_s) == (100, 30, 0.25)


def test_systems_run_side_by_side(machine: Path, emulated: Callable[..., None]) -> None:
    emulated(WHOLE)
    found = run_each({"g1": "g1", "atlas10k": "atlas10k"}, "postmark", machine=machine, threads=2)
    assert list(found.runs) == ["g1", "atlas10k"]
    energies = [run.result.summary["energy"] for run in found.runs.values()]
    assert energies[0] != energies[1]
    [header, *_] = str(found.table()).splitlines()[1:]
    assert header.split() == ["g1", "atlas10k"]


@pytest.mark.parametrize(
    ("archive", "status", "says"),
    [
        (b"", 0, "the guest ended before its program did; last lines of its console:\n  Booting\n  Kernel panic"),
        (WHOLE[:300], 0, "the guest ended before its program did"),
        (WHOLE, 1, "QEMU ended with status 1"),
        (sent(failed="mount -o nonsense: Invalid argument\n"), 0, "mount -o nonsense: Invalid argument"),
        (
            sent(notes=NOTES.replace("served=0", "served=2"), served="error: no session", trace_csv=TRACE),
            0,
            "no session",
        ),
    ],
)
def test_error_of_a_failed_guest_has_the_reason(
    machine: Path, emulated: Callable[..., None], archive: bytes, status: int, says: str
) -> None:
    emulated(archive, console="Booting\nKernel panic - not syncing\n", status=status)
    with pytest.raises(RunError) as failed:
        run("g2", "postmark", machine=machine)
    assert says in str(failed.value)


def test_hanging_guests_time_out(machine: Path, emulated: Callable[..., None]) -> None:
    emulated(b"", console="waiting for ever\n", seconds=20)
    with pytest.raises(RunError, match=r"not done after 0\.2 s; last lines of its console:\n  waiting for ever"):
        run("g2", "postmark", machine=machine, limit_s=0.2)


def test_missing_tools_are_named_with_their_package(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLEDSIM_MACHINE", str(tmp_path / "nothing"))
    with pytest.raises(SledsimError, match="`make machine`"):
        run("g2", "postmark")
    monkeypatch.setenv("SLEDSIM_MACHINE", str(machine))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SledsimError, match=r"qemu-system-x86_64, .*, is missing.* package qemu-system-x86"):
        run("g2", "postmark")


def test_truncated_archives_are_refused() -> None:
    assert unpack_results(WHOLE)["output"] == b"done\n"
    with pytest.raises((tarfile.TarError, EOFError)):
        unpack_results(WHOLE[:-40])


def test_the_command_prints_times_and_exit_status(
    machine: Path, emulated: Callable[..., None], tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    emulated(WHOLE)
    trace = tmp_path / "requests.csv"
    done = sledsim_cli("machine", "g2", "--machine", machine, "--trace", trace, "--", "ls", "-l")
    assert done.status == 1
    assert "command, exit status 3" in done.out
    assert trace.read_bytes() == TRACE.encode()
    replayed = sledsim_cli("replay", trace, "--device", "g2", "--json")
    assert json.loads(replayed.out)["requests"]["completed"] == 5


def test_libraries_and_links_are_resolved_like_the_loader(tmp_path: Path) -> None:
    shell = Path("/bin/sh").resolve().read_bytes()
    if shell[:5] != b"\x7fELF\x02":
        pytest.skip("the shell is no program of 64 bits of ELF")
    names = machine_build.linked(shell)
    assert any(name.startswith("libc.") or "ld-" in name for name in names)
    assert machine_build.linked(b"#!/bin/sh\n") == []
    tree = tmp_path / "usr"
    for name, end in (("bin/a", "b"), ("bin/b", "/lib/c"), ("lib/c", "../../lib/d"), ("lib/e", "/usr/lib/d")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(end)
    (tree / "lib" / "d").write_bytes(b"end")
    assert list(machine_build.needed(tree, ["bin/a"])) == ["bin/a", "bin/b", "lib/c", "lib/d"]
    assert list(machine_build.needed(tree, ["lib/e"])) == ["lib/e", "lib/d"]
