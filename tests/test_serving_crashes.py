"""Servers and clients killed at random: what was answered and flushed is there again, and a file system is whole."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from shutil import which
from socket import SHUT_RDWR
from threading import Timer

import pytest

from conftest import missing
from test_serving import FLUSH, FUA, WRITE, served
from test_serving_programs import SMALL, at
from waiting import until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a block device is served on Linux"),
    pytest.mark.slow,
]

#: Runs that end by a kill, of the server and of its client in turn: 50 with those of test_serving_guests.py.
ROUNDS, ROUNDS_OF_A_FILE_SYSTEM = 26, 16
BLOCKS, BLOCK_BYTES = 64, 4096


@contextmanager
def ended(end: Callable[[], object], after_s: float) -> Iterator[None]:
    """End a process, or what it is connected by, after a while, and not later than what is done meanwhile."""
    timer = Timer(after_s, end)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def test_what_was_answered_is_there_again_and_nothing_else(tmp_path: Path) -> None:
    random = Random(3)
    # What a block may hold: what was answered last, and what was asked for after that.
    may_hold = [[bytes(BLOCK_BYTES)] for _ in range(BLOCKS)]
    answered = 0
    for number in range(ROUNDS):
        with served(tmp_path, "--image", "disk.img", system=SMALL) as server:
            client = server.client()
            client.go()
            for block, values in enumerate(may_hold):
                found = client.read(block * BLOCK_BYTES, BLOCK_BYTES)
                assert found in values
                may_hold[block] = [found]
            asked: dict[int, tuple[int, bytes]] = {}
            # A client that is killed leaves its connection cut, in the middle of a request or of an answer.
            kill = server.process.kill if number % 2 else partial(client.socket.shutdown, SHUT_RDWR)
            with ended(kill, random.uniform(0.0, 0.3)), suppress(EOFError, OSError):
                while True:
                    for _ in range(random.randint(1, 8)):
                        block, data = random.randrange(BLOCKS), random.randbytes(BLOCK_BYTES)
                        may_hold[block].append(data)
                        flags = FUA if random.random() < 0.2 else 0
                        cookie = client.send(WRITE, block * BLOCK_BYTES, BLOCK_BYTES, data, flags)
                        asked[cookie] = (block, data)
                    if random.random() < 0.3:
                        client.send(FLUSH)
                    while asked:
                        error, cookie = client.answer()
                        assert error == 0
                        if cookie in asked:
                            block, data = asked.pop(cookie)
                            values = may_hold[block]
                            may_hold[block] = values[values.index(data) if data in values else 0 :]
                            answered += 1
    assert answered > 100


@contextmanager
def file_system(folder: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """Mount the file system on a served device: its journal is replayed. Give what kills the client, too."""
    device, mounted = folder / "device", folder / "mounted"
    device.touch()
    mounted.mkdir(exist_ok=True)
    with subprocess.Popen(["nbdfuse", str(device), at(folder)], stderr=subprocess.DEVNULL) as fuse:
        try:
            assert until(lambda: device.stat().st_size, fuse)
            if not (folder / "made").exists():
                subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", device], check=True)
                (folder / "made").touch()
            subprocess.run(["mount", "-o", "loop", device, mounted], check=True)
            yield mounted, fuse.kill
        finally:
            subprocess.run(["umount", mounted], stderr=subprocess.DEVNULL)
            subprocess.run(["umount", device], stderr=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                fuse.wait(timeout=10)
            fuse.kill()


def refused() -> str | None:
    """Return what a mounted file system takes that this machine does not allow: nobody can install it."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        return "only root mounts, where there are FUSE and loop devices"
    return None


def lacking() -> str | None:
    """Return which program it takes that is not here."""
    return next((f"{each} is not installed" for each in ("nbdfuse", "mke2fs", "e2fsck") if not which(each)), None)


@pytest.mark.skipif(refused() is not None, reason=refused() or "")
def test_a_file_system_is_whole_and_has_every_file_that_was_synced(tmp_path: Path) -> None:
    if says := lacking():
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
                ended(server.process.kill if number % 2 else kill_client, random.uniform(0.05, 0.5)),
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
                        # There is room for some of them alone.
                        oldest = next(iter(synced))
                        del synced[oldest]
                        (mounted / oldest).unlink()
    assert found_again > ROUNDS_OF_A_FILE_SYSTEM


def test_a_program_that_a_mounted_file_system_takes_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lacking() == "nbdfuse is not installed"
    for name in ("nbdfuse", "mke2fs"):
        (tmp_path / name).touch(mode=0o755)
    assert lacking() == "e2fsck is not installed"
