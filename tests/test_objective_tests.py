"""Specificity and merit of roles and policies: the fitted disk, the verdicts, and errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from conftest import EXAMPLES, ROOT
from sledsim import SledsimError
from sledsim.runs.confidence import Interval
from sledsim.scenario.system_tree import drives_in
from sledsim.studies.calibration.fitted_disk import mean_access_ms
from sledsim.studies.objective import RoleTest
from sledsim.studies.objective.objective_tests import RULE, VERDICTS, ObjectiveTest, percent
from sledsim.studies.objective.roles import role_named
from test_bad_input import assert_refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

FEW: dict[str, Any] = {"replications": 5, "requests": 5000}
NO_SETTLING = ["device.settle_constants=0"]
READS: dict[str, Any] = {
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 300.0}},
    "system": {"device": "g2"},
    "run": {"requests": 4000},
}


def first_and_slow(*values: str) -> list[Any]:
    """Return the cases of a test: the first in both tiers, the others in the full tier."""
    return [values[0], *(pytest.param(value, marks=pytest.mark.slow) for value in values[1:])]


@pytest.mark.parametrize("device", first_and_slow("g2", "g1", "g3", "griffin1999"))
def test_the_fitted_disk_has_the_mean_access_time_of_its_device(device: str) -> None:
    fit = sledsim.studies.matched_disk(device)
    # The fit's own tolerance, on the sample that it was made with.
    assert fit.disk_ms == pytest.approx(fit.mems_ms, rel=0.002)
    disk, mems = sledsim.Device(fit.device), sledsim.Device(device)
    assert isinstance(disk, sledsim.devices.DiskDrive)
    assert disk.capacity_blocks == mems.capacity_blocks
    # Seeks beside revolutions are those of the disk that it was made from.
    base = sledsim.Device("uberdisk")
    assert isinstance(base, sledsim.devices.DiskDrive)
    assert disk.rotation_ms == pytest.approx(fit.factor * base.rotation_ms, rel=1e-6)  # whole nanoseconds
    assert disk.seek_ms([1, 100, 2000]) == pytest.approx(fit.factor * base.seek_ms([1, 100, 2000]), abs=2e-6)


def test_the_fit_holds_on_another_sample() -> None:
    fit = sledsim.studies.matched_disk("g2")
    scenario = {"seed": 9, "workload": {"arrival": {"kind": "closed", "outstanding": 1}}, "run": {"requests": 20_000}}
    disk, mems = (
        sledsim.run({**scenario, "system": {"device": dict(device)}})["service"]["mean_ms"]
        for device in (fit.device, sledsim.Device("g2", overhead_ms=0).parameters)
    )
    # Two means, each known to 0.5 %, and the fit's tolerance of 0.2 %.
    assert disk == pytest.approx(mems, rel=0.01)


@pytest.mark.parametrize("base", first_and_slow("superdisk", "cheetah73"))
def test_a_disk_of_any_curve_can_be_fitted(base: str) -> None:
    fit = sledsim.studies.matched_disk("g2", base=base)
    assert mean_access_ms(fit.device, 4096) == fit.disk_ms == pytest.approx(fit.mems_ms, rel=0.002)


def test_replacing_a_device_is_not_specific() -> None:
    # Section 5.3 of schlosser2004: in an array MEMS storage is a fast disk; 15.1 ms become 5.24 on either.
    with_role, without = EXAMPLES / "augmented-disk.toml", EXAMPLES / "busy-disk.toml"
    found = sledsim.studies.specificity(with_role, without=without, **FEW)
    assert found.verdict == "not specific"
    # The claim array-not-specific allows 5 % between the means.
    assert abs(found.decisive.mean) < 0.05
    gains = [case.gain.mean for case in found.cases if case.gain]
    assert len(gains) == 2
    assert min(gains) > 0.5
    assert sledsim.studies.merit(with_role, without=without, **FEW).verdict == "has merit"
    alone = sledsim.studies.specificity(with_role, **FEW)
    assert alone.verdict == "not specific"
    assert [case.mean for case in alone.cases] == [case.mean for case in found.cases if case.gain]


def test_rewriting_in_place_is_specific() -> None:
    # Section 6.2: a sled turns round, and a disk waits for a revolution.
    again = {
        "workload": {
            "arrival": {"kind": "closed", "outstanding": 1},
            "range": {"start_fraction": 0.5, "end_fraction": 0.500002},
        },
        "system": {"device": "g2"},
        "run": {"requests": 500},
    }
    found = sledsim.studies.specificity(again, replications=4)
    assert found.verdict == "specific"
    assert found.decisive.low > 0.5


def test_sdf_has_merit_only_where_nothing_settles() -> None:
    # Figures 4 and 8 of schlosser2004.
    assert sledsim.studies.merit("sdf", **FEW).verdict == "no merit"
    assert sledsim.studies.merit("sdf", **FEW, overrides=NO_SETTLING).verdict == "has merit"


@pytest.mark.slow
def test_sdf_is_more_specific_where_nothing_settles() -> None:
    settled, unsettled = (sledsim.studies.specificity("sdf", **FEW, overrides=each) for each in ([], NO_SETTLING))
    assert settled.verdict == "not specific"
    assert unsettled.decisive.mean > settled.decisive.mean + RULE


def test_sptf_is_not_specific() -> None:
    found = sledsim.studies.specificity("sptf", **FEW)
    assert found.verdict == "not specific"
    assert found.decisive.high < 0, "knowing the angle of the platters is worth more"


@pytest.mark.parametrize("layout", first_and_slow("equivalent", "tip-subset"))
def test_layouts_over_tips_are_specific_and_have_merit(layout: str) -> None:
    # Section 6.1.1: the layout passes both tests.
    found = sledsim.studies.specificity(layout)
    assert found.verdict == "specific"
    assert found.cases[-1].role == f"pages (no {layout})"
    assert found.cases[-1].gain == Interval(0.0, 0.0, 0.0)
    assert sledsim.studies.merit(layout).verdict == "has merit"


def test_identical_layouts_have_no_gain() -> None:
    assert sledsim.studies.merit("column-major", without="column-major").decisive == Interval(0.0, 0.0, 0.0)


def test_the_runs_differ_only_in_the_device() -> None:
    role = role_named({**READS, "system": {"kind": "volumes", "members": ["g2", {"device": "g3"}, "uberdisk"]}})
    assert [device["name"] for device in role.mems_devices()] == ["g2", "g3"]
    seeds = RoleTest(READS, replications=3)
    same = role.samples(seeds, lambda device: device)
    assert same == role.samples(seeds)
    assert len(set(same)) == 3
    changed = role.samples(seeds, lambda device: {**device, "overhead_ms": device["overhead_ms"] + 1.0})
    # All requests but those of the disk wait 1 ms more; capacities are 3.456, 6.144 and 41.6 GB.
    share = (3.456 + 6.144) / (3.456 + 6.144 + 41.6)
    assert np.mean(changed) - np.mean(same) == pytest.approx(share, rel=0.1)


def test_energy_is_a_measure_of_merit() -> None:
    ready, stopping = ({**READS, "system": {"device": "g2", "spin_down": policy}} for policy in ("never", "immediate"))
    sampling: dict[str, Any] = {"replications": 3, "metric": "energy.total_j"}
    found = sledsim.studies.merit(stopping, without=ready, **sampling)
    assert found.measure == "energy, total (J)"
    for case, scenario in zip(found.cases, (ready, stopping), strict=True):
        runs = [sledsim.run({**scenario, "seed": seed})["energy"]["total_j"] for seed in (1, 2, 3)]
        assert case.mean.mean == pytest.approx(np.mean(runs), rel=1e-12)
    assert found.verdict == "has merit"
    assert sledsim.studies.merit(stopping, without=ready, replications=3).decisive.high < 0
    with pytest.raises(SledsimError, match=r"no energy\.total_j was found; energies need devices"):
        sledsim.studies.specificity(stopping, without=ready, **sampling)


def test_zero_measures_have_no_gain() -> None:
    waits: dict[str, Any] = {"replications": 2, "requests": 50, "metric": "wait.mean_ms"}
    alone = {**READS, "workload": {"arrival": {"kind": "closed", "outstanding": 1}}}
    with pytest.raises(SledsimError, match="is 0 without the role"):
        sledsim.studies.merit(alone, without=alone, **waits)


def test_options_of_sleds_are_dropped_for_the_disk() -> None:
    system = {"device": "g2", "subsector": True, "spin_down": "immediate"}
    found = sledsim.studies.specificity({**READS, "system": system}, replications=2, requests=200)
    assert [case.device for case in found.cases] == ["g2 with overhead_ms 0", "uberdisk like g2"]
    assert not list(drives_in({"kind": "volumes", "members": []}))


def test_a_trace_is_cut_into_stretches(tmp_path: Path) -> None:
    trace = tmp_path / "many.csv"
    rows = [f"{i * 2_000_000},0,{i * 7919 % 100_000 * 4096},4096,R" for i in range(900)]
    trace.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    replayed = {"workload": {"kind": "trace", "path": str(trace)}, "system": {"device": "g2"}}
    found = sledsim.studies.specificity(replayed, replications=2)
    assert found.sampled_by == "30 stretches of the trace"
    assert found.decisive.low < found.decisive.mean < found.decisive.high
    result = sledsim.run(replayed, overrides=["device.overhead_ms=0"])
    assert found.cases[0].mean.mean == pytest.approx(result["response"]["mean_ms"], rel=1e-9)
    with pytest.raises(SledsimError, match=r"for which only response\.mean_ms"):
        sledsim.studies.specificity(replayed, metric="response.p99_ms")


@pytest.mark.parametrize(
    ("interval", "specific", "merit"),
    [
        (Interval(0.2, 0.11, 0.3), "specific", "has merit"),
        (Interval(0.1, 0.05, 0.15), "undecided", "undecided"),
        (Interval(0.05, -0.1, 0.1), "not specific", "no merit"),
        (Interval(-0.5, -0.6, -0.4), "not specific", "no merit"),
    ],
)
def test_the_rule_of_ten_percent(interval: Interval, specific: str, merit: str) -> None:
    verdicts = {
        kind: ObjectiveTest(kind, "x", [], interval, meaning="gain", sampled_by="seeds", measure="ms").verdict
        for kind in VERDICTS
    }
    assert verdicts == {"specificity": specific, "merit": merit}


def test_shares_have_significant_digits() -> None:
    written = {0.1: "10.0 %", -0.0853: "-8.5 %", 0.0002: "0.02 %", -0.00012: "-0.012 %", 0: "0 %"}
    assert {share: percent(share) for share in written} == written


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sdff"], ["no role 'sdff'", "did you mean sdf?"]),
        (["tip-subset", "--device", "atlas10k"], ["can't have the layout tip-subset", "row-major, column-major"]),
        (["missing.toml"], ["missing.toml", "no such file"]),
        (["sdf", "--without", "cloock"], ["'cloock'", "did you mean clook?"]),
        (["sdf", "--device", "uberdisk"], ["role sdf", "only uberdisk: expected MEMS storage"]),
        (["sdf", "--replications", "1"], ["--replications 1", "at least 2"]),
        (["sdf", "--requests", "0"], ["--requests 0", "at least 1"]),
        (["sdf", "--rate", "-5"], ["error: --rate -5 is out of range"]),
        (["equivalent", "--rate", "5"], ["error: --rate: applies only to schedulers"]),
        (["equivalent", "--without", "rows"], ["'rows'", "row-major"]),
        (
            ["sdf", "--metric", "response.mean"],
            ['--metric "response.mean" is not known: did you mean "response.mean_ms"?'],
        ),
        (["sdf", "--metric", "throughput.requests_per_s"], ["--metric", "is not known", "known: response.mean_ms"]),
        (["equivalent", "--metric", "energy.total_j"], ["energy.total_j", "only by their scans and fetches"]),
        (["equivalent", "--requests", "10"], ["10 requests are too few", "30"]),
        (["sdf", "--plot", "gains.gif"], ["gains.gif", ".png"]),
        (["FILE", "--device", "g2"], ["device g2", "--set"]),
        (["FILE", "--without", "missing.toml"], ["missing.toml"]),
    ],
)
def test_wrong_roles_are_refused(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, arguments: list[str], words: list[str]
) -> None:
    given = [str(scenario_file) if each == "FILE" else each for each in arguments]
    for test in ("specificity", "merit"):
        assert_refused(sledsim_cli("role-test", test, *given), *words)


def test_each_test_refuses_its_own_invalid_arguments(sledsim_cli: Callable[..., Outcome], scenario_file: Path) -> None:
    assert_refused(sledsim_cli("role-test", "merit", scenario_file), "small.toml", "has no baseline", "--without")
    assert_refused(sledsim_cli("role-test", "specificity", "sdf", "--disk", "g3"), "g3 is MEMS storage")
    assert_refused(
        sledsim_cli("role-test", "specificity", scenario_file, "--set", "device=uberdisk"), "expected MEMS storage"
    )


def test_the_commands_print_tables_json_and_a_picture(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    few = ["--replications", "3", "--requests", "2000"]
    printed = sledsim_cli("role-test", "specificity", "sdf", *few, "--plot", tmp_path / "gains.json")
    assert printed.status == 0
    assert "uberdisk like g2" in printed.out
    assert "verdict" in printed.out
    assert "Specificity of sdf" in (tmp_path / "gains.json").read_text()
    found = json.loads(sledsim_cli("role-test", "merit", "sptf", "--without", "fcfs", *few, "--json").out)
    expected = sledsim.studies.merit("sptf", without="fcfs", replications=3, requests=2000)
    assert found["verdict"] == expected.verdict
    assert found["decisive"]["mean"] == expected.decisive.mean
    assert [case["role"] for case in found["cases"]] == ["fcfs", "sptf"]
    assert found["rule"] == 0.1


@pytest.mark.slow
def test_the_page_has_the_output_of_the_command(
    sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    roles = ["augmented-disk.toml", "--without", "busy-disk.toml"]
    assert (
        sledsim_cli("role-test", "specificity", *roles).out.strip()
        in (ROOT / "docs" / "how-to" / "objective-tests.md").read_text()
    )
