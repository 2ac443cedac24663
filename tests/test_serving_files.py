"""The files of a served system: overwriting, protection and messages; names and settings."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sledsim
from test_serving import served

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a block device is served on Linux")

#: A device that a scenario names by its file.
DEVICE = "mechanism = 'mems'\nbase = 'g2'\n"
SCENARIO = "[system]\ndevice = 'mine.toml'\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "mine.toml").write_text(DEVICE)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "path", "other"),
    [
        ({"image": "same", "log": "same"}, "log", "image"),
        ({"image": "same", "log": "./same"}, "log", "image"),
        ({"socket": "same", "image": "same"}, "image", "socket"),
        ({"log": "s.toml"}, "log", "system"),
        ({"image": "link"}, "image", "system"),
        ({"log": "mine.toml"}, "log", "system"),
        ({"image": "mine.toml", "drop": True}, "image", "system"),
    ],
)
def test_files_of_other_formats_are_not_overwritten(
    folder: Path, options: dict[str, object], path: str, other: str
) -> None:
    (folder / "link").symlink_to("s.toml")
    with pytest.raises(sledsim.SledsimError, match=f"is also used by {other}: name another file") as caught:
        sledsim.runs.serve(folder / "s.toml", **options)  # type: ignore[arg-type]  # several types in one list
    assert (caught.value.path, caught.value.value) == (path, options[path])
    assert (folder / "s.toml").read_text() == SCENARIO
    assert (folder / "mine.toml").read_text() == DEVICE
    assert not (folder / "same").exists()


def test_the_command_does_not_overwrite_scenarios(sledsim_cli: Callable[..., Outcome], folder: Path) -> None:
    found = sledsim_cli("serve", "s.toml", "--log", "s.toml")
    says = "error: --log: s.toml is also used by SYSTEM: name another file\n"
    assert (found.status, found.err) == (2, says)
    found = sledsim_cli("serve", "g2", "--image", "a", "--log", "a")
    assert (found.status, found.err) == (2, "error: --log: a is also used by --image: name another file\n")
    found = sledsim_cli("serve", "g2", "--log", "x.toml")
    assert (found.status, found.err) == (2, "error: --log: x.toml: the log is CSV: name a file that ends in .csv\n")
    assert (folder / "s.toml").read_text() == SCENARIO


@pytest.mark.parametrize("drop", [False, True])
def test_files_that_are_no_image_are_not_changed(folder: Path, drop: bool) -> None:
    (folder / "thesis.txt").write_text("my thesis\n")
    with pytest.raises(sledsim.RunError, match=r"thesis\.txt: it has 10 bytes, and the device \d+:"):
        sledsim.runs.serve("g2", image="thesis.txt", drop=drop, log="log.csv")
    assert (folder / "thesis.txt").read_text() == "my thesis\n"
    assert not (folder / "log.csv").exists()


def test_logs_are_replaced_only_when_serving_starts(folder: Path) -> None:
    (folder / "log.csv").write_text("of an earlier time\n" * 100)
    (folder / "thesis.txt").write_text("my thesis\n")
    with pytest.raises(sledsim.RunError, match="image"):
        sledsim.runs.serve("g2", image="thesis.txt", log="log.csv")
    assert (folder / "log.csv").read_text() == "of an earlier time\n" * 100
    with served(folder, "--log", "log.csv") as server:
        server.end()
    header = "t_ns,device,offset_bytes,bytes,op,asked_ns,due_ns,sent_ns,response_ns"
    assert (folder / "log.csv").read_text() == f"{header}\n0,0,0,0,F,0,0,0,0\n"


def test_an_empty_file_becomes_a_store(folder: Path) -> None:
    (folder / "disk.img").touch()
    with served(folder, "--image", "disk.img") as server:
        client = server.client()
        assert (folder / "disk.img").stat().st_size == client.go()
        client.close()
        server.end()


def test_images_are_locked_by_one_server(folder: Path) -> None:
    with served(folder, "--image", "disk.img", "--log", "log.csv") as server:
        options: list[tuple[str, dict[str, str]]] = [
            ("image", {"image": "disk.img"}),
            ("image", {"image": "log.csv"}),
            ("log", {"log": "log.csv"}),
            ("log", {"log": "disk.img"}),
        ]
        for path, given in options:
            with pytest.raises(sledsim.RunError, match=f"^{path}: {given[path]}: another server uses it") as caught:
                sledsim.runs.serve("g2", socket="other.sock", **given)  # type: ignore[arg-type]  # none is a flag
            assert caught.value.path == path
        client = server.client()
        client.go()
        assert client.write(0, b"kept") == 0
        client.close()
        server.end()
    with (folder / "disk.img").open("rb") as image:
        assert image.read(4) == b"kept"
    assert len((folder / "log.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize("key", ["image", "log"])
@pytest.mark.parametrize("name", ["pipe", "/dev/null", "/dev/full", "folder"])
def test_special_files_do_not_block(folder: Path, key: str, name: str) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    with pytest.raises(sledsim.RunError) as caught:
        sledsim.runs.serve("g2", **{key: name})  # type: ignore[arg-type]  # none is a flag
    assert str(caught.value) == f"{key}: {name}: it is not a regular file"


@pytest.mark.parametrize("drop", [False, True])
def test_missing_log_folder_creates_no_image(folder: Path, drop: bool) -> None:
    with pytest.raises(sledsim.RunError, match=r"^log: no/such/folder/log: No such file"):
        sledsim.runs.serve("g2", image="disk.img", drop=drop, log="no/such/folder/log")
    assert not (folder / "disk.img").exists()


def test_empty_and_undecodable_names_are_refused(sledsim_cli: Callable[..., Outcome], folder: Path) -> None:
    for option in ("--socket", "--image", "--log"):
        found = sledsim_cli("serve", "g2", option, "")
        assert (found.status, found.err) == (2, f"error: {option}: no file has an empty name\n")
    found = sledsim_cli("serve", "")
    assert (found.status, '""' in found.err, "not known" in found.err) == (2, True, True), found.err
    found = sledsim_cli("serve", os.fsdecode(b"\xff"))
    assert (found.status, "no such file" in found.err) == (2, True), found.err
    assert not list(folder.glob("*.sock"))


def test_too_long_socket_paths_are_refused_with_the_limit(folder: Path) -> None:
    with pytest.raises(
        sledsim.RunError, match="has 200 bytes, more than the 107 that the path of a socket can have"
    ) as caught:
        sledsim.runs.serve("g2", socket="s" * 200, image="disk.img")
    assert caught.value.path == "socket"
    assert not (folder / "disk.img").exists()


def test_host_names_are_refused_as_addresses() -> None:
    with pytest.raises(sledsim.SledsimError, match="host names are not resolved") as caught:
        sledsim.runs.serve("g2", tcp="localhost:10809")
    assert caught.value.path == "tcp"


@pytest.mark.parametrize("flushes", [0, 2])
def test_results_without_requests_have_no_times(folder: Path, flushes: int) -> None:
    with served(folder) as server:
        if flushes:
            client = server.client()
            client.go()
            assert [client.ask(3) for _ in range(flushes)] == [0] * flushes
            client.close()
        found = server.end()
    nothing = dict.fromkeys(("on_time", "median_error_us", "p99_error_us", "trusted"))
    assert found["delivery"] == {"reads": 0, "writes": 0, "flushes": flushes, **nothing}


def interrupt_when_ready(*_: object) -> None:
    """Press Ctrl-C as soon as programs can connect."""
    raise KeyboardInterrupt


@pytest.mark.usefixtures("folder")
def test_tables_without_requests_have_a_note() -> None:
    found = sledsim.runs.serve("g2", ready=interrupt_when_ready)
    assert (found.on_time, found.trusted) == (None, None)
    assert str(found.table()).count("nothing was read or written") == 2
    rows = "\n".join(map(str, found.tables())).splitlines()
    [overhead] = [row for row in rows if row.startswith("overhead")]
    assert "0.2" not in overhead


@pytest.mark.parametrize(
    "setting", ["run.requests=5", "workload.kind=poisson", "workload={}", "run.time_s = 1", "run={requests=5}"]
)
def test_workload_settings_are_refused(sledsim_cli: Callable[..., Outcome], folder: Path, setting: str) -> None:
    with pytest.raises(sledsim.ScenarioError, match="programs are the workload"):
        sledsim.runs.serve("g2", overrides=[setting])
    found = sledsim_cli("serve", "s.toml", "--set", setting)
    assert found.status == 2
    assert found.err.startswith("error: --set ")
    assert setting in found.err
    assert not list(folder.glob("*.sock"))


def test_run_settings_are_ignored_except_warm_up(folder: Path) -> None:
    run = "[run]\nrequests = 5\nwarmup_requests = 1\n[workload]\nname = 'tpcc-like'\n[system]\ndevice = 'g2'\n"
    (folder / "whole.toml").write_text(run)
    for sets in ([], ["run.warmup_s=0"]):
        assert sledsim.runs.serve(Path("whole.toml"), overrides=sets, ready=interrupt_when_ready).reads == 0
