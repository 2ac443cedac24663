"""`sledsim reliability`: output and errors."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from conftest import EXAMPLES, examples_of
from sledsim import reliability
from sledsim.reliability.curves import whole_years
from test_bad_input import assert_refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

HONG = EXAMPLES / "hong2006.toml"
FIGURES = ["spares", "maintenance", "failures", "cost"]

TOML = """\
[enclosure]
data = 4
parity = 1
spares = 1
[device]
mttf = "100000 h"
[rebuild]
time = "2 h"
"""


@pytest.fixture
def enclosure_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(TOML)
    return path


def test_the_enclosure_of_the_paper(sledsim_cli: Callable[..., Outcome]) -> None:
    found = sledsim_cli("reliability", HONG)
    assert found.status == 0
    lines = {line.partition("  ")[0]: line.split() for line in found.out.splitlines()}
    # 8.1 years, and 1.75 % within three: hong2006, section 3.2.1.
    assert lines["MTTF"][1:3] == ["8.051", "years"]
    assert lines["loss of data"][-2:] == ["0.01750", "0.1500"]
    # A disk as good as a device: 12.31 %.
    assert lines["loss of a single device"][-2] == "0.1231"
    assert "repairs, mean" not in found.out
    assert "19 + 1 devices, 5 dedicated spares" in found.out


def test_repairs_are_counted(sledsim_cli: Callable[..., Outcome]) -> None:
    found = sledsim_cli(
        "reliability", HONG, "--set", "repair.strategy=preventive", "--set", "repair.preventive=1 month"
    )
    assert found.status == 0
    assert "preventive, 1 month (1 week in degraded mode)" in found.out
    assert "repairs, mean" in found.out
    assert "devices replaced, mean" in found.out


def test_json_equals_the_python_result(sledsim_cli: Callable[..., Outcome]) -> None:
    found = json.loads(sledsim_cli("reliability", HONG, "--json", "--years", "2,10").out)
    same = reliability.analyse(HONG, years=[2, 10])
    assert found == same.to_dict()
    assert found["name"] == "hong2006"
    assert [row["years"] for row in found["within"]] == [2, 10]
    model = reliability.MarkovModel(same.description)
    assert found["mttf_h"] == model.mttf_h
    for row in found["within"]:
        hours = row["years"] * 8760
        # The same chain, to another horizon: other steps, the same sums but for rounding.
        assert row["loss"] == pytest.approx(model.loss_probability(hours), rel=1e-9)
        assert row["survival"] == pytest.approx(1 - row["loss"], abs=1e-12)


def test_resolved_description_gives_the_same_result(sledsim_cli: Callable[..., Outcome]) -> None:
    first = json.loads(sledsim_cli("reliability", HONG, "--json").out)
    again = json.loads(sledsim_cli("reliability", "-", "--json", given=json.dumps(first["description"])).out)
    assert again == {**first, "name": None}


def test_a_description_from_standard_input(sledsim_cli: Callable[..., Outcome]) -> None:
    found = sledsim_cli("reliability", "-", "--set", "enclosure.sparing=distributed", given=TOML)
    assert found.status == 0
    assert "4 + 1 devices, 1 distributed spare" in found.out


def test_little_survival_is_not_zero(sledsim_cli: Callable[..., Outcome]) -> None:
    # Two devices without redundancy, of which neither fails.
    sets = ["--set", "enclosure={data = 2, parity = 0}", "--set", "device.mttf=1 year"]
    found = sledsim_cli("reliability", HONG, *sets, "--years", "20").out
    assert f"{math.exp(-40):.4g}"[:5] in found.split("survival")[1].splitlines()[0]
    [curve, _] = (
        reliability.analyse(HONG, overrides={"enclosure": {"data": 2, "parity": 0}, "device.mttf": "1 year"})
        .curves(20.0)
        .curves
    )
    assert curve.survival[-1] == pytest.approx(math.exp(-40), rel=1e-12)
    assert (curve.survival[0], curve.loss[0]) == (1, 0)
    drawn = sledsim_cli("reliability", HONG, "--set", "device.mttf=1 year", "--figure", "spares", "--years", "20").out
    assert " 0 " not in drawn


def test_tiny_probabilities_are_not_zero(sledsim_cli: Callable[..., Outcome], enclosure_file: Path) -> None:
    sets = ["enclosure.parity=4", "rebuild.time=10 s", "repair={strategy = 'preventive', preventive = '1 h'}"]
    found = sledsim_cli("reliability", enclosure_file, *(word for each in sets for word in ("-s", each)))
    assert found.status == 0
    [line] = [line for line in found.out.splitlines() if line.startswith("survival")]
    assert line.split()[1:3] == ["1", "−"]
    [loss] = [line for line in found.out.splitlines() if line.startswith("loss of data")]
    assert 0 < float(loss.split()[3]) < 1e-15


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_printed_drawn_and_written(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, figure: str
) -> None:
    picture = tmp_path / "figure.svg"
    found = sledsim_cli("reliability", HONG, "--figure", figure, "--plot", picture)
    assert found.status == 0
    assert "─" in found.out
    assert picture.read_text().startswith("<svg")
    whole = json.loads(sledsim_cli("reliability", HONG, "--figure", figure, "--json").out)
    assert found.out.startswith(whole["title"])


def test_figures_have_the_published_values(sledsim_cli: Callable[..., Outcome]) -> None:
    def figure(name: str) -> dict[str, Any]:
        whole: dict[str, Any] = json.loads(sledsim_cli("reliability", HONG, "--figure", name, "--json").out)
        return whole

    # Figure 3 and section 3.3: as many decimals as the paper prints.
    curves = {each["name"]: dict(zip(each["years"], each["loss"], strict=True)) for each in figure("spares")["curves"]}
    assert list(curves)[:6] == ["no spares", "1 spare", "2 spares", "3 spares", "4 spares", "5 spares"]
    assert curves["no spares"][1] == pytest.approx(0.2106, abs=5e-5)
    assert curves["5 spares"][3] == pytest.approx(0.0175, abs=5e-5)
    disk = curves["disk, MTTF 200,000 h"]
    assert [disk[year] for year in (1, 3, 5)] == pytest.approx([1 - 0.957, 1 - 0.877, 1 - 0.803], abs=5e-4)
    # Section 3.2.1, to the paper's two digits.
    never = [row["mttf_years"] for row in figure("maintenance")["rows"] if row["strategy"] == "none"]
    assert never == pytest.approx([2.3, 3.5, 4.6, 5.8, 6.9, 8.1], abs=0.05)
    # Figure 5 and section 3.3.
    failures = {(row["failures"], row["years"]): row["probability"] for row in figure("failures")["rows"]}
    assert failures[3, 1] == pytest.approx(0.988, abs=5e-4)
    assert failures[6, 5] == pytest.approx(0.846, abs=5e-4)


def test_enclosures_are_compared_with_the_first(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    picture = tmp_path / "compared.svg"
    files = [HONG, EXAMPLES / "raid6.toml"]
    found = sledsim_cli("reliability", *files, HONG, "--plot", picture)
    assert found.status == 0
    assert "hong2006 (2)" in found.out
    assert "MTTF (years)" in found.out
    drawn = picture.read_text()
    for name in ("hong2006", "raid6", "a device, MTTF 200,000 h"):
        assert name in drawn
    whole = json.loads(sledsim_cli("reliability", *files, HONG, "--json").out)
    assert [each["name"] for each in whole["enclosures"]] == [*(file.stem for file in files), "hong2006 (2)"]
    for metric in whole["metrics"]:
        first, *_, last = metric["values"]
        # The last is the first again.
        assert first == last
        assert metric["ratios"][-1] == (1 if first else None)


def test_lifetimes_are_simulated_on_request(sledsim_cli: Callable[..., Outcome]) -> None:
    found = sledsim_cli("reliability", HONG, "--simulate", "--years", "3", "--seed", "7", "--lifetimes", "20000")
    assert found.status == 0
    assert "MTTF              8.051 years" in found.out
    assert "seed 7" in found.out
    assert "in 20,000" in found.out
    options = ["--seed", "7", "--lifetimes", "20000", "--years", "3", "--json"]
    whole = json.loads(sledsim_cli("reliability", HONG, *options).out)
    [exact], [simulated] = whole["within"], whole["simulated"]["loss"]
    assert whole["beyond_chains"] == []
    # A tenth of the lifetimes is lost in none of the seeds; 20,000 lifetimes are known to ±6 % here.
    assert simulated["low"] < simulated["estimate"] < simulated["high"]
    assert simulated["estimate"] == pytest.approx(exact["loss"], rel=0.2)


def test_cases_without_a_chain_are_simulated(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    picture = tmp_path / "loss.svg"
    sets = [
        "--set",
        'device.lifetime={kind = "lognormal", sigma = 1.2}',
        "--set",
        "device.tips={count = 100, mttf = '1e6 h'}",
    ]
    found = sledsim_cli("reliability", HONG, *sets, "--lifetimes", "2000", "--plot", picture)
    assert found.status == 0
    assert "lognormal, sigma 1.2" in found.out
    assert "100 and no spares" in found.out
    # Figures of the chain would be wrong here.
    assert "single device" not in found.out
    assert "cost over" not in found.out
    assert picture.read_text().startswith("<svg")
    whole = json.loads(sledsim_cli("reliability", HONG, *sets, "--lifetimes", "2000", "--json").out)
    assert whole["beyond_chains"] == ["device.lifetime", "device.tips"]
    assert "within" not in whole
    same = reliability.simulate(whole["description"], lifetimes=2000, to_loss=True)
    assert whole["simulated"]["loss"] == same.loss


def test_simulated_enclosures_have_survival_and_without_repairs_an_mttf(sledsim_cli: Callable[..., Outcome]) -> None:
    # An array without redundancy lives as long as the first of its ten devices: a Weibull life, shorter by 10^(1/2).
    sets = {"enclosure": {"data": 10, "parity": 0}, "device.lifetime": {"kind": "weibull", "shape": 2.0}}
    found = reliability.report(HONG, overrides=sets, lifetimes=20_000)
    assert isinstance(found, reliability.SimulatedReport)
    years = 200_000 / 8760 / math.sqrt(10)
    # The standard deviation is 0.52 of the mean: 20,000 lifetimes know it to 1.5 % with four standard errors.
    assert found.mttf_years == pytest.approx(years, rel=0.015)
    options = ["--set", "device.lifetime={kind = 'weibull', shape = 2.0}", "--lifetimes", "2000"]
    printed = sledsim_cli("reliability", HONG, *options).out
    assert all(f"survival of {within}" in printed for within in ("1 year", "3 years", "5 years"))
    assert "MTTF (years)" in printed
    # With repairs the enclosure may survive indefinitely.
    repaired = sledsim_cli("reliability", HONG, *options, "--set", "repair.strategy=preventive").out
    assert "MTTF (years)" not in repaired


def test_unobserved_repairs_are_printed_as_bounds() -> None:
    rare = {"device.mttf": "1e9 h", "repair.strategy": "mandatory"}
    found = reliability.simulate(HONG, overrides=rare, years=[1], lifetimes=1000, method="plain")
    [repairs], [replaced] = found.repairs, found.replaced
    assert repairs is not None
    assert replaced is not None
    # 5 % of enclosures with a Poisson process of this mean show none in 1,000; a repair replaces six devices at most.
    assert (repairs["estimate"], repairs["low"]) == (None, 0)
    assert repairs["high"] == pytest.approx(-math.log(0.05) / 1000, rel=1e-9)
    assert replaced["high"] == pytest.approx(6 * repairs["high"], rel=1e-9)
    assert "repairs within 1 year, mean           < 0.00300" in str(found)
    # Without visits there are certainly no repairs.
    never = reliability.simulate(HONG, years=[1], lifetimes=1000, method="plain")
    assert never.repairs == [{"estimate": 0.0, "low": 0.0, "high": 0.0}]


def test_unobserved_losses_are_printed_as_bounds() -> None:
    ageing = {"device.lifetime": {"kind": "weibull", "shape": 2.0}, "repair.strategy": "preventive"}
    plain = reliability.simulate(HONG, overrides=ageing, years=[1], lifetimes=1000, method="plain")
    assert plain.loss[0]["observed"] == 0
    found = reliability.ReliabilityComparison([reliability.SimulatedReport(plain)] * 2)
    [metric] = [metric for metric in found.metrics() if metric["label"].startswith("loss")]
    assert (metric["values"], metric["ratios"]) == ([None, None], [None, None])
    # 5 % of enclosures of this probability of loss show none in 1,000.
    assert metric["bounds"] == [pytest.approx(1 - 0.05 ** (1 / 1000), rel=1e-9)] * 2
    [line] = [line for line in str(found).splitlines() if line.startswith("loss of data")]
    assert line.count("< 0.00299") == 2
    assert found.plot().to_dict()["title"]


def test_chains_and_simulations_stand_side_by_side(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    picture = tmp_path / "both.svg"
    weak = EXAMPLES / "weak-devices.toml"
    found = sledsim_cli("reliability", HONG, weak, "--lifetimes", "5000", "--plot", picture)
    assert found.status == 0
    assert "simulated (device.lifetime, device.batches, device.latent_errors)" in found.out
    whole = json.loads(sledsim_cli("reliability", HONG, weak, "--lifetimes", "5000", "--json").out)
    metrics = {metric["label"]: metric for metric in whole["metrics"]}
    assert metrics["MTTF (years)"]["values"][1] is None
    exact, simulated = metrics["loss of data, 5 years"]["values"]
    assert metrics["loss of data, 5 years"]["ratios"] == [1, simulated / exact]
    assert "Straight lines: simulated" in picture.read_text()


@pytest.mark.parametrize("path", examples_of("enclosure"), ids=lambda path: path.name)
def test_examples_have_the_documented_effect(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [
        line[1:].split() for line in path.read_text().splitlines() if line.startswith("#   sledsim reliability")
    ]
    assert commands
    for words in commands:
        arguments = [str(EXAMPLES / word) if word.endswith(".toml") else word for word in words[1:]]
        assert sledsim_cli(*arguments).status == 0, words
    assert len(list(tmp_path.iterdir())) == sum("--plot" in words for words in commands)


def test_errors_of_a_file_name_the_file(sledsim_cli: Callable[..., Outcome], enclosure_file: Path) -> None:
    enclosure_file.write_text(TOML.replace("spares", "spars"))
    assert_refused(
        sledsim_cli("reliability", enclosure_file),
        str(enclosure_file),
        "line 4: unknown key enclosure.spars",
        'did you mean "spares"?',
    )
    enclosure_file.write_text(TOML.replace("[rebuild]", "[rebuild"))
    assert_refused(sledsim_cli("reliability", enclosure_file), str(enclosure_file), "line 7")
    enclosure_file.write_text(TOML.replace("[rebuild]\n", ""))
    assert_refused(sledsim_cli("reliability", enclosure_file), str(enclosure_file), "device.time", "unknown key")
    enclosure_file.write_text("")
    assert_refused(sledsim_cli("reliability", enclosure_file), str(enclosure_file), "empty")
    enclosure_file.write_bytes(b"\xff\xfe")
    assert_refused(sledsim_cli("reliability", enclosure_file), str(enclosure_file), "UTF-8")
    assert_refused(sledsim_cli("reliability", enclosure_file.with_suffix(".tml")), "no such file", "small.toml?")
    assert_refused(sledsim_cli("reliability", enclosure_file.parent), str(enclosure_file.parent))


def test_scenarios_are_refused_as_enclosures(sledsim_cli: Callable[..., Outcome], scenario_file: Path) -> None:
    assert_refused(sledsim_cli("reliability", scenario_file), str(scenario_file), "a scenario", "[enclosure]")


def test_enclosures_without_prices_have_no_cost(sledsim_cli: Callable[..., Outcome], enclosure_file: Path) -> None:
    assert_refused(sledsim_cli("reliability", enclosure_file, "--figure", "cost"), "cost", "missing", "device = 100.0")


@pytest.mark.parametrize("figure", ["spares", "maintenance", "failures", "cost"])
def test_figures_draw_the_chain_results(sledsim_cli: Callable[..., Outcome], figure: str) -> None:
    ageing = 'device.lifetime={kind = "weibull", shape = 2.0}'
    found = sledsim_cli("reliability", HONG, "--figure", figure, "--set", ageing)
    assert_refused(found, "device.lifetime", "constant rate")


def test_counting_failures_needs_a_constant_number_of_devices(
    sledsim_cli: Callable[..., Outcome], enclosure_file: Path
) -> None:
    found = sledsim_cli("reliability", enclosure_file, "--figure", "failures", "-s", "enclosure.sparing=distributed")
    assert_refused(found, "enclosure.sparing", "dedicated")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--set", "device.mttf=1e-300 s"],
            "device.mttf: 2.78e-304 h are so short that 5 years span more of them",
        ),
        (["--set", "rebuild.time=1e-30 s", "--years", "2"], "rebuild: 2.78e-34 h are so short that 2 years span more"),
        (["--years", "1e30"], "--years: 1e+30 years span more failures, rebuilds or repairs than can be counted"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_error_of_too_many_events_names_their_cause(
    sledsim_cli: Callable[..., Outcome], enclosure_file: Path, arguments: list[str], said: str
) -> None:
    assert_refused(sledsim_cli("reliability", enclosure_file, *arguments), said)


def test_a_wrong_file_leaves_no_traceback(sledsim_command: Callable[..., Outcome], enclosure_file: Path) -> None:
    enclosure_file.write_text(TOML.replace('"2 h"', "2"))
    assert_refused(
        sledsim_command("reliability", enclosure_file), "line 8: rebuild.time = 2", "expected a number with a unit of"
    )


def test_descriptions_accept_python_objects(tmp_path: Path, enclosure_file: Path) -> None:
    tables: dict[str, dict[str, Any]] = {
        "enclosure": {"data": 4, "parity": 1, "spares": 1},
        "device": {"mttf": "100000 h"},
        "rebuild": {"time": "2 h"},
    }
    for source in (tables, json.dumps(tables), TOML, enclosure_file, str(enclosure_file), reliability.load(tables)):
        assert reliability.load(source) == reliability.load(TOML)
    assert reliability.load(tables, overrides={"enclosure.spares": 3}).enclosure.spares == 3
    assert tables["enclosure"]["spares"] == 1
    with pytest.raises(
        reliability.ReliabilityError, match="expected the path of a file, a text or a dictionary, not int 3"
    ):
        reliability.load(3)  # type: ignore[arg-type]
    # Paths start from the file's folder.
    enclosure_file.write_text(
        TOML.replace('time = "2 h"', 'load = "load.toml"').replace("[device]", '[device]\nname = "g2"')
    )
    assert reliability.load(enclosure_file).rebuild.load == str(tmp_path / "load.toml")


def test_every_function_accepts_python_objects(enclosure_file: Path) -> None:
    model = reliability.MarkovModel(reliability.load(TOML))
    for source in (TOML, enclosure_file, str(enclosure_file), reliability.load(TOML).to_dict()):
        assert reliability.MarkovModel(source).mttf_h == reliability.mttf_h(source) == model.mttf_h
        for name in ("survival", "loss_probability", "repairs", "replaced"):
            assert getattr(reliability.MarkovModel(source), name)("1 year") == getattr(model, name)("1 year")
        assert reliability.enclosure_chain(source).states == model.chain.states
        assert 0 < reliability.unrepaired_survival(source, "1 year") < 1


def test_the_model_has_its_chain_drawn() -> None:
    drawn = reliability.MarkovModel.__doc__ or ""
    assert all(symbol in drawn for symbol in ("N1", "D1", "N0", "D0", "DL", "λ", "μ", "ρ0", "ρ1"))


def test_tables_have_whole_years() -> None:
    assert whole_years([0.0, 0.5, 1.0, 1.5, 2.0]) == [2, 4]
    assert whole_years([0.0, 0.25, 0.5]) == [2]
    assert len(whole_years([float(year) for year in range(51)])) <= 8
