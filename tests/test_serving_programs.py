"""Other programs on a served device read back the data they wrote. Each test names the program that it needs."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from shutil import which

import pytest

from conftest import ROOT, missing
from test_serving import served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a block device is served on Linux")

MIB = 1 << 20
#: A small device, so that a whole copy of it is soon made; it takes no time worth mentioning.
SMALL = """scheduler = "fcfs"
device = { name = "simpledisk-constant", capacity_blocks = 16384, access_ms = 0.01 }"""


def run(program: str, *arguments: str, folder: Path) -> str:
    """Run a program; return its output. If it is missing, skip the test, or fail in CI."""
    if not which(program):
        missing(f"{program} is not installed")
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def require_fio(folder: Path) -> None:
    """Skip a test where there is no fio that speaks to network block devices, or fail it in CI."""
    if "nbd" not in run("fio", "--enghelp", folder=folder).split():
        missing("fio has no engine for network block devices")


def address_of(folder: Path) -> str:
    """Return the address of the server in a folder."""
    return f"nbd+unix:///?socket={folder / 's.sock'}"


def test_fio_verifies_its_writes(tmp_path: Path) -> None:
    require_fio(tmp_path)
    with served(tmp_path, "--log", "log.csv", system=SMALL) as server:
        job = [
            "--name=verified",
            "--ioengine=nbd",
            f"--uri={address_of(tmp_path)}",
            "--rw=randwrite",
            "--bs=4k",
            "--size=4m",
        ]
        job += ["--iodepth=8", "--verify=crc32c", "--fsync=64", "--output-format=json", "--output=found.json"]
        run("fio", *job, folder=tmp_path)
        [found] = json.loads((tmp_path / "found.json").read_text())["jobs"]
        server.end()
    assert (found["error"], found["write"]["total_ios"], found["read"]["total_ios"]) == (0, 1024, 1024)
    accesses = [line for line in (tmp_path / "log.csv").read_text().splitlines()[1:] if line.split(",")[4] != "F"]
    assert len(accesses) == 2048


def test_libnbd_reads_the_export_and_copies_both_ways(tmp_path: Path) -> None:
    data = Random(1).randbytes(8 * MIB)
    (tmp_path / "in").write_bytes(data)
    with served(tmp_path, "--image", "disk.img", system=SMALL) as server:
        [export] = json.loads(run("nbdinfo", "--json", address_of(tmp_path), folder=tmp_path))["exports"]
        assert export["export-size"] == len(data)
        offers = ("can_flush", "can_fua", "can_multi_conn", "can_trim", "can_zero")
        assert all(export[each] for each in offers)
        assert not export["is_read_only"]
        run("nbdcopy", "--flush", "in", address_of(tmp_path), folder=tmp_path)
        run("nbdcopy", address_of(tmp_path), "out", folder=tmp_path)
        server.end()
    assert (tmp_path / "out").read_bytes() == data == (tmp_path / "disk.img").read_bytes()


def test_qemu_img_converts_and_compares(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(Random(2).randbytes(4 * MIB) + bytes(4 * MIB))
    with served(tmp_path, system=SMALL) as server:
        run("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", "in", address_of(tmp_path), folder=tmp_path)
        assert "identical" in run(
            "qemu-img", "compare", "-f", "raw", "-F", "raw", "in", address_of(tmp_path), folder=tmp_path
        )
        server.end()


def test_nbdkit_reads_and_writes_through_its_own_client(tmp_path: Path) -> None:
    data = Random(5).randbytes(8 * MIB)
    (tmp_path / "in").write_bytes(data)
    copies = 'nbdcopy --flush in "$uri" && nbdcopy "$uri" out'
    with served(tmp_path, "--image", "disk.img", system=SMALL) as server:
        run("nbdkit", "--exit-with-parent", "nbd", f"socket={server.socket}", "--run", copies, folder=tmp_path)
        delivery = server.end()["delivery"]
    assert isinstance(delivery, dict)
    assert min(delivery["reads"], delivery["writes"], delivery["flushes"]) > 0
    assert (tmp_path / "out").read_bytes() == data == (tmp_path / "disk.img").read_bytes()


def test_missing_programs_are_named_and_fail_in_the_full_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for value, outcome in (("", pytest.skip.Exception), ("true", pytest.fail.Exception)):
        monkeypatch.setenv("CI", value)
        with pytest.raises(outcome, match="fio is not installed"):
            run("fio", "--version", folder=tmp_path)


def test_the_setup_script_installs_every_tested_program() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for program in ("fio", "nbdkit", "nbdinfo", "nbdcopy", "nbdfuse", "qemu-img", "mke2fs", "e2fsck", "debugfs"):
        assert f" {program}:" in script.replace("(", " ").replace("\n", " "), program
