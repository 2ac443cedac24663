"""What a machine is made of: a kernel, its modules and programs, which `make machine` assembles, and the emulator."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sledsim._core import SledsimError
from sledsim.show.faults import wrong

__all__ = ["Assembled", "assembled", "emulator", "folder", "is_there", "packages"]

#: The folder, where none is named; and the variable that names one.
FOLDER, VARIABLE = Path("out", "machine"), "SLEDSIM_MACHINE"
EMULATOR, PACKAGE = "qemu-system-x86_64", "qemu-system-x86"
#: Debian's package that stands for its kernel, which `make machine` fetches.
KERNEL_PACKAGE = "linux-image-cloud-amd64"


@dataclass(frozen=True)
class Assembled:
    """What `make machine` has assembled."""

    folder: Path
    """Where it is."""
    contents: dict[str, Any]
    """Packages with their versions, modules in the order of loading, files of each program."""

    @property
    def kernel(self) -> Path:
        """The kernel."""
        return self.folder / "kernel"


def folder() -> Path:
    """Return where a machine is looked for: the folder that ``SLEDSIM_MACHINE`` names, else ``out/machine``."""
    return Path(os.environ.get(VARIABLE) or FOLDER)


def packages() -> dict[str, str]:
    """Return the packages that a machine was assembled from, with their versions; of ``sledsim-nbd`` its build's hash.

    Raises
    ------
    SledsimError
        Where there is none.
    """
    found: dict[str, str] = assembled().contents["packages"]
    return found


def assembled(place: str | Path | None = None) -> Assembled:
    """Return what has been assembled.

    Parameters
    ----------
    place
        Where; else the folder that ``SLEDSIM_MACHINE`` names, else ``out/machine``.

    Raises
    ------
    SledsimError
        Where it is not there, or not whole.
    """
    place = Path(place or folder())
    makes = "`make machine`, in a checkout of Sledsim on Debian"
    try:
        contents = json.loads((place / "contents.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        says = (
            f": there is no machine in {place}: {makes}, assembles one from a kernel (Debian's package "
            f"{KERNEL_PACKAGE}) and programs, and {VARIABLE} names its folder"
        )
        raise wrong(SledsimError, "unreadable", says, path="machine", value=str(place)) from None
    made = Assembled(place, contents)
    if not made.kernel.is_file():
        says = f": {made.kernel} is missing, the machine's kernel: {makes}, fetches Debian's package {KERNEL_PACKAGE}"
        raise wrong(SledsimError, "unreadable", says, path="machine", value=str(place))
    return made


def is_there(place: str | Path | None = None) -> bool:
    """Tell whether machines can be run here: one has been assembled, and the emulator is installed.

    Parameters
    ----------
    place
        As for :func:`assembled`.
    """
    try:
        assembled(place)
        emulator()
    except SledsimError:
        return False
    return True


def emulator() -> str:
    """Return the path of the emulator.

    Raises
    ------
    SledsimError
        Where it is not there.
    """
    found = shutil.which(EMULATOR)
    if found is None:
        says = f"{EMULATOR} is missing, which runs the machine: install Debian's package {PACKAGE}, or QEMU otherwise"
        raise wrong(SledsimError, "unsupported", says, path="machine", value=EMULATOR)
    return found
