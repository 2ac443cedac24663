"""Errors in documents: all are reported at once, each with its path, file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from sledsim import Scenario, SledsimError
from sledsim.studies.cache_cost import CostStudy
from sledsim.studies.objective import RoleTest
from sledsim.sweep import Range, Sweep
from sledsim.sweep.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
