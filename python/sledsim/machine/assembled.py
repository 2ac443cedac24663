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

#: The default folder, and the environment variable that replaces it.
FOLDER, VARIABLE = Path("out", "machine"), "SLEDSIM_MACHINE"
EMULATOR, PACKAGE = "qemu-system-x86_64", "qemu-system-x86"
#: Debian's kernel package, which `make machine` downloads.
KERNEL_PACKAGE = "linux-image-cloud-amd64"
#: The command that assembles a machine, for error messages.
MAKES = "`make machine`, in a checkout of Sledsim on Debian"
#: The keys of ``contents.json`` and their types.
CONTENTS = {"packages": dict, "modules": list, "programs": dict}


@dataclass(frozen=True)
class Assembled:
    """The parts assembled by `make machine`."""

    folder: Path
    """The folder."""
    contents: dict[str, Any]
    """The content of ``contents.json``: versions of packages, modules in loading order, files of each program."""

    @property
    def kernel(self) -> Path:
        """Path of the kernel."""
        return self.folder / "kernel"

    def needed(self, programs: Sequence[str]) -> list[str]:
        """Return the files of programs and of the base system, without duplicates.

        Parameters
        ----------
        programs
            Names of the programs.

        Raises
        ------
        SledsimError
            If the machine was assembled without one of them.
        """
        files: dict[str, list[str]] = self.contents["programs"]
        for each in ("base", *programs):
            if each not in files:
                raise _incomplete(self.folder, f"there is no {each} among its programs")
        return sorted({file for each in ("base", *programs) for file in files[each]})


def folder() -> Path:
    """Return the default folder of the machine: the one named by ``SLEDSIM_MACHINE``, else ``out/machine``."""
    return Path(os.environ.get(VARIABLE) or FOLDER)


def packages() -> dict[str, str]:
    """Return the packages of the machine with their versions; for ``sledsim-nbd`` the hash of its build.

    Raises
    ------
    SledsimError
        If no machine is assembled.
    """
    found: dict[str, str] = assembled().contents["packages"]
    return found


def assembled(place: str | Path | None = None) -> Assembled:
    """Return the assembled machine.

    Parameters
    ----------
    place
        Its folder; by default, the one named by ``SLEDSIM_MACHINE``, else ``out/machine``.

    Raises
    ------
    SledsimError
        If the folder has no machine, or an incomplete one.
    """
    place = Path(place or folder())
    try:
        contents = json.loads((place / "contents.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        message = (
            f": there is no machine in {place}: {MAKES}, assembles one from a kernel (Debian's package "
            f"{KERNEL_PACKAGE}) and programs, and {VARIABLE} names its folder"
        )
        raise make_error(SledsimError, "unreadable", message, path="machine", value=str(place)) from None
    for key, kind in CONTENTS.items():
        if not isinstance(contents, dict) or not isinstance(contents.get(key), kind):
            raise _incomplete(place, f"contents.json has no {key}")
    made = Assembled(place, contents)
    if not made.kernel.is_file():
        message = (
            f": {made.kernel} is missing, the machine's kernel: {MAKES}, fetches Debian's package {KERNEL_PACKAGE}"
        )
        raise make_error(SledsimError, "unreadable", message, path="machine", value=str(place))
    return made


def _incomplete(place: Path, lacks: str) -> SledsimError:
    message = f": the machine in {place} is incomplete, {lacks}: {MAKES}, assembles it again"
    return make_error(SledsimError, "unreadable", message, path="machine", value=str(place))


def is_there(place: str | Path | None = None) -> bool:
    """Return true if a machine can run here: it is assembled, and the emulator is installed.

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
        If it is not installed.
    """
    found = shutil.which(EMULATOR)
    if found is None:
        message = f"{EMULATOR}, which runs the machine, is missing: install QEMU (Debian's package {PACKAGE})"
        raise make_error(SledsimError, "unsupported", message, path="machine", value=EMULATOR)
    return found
