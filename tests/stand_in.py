"""Stand-ins for a machine in virtual time and for its emulator: dummy files and a shell script."""

from __future__ import annotations

import io
import json
import os
import tarfile
from typing import TYPE_CHECKING

from sledsim.machine.programs import PROGRAMS

if TYPE_CHECKING:
    from pathlib import Path

#: Notes of a guest, µs and ns of its own clock, which is 1,000,000,000 ns behind that of the device.
NOTES = """start_us=9
start_kernel_ns=500
start_program_usage_usec=10
start_program_user_usec=6
start_program_system_usec=4
start_server_usage_usec=100
start_us=1500000
status=3
end_us=1700000
end_kernel_ns=20500
end_program_user_usec=60006
end_program_system_usec=20004
end_server_usage_usec=400
synced_us=1710000
synced_disk=2 0 16 3 1 0 8 2 0 0 0
served=0
"""
#: Start of the device clock, a read of the mount, a read and a write of the program, and later requests.
TRACE = """t_ns,device,offset_bytes,bytes,op,due_ns,sent_ns,response_ns
0,0,0,0,F,0,0,0
1000,0,0,4096,R,1001000,1001000,1000000
600000000,0,8192,4096,R,601500000,601500000,1500000
650000000,0,4096,4096,W,651000000,651000000,1000000
705000000,0,4096,0,F,705000000,705000000,0
"""


def sent(**files: str) -> bytes:
    """Return an archive such as a guest sends."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"./{name.replace('_csv', '.csv')}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return made.getvalue()


WHOLE = sent(
    notes=NOTES, served="ready; its clock began at 1000000000 ns\n", trace_csv=TRACE, output="done\n", errors=""
)


def entries(data: bytes) -> dict[str, tuple[int, bytes]]:
    """Return mode and content of each file in an archive, after the documentation of the kernel."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * each : at + 14 + 8 * each], 16) for each in range(13)]
        name = os.fsdecode(data[at + 110 : at + 110 + fields[11] - 1])
        begins = (at + 110 + fields[11] + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (fields[1], data[begins : begins + fields[6]])
        at = (begins + fields[6] + 3) // 4 * 4


def machine_in(folder: Path) -> Path:
    """Make a folder such as `make machine` makes, with dummy files."""
    for name in (
        "kernel",
        "sledsim-nbd",
        "modules/nbd.ko",
        "tree/usr/bin/bash",
        "objects/a.o",
        "tpch/scale-1.db",
        "tpch/4.sql",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    programs = {name: ["bin/bash"] if name == "base" else [] for name in ("base", *PROGRAMS)}
    (folder / "contents.json").write_text(json.dumps({"modules": ["nbd"], "programs": programs, "packages": {}}))
    return folder


def emulator_in(folder: Path, archive: bytes, console: str = "", status: int = 0, seconds: float = 0) -> None:
    """Install a script in place of QEMU with the given output and messages."""
    folder.mkdir(exist_ok=True)
    (folder / "sent").write_bytes(archive)
    (folder / "console").write_text(console)
    script = f"""#!/bin/sh
for word; do case "$word" in file:*/console) c="${{word#file:}}";; file:*/sent) s="${{word#file:}}";; esac; done
cat "{folder}/console" > "$c"; cat "{folder}/sent" > "$s"; cp "${{c%/*}}/initramfs" "{folder}"
echo "$@" > "{folder}/asked"; echo $$ >> "{folder}/ids"
[ {seconds} = 0 ] || exec sleep {seconds}; exit {status}
"""
    (folder / "qemu-system-x86_64").write_text(script)
    (folder / "qemu-system-x86_64").chmod(0o755)
