"""Invalid input of machines: refused before anything is read, booted or written."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sledsim import SledsimError
from sledsim.machine import Guest, packages, run, run_each
from sledsim.machine.content import MOST_BYTES, MOST_DEPTH
from sledsim.machine.programs import PROGRAMS
from stand_in import WHOLE, entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the emulator of these tests is a script of a shell")


def refused(call: Callable[[], object], *says: str) -> None:
    """See a call refused, in such words."""
    with pytest.raises(SledsimError) as caught:
        call()
    for each in says:
        assert each in str(caught.value)


def on_device(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the files that the last machine found on its device: mode and content by name."""
    found = entries((folder / "bin" / "initramfs").read_bytes())
    return {name.removeprefix("content/"): each for name, each in found.items() if name.startswith("content/")}


@pytest.fixture
def called(
    machine: Path, emulated: Callable[..., None], sledsim_cli: Callable[..., Outcome], tmp_path: Path
) -> Callable[..., Outcome]:
    """Return a function that runs a command with a dummy machine, and checks that refusals boot nothing."""
    emulated(WHOLE)

    def call(*words: str | Path, system: str | Path = "g2") -> Outcome:
        done = sledsim_cli("machine", system, "--machine", machine, *words)
        assert (tmp_path / "bin" / "asked").exists() == (done.status != 2)
        return done

    return call


def test_links_are_stored_with_their_targets(machine: Path, emulated: Callable[..., None], tmp_path: Path) -> None:
    emulated(WHOLE)
    (tmp_path / "a.db").write_bytes(b"rows")
    (tmp_path / "stock.db").symlink_to("a.db")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"leaf")
    (tmp_path / "tree" / "inner").symlink_to("file")
    (tmp_path / "other").symlink_to("tree")
    run(
        "g2", command="ls", machine=machine, files=[tmp_path / "stock.db", tmp_path / "other", tmp_path / "tree" / ".."]
    )
    found = on_device(tmp_path)
    assert found["stock.db"] == (0o100644, b"rows")
    assert "a.db" not in found
    assert found["other/file"] == (0o100644, b"leaf")
    # Within a folder it leads where it led.
    assert found["other/inner"] == (0o120777, b"file")
    # A path of dots still has a name.
    assert found[f"{tmp_path.name}/a.db"] == (0o100644, b"rows")


def test_file_names_may_have_any_bytes(machine: Path, emulated: Callable[..., None], tmp_path: Path) -> None:
    emulated(WHOLE)
    path = tmp_path / os.fsdecode(b"n\xff.db")
    path.write_bytes(b"rows")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(path.name)
    run("g2", command=f"ls {path.name}", machine=machine, files=[path, tmp_path / "tree"])
    assert on_device(tmp_path)[path.name] == (0o100644, b"rows")
    assert on_device(tmp_path)["tree/link"] == (0o120777, b"n\xff.db")
    assert entries((tmp_path / "bin" / "initramfs").read_bytes())["command"][1] == b"ls n\xff.db\n"


def test_two_files_of_one_name_are_refused(called: Callable[..., Outcome], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f").write_text(folder)
    first, second = tmp_path / "one" / "f", tmp_path / "two" / "f"
    done = called("--file", first, "--file", second, "--", "ls")
    assert done.err == f"error: {second}: {first} has the name f on the device, too: rename one of them\n"


@pytest.mark.parametrize(("name", "own"), [("tpch", "tpch.db"), ("link", "objects"), ("fio", "job.fio")])
def test_a_programs_own_files_are_not_replaced(
    called: Callable[..., Outcome], tmp_path: Path, name: str, own: str
) -> None:
    (tmp_path / own).write_text("another")
    size = ("--size", "objects=1") if name == "link" else ()
    done = called("--program", name, *size, "--file", tmp_path / own)
    assert done.err == (f"error: {tmp_path / own}: {name} creates its own {own} on the device: rename this file\n")


def test_too_many_linked_objects_are_refused(called: Callable[..., Outcome]) -> None:
    assert called("--program", "link", "--size", "objects=2").err == "error: objects = 2: there are 1\n"
    assert called("--program", "link", "--size", "objects=1").status == 1


def test_special_files_are_refused_before_reading(called: Callable[..., Outcome], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "tree" / "within").mkdir(parents=True)
    os.mkfifo(tmp_path / "tree" / "within" / "pipe")
    for given, named in (
        (tmp_path / "pipe", tmp_path / "pipe"),
        (tmp_path / "tree", tmp_path / "tree" / "within" / "pipe"),
        ("/dev/zero", "/dev/zero"),
    ):
        done = called("--file", given, "--", "ls")
        assert done.err == f"error: {named}: not a regular file, folder or link: it can't be copied to a device\n"
    assert "a folder without a name" in called("--file", "/", "--", "ls").err
    assert "not a regular file" in called("--program", "fio", "/dev/zero").err
    done = called("--program", "fio", tmp_path / "tree")
    assert done.err == f"error: {tmp_path / 'tree'}: a folder, not a file\n"


def test_too_large_inputs_are_refused_before_reading(called: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "small").write_bytes(b"x")
    with (tmp_path / "tree" / "big").open("wb") as file:
        file.truncate(MOST_BYTES)
    done = called("--file", tmp_path / "small", "--file", tmp_path / "tree", "--", "ls")
    assert done.err.startswith(f"error: {tmp_path / 'tree' / 'big'}: the files up to this one exceed 536,870,912 bytes")


def test_too_deep_folders_are_refused(called: Callable[..., Outcome], tmp_path: Path) -> None:
    deepest = tmp_path.joinpath("d", *(["d"] * MOST_DEPTH))
    deepest.mkdir(parents=True)
    assert called("--file", tmp_path / "d", "--", "ls").status == 1
    (tmp_path / "bin" / "asked").unlink()
    (deepest / "d").mkdir()
    assert f"more than {MOST_DEPTH} levels of folders" in called("--file", tmp_path / "d", "--", "ls").err


def test_traces_do_not_overwrite_inputs(
    called: Callable[..., Outcome], tmp_path: Path, machine: Path, disk_file: Path
) -> None:
    scenario, device, job, other = (tmp_path / name for name in ("s.toml", "mine.toml", "jobs.fio", "read.csv"))
    device.write_bytes(disk_file.read_bytes())
    other.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n")
    scenario.write_text('system.device = "mine.toml"\nworkload = {kind = "trace", path = "read.csv"}\n')
    job.write_text("[a]")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "in").write_text("data")
    (tmp_path / "link").symlink_to("s.toml")
    asked: tuple[str | Path, ...] = ("--file", tmp_path / "tree", "--program", "fio", job)
    for trace, by in (
        (scenario, "SYSTEM"),
        (tmp_path / "link", "SYSTEM"),
        (device, "the scenario"),
        (other, "the scenario"),
        (job, "FILE"),
        (tmp_path / "tree" / "in", "--file"),
        (machine / "kernel", "--machine"),
    ):
        before = trace.read_bytes()
        done = called(*asked, "--trace", trace, system=scenario)
        assert done.err == f"error: --trace: {trace} is also used by {by}: name another file\n"
        assert trace.read_bytes() == before
    # A file that is no input is overwritten, as by other commands; arguments of the guest command are no inputs.
    (tmp_path / "t.csv").write_text("earlier")
    words = ("--trace", tmp_path / "t.csv", "--", "cat", tmp_path / "t.csv")
    assert called(*words, system=scenario).status == 1
    assert (tmp_path / "t.csv").read_text().startswith("t_ns,")


def test_unwritable_traces_are_refused_before_the_run(called: Callable[..., Outcome], tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "t.csv"
    assert called("--trace", target, "--", "ls").err == f"error: {target}: no folder {tmp_path / 'nowhere'}\n"
    assert called("--trace", tmp_path, "--", "ls").err == f"error: {tmp_path}: a folder, not a file\n"


@pytest.mark.parametrize(
    ("contents", "lacks"),
    [
        ({}, "contents.json has no packages"),
        ([], "contents.json has no packages"),
        ({"packages": {}, "modules": {}, "programs": {}}, "contents.json has no modules"),
        ({"packages": {}, "modules": []}, "contents.json has no programs"),
        ({"packages": {}, "modules": [], "programs": {"base": []}}, "there is no postmark among its programs"),
    ],
)
def test_incomplete_machines_name_missing_files(
    machine: Path, called: Callable[..., Outcome], contents: Any, lacks: str
) -> None:
    (machine / "contents.json").write_text(json.dumps(contents))
    done = called("--program", "postmark")
    assert done.err.startswith(f"error: --machine: the machine in {machine} is incomplete, {lacks}: `make machine`")


def test_incomplete_machines_have_no_package_list(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "contents.json").write_text("{}")
    monkeypatch.setenv("SLEDSIM_MACHINE", str(machine))
    refused(packages, "is incomplete, contents.json has no packages")


#: Arguments by name, with values of wrong types or out of range.
WRONG: list[tuple[str, Any]] = [
    *(("limit_s", each) for each in ("x", None, True, 0, -1, float("nan"))),
    *(("guest", each) for each in (5, {"cpu": 1})),
    *(("files", each) for each in (5, [5], [None], "ab", {"a": 1})),
    *(("job", each) for each in (5, b"x")),
    *(("machine", each) for each in (5, b"x")),
    *(("sizes", each) for each in (5, "x")),
    *(("overrides", each) for each in (5,)),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_wrong_argument_types_are_refused(machine: Path, name: str, value: Any) -> None:
    options: dict[str, Any] = {"machine": machine, name: value}
    refused(lambda: run("g2", "fio", **options), name)


@pytest.mark.parametrize("value", [5, None, [], np.array([1, 2])])
def test_programs_need_a_name(machine: Path, value: Any) -> None:
    refused(lambda: run("g2", value, machine=machine), "is not known")


@pytest.mark.parametrize("value", [5, None, "", " \n", "ls\0x", b"ls", "ls \ud800"])
def test_invalid_guest_commands_are_refused(machine: Path, value: Any) -> None:
    refused(lambda: run("g2", command=value, machine=machine), "command")


@pytest.mark.parametrize("value", [5, None, "", "a b", b"sync"])
def test_mount_options_must_be_text(value: Any) -> None:
    refused(lambda: Guest(mount=value), "mount", "is not a list of mount options, such as dirsync,noatime")


@pytest.mark.parametrize("options", [{"systems": 5}, {"systems": ["g2"]}, {"overrides": 5}, {"overrides": ["a"]}])
def test_systems_and_settings_need_names(machine: Path, options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"systems": {"g2": "g2"}, **options}
    refused(lambda: run_each(name="postmark", machine=machine, **given), *options)


def test_all_systems_are_checked_before_a_machine_boots(
    machine: Path, emulated: Callable[..., None], tmp_path: Path
) -> None:
    emulated(WHOLE)
    refused(lambda: run_each({"g2": "g2", "g9": "g9"}, "postmark", machine=machine, threads=1), "g9")
    assert not (tmp_path / "bin" / "asked").exists()


def test_every_program_and_its_sizes_are_documented() -> None:
    about = " ".join((run.__doc__ or "").split())
    for name, known in PROGRAMS.items():
        assert f'``"{name}"``' in about
        assert not known.sizes or f"``{json.dumps(known.sizes)}``" in about


def test_a_file_system_larger_than_the_device_is_refused(called: Callable[..., Outcome]) -> None:
    done = called("--file-system-mib", "100000", "--", "ls")
    assert (done.status, done.err) == (
        2,
        "error: --file-system-mib 100000 is out of range: expected a number of at most 3295\n",
    )
