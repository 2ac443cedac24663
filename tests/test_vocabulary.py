"""A command and its page have one name, and an option has the same meaning in every command."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import typer

from conftest import ROOT
from sledsim.cli.app import GROUPS, app

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = sorted((ROOT / "docs").rglob("*.md"))
#: Commands that have commands.
GROUPS_OF_COMMANDS = ("sweep", "trace", "import", "machine")


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


@pytest.mark.parametrize("name", [*GROUPS["Study"], *GROUPS["Papers"], *GROUPS_OF_COMMANDS])
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


def test_packages_and_studies_are_loaded_on_first_use() -> None:
    code = (
        "import sledsim, sys\n"
        "assert not [name for name in sys.modules if name.startswith('sledsim.') and name != 'sledsim._loading']\n"
        "assert sledsim.caches.Replacement and sledsim.schedulers.Policy\n"
        "assert sledsim.studies.cost and sledsim.sweep.run and sledsim.runs.Interval\n"
        "assert 'sledsim.reliability' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
