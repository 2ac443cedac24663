"""Errors in documents: all are reported at once, each with its path, file and line."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from sledsim import Scenario, SledsimError
from sledsim.reliability import load
from sledsim.studies.cache_cost import CostStudy
from sledsim.studies.objective import RoleTest
from sledsim.sweep import Range, Sweep
from sledsim.sweep.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOADS: dict[str, Callable[..., Any]] = {
    "sweep": Sweep.load,
    "search": Search.load,
    "enclosure": load,
    "cost": CostStudy.load,
    "role": RoleTest.load,
}
#: Lines that make keys of a document wrong by themselves and together, and the paths of all faults. Keys are checked
#: together if each of them is right by itself.
TOGETHER = {
    "sweep": (
        "replicatons = 2",
        "replications = 0",
        'axes.scheduler = ["fcfs", "sptf", "sptf"]',
        "zip = { x = [1, 2], y = [1] }",
        'axes."run.requests" = { from = 1, to = 9, scale = "log", step = 2 }',
        'axes."device.bit_nm" = [1, { a = 1 }, 1, 1]',
        'axes."device.tips" = { to = 9, counts = 3 }',
        'sample = [{ count = 0, axes = { a = { from = 1, to = 2, count = 2 }, "device.bit_nm" = [1] } }]',
    ),
    "search": (
        "trials = 0",
        'parameters."device.tips" = { from = 5, to = 1, count = 2 }',
        'objectives = ["response", "response", "cost", { metric = "power", gaol = "maximise" }]',
        'constraints = [{ metric = "energy", at_least = 1 }, { metric = "power" }]',
    ),
    "enclosure": (
        "enclosure = { data = 19, parity = 1, spars = 2 }",
        'device.mttf = "200000 h"',
        'device.lifetime = { kind = "weibull", sigma = 1 }',
        "device.tips = { count = 3, tolerated = 3, mttf = 0 }",
        "rebuild = { at_once = 0 }",
        'repair = { strategy = "mandatory", distribution = "fix" }',
    ),
    "cost": (
        "replications = 0",
        "ratios = [1]",
        "nvram_prices_per_gb = [1]",
        "budget = 1",
        'mems_bytes = "16 MiB"',
    ),
}
FOUND_TOGETHER = {
    "sweep": [
        "axes.device.bit_nm.2",
        "axes.device.bit_nm.3",
        "axes.device.tips.count",
        "axes.device.tips.counts",
        "axes.device.tips.from",
        "axes.run.requests.step",
        "axes.scheduler.2",
        "replications",
        "replicatons",
        "sample.0.axes.a.count",
        "sample.0.count",
        "zip.0.x",
    ],
    "search": [
        "constraints.1.at_most",
        "objectives.3.gaol",
        "parameters.device.tips.count",
        "parameters.device.tips.to",
        "trials",
    ],
    "enclosure": [
        "device.lifetime.shape",
        "device.lifetime.sigma",
        "device.tips.mttf",
        "device.tips.tolerated",
        "enclosure.spars",
        "rebuild.at_once",
        "rebuild.time",
        "repair.distribution",
        "repair.mandatory",
    ],
    "cost": ["budget", "ratios", "replications"],
}


@pytest.mark.parametrize("name", TOGETHER)
def test_faults_of_combinations_are_reported_beside_faults_of_keys(name: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    scenario = "" if name == "enclosure" else 'scenario = { workload = "tpcc-like", system = "g2" }\n'
    path.write_text(scenario + "\n".join(TOGETHER[name]) + "\n")
    with pytest.raises(SledsimError) as error:
        LOADS[name](path)
    assert sorted(str(fault.path) for fault in error.value.faults) == FOUND_TOGETHER[name]
    assert all((fault.file, fault.line is not None) == (str(path), True) for fault in error.value.faults)
    with pytest.raises(SledsimError) as error:
        LOADS[name](tomllib.loads(path.read_text()))
    assert sorted(str(fault.path) for fault in error.value.faults) == FOUND_TOGETHER[name]


def test_python_tables_report_all_faults() -> None:
    with pytest.raises(SledsimError) as error:
        Range(-1, "x", scale="log", step=2)
    assert [fault.path for fault in error.value.faults] == ["to", "step"]
    with pytest.raises(SledsimError) as error:
        Sweep("a.toml", {"seed": [1], "system.a": [1]}, zip=[{"a": [2]}], replications=2, random_numbers="none")
    assert [fault.path for fault in error.value.faults] == ["random_numbers", "zip.0.a"]
    with pytest.raises(SledsimError) as error:
        Sweep("a.toml", {"seed": [1]}, zip=[{"seed": [2]}], replications=2)
    assert [fault.path for fault in error.value.faults] == ["zip.0.seed", "axes.seed", "zip.0.seed"]


WRONG_SCENARIO = '[scenario]\nseed = 3\n[scenario.workload]\narrival = { kind = "poisson", rate_per_s = 9 }\n'
WRONG_SCENARIO += "[scenario.system.device]\nname = 'g2'\nbit_nm = 0\n"


@pytest.mark.parametrize(
    ("load_it", "text"),
    [
        (lambda path: Sweep.load(path).check(), "[axes]\nscheduler = ['fcfs']\n"),
        (lambda path: Search.load(path).check(), "objectives = ['response']\nparameters.'run.requests' = [7]\n"),
        (lambda path: sledsim.studies.cost(CostStudy.load(path)), "mems_bytes = 4096\n"),
        (lambda path: sledsim.studies.specificity(RoleTest.load(path)), "fit_bytes = 4096\n"),
    ],
    ids=["sweep", "search", "cost", "role"],
)
def test_faults_of_an_embedded_scenario_have_file_line_and_path(
    load_it: Callable[[Path], Any], text: str, tmp_path: Path
) -> None:
    table = "role" if "fit_bytes" in text else "scenario"
    own = WRONG_SCENARIO.replace("[scenario", f"[{table}")
    path = tmp_path / "own.toml"
    path.write_text(text + own)
    with pytest.raises(SledsimError) as error:
        load_it(path)
    fault = error.value.faults[0]
    assert fault.path == f"{table}.system.device.bit_nm"
    assert (fault.file, fault.line) == (str(path), (text + own).count("\n"))
    assert (fault.value, fault.allowed["least"]) == (0, 1)


def test_faults_of_an_embedded_scenario_name_the_layer_or_setting(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    low, sweep, path = tmp_path / "below" / "low.toml", tmp_path / "below" / "sweep.toml", tmp_path / "own.toml"
    low.write_text('workload = "cello-like"\n[system]\ndevice = "g2"\nbatch_max = 0\n')
    sweep.write_text('axes.scheduler = ["fcfs"]\n[scenario]\nbase = "low.toml"\nsead = 3\n')
    path.write_text('base = "below/sweep.toml"\n[scenario.run]\nrequests = 5\nwarmup_requests = 9\n')

    def places(*sets: str) -> dict[str | None, tuple[str | None, int | None, str | None]]:
        with pytest.raises(SledsimError) as error:
            Sweep.load(path, overrides=sets).check()
        return {fault.path: (fault.file, fault.line, fault.setting) for fault in error.value.faults}

    assert places() == {
        "system.batch_max": (str(low), 4, None),
        "scenario.sead": (str(sweep), 4, None),
        "scenario.run.warmup_requests": (str(path), 4, None),
    }
    assert places("sweep.scenario.run.requests=3", "seed=-1")["seed"] == (None, None, "seed=-1")
    sweep.write_text('axes.scheduler = ["fcfs"]\n[scenario]\nbase = "none.toml"\n')
    assert places() == {"scenario.base": (str(sweep), 3, None)}


def test_axes_incompatible_with_the_scenario_are_named(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        "axes.'run.requests' = [20, 5]\n[scenario]\nworkload = 'cello-like'\nsystem = 'g2'\nrun.warmup_requests = 9\n"
    )
    with pytest.raises(SledsimError, match=r"axis 'run.requests' = 5: ") as error:
        Sweep.load(path).check()
    fault = error.value.faults[0]
    # The axis has to be corrected: without it the scenario is valid.
    assert (fault.path, fault.file, fault.line) == ("scenario.run.warmup_requests", str(path), 1)


def test_dictionaries_can_have_a_document_as_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text('workload = "cello-like"\nsystem.device = "g2"\nrun.requests = 20\n')
    on_base = {"base": "base.toml", "seed": 2}
    result = sledsim.run(on_base)
    assert (result.scenario["seed"], result["requests"]["completed"]) == (2, 20)
    assert Scenario.load(on_base).resolve() == Scenario.load(tmp_path / "base.toml", overrides=["seed=2"]).resolve()
    assert Sweep.load({"scenario": on_base, "axes": {"scheduler": ["fcfs"]}}).check().seed == 2
    assert Sweep(on_base, {"scheduler": ["fcfs"]}).check().seed == 2
    (tmp_path / "base.toml").write_text('workload = "cello-like"\nsystem.device = "g2"\nrun.requests = 0\n')
    with pytest.raises(SledsimError) as error:
        sledsim.run(on_base)
    assert (error.value.path, error.value.file, error.value.line) == ("run.requests", str(tmp_path / "base.toml"), 3)
    with pytest.raises(SledsimError) as error:
        sledsim.run({"base": "none.toml"})
    assert (error.value.kind, error.value.path, error.value.file) == ("unreadable", "base", "scenario")


def test_values_outside_the_document_model_are_named_by_path() -> None:
    for load_it, values in (
        (sledsim.run, {"workload": {"arrival": {"rate_per_s": float("nan")}}}),
        (Sweep.load, {"scenario": {}, "workload": {"arrival": {"rate_per_s": object()}}}),
    ):
        with pytest.raises(SledsimError) as error:
            load_it(values)
        assert (error.value.kind, error.value.path) == ("wrong-type", "workload.arrival.rate_per_s")


#: Documents with a fault, faults of the scenario and of other referenced files; the paths of all faults.
NAMED = {
    "sweep": (
        'replicatons = 2\naxes.scheduler = ["fcfs", "sptff"]\naxes."run.requests" = { from = 9, to = 1, step = 1 }\n'
        '[scenario]\nworkload = "tpcc-like"\nsystem = { device = "g2", batch = 1 }\n[overrides]\n"run.foo" = 1\n',
        ["axes.run.requests.step", "axes.scheduler.1", "replicatons", "run.foo", "scenario.system.batch"],
    ),
    "search": (
        'trials = 0\nobjectives = ["response"]\nparameters."device.tipz" = { from = 9, to = 99 }\n'
        '[scenario]\nworkload = { read_fraction = 2, arrival = { kind = "poisson", rate_per_s = 1 } }\nsystem = "g2"\n',
        ["parameters.device.tipz", "scenario.workload.read_fraction", "trials"],
    ),
    "cost": (
        'replications = 0\nmems = "g22"\n'
        '[scenario]\nworkload = "tpcc-like"\nsystem = { device = "atlas", batch = 1 }\n',
        ["mems", "replications", "scenario.system.batch", "scenario.system.device.name"],
    ),
    "role": (
        'role = "sdf"\nwithout = "sdff"\ndevice = "g22"\ndisk = "nothing"\nfit_bytes = 0\n[overrides]\n"run.foo" = 1\n',
        ["device", "disk", "fit_bytes", "run.foo", "without"],
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_referenced_files_are_checked_beside_other_faults(name: str, tmp_path: Path) -> None:
    text, paths = NAMED[name]
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(SledsimError) as error:
        LOADS[name](path)
    assert sorted(str(fault.path) for fault in error.value.faults) == paths
    assert {fault.file for fault in error.value.faults} == {str(path)}
    assert all(fault.line for fault in error.value.faults)


def test_faults_that_follow_from_a_wrong_axis_are_not_reported() -> None:
    base = {"workload": {"arrival": {"kind": "poisson"}}, "system": {"kind": "mirror", "device": "g2"}}
    axes = {"system.kind": ["drive", "drive"], "workload.arrival.rate_per_s": {"from": 1}, "seed": [1, -1]}
    with pytest.raises(SledsimError) as error:
        Sweep.load({"scenario": base, "axes": axes})
    paths = {fault.path for fault in error.value.faults}
    assert paths == {
        "axes.system.kind.1",
        "axes.workload.arrival.rate_per_s.to",
        "axes.workload.arrival.rate_per_s.count",
        "axes.seed.1",
    }


def test_missing_scenario_is_reported_at_its_reference(tmp_path: Path) -> None:
    (tmp_path / "discs.toml").write_text('workload = "tpcc-like"\nsystem = "g2"\n')
    path = tmp_path / "own.toml"
    path.write_text('seed = 1\nscenario = "disks.toml"\naxes.scheduler = ["fcfs"]\n')
    with pytest.raises(SledsimError) as error:
        Sweep.load(path).check()
    [fault] = error.value.faults
    assert (fault.kind, fault.path, fault.value) == ("unreadable", "scenario", "disks.toml")
    assert (fault.file, fault.line, fault.suggestion) == (str(path), 2, str(tmp_path / "discs.toml"))


def test_device_files_start_from_the_document_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('base = "g2"\nvalues.bit_nm = 30\n')
    path = tmp_path / "role.toml"
    path.write_text('role = "sdf"\ndevice = "own.toml"\n')
    assert RoleTest.load(path).device == str(tmp_path / "own.toml")
    path.write_text(
        'mems = "own.toml"\nmems_bytes = "16 MiB"\nscenario = { workload = "tpcc-like", system = "atlas10k" }\n'
    )
    assert CostStudy.load(path).mems == str(tmp_path / "own.toml")
    # A fault of an overridden key is not reported.
    path.write_text(
        'mems = "nobody"\nmems_bytes = "1000 GB"\nscenario = { workload = "tpcc-like", system = "atlas10k" }\n'
    )
    assert CostStudy.load(path, mems="hong2006", budget=0.01).mems == "hong2006"
    with pytest.raises(SledsimError) as error:
        CostStudy.load(path, mems="hong2006")
    assert {(fault.path, fault.file, fault.line) for fault in error.value.faults} == {("mems_bytes", str(path), 2)}


def test_keys_of_another_kind_hide_no_other_faults() -> None:
    scenario = {"workload": "tpcc-like", "system": "g2"}
    with pytest.raises(SledsimError) as error:
        Sweep.load({"scenario": scenario, "axes": {"seed": [1, 2]}, "role": "sdf", "replications": 0})
    assert {fault.path for fault in error.value.faults} == {"role", "replications"}
    with pytest.raises(SledsimError) as error:
        CostStudy.load({"scenario": scenario, "mems_bytes": 4096, "axes": {}, "budget": 1})
    assert {fault.path for fault in error.value.faults} == {"axes", "budget"}
