"""A machine run by QEMU, from its first program to what it sends back; each instruction takes the same virtual time."""

import io
import os
import shlex
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sledsim._core import RunError
from sledsim.machine.archive import Archive
from sledsim.machine.assembled import Assembled
from sledsim.machine.description import FILE_SYSTEMS, Guest
from sledsim.machine.programs import Program
from sledsim.show.faults import make_error

__all__ = ["Job", "boot"]

#: Of the guest's kernel: nothing is left to chance, a hang is reported, and the end of a machine is the end of QEMU.
KERNEL = (
    *("console=ttyS0", "quiet", "panic=-1", "reboot=t", "nokaslr", "mitigations=off", "random.trust_cpu=on"),
    *("tsc=reliable", "no_timer_check", "cgroup_no_v1=all", "transparent_hugepage=never", "rdinit=/init"),
    *("hung_task_panic=1", "softlockup_panic=1", "sysctl.kernel.hung_task_panic=1", "sysctl.kernel.softlockup_panic=1"),
)
#: Memory for the store of the device and the guest's own, MiB, beside the program's; taken as it is used.
OWN_MEMORY = 3072
#: How often the emulator is looked at, s; more often in its first second, until the guest's processor is there.
LOOK_S = 0.05
FIRST_LOOK_S = 0.002
#: Lines of the console that a fault tells. A panic's own line has 32 more after it, of stack and registers.
LAST_LINES = 60
#: QEMU's name of the thread that is the guest's processor, where it names threads.
PROCESSOR = "ALL CPUs/TCG"
#: A name among the system's sockets marks a processor as in use; the name ends with its process.
TAKEN = "\0sledsim-machine-on-{}"
SCRIPT = Path(__file__).with_name("guest.sh")
#: Becomes QEMU, once the kernel has been told to kill it (PR_SET_PDEATHSIG, SIGKILL) when the thread that waits for it
#: ends, in whatever way; QEMU 7.2, which is Debian's, has no option for that.
TIED = """import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
sys.exit("who has started it is gone")
"""


@dataclass(frozen=True)
class Job:
    """The work of a machine."""

    machine: Assembled
    """The kernel, modules and programs."""
    guest: Guest
    """How it is made."""
    program: Program
    """The program."""
    system: str
    """The storage: a scenario with every key, as JSON."""
    size_bytes: int
    """How large the storage is."""
    limit_s: float
    """How long it may take by the clock on the wall, s."""


def boot(job: Job, emulator: str, work: Path, over: threading.Event | None = None) -> dict[str, bytes]:
    """Run a machine; return the files that it sends back, by their names.

    Parameters
    ----------
    job
        What it is to do.
    emulator
        QEMU.
    work
        An empty folder.
    over
        Set where no caller waits for it any more.

    Raises
    ------
    RunError
        Where it does not come to its end, or no caller waits for it; the last lines of its console say more.
    """
    _archive(job).write(work / "initramfs")
    console, sent = work / "console", work / "sent"
    command = [
        *(emulator, "-M", "pc,hpet=off", "-cpu", "Nehalem,+rdrand", "-smp", "1"),
        *("-m", f"{job.guest.memory_mib + OWN_MEMORY}M"),
        *("-accel", "tcg,thread=single", "-icount", f"shift={job.guest.shift},sleep=off"),
        *("-rtc", "base=2000-01-01T00:00:00,clock=vm", "-seed", "1", "-nodefaults", "-no-user-config", "-no-reboot"),
        *("-name", "sledsim,debug-threads=on", "-display", "none", "-nic", "none"),
        *("-serial", f"file:{console}", "-serial", f"file:{sent}"),
        *("-kernel", str(job.machine.kernel), "-initrd", str(work / "initramfs"), "-append", " ".join(KERNEL)),
    ]
    begun, given_up, in_turn = time.monotonic(), False, False
    none, tied = subprocess.DEVNULL, [*_tie_command(), *command]
    with (
        place() as processor,
        subprocess.Popen(tied, stdin=none, stdout=none, stderr=subprocess.PIPE) as process,
    ):
        try:
            while process.poll() is None and time.monotonic() - begun < job.limit_s and not given_up:
                time.sleep(LOOK_S if in_turn or time.monotonic() > begun + 1 else FIRST_LOOK_S)
                in_turn = in_turn or processor is None or put_in_turn(process.pid, processor)
                given_up = over is not None and over.is_set()
            ended = process.poll()
        finally:
            process.kill()
        said = process.stderr.read().decode(errors="replace") if process.stderr else ""
    if given_up:
        raise _guest_error("nobody waits for the guest any more", console)
    if ended is None:
        raise _guest_error(f"the guest was not done after {job.limit_s:g} s", console)
    if ended != 0:
        raise _guest_error(f"QEMU ended with {ended}: {said.strip()[-500:]}", console)
    try:
        files = unpack_results(sent.read_bytes())
    except (OSError, EOFError, tarfile.TarError):
        raise _guest_error("the guest ended before its program did", console) from None
    if "failed" in files:
        raise make_error(RunError, "unsupported", files["failed"].decode(errors="replace").strip(), path="machine")
    return files


@contextmanager
def place() -> Iterator[int | None]:
    """Give a machine a processor that no other machine has; ``None`` where there is none, or only Linux could."""
    if sys.platform != "linux":
        yield None
        return
    with socket.socket(socket.AF_UNIX) as name:
        yield next((each for each in sorted(os.sched_getaffinity(0)) if _took(name, each)), None)


def _took(name: socket.socket, processor: int) -> bool:
    try:
        name.bind(TAKEN.format(processor))
    except OSError:
        return False
    return True


def put_in_turn(emulator: int, processor: int) -> bool:
    """Have QEMU's threads run on one processor, the main one behind the guest's; say whether there is no more to do.

    Where both ran at once the main thread could find that the guest waits before what the guest did up to there was
    counted, and let the clock jump that much too far. Where the machine refuses that they go on as they were.
    """
    tasks = Path(f"/proc/{emulator}/task")
    try:
        named = {int(task.name): (task / "comm").read_text(errors="replace").strip() for task in tasks.iterdir()}
        if PROCESSOR not in named.values():
            return False
        os.sched_setscheduler(emulator, os.SCHED_IDLE, os.sched_param(0))
        for task in named:
            os.sched_setaffinity(task, {processor})
    except (FileNotFoundError, ProcessLookupError):
        # A thread has ended meanwhile.
        return False
    except OSError:
        return True
    return True


def _tie_command() -> list[str]:
    """Return the command prefix with which QEMU ends with the process that waits for it; empty where there is none."""
    # The executable of a program that brings its Python along is that program.
    if sys.platform != "linux" or not sys.executable or getattr(sys, "frozen", False):
        return []
    return [sys.executable, "-I", "-S", "-c", TIED, str(os.getpid())]


def unpack_results(sent: bytes) -> dict[str, bytes]:
    """Return the files of an archive that a guest has sent, by their names.

    Parameters
    ----------
    sent
        The archive, compressed.

    Raises
    ------
    tarfile.TarError
        Where it is none, or not whole.
    """
    with tarfile.open(fileobj=io.BytesIO(sent), mode="r:gz") as archive:
        found = {}
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                found[member.name.removeprefix("./")] = file.read()
        return found


def _guest_error(says: str, console: Path) -> RunError:
    lines = console.read_text(encoding="utf-8", errors="replace").splitlines() if console.exists() else []
    last = "\n".join(f"  {line.rstrip()}" for line in lines[-LAST_LINES:] if line.strip())
    message = f"{says}; the last of its console:\n{last}" if last else f"{says}; its console has nothing"
    return make_error(RunError, "unsupported", message, path="machine")


def _archive(job: Job) -> Archive:
    """Combine what the guest's kernel finds in its memory."""
    machine, contents, guest = job.machine, job.machine.contents, job.guest
    archive = Archive()
    for name in ("bin", "sbin", "lib", "lib64"):
        archive.link(name, f"usr/{name}")
    for name in machine.needed(job.program.needs):
        archive.copy(f"usr/{name}", machine.folder / "tree" / "usr" / name)
    for name in contents["modules"]:
        archive.copy(f"modules/{name}.ko", machine.folder / "modules" / f"{name}.ko")
    archive.file("usr/bin/sledsim-nbd", (machine.folder / "sledsim-nbd").read_bytes(), runs=True)
    archive.file("init", SCRIPT.read_bytes(), runs=True)
    archive.file("system.json", job.system.encode())
    archive.file("command", os.fsencode(job.program.script))
    archive.file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
    for name, content in sorted(job.program.files.items()):
        if isinstance(content, Path):
            archive.copy(f"content/{name}", content)
        else:
            archive.file(f"content/{name}", content)
    for name, data in sorted(job.program.memory.items()):
        archive.file(name, data)
    values = {
        "MODULES": " ".join(contents["modules"]),
        "MEMORY_BYTES": guest.memory_mib << 20,
        "SIZE_BYTES": job.size_bytes,
        "FILE_SYSTEM": guest.file_system,
        "MAKE": FILE_SYSTEMS[guest.file_system],
        "MOUNT": guest.mount,
        "READ_AHEAD_KIB": "" if guest.read_ahead_kib is None else guest.read_ahead_kib,
        "CACHE": guest.cache,
        "DILATION": repr(guest.dilation),
        "DILATION_PERCENT": round(100 * guest.dilation),
    }
    archive.file("run.env", "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in values.items()).encode())
    return archive
