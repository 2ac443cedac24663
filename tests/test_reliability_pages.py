"""Statements of the pages on reliability match the program."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from conftest import EXAMPLES, ROOT
from sledsim import reliability

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

HONG = EXAMPLES / "hong2006.toml"
PAGES = [ROOT / "docs" / folder / "reliability.md" for folder in ("how-to", "explanation")]


def test_the_page_has_the_output_of_the_commands(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "\n".join(path.read_text() for path in PAGES)
    shown = re.findall(r"```sh\n(sledsim reliability [^\n]+)\n```\n\n```\n(.+?)```", page, flags=re.DOTALL)
    assert len(shown) >= 4
    for command, output in shown:
        arguments = [EXAMPLES / word if word.endswith(".toml") else word for word in command.split()[1:]]
        assert sledsim_cli(*arguments).out == output, command
    programs = re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL)
    assert len(programs) >= 2
    monkeypatch.chdir(tmp_path)
    for program in programs:
        exec(program.replace('"hong2006.toml"', repr(str(HONG))))
    assert (tmp_path / "figure4.html").stat().st_size > 1000


def test_the_page_describes_enclosures_that_can_be_read() -> None:
    page = "\n".join(path.read_text() for path in PAGES)
    first, *others = map(tomllib.loads, re.findall(r"```toml\n(.+?)```", page, flags=re.DOTALL))
    assert reliability.load(first).enclosure.spares == 5
    assert len(others) == 2
    for tables in others:
        reliability.load({**first, **tables})


def test_statements_of_the_page_about_weak_devices(sledsim_cli: Callable[..., Outcome]) -> None:
    def loss(name: str, *sets: str) -> float:
        words = [word for each in sets for word in ("--set", each)]
        whole = json.loads(sledsim_cli("reliability", EXAMPLES / name, *words, "--years", "5", "--json").out)
        rows = whole["simulated"]["loss"] if "simulated" in whole else whole["within"]
        return float(rows[0]["estimate" if "simulated" in whole else "loss"])

    assert loss("hong2006.toml", "repair.strategy=preventive") == pytest.approx(2.2e-4, rel=0.01)
    assert loss("weak-devices.toml") == pytest.approx(0.069, abs=5e-4)
    assert loss("weak-devices.toml", "device.latent_errors.scrub=1 day") == pytest.approx(0.014, abs=5e-4)
    share = reliability.load(EXAMPLES / "weak-devices.toml")
    assert 60 * reliability.mean_rebuild_h(share) == pytest.approx(14.8, abs=0.05)


def test_statements_of_the_page_about_costs(sledsim_cli: Callable[..., Outcome]) -> None:
    whole = json.loads(sledsim_cli("reliability", HONG, "--figure", "cost", "--json").out)
    designs = {(each["strategy"], each["spares"]): each for each in whole["designs"]}
    prices = {each["spares"]: each for each in whole["visit_prices"]}
    # Digits of the page.
    assert designs["none", 7]["loss_probability"] == pytest.approx(0.034, abs=5e-4)
    assert prices[7]["price"] == pytest.approx(173, abs=0.5)
    assert designs["none", 10]["loss_probability"] == pytest.approx(0.002, abs=5e-4)
    assert prices[10]["price"] == pytest.approx(6187, abs=0.5)
    assert (prices[10]["strategy"], prices[10]["maintained_spares"]) == ("mandatory", 9)
    assert designs["mandatory", 9]["visits"] == pytest.approx(0.014, abs=5e-4)
    few, many = designs["preventive", 1], designs["preventive", 7]
    assert (round(few["visits"], 1), round(few["spent"])) == (4.3, 4679)
    assert (round(many["visits"], 2), round(many["spent"])) == (0.15, 2883)
    assert few["loss_probability"] / many["loss_probability"] == pytest.approx(8.5, abs=0.05)
    assert min(each["loss_probability"] for each in whole["designs"]) > 1.05e-4
    maintained = json.loads(sledsim_cli("reliability", HONG, "--figure", "maintenance", "--json").out)["rows"]
    mttf = {(row["strategy"], row["spares"], row["repair"]): row["mttf_years"] for row in maintained}
    gains = [mttf["preventive", 1, time] / mttf["preventive", 0, time] for time in ("1 day", "3 months")]
    assert gains == pytest.approx([78, 5.7], rel=0.01)
