"""The parts of a machine: a kernel, its modules and programs, assembled by `make machine`, and the emulator."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sledsim._core import SledsimError
from sledsim.show.faults import make_error

__all__ = ["Assembled", "assembled", "emulator", "folder", "is_there", "packages"]

#: The folder, where none is named; and the variable that names one.
FOLDER, VARIABLE = Path("out", "machine"), "SLEDSIM_MACHINE"
EMULATOR, PACKAGE = "qemu-system-x86_64", "qemu-system-x86"
#: Debian's package that stands for its kernel, which `make machine` fetches.
KERNEL_PACKAGE = "linux-image-cloud-amd64"
#: The files of a machine.
MAKES = "`make machine`, in a checkout of Sledsim on Debian"
#: The keys of ``contents.json``.
CONTENTS = {"packages": dict, "modules": list, "programs": dict}


@dataclass(frozen=True)
class Assembled:
    """The parts that `make machine` assembled."""

    folder: Path
    """The folder."""
    contents: dict[str, Any]
    """Packages with their versions, modules in the order of loading, files of each program."""

    @property
    def kernel(self) -> Path:
        """The kernel."""
        return self.folder / "kernel"

    def needed(self, programs: Sequence[str]) -> list[str]:
        """Return the files of programs and of what every machine has, each once.

        Parameters
        ----------
        programs
            Their names.

        Raises
        ------
        SledsimError
            Where it was made without one of them.
        """
        there: dict[str, list[str]] = self.contents["programs"]
        for each in ("base", *programs):
            if each not in there:
                raise _not_whole(self.folder, f"there is no {each} among its programs")
        return sorted({file for each in ("base", *programs) for file in there[each]})


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
    try:
        contents = json.loads((place / "contents.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        says = (
            f": there is no machine in {place}: {MAKES}, assembles one from a kernel (Debian's package "
            f"{KERNEL_PACKAGE}) and programs, and {VARIABLE} names its folder"
        )
        raise make_error(SledsimError, "unreadable", says, path="machine", value=str(place)) from None
    for key, kind in CONTENTS.items():
        if not isinstance(contents, dict) or not isinstance(contents.get(key), kind):
            raise _not_whole(place, f"contents.json has no {key}")
    made = Assembled(place, contents)
    if not made.kernel.is_file():
        says = f": {made.kernel} is missing, the machine's kernel: {MAKES}, fetches Debian's package {KERNEL_PACKAGE}"
        raise make_error(SledsimError, "unreadable", says, path="machine", value=str(place))
    return made


def _not_whole(place: Path, lacks: str) -> SledsimError:
    says = f": the machine in {place} is not whole, {lacks}: {MAKES}, assembles it anew"
    return make_error(SledsimError, "unreadable", says, path="machine", value=str(place))


def is_there(place: str | Path | None = None) -> bool:
    """Return true if machines can be run here: one has been assembled, and the emulator is installed.

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
        raise make_error(SledsimError, "unsupported", says, path="machine", value=EMULATOR)
    return found
