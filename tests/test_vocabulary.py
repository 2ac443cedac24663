"""An option has one name, one short form and one kind of value in all commands."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import typer

from conftest import ROOT
from sledsim.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = sorted((ROOT / "docs").rglob("*.md"))


def all_commands(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with its name, those of groups too."""
    for each, within in command.commands.items():
        if hasattr(within, "commands"):
            yield from all_commands(within, (*name, each))
        else:
            yield (*name, each), within


ALL = dict(all_commands(typer.main.get_command(app)))


def test_every_command_has_a_panel_of_the_help() -> None:
    assert {command.rich_help_panel for name, command in ALL.items() if len(name) == 1} <= {
        "Simulate",
        "Study",
        "Describe",
        "Papers",
    }


@pytest.mark.parametrize("name", ALL, ids=" ".join)
def test_a_command_is_documented_on_a_page(name: tuple[str, ...]) -> None:
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
            assert each.is_flag or metavar, f"{name}: {long} has no kind of value"
            forms.setdefault(long, {})[*own, metavar] = " ".join(name)
            for short in own:
                shorts.setdefault(short, set()).add(long)
    assert not {long: found for long, found in forms.items() if len(found) > 1}
    assert all(len(longs) == 1 for longs in shorts.values())
    assert shorts["-d"] == {"--device"}


def test_packages_and_studies_are_loaded_on_first_use() -> None:
    code = (
        "import sledsim, sys\n"
        "assert not [name for name in sys.modules if name.startswith('sledsim.') and name != 'sledsim._loading']\n"
        "assert sledsim.caches.Replacement and sledsim.schedulers.Policy\n"
        "assert sledsim.studies.cost and sledsim.sweep.run and sledsim.runs.Interval\n"
        "assert 'sledsim.reliability' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
