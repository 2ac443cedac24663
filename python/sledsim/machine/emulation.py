"""Runs of a machine in QEMU, from boot to the files it sends back; each instruction takes the same virtual time."""

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
from sledsim.machine.description import Guest
from sledsim.machine.programs import Program
from sledsim.show.faults import make_error

__all__ = ["Job", "boot"]

#: Kernel command line of the guest: no randomness, panics on hangs, and a reboot on panics, which ends QEMU.
KERNEL = (
    *("console=ttyS0", "quiet", "panic=-1", "reboot=t", "nokaslr", "mitigations=off", "random.trust_cpu=on"),
    *("tsc=reliable", "no_timer_check", "cgroup_no_v1=all", "transparent_hugepage=never", "rdinit=/init"),
    *("hung_task_panic=1", "softlockup_panic=1", "sysctl.kernel.hung_task_panic=1", "sysctl.kernel.softlockup_panic=1"),
)
#: Memory for the contents of the device and for the kernel, MiB, beyond that of the program; allocated on use.
OWN_MEMORY = 3072
#: Polling interval of the emulator, s; shorter in its first second, until the thread of the guest's processor exists.
POLL_S = 0.05
FIRST_POLL_S = 0.002
#: Lines of the console shown in an error. The line of a panic is followed by 32 lines of stack and registers.
LAST_LINES = 60
#: QEMU's name of the thread that runs the guest's processor.
PROCESSOR = "ALL CPUs/TCG"
#: A bound abstract socket of this name marks a processor as in use; the kernel removes it with the process.
TAKEN = "\0sledsim-machine-on-{}"
SCRIPT = Path(__file__).with_name("init.sh")
#: Executes QEMU after PR_SET_PDEATHSIG, so that the kernel kills it when the thread that waits for it ends. QEMU 7.2
#: (Debian) has no option for this.
TIED = """import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
sys.exit("the parent process has ended")
"""


@dataclass(frozen=True)
class Job:
    """The arguments of one run of a machine."""

    machine: Assembled
    """The kernel, modules and programs."""
    guest: Guest
    """Options of the machine."""
    program: Program
    """The program to run."""
    system: str
    """The storage: a complete scenario as JSON."""
    size_bytes: int
    """Capacity of the storage."""
    limit_s: float
    """Time limit on the wall clock, s."""


def boot(job: Job, emulator: str, work: Path, over: threading.Event | None = None) -> dict[str, bytes]:
    """Run a machine, and return the files that it sends back, by name.

    Parameters
    ----------
    job
        The program, the storage and the options.
    emulator
        Path of QEMU.
    work
        An empty folder.
    over
        An event that cancels the run.

    Raises
    ------
    RunError
        If the machine fails, exceeds its time limit or is cancelled; the error has the last lines of its console.
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
    start, cancelled, is_scheduled = time.monotonic(), False, False
    none, tied = subprocess.DEVNULL, [*_tie_command(), *command]
    with (
        claim_processor() as processor,
        subprocess.Popen(tied, stdin=none, stdout=none, stderr=subprocess.PIPE) as process,
    ):
        try:
            while process.poll() is None and time.monotonic() - start < job.limit_s and not cancelled:
                time.sleep(POLL_S if is_scheduled or time.monotonic() > start + 1 else FIRST_POLL_S)
                is_scheduled = is_scheduled or processor is None or share_processor(process.pid, processor)
                cancelled = over is not None and over.is_set()
            status = process.poll()
        finally:
            process.kill()
        errors = process.stderr.read().decode(errors="replace") if process.stderr else ""
    if cancelled:
        raise _guest_error("the run was cancelled", console)
    if status is None:
        raise _guest_error(f"the guest was not done after {job.limit_s:g} s", console)
    if status != 0:
        raise _guest_error(f"QEMU ended with status {status}: {errors.strip()[-500:]}", console)
    try:
        files = unpack_results(sent.read_bytes())
    except (OSError, EOFError, tarfile.TarError):
        raise _guest_error("the guest ended before its program did", console) from None
    if "failed" in files:
        raise make_error(RunError, "unsupported", files["failed"].decode(errors="replace").strip(), path="machine")
    return files


@contextmanager
def claim_processor() -> Iterator[int | None]:
    """Reserve a processor that no other machine uses; ``None`` if there is none, or the system is not Linux."""
    if sys.platform != "linux":
        yield None
        return
    with socket.socket(socket.AF_UNIX) as name:
        yield next((each for each in sorted(os.sched_getaffinity(0)) if _claim(name, each)), None)


def _claim(name: socket.socket, processor: int) -> bool:
    try:
        name.bind(TAKEN.format(processor))
    except OSError:
        return False
    return True


def share_processor(emulator: int, processor: int) -> bool:
    """Pin QEMU's threads to one processor, with idle priority for the main thread; return true if this is settled.

    If both threads ran at the same time, the main thread could see that the guest is idle before the guest's last
    instructions are counted, and advance the clock too far. If the host refuses the scheduling, it stays unchanged.

    Parameters
    ----------
    emulator
        Process of QEMU.
    processor
        Number of the processor.
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
    """Return a command prefix that ends QEMU with the process that waits for it; empty if it is not available."""
    # In a frozen program, sys.executable is the program itself instead of Python.
    if sys.platform != "linux" or not sys.executable or getattr(sys, "frozen", False):
        return []
    return [sys.executable, "-I", "-S", "-c", TIED, str(os.getpid())]


def unpack_results(sent: bytes) -> dict[str, bytes]:
    """Return the files of an archive sent by a guest, by name.

    Parameters
    ----------
    sent
        The compressed archive.

    Raises
    ------
    tarfile.TarError
        If the archive is invalid or incomplete.
    """
    with tarfile.open(fileobj=io.BytesIO(sent), mode="r:gz") as archive:
        found = {}
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                found[member.name.removeprefix("./")] = file.read()
        return found


def _guest_error(reason: str, console: Path) -> RunError:
    lines = console.read_text(encoding="utf-8", errors="replace").splitlines() if console.exists() else []
    last = "\n".join(f"  {line.rstrip()}" for line in lines[-LAST_LINES:] if line.strip())
    message = f"{reason}; last lines of its console:\n{last}" if last else f"{reason}; its console is empty"
    return make_error(RunError, "unsupported", message, path="machine")


def _archive(job: Job) -> Archive:
    """Build the initramfs of the guest: programs, modules, files and settings."""
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
    make, make_size = guest.make_arguments
    values = {
        "MODULES": " ".join(contents["modules"]),
        "MEMORY_BYTES": guest.memory_mib << 20,
        "SIZE_BYTES": job.size_bytes,
        "FILE_SYSTEM": guest.file_system,
        "MAKE": make,
        "MAKE_SIZE": make_size,
        "MOUNT": guest.mount,
        "READ_AHEAD_KIB": "" if guest.read_ahead_kib is None else guest.read_ahead_kib,
        "CACHE": guest.cache,
        "DILATION": repr(guest.dilation),
        "DILATION_PERCENT": round(100 * guest.dilation),
    }
    archive.file("run.env", "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in values.items()).encode())
    return archive
