"""Servers and clients killed at random: acknowledged data survives, and file systems are consistent."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from shutil import which
from threading import Timer

import pytest

import nbd_client
from conftest import missing, size
from nbd_client import BLOCK_BYTES, BLOCKS, ZEROES, data_of
from test_serving import Server, served
from test_serving_programs import SMALL, address_of, require_fio, run
from waiting import sleep_randomly, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a block device is served on Linux")

#: Runs that end by a kill, of the server and of its client in turn: 50 with those of test_serving_guests.py.
ROUNDS, ROUNDS_OF_A_FILE_SYSTEM = size(4, 26), size(3, 16)
#: A client in its own process, which prints its requests and their replies.
WRITES = [sys.executable, nbd_client.__file__]


@contextmanager
def ended(end: Callable[[], object], after_s: float) -> Iterator[None]:
    """End a process or its connection after a while, at the latest when the other work is done."""
    timer = Timer(after_s, end)
    timer.start()
    try:
        yield
    finally:
        timer.join()


@contextmanager
def writing(server: Server, log: Path, seed: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a writing process; yield it after its first reply."""
    with log.open("wb") as out, subprocess.Popen([*WRITES, server.socket, str(seed)], stdout=out) as client:
        try:
            assert wait_until(lambda: b"answered" in log.read_bytes(), client), "it ended before it wrote"
            yield client
        finally:
            client.kill()


def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    moments, log = Random(3), tmp_path / "log"
    # Possible contents of a block: the last acknowledged one and those requested after it.
    may_hold = [[bytes(BLOCK_BYTES)] for _ in range(BLOCKS)]
    answered = 0
    for number in range(ROUNDS + 1):
        with served(tmp_path, "--image", "disk.img", system=SMALL) as server:
            reader = server.client()
            reader.go()
            for block, values in enumerate(may_hold):
                found = reader.read(block * BLOCK_BYTES, BLOCK_BYTES)
                assert found in values
                may_hold[block] = [found]
            if number == ROUNDS:
                break
            with writing(server, log, number) as client:
                sleep_randomly(moments, 0.3)
                if number % 2:
                    server.process.kill()
                    assert client.wait(timeout=600) == 0
                else:
                    client.kill()
            if number % 2 == 0:
                # A client that is gone in the middle of a request, or of an answer, leaves the server as it was.
                reader.close()
                server.end()
        asked: dict[int, tuple[int, bytes]] = {}
        # A line that was cut is none.
        for what, cookie, *of in map(str.split, log.read_text().split("\n")[:-1]):
            if what == "asked":
                block, data = int(of[0]), data_of(int(of[1]))
                may_hold[block].append(data)
                asked[int(cookie)] = block, data
            elif int(cookie) in asked:
                block, data = asked[int(cookie)]
                values = may_hold[block]
                may_hold[block] = values[values.index(data) if data in values else 0 :]
                answered += 1
    assert answered > 10 * ROUNDS


def test_fio_verifies_its_writes_after_a_server_restart(tmp_path: Path) -> None:
    require_fio(tmp_path)
    job = ["--ioengine=nbd", f"--uri={address_of(tmp_path)}", "--rw=randwrite", "--bs=4k", "--iodepth=8", "--size=4m"]
    job += ["--verify=crc32c", "--verify_fatal=1", "--output-format=json", "--output=found.json"]
    kept, cut_off = ["--name=kept", *job], ["--name=cut-off", *job, "--offset=4m", "--time_based", "--runtime=60"]
    with served(tmp_path, "--image", "disk.img", system=SMALL) as server:
        run("fio", *kept, "--do_verify=0", "--end_fsync=1", folder=tmp_path)
        written = (tmp_path / "disk.img").stat().st_blocks
        with subprocess.Popen(["fio", *cut_off, "--do_verify=0"], cwd=tmp_path, stderr=subprocess.DEVNULL) as fio:
            assert wait_until(lambda: (tmp_path / "disk.img").stat().st_blocks > written, fio)
            sleep_randomly(Random(5), 0.5)
            server.process.kill()
        assert fio.returncode != 0
    with served(tmp_path, "--image", "disk.img", system=SMALL) as server:
        run("fio", *kept, "--verify_only", folder=tmp_path)
        [found] = json.loads((tmp_path / "found.json").read_text())["jobs"]
        assert (found["error"], found["read"]["total_ios"]) == (0, 1024)
        # A block is lost, as far as fio can see: it notices.
        reader = server.client()
        reader.go()
        assert reader.ask(ZEROES, 1 << 20, 4096) == 0
        lost = subprocess.run(["fio", *kept, "--verify_only"], cwd=tmp_path, stderr=subprocess.DEVNULL)
        assert lost.returncode != 0
        server.end()


@contextmanager
def file_system(folder: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """Mount the file system on a served device, which replays its journal. Yield a function that kills the client."""
    device, mounted = folder / "device", folder / "mounted"
    device.touch()
    mounted.mkdir(exist_ok=True)
    with subprocess.Popen(["nbdfuse", str(device), address_of(folder)], stderr=subprocess.DEVNULL) as fuse:
        try:
            assert wait_until(lambda: device.stat().st_size, fuse)
            if not (folder / "made").exists():
                subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", device], check=True)
                (folder / "made").touch()
            subprocess.run(["mount", "-o", "loop", device, mounted], check=True)
            yield mounted, fuse.kill
        finally:
            subprocess.run(["umount", mounted], stderr=subprocess.DEVNULL)
            # The kernel may still be detaching the loop device from the file.
            subprocess.run(["umount", "--lazy", device], stderr=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                fuse.wait(timeout=600)
            fuse.kill()


def mount_refusal() -> str | None:
    """Return the reason if this machine does not allow mounting a file system."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        return "only root mounts, where there are FUSE and loop devices"
    return None


def missing_program() -> str | None:
    """Return which program it takes that is not here."""
    return next((f"{each} is not installed" for each in ("nbdfuse", "mke2fs", "e2fsck") if not which(each)), None)


@pytest.mark.skipif(mount_refusal() is not None, reason=mount_refusal() or "")
def test_file_system_is_consistent_and_has_every_synced_file(tmp_path: Path) -> None:
    if says := missing_program():
        missing(says)
    random = Random(4)
    synced: dict[str, bytes] = {}
    found_again = 0
    for number in range(ROUNDS_OF_A_FILE_SYSTEM):
        with served(tmp_path, "--image", "disk.img", system=SMALL) as server:
            with file_system(tmp_path) as (mounted, _):
                for name, data in synced.items():
                    assert (mounted / name).read_bytes() == data
                    found_again += 1
                for name in random.sample(sorted(synced), len(synced) // 2):
                    (mounted / name).unlink()
                    del synced[name]
            check = subprocess.run(["e2fsck", "-fn", tmp_path / "disk.img"], capture_output=True, text=True)
            assert check.returncode == 0, check.stdout
            with (
                file_system(tmp_path) as (mounted, kill_client),
                ended(server.process.kill if number % 2 else kill_client, random.uniform(0.25, 0.7)),
                suppress(OSError),
            ):
                for each in range(10_000):
                    name, data = f"{number}-{each}", random.randbytes(random.randint(1, 20_000))
                    with (mounted / name).open("wb") as file:
                        file.write(data)
                        file.flush()
                        os.fsync(file.fileno())
                    folder = os.open(mounted, os.O_RDONLY)
                    os.fsync(folder)
                    os.close(folder)
                    synced[name] = data
                    if each % 8 == 7:
                        # The disk has space for only some of the files.
                        oldest = next(iter(synced))
                        del synced[oldest]
                        (mounted / oldest).unlink()
    assert found_again >= ROUNDS_OF_A_FILE_SYSTEM


def test_missing_programs_for_mounting_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing_program() == "nbdfuse is not installed"
    for name in ("nbdfuse", "mke2fs"):
        (tmp_path / name).touch(mode=0o755)
    assert missing_program() == "e2fsck is not installed"
