"""What the pages say of reliability is what the program says."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT
from documented_claims import documented
from sledsim import reliability

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

EXAMPLES = ROOT / "examples" / "enclosures"
HONG = EXAMPLES / "hong2006.toml"
PAGES = [ROOT / "docs" / folder / "reliability.md" for folder in ("how-to", "explanation")]


def test_the_page_shows_what_the_commands_print(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "\n".join(path.read_text() for path in PAGES)
    shown = re.findall(r"```sh\n(sledsim reliability [^\n]+)\n```\n\n```\n(.+?)```", page, flags=re.DOTALL)
    assert len(shown) >= 4
    for command, output in shown:
        arguments = [ROOT / word if word.startswith("examples/") else word for word in command.split()[1:]]
        assert sledsim_cli(*arguments).out == output, command
    programs = re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL)
    assert len(programs) >= 2
    monkeypatch.chdir(tmp_path)
    for program in programs:
        exec(program.replace("examples/", f"{ROOT}/examples/"))
    assert (tmp_path / "figure4.html").stat().st_size > 1000


def test_the_page_describes_enclosures_that_can_be_read() -> None:
    page = "\n".join(path.read_text() for path in PAGES)
    first, *others = map(tomllib.loads, re.findall(r"```toml\n(.+?)```", page, flags=re.DOTALL))
    assert reliability.load(first).enclosure.spares == 5
    assert len(others) == 2
    for tables in others:
        reliability.load({**first, **tables})


def test_what_the_page_says_of_weak_devices(sledsim_cli: Callable[..., Outcome]) -> None:
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


def test_what_the_page_says_of_costs(sledsim_cli: Callable[..., Outcome]) -> None:
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


def test_the_page_of_claims_has_the_figures_of_enclosures() -> None:
    said = {row.claim: row.ours for row in documented("hong2006")}

    base = reliability.load(HONG)
    spares = {k: base.replace(enclosure={"spares": k}) for k in range(6)}
    counts = {k: reliability.failure_counts(spares[k]) for k in (2, 3, 5)}

    def need(k: int, what: str, years: int) -> float:
        [row] = [row for row in counts[k].repairs if (row["need"], row["years"]) == (what, years)]
        return float(row["probability"])

    maintained = {
        sparing: {
            (row["strategy"], row["spares"], row["repair"]): row["mttf_years"]
            for row in reliability.mttf_by_maintenance(base, overrides={"enclosure.sparing": sparing}).rows
        }
        for sparing in ("dedicated", "distributed")
    }
    mttf = maintained["dedicated"]
    gains = [
        mttf["preventive", k, time] / mttf["preventive", 0, time]
        for strategy, k, time in mttf
        if strategy == "preventive" and k
    ]
    apart = [abs(maintained["distributed"][key] / mttf[key] - 1) for key in mttf if key[2] not in (None, "3 months")]
    disk = [1 - row["device_loss"] for row in reliability.analyse(base).rows]
    assert len(gains) == 25
    assert len([gain for gain in gains if gain < 10]) == 1
    ours = {
        "mttf-no-repair": ", ".join(f"{reliability.mttf_h(each) / 8760:.2f}" for each in spares.values()),
        "loss-5-spares-3-years": f"{reliability.MarkovModel(spares[5]).loss_probability('3 years'):.4f}",
        "loss-disk-3-years": f"{1 - disk[1]:.4f}",
        "loss-without-spares-1-year": f"{reliability.MarkovModel(spares[0]).loss_probability('1 year'):.4f}",
        "preventive-gain": f"{min(gains):.1f}, {max(gains):.1f}",
        "preventive-beats-mandatory": "preventive, mandatory",
        "thousand-years": f"{mttf['preventive', 5, '1 week']:.0f}",
        "disk-survival": ", ".join(f"{each:.4f}" for each in disk),
        "durability-2-spares-1-year": f"{need(2, 'none to survive', 1):.4f}",
        "durability-5-spares-5-years": f"{need(5, 'none to survive', 5):.4f}",
        "repairs-preventive": f"{need(3, 'more than one, preventive', 5):.4f}",
        "repairs-mandatory": f"{need(3, 'more than one, mandatory', 5):.4f}",
        "distributed-sparing": f"{max(apart):.3f}",
    }
    assert said.items() >= ours.items()
    for strategy, k, time in mttf:
        if strategy == "mandatory" and k:
            assert mttf["preventive", k, time] > mttf["mandatory", k, time]
