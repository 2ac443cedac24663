"""The folders of the catalogue: Sledsim's own, those of the user, and those of other packages."""

import os
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

from sledsim._core import ScenarioError
from sledsim.scenario.texts import is_document
from sledsim.show.faults import make_error, missing_file

__all__ = ["CATALOG_VARIABLE", "catalog_folders", "use_catalog"]

#: Additional folders, separated as in PATH; each has ``devices/*.toml``, ``workloads/*.toml`` or both.
CATALOG_VARIABLE = "SLEDSIM_CATALOG"
#: Entry points of packages with a catalogue are in this group: ``mine = "my_package"``.
GROUP = "sledsim.catalogs"
KINDS = ("devices", "workloads")


def catalog_folders() -> list[str]:
    """Return the folders with the ``devices`` and ``workloads`` that a scenario may name.

    Raises
    ------
    ScenarioError
        If a folder is missing or empty, or two of them have an entry of the same name.
    """
    return list(_folders(os.environ.get(CATALOG_VARIABLE, ""), Path.cwd()))


def use_catalog(folder: str | Path) -> None:
    """Add a folder of devices and workloads to the catalogue of this process and of its child processes.

    Parameters
    ----------
    folder
        The folder.
    """
    own, given = str(Path(folder).absolute()), os.environ.get(CATALOG_VARIABLE, "")
    if own not in given.split(os.pathsep):
        os.environ[CATALOG_VARIABLE] = os.pathsep.join(each for each in (own, given) if each)
    catalog_folders()


@cache
def _folders(given: str, here: Path) -> tuple[str, ...]:
    named = [_checked(here / each, f"--catalog or {CATALOG_VARIABLE}") for each in given.split(os.pathsep) if each]
    folders = [Path(str(files("sledsim") / "catalog")), *named, *_of_packages()]
    there: dict[tuple[str, str], Path] = {}
    for folder in dict.fromkeys(folders):
        for kind in KINDS:
            for path in _documents(folder / kind):
                first = there.setdefault((kind, path.stem), path)
                if first != path:
                    message = (
                        f"the catalogue has a {kind[:-1]} {path.stem} already, in {first.parent}: "
                        "give this one another name"
                    )
                    raise make_error(ScenarioError, "conflict", message, value=path.stem, file=path)
    return tuple(map(str, dict.fromkeys(folders)))


def _documents(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if is_document(path))


def _checked(folder: Path, named_by: str) -> Path:
    """Raise if a path is not a folder with catalogue entries."""
    name = f"catalogue {folder} ({named_by})"
    if not folder.is_dir():
        if folder.exists():
            raise make_error(ScenarioError, "unreadable", "a file, not a folder", value=str(folder), file=name)
        raise missing_file(ScenarioError, folder, "no such folder", named=name)
    if not any(_documents(folder / kind) for kind in KINDS):
        beside = " (there are .toml files beside them: move them)" if _documents(folder) else ""
        message = (
            f"{name}: nothing in it; devices are expected in devices/*.toml, workloads in workloads/*.toml{beside}"
        )
        raise make_error(ScenarioError, "missing", message, value=str(folder))
    return folder


def _of_packages() -> list[Path]:
    found = []
    for each in entry_points(group=GROUP):
        try:
            found.append(_checked(Path(str(files(each.module))), f"entry point {each.name} of {GROUP}"))
        except (ImportError, TypeError) as error:
            message = f"entry point {each.name} of {GROUP}: {each.module}: {error}"
            raise make_error(ScenarioError, "unreadable", message, value=each.module) from None
    return found
