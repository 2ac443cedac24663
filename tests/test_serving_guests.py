"""Guests killed at random on a served disk: synced data survives, and file systems are consistent."""

from __future__ import annotations

import subprocess
import sys
from random import Random
from shutil import which
from typing import TYPE_CHECKING

import pytest

from conftest import missing
from sledsim.machine import is_there
from sledsim.machine.archive import Archive
from sledsim.machine.assembled import assembled, emulator
from test_serving import served
from test_serving_programs import SMALL, address_of
from waiting import sleep_randomly, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a block device is served on Linux"),
    pytest.mark.slow,
]

#: With those of servers and clients in test_serving_crashes.py there are 50.
ROUNDS = 8
#: Numbers in a file of the guest, one on a line, from that of the file.
NUMBERS = 900
#: The guest's first program: writes one file after the other and says which are on the disk, until it is killed.
WRITES = """#!/usr/bin/bash
export PATH=/usr/bin:/usr/sbin:/applets
/usr/bin/busybox mkdir -p /applets /dev /mnt
/usr/bin/busybox --install -s /applets
mount -t devtmpfs dev /dev
for each in {modules}; do insmod /modules/$each.ko; done
mount -t ext4 /dev/vda /mnt || exit 1
for ((i = {first}; ; i++)); do
    seq $i $((i + {numbers} - 1)) | dd of=/mnt/$i conv=fsync 2> /dev/null
    # There is room for some of them alone.
    [ $i -lt {kept} ] || rm -f /mnt/$((i - {kept}))
    echo "synced $i"
done
"""
KERNEL = "console=ttyS0 quiet panic=-1 rdinit=/init"
#: Number of files on the disk, and how many are checked: a guest is ahead of its console.
KEPT, LOOKED_AT = 400, 100


def archive(folder: Path, first: int) -> Path:
    """Write the initial RAM disk of the guest."""
    machine = assembled()
    made = Archive()
    for name in ("bin", "sbin", "lib", "lib64"):
        made.link(name, f"usr/{name}")
    for name in machine.contents["programs"]["base"]:
        made.copy(f"usr/{name}", machine.folder / "tree" / "usr" / name)
    modules = machine.contents["disk_modules"]
    for name in modules:
        made.copy(f"modules/{name}.ko", machine.folder / "modules" / f"{name}.ko")
    words = {"modules": " ".join(modules), "first": first, "numbers": NUMBERS, "kept": KEPT}
    made.file("init", WRITES.format(**words).encode(), runs=True)
    made.write(folder / "initramfs")
    return folder / "initramfs"


def synced(console: Path) -> list[int]:
    """Return the files that a guest has said are on its disk; a line that was cut is none."""
    lines = console.read_text(errors="replace").split("\n")[:-1] if console.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith("synced ")]


def killed_guest(folder: Path, first: int, moments: Random) -> list[int]:
    """Boot a guest, kill it some time after its first file; return the files that it said are on its disk."""
    console = folder / "console"
    console.unlink(missing_ok=True)
    command = [emulator(), "-M", "pc", "-accel", "tcg", "-m", "256M", "-nodefaults", "-no-user-config", "-no-reboot"]
    command += ["-display", "none", "-nic", "none", "-serial", f"file:{console}", "-append", KERNEL]
    command += ["-kernel", str(assembled().kernel), "-initrd", str(archive(folder, first))]
    command += ["-drive", f"file={address_of(folder)},format=raw,if=virtio"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as guest:
        assert wait_until(lambda: synced(console), guest), (guest.stderr and guest.stderr.read(), console.read_text())
        sleep_randomly(moments, 1.0)
        guest.kill()
    return synced(console)


def test_killed_guests_find_their_synced_files(tmp_path: Path) -> None:
    lacking = next((each for each in ("mke2fs", "e2fsck", "debugfs") if not which(each)), None)
    if lacking or not is_there():
        missing("no machine: it takes `make machine`, and the packages qemu-system-x86 and e2fsprogs")
    moments, written = Random(6), 0
    for number in range(ROUNDS):
        with served(tmp_path, "--image", "disk.img", system=SMALL) as server:
            if not number:
                subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", tmp_path / "disk.img"], check=True)
            there = killed_guest(tmp_path, written, moments)
            server.end()
        for options in (["-y", "-E", "journal_only"], ["-fn"]):
            check = subprocess.run(["e2fsck", *options, tmp_path / "disk.img"], capture_output=True, text=True)
            assert check.returncode == 0, check.stdout
        found = tmp_path / f"found-{number}"
        found.mkdir()
        subprocess.run(["debugfs", "-R", f"rdump / {found}", tmp_path / "disk.img"], check=True, capture_output=True)
        written = there[-1] + 1
        for each in range(max(0, written - LOOKED_AT), written):
            assert (found / str(each)).read_text() == "".join(f"{each + k}\n" for k in range(NUMBERS)), each
    assert written > 2 * ROUNDS
