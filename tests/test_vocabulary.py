"""A command, its Python function and its page have one name, and an option means the same everywhere."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import typer

import sledsim
from conftest import ROOT
from sledsim.cli.app import GROUPS, app

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = sorted((ROOT / "docs").rglob("*.md"))
#: What looks at files, and has no counterpart: Python checks what it reads, and its classes are documented themselves.
FILES_ALONE = {"example", "schema", "validate"}
#: What asks a device is a method of it, `seek` a curve or a surface.
OF_A_DEVICE = {"seek": ("seek_curve", "seek_surface"), "zones": ("zones",), "break-even": ("break_even",)}
#: What has commands of its own is a room; they are functions in it or methods of what it opens.
ROOMS = {
    "sweep": ("sledsim.sweep", "Results"),
    "trace": ("sledsim.traces", "Trace"),
    "import": ("sledsim", None),
    "machine": ("sledsim.machine", None),
}
#: What prints a catalogue is a room too, or shows what a room reports.
CATALOGUES = {"devices", "schedulers", "workloads"}


def walk(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with its name, those within others too."""
    for each, within in getattr(command, "commands", {}).items():
        if getattr(within, "commands", None):
            yield from walk(within, (*name, each))
        else:
            yield (*name, each), within


ALL = dict(walk(typer.main.get_command(app)))
NAMES = sorted({name[0] for name in ALL})


def test_every_command_is_in_a_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {*FILES_ALONE, *GROUPS["Papers"]}])
def test_a_command_and_its_function_have_one_name(name: str) -> None:
    if name in OF_A_DEVICE:
        kinds = (sledsim.Device, sledsim.MemsStorage, sledsim.DiskDrive)
        assert all(any(callable(getattr(kind, method, None)) for kind in kinds) for method in OF_A_DEVICE[name])
    elif name in ROOMS:
        room, opened = ROOMS[name]
        for within in (each[1] for each in ALL if each[0] == name):
            module: Any = importlib.import_module(room)
            functions = {within, f"{name}_{within}"} & set(module.__all__)
            methods = hasattr(getattr(module, opened), within) if opened else False
            assert functions or methods, within
    elif name in CATALOGUES:
        assert callable(importlib.import_module(f"sledsim.{name}").catalog)
    elif name == "reliability":
        assert callable(sledsim.reliability.report)
    else:
        assert name.replace("-", "_") in sledsim.__all__
        assert inspect.isfunction(getattr(sledsim, name.replace("-", "_")))


@pytest.mark.parametrize("name", [*GROUPS["Study"], *GROUPS["Papers"], *ROOMS])
def test_a_study_and_its_page_have_one_name(name: str) -> None:
    titles = [page.read_text().partition("\n")[0].lower() for page in PAGES]
    assert any(page.stem == name for page in PAGES) or any(name.replace("-", " ") in title for title in titles)


@pytest.mark.parametrize("name", ALL, ids=" ".join)
def test_a_command_stands_on_a_page(name: tuple[str, ...]) -> None:
    assert any(f"sledsim {' '.join(name)}" in page.read_text() for page in PAGES)


def test_an_option_has_one_form_and_one_kind_of_value_everywhere() -> None:
    forms: dict[str, dict[tuple[Any, ...], str]] = {}
    shorts: dict[str, set[str]] = {}
    for name, command in ALL.items():
        for each in command.params:
            if each.param_type_name != "option":
                continue
            long = max(each.opts, key=len)
            own = sorted(option for option in each.opts if option != long)
            metavar = None if each.is_flag else each.metavar
            assert each.is_flag or metavar, f"{name}: {long} says no kind of value"
            forms.setdefault(long, {})[*own, metavar] = " ".join(name)
            for short in own:
                shorts.setdefault(short, set()).add(long)
    assert not {long: found for long, found in forms.items() if len(found) > 1}
    assert all(len(longs) == 1 for longs in shorts.values())
    assert shorts["-d"] == {"--device"}


def test_files_that_are_written_are_named_by_options() -> None:
    for name, command in ALL.items():
        options = {option for each in command.params for option in each.opts}
        assert not options & {"--output", "--data", "--save", "--picture"}, name
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        read = {
            "file",
            "files",
            "store",
            "stores",
            "trace",
            "specs",
            "role",
            "name",
            "device",
            "kind",
            "system",
            "words",
        }
        assert {each.name for each in arguments} <= read, name


def test_the_package_shows_public_names_alone() -> None:
    assert dir(sledsim) == sorted(sledsim.__all__)
    assert dir(sledsim.reliability) == sorted(sledsim.reliability.__all__)


def test_every_room_is_a_public_name() -> None:
    found = {each.name for each in pkgutil.iter_modules(sledsim.__path__) if each.ispkg}
    assert found - {"cli", "catalog", "examples"} <= set(sledsim.__all__)


def test_rooms_and_studies_are_loaded_on_first_use() -> None:
    code = (
        "import sledsim, sys\n"
        "assert not [name for name in sys.modules if name.startswith('sledsim.') and name != 'sledsim._loading']\n"
        "assert sledsim.caches.Replacement and sledsim.schedulers.Policy\n"
        "assert sledsim.studies.cost.cost is sledsim.cost\n"
        "assert sledsim.sweep.run and sledsim.show.Table and sledsim.runs.Interval\n"
        "assert 'sledsim.reliability' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
