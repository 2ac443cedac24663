"""The option `--set` of `sledsim reproduce`."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT, SCENARIO
from sledsim import ScenarioError, SledsimError
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.change import change
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import experiments
from sledsim_papers.harness.settings import Settings
from sledsim_papers.harness.study import TRACES, Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

#: Side of a bit of `g2`, nm.
CATALOGUE_NM = 40.0
SPRINGS = "schlosser2000.spring-turnaround"
HOW_TO, CLAIMS = "how-to/reproduce.md", "papers/claims.md"
MIXED = {"kind": "mirror", "members": ["g2", {"device": {"name": "g3", "bit_nm": 40}}, {"device": "cheetah73"}]}


def members(laid: Settings, system: dict[str, Any] = MIXED) -> list[dict[str, Any]]:
    values = laid.scenario({**SCENARIO, "system": system}).values
    return [each["system"]["device"] for each in values["system"]["members"]]


def test_a_device_key_changes_every_device_that_has_it() -> None:
    g2, g3, disk = members(Settings(["device.bit_nm=35", "device.rotation_rpm=7200"]))
    assert (g2["bit_nm"], g3["bit_nm"], disk["rotation_rpm"]) == (35, 35, 7200)
    assert "bit_nm" not in disk
    # Other keys of the sleds are unchanged.
    plain = members(Settings([]))
    assert {**g2, "bit_nm": plain[0]["bit_nm"]} == plain[0]


def test_a_device_replaces_every_sled() -> None:
    assert [each["name"] for each in members(Settings(["device=g1"]))] == ["g1", "g1", "cheetah73"]
    [own] = members(Settings(["device=g1"]), {"kind": "mirror", "members": [{"count": 2, "device": "g2"}]})
    assert own["name"] == "g1"


def test_settings_override_the_experiment_and_its_motion() -> None:
    laid = Settings(["device.settle_constants=3", "run.requests=40", "device.seek_model=first-order"])
    own = {"device.settle_constants": 0.0, "run.requests": 30}
    scenario = {"workload": SCENARIO["workload"], "system": {"device": {"name": "g2", "settle_constants": 1}}}
    values = laid.scenario(scenario, own).values
    assert values["system"]["device"]["settle_constants"] == 3
    assert values["run"]["requests"] == 40
    with Study(workers=1) as study:
        view = study.under("decomposed").changed(laid)
        assert view.sled("g2", settle_constants=0.0).parameters["settle_constants"] == 3
        assert view.sled("g2").parameters["seek_model"] == "first-order"
        assert view.device("g3").parameters["settle_constants"] == 3
        assert view.run(scenario, own)["scenario"]["system"]["device"]["seek_model"] == "first-order"
        assert study.sled("g2").parameters["settle_constants"] == 1
    laid.require_changes("all of it")


def test_views_with_settings_share_no_values() -> None:
    def bits_nm(view: Study) -> float:
        return float(view.once("bits", lambda _: view.sled("g2").parameters["bit_nm"]))

    with Study(workers=1) as study:
        bits = [bits_nm(view) for view in (study, study.changed(Settings(["device.bit_nm=50"])))]
    assert bits == [CATALOGUE_NM, 50.0]


def test_disks_enclosures_and_drawings_have_their_keys_set() -> None:
    laid = Settings(["device.rotation_rpm=5400", "device.mttf=1000 h", "rebuild.time=1 h", "actuator_mn=50", "sleds=2"])
    tables = {"enclosure": {"data": 4, "parity": 1}, "device": {"mttf": "200000 h"}, "rebuild": {"time": "15 min"}}
    with Study(workers=1) as study:
        view = study.changed(laid)
        assert view.disk("cheetah73").parameters["rotation_rpm"] == 5400
        changed = view.enclosure(tables)
        assert changed.device.mttf.h == 1000
        assert str(changed.rebuild.time) == "1 h"
        assert view.drawing("g2", {"sleds": 4}) == study.drawing("g2", {"sleds": 2, "actuator_mn": 50})
        assert study.enclosure(tables).device.mttf.h == 200_000
    laid.require_changes("all of it")


def test_sleds_of_experiments_are_those_of_the_study() -> None:
    made_aside = [
        path.name
        for path in (ROOT / "papers" / "src" / "sledsim_papers").glob("*[0-9]/*.py")
        if path.name != "figures.py" and "MemsStorage(" in path.read_text(encoding="utf-8")
    ]
    assert not made_aside


def apply_to_scenario(setting: str) -> None:
    laid = Settings([setting])
    laid.scenario(SCENARIO)
    laid.require_changes("it")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("device.bit_nx=3", 'did you mean "bit_nm"?'),
        ("workload.rate=3", "unknown key workload.rate"),
        ("device.bit_nm=-3", "out of range"),
        ("device=g9", '"g9" is not known'),
        ("run.requests=many", "of the wrong type"),
        ("device.bit_nm", "expected path=value"),
        ("run.requests=3000", "changes nothing in it"),
        ("device.name=g2", "changes nothing in it"),
    ],
)
def test_an_invalid_setting_is_refused(setting: str, said: str) -> None:
    with pytest.raises(SledsimError) as refused:
        apply_to_scenario(setting)
    assert said in str(refused.value)
    assert setting.partition("=")[0] in str(refused.value)


def test_a_missing_key_of_a_new_kind_is_an_error() -> None:
    with pytest.raises(ScenarioError, match="read_fraction"):
        Settings(["workload.kind=trace"]).scenario(SCENARIO)


def test_the_verdict_changes_with_a_parameter(sledsim_cli: Callable[..., Outcome]) -> None:
    """As the page on reproducing shows it, and the page of claims names it."""
    how_to, page = ((ROOT / "docs" / place).read_text(encoding="utf-8") for place in (HOW_TO, CLAIMS))
    shown = re.search(r"^```text\n\$ (sledsim reproduce .+ --set .+)\n((?:.+\n)+)```$", how_to, re.MULTILINE)
    assert shown
    assert f"`{shown[1]}`" in page
    found = sledsim_cli(*shlex.split(shown[1])[1:])
    assert found.status == 0
    assert found.out == shown[2]
    assert [line.split()[-1] for line in shown[2].splitlines()[-2:]] == ["reproduced", "differs"]
    document = json.loads(sledsim_cli("reproduce", SPRINGS, "--set", "device.spring_factor=0", "--json").out)
    assert document["claims"][0]["verdict"] == "reproduced"
    assert document["changed"]["overrides"] == ["device.spring_factor=0"]
    assert document["changed"]["verdict"] == "differs"
    assert document["changed"]["ours"] == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([SPRINGS, "--set", "run.requests=10"], f"--set run.requests=10 changes nothing in {SPRINGS}"),
        ([SPRINGS, "--set", "device.bit_nx=1"], "--set device.bit_nx=1: unknown key system.device.bit_nx"),
        (["schlosser2000", "--set", "device=g3"], "name one claim: PAPER.CLAIM"),
        (["--set", "device=g3"], "name one claim: PAPER.CLAIM"),
        ([SPRINGS, "--set", "device=g3", "--report", "pages"], "leave out --set"),
    ],
)
def test_a_wrong_argument_is_named(sledsim_cli: Callable[..., Outcome], arguments: list[str], said: str) -> None:
    found = sledsim_cli("reproduce", *arguments)
    assert found.status == 2
    assert said in " ".join(found.err.replace("│", " ").split())


def failing_for_large_bits(study: Study) -> Finding:
    """Find something; fail where bits are large, as arithmetic may."""
    return Finding(1 / (study.sled("g2").parameters["bit_nm"] - 50.0), "")


def without_trace(study: Study) -> Finding:
    return Finding(float(str(study.trace(next(iter(TRACES))))), "")


def test_failure_of_an_experiment_names_the_setting(
    sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up = {"griffin1999.settle-time": failing_for_large_bits, "griffin1999.seek-max": without_trace}
    monkeypatch.setattr(reproduction, "experiments", lambda: made_up)
    found = sledsim_cli("reproduce", "griffin1999.settle-time", "--set", "device.bit_nm=50")
    assert found.status == 1
    assert "ZeroDivisionError" in found.out
    # Nothing could be changed where nothing could be run.
    monkeypatch.setenv("SLEDSIM_REFERENCE", "/nowhere")
    found = sledsim_cli("reproduce", "griffin1999.seek-max", "--set", "device.bit_nm=50")
    assert found.status == 0
    assert found.out.count("the trace hplajw is missing") == 2


def test_progress_covers_both_checks() -> None:
    assert SPRINGS in experiments()
    seen: list[tuple[int, int]] = []
    with Study(workers=1) as study:
        found = change(SPRINGS, ["device.spring_factor=0.5"], study, lambda *done: seen.append(done))
    assert seen == [(1, 2), (2, 2)]
    assert found.complete
    assert not found.failures


def test_values_valid_only_together_are_set_together(sledsim_cli: Callable[..., Outcome]) -> None:
    alone = ["--set", "device.buffer_caching=false"]
    assert sledsim_cli("reproduce", "schlosser2000.superdisk-cov", *alone).status == 2
    together = [*alone, "--set", "device.read_ahead=none", "--set", "device.fast_write=none"]
    found = json.loads(sledsim_cli("reproduce", "schlosser2000.superdisk-cov", *together, "--json").out)
    [claim] = found["claims"]
    # The probe of the claim is the same change.
    assert claim["probes"][0]["ours"] == found["changed"]["ours"]
    assert (claim["verdict"], found["changed"]["verdict"]) == ("reproduced", "differs")


def test_a_setting_that_changes_only_probes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def probed(study: Study) -> Finding:
        sized = {**SCENARIO, "workload": {**SCENARIO["workload"], "size_bytes": {"kind": "fixed", "value": 4096}}}
        probes = study.probes(lambda: (Probe("one size", study.run(sized).response.mean_ms),))
        return Finding(study.run(SCENARIO).response.mean_ms, "", probes=probes)

    monkeypatch.setattr(reproduction, "experiments", lambda: {SPRINGS: probed})
    with Study() as study, pytest.raises(SledsimError, match="size_bytes"):
        change(SPRINGS, ["workload.size_bytes.value=512"], study)
