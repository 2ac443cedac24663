"""Devices from drawings in scenarios: runs, sweeps, searches, and errors."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sledsim
from conftest import Outcome
from sledsim import ScenarioError
from sledsim.scenario import Resolved, Scenario, resolve
from sledsim.scenario.models import DriveSystem, MemsDevice, PoissonArrival, Run, SyntheticWorkload
from sledsim.studies.sled_design import design
from sledsim.sweep import Evaluation, Sweep, optimise, results
from sledsim.sweep import run as run_sweep

WIDTHS = [30, 40, 50]


def drawn(drawing: Any = "g2", **beside: Any) -> dict[str, Any]:
    """Return a short scenario whose device is a drawing."""
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 300.0}, "read_fraction": 0.67}
    return {"workload": workload, "system": {"device": {"drawing": drawing, **beside}}, "run": {"requests": 300}}


def made(**changes: Any) -> dict[str, Any]:
    """Return the same scenario with the device that `design` makes."""
    return {**drawn(), "system": {"device": design("g2", overrides=changes).device()}}


def without_name(scenario: Resolved) -> dict[str, Any]:
    """Return the values of a scenario without the name of its device."""
    values = scenario.values
    del values["system"]["device"]["name"]
    return values


def test_drawing_in_a_scenario_equals_its_designed_device() -> None:
    for changes in ({}, {"bit_nm": 30}, {"sleds": 2, "actuator_mn": 50.0}):
        sets = {f"device.drawing.{key}": value for key, value in changes.items()}
        assert resolve(drawn(), sets) == resolve(made(**changes))
        assert resolve(drawn({"drawing": "g2", **changes})) == resolve(made(**changes))
    assert resolve(drawn({"bit_nm": "0.03 um"})) == resolve(made(bit_nm=30))
    assert sledsim.run(drawn({"bit_nm": 30})).to_json() == sledsim.run(made(bit_nm=30)).to_json()


def test_keys_beside_a_drawing_take_precedence() -> None:
    values = resolve(drawn(settle_constants=0.25), ["device.bit_rate_kbit_s=500"]).values["system"]["device"]
    assert (values["settle_constants"], values["bit_rate_kbit_s"]) == (0.25, 500)
    others = resolve(drawn()).values["system"]["device"]
    assert {key for key in others if values[key] != others[key]} == {"name", "settle_constants", "bit_rate_kbit_s"}
    assert values["name"] == "drawing g2 with settle_constants 0.25, bit_rate_kbit_s 500"
    assert "drawing" not in values


def test_settings_replace_names_by_drawings_and_back() -> None:
    named = {**drawn(), "system": {"device": "g1"}}
    assert resolve(named, ["device.drawing=g2", "device.drawing.bit_nm=30"]) == resolve(made(bit_nm=30))
    assert resolve(drawn(), ["device.name=g1"]) == resolve(named)
    assert resolve(drawn(), ["device.drawing=g3"]).values["system"]["device"]["name"] == "drawing g3"


def test_typed_classes_have_drawings() -> None:
    scenario = Scenario(
        workload=SyntheticWorkload(arrival=PoissonArrival(rate_per_s=300.0), read_fraction=0.67),
        system=DriveSystem(device=MemsDevice(drawing={"bit_nm": 30})),
        run=Run(requests=300),
    )
    assert resolve(scenario) == resolve(made(bit_nm=30))


def test_drawings_work_in_components_and_other_processes() -> None:
    mirror = {"kind": "mirror", "members": [drawn()["system"], {"device": {"drawing": {"bit_nm": 30}}}]}
    found = resolve({**drawn(), "system": mirror})
    members = [each["system"]["device"]["bit_nm"] for each in found.values["system"]["members"]]
    assert members == [40, 30]
    assert pickle.loads(pickle.dumps(found)) == found


def test_drawing_files_are_relative_to_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('drawing = "g2"\nbit_nm = "0.03 um"\n')
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('workload.arrival = { kind = "poisson", rate_per_s = 300.0 }\nworkload.read_fraction = 0.67\n'
                        'run.requests = 300\nsystem.device.drawing = "mine.toml"\n')  # fmt: skip
    assert without_name(resolve(scenario)) == without_name(resolve(made(bit_nm=30)))
    changed = resolve(scenario, ["device.drawing.sleds=2"])
    assert without_name(changed) == without_name(resolve(made(bit_nm=30, sleds=2)))
    assert changed.values["system"]["device"]["name"] == "mine with sleds 2"
    (tmp_path / "mine.toml").write_text("\nbit_nm = -3\n")
    with pytest.raises(ScenarioError) as raised:
        resolve(scenario)
    assert Path(str(raised.value.file)).name == "mine.toml"
    assert raised.value.path == "bit_nm"


WRONG = [
    ("device.drawing.bits_nm=30", "bits_nm", 'did you mean "bit_nm"'),
    ("device.drawing.bit_nm=-1", "bit_nm", "expected a number (nm) above 0"),
    ("device.drawing.frame_mm=9", "frame_mm", "leaves no sled: expected below 5.657 mm"),
    ("device.drawing.die_area_mm2=1", "frame_mm", "leaves no sled"),
    ("device.drawing.drawing=g7", "drawing", "did you mean"),
    ("device.drawing=g9", None, "there is no drawing g9; did you mean"),
    ("device.drawing=nowhere.toml", None, "nowhere.toml"),
    ("device.drawing=3", None, "expected a drawing of the catalogue"),
]


@pytest.mark.parametrize(("setting", "key", "says"), WRONG)
def test_errors_have_the_path_in_the_scenario(setting: str, key: str | None, says: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        resolve(drawn(), [setting])
    assert says in str(raised.value)
    if "nowhere" not in setting:
        assert raised.value.path == "system.device.drawing" + (f".{key}" if key else "")


def test_a_name_and_a_drawing_contradict_each_other() -> None:
    with pytest.raises(ScenarioError, match="both say which device it is: leave out one of them"):
        resolve(drawn(name="g2"))


def test_sweep_over_a_drawing_equals_runs_of_its_devices(tmp_path: Path) -> None:
    over = Sweep(drawn(), {"device.drawing.bit_nm": WIDTHS, "device.drawing.sleds": [1, 2]}, replications=2)
    devices = [
        design("g2", overrides={"bit_nm": width, "sleds": sleds}).device() for width in WIDTHS for sleds in (1, 2)
    ]
    one_by_one = Sweep(made(), {"device": devices}, replications=2)
    keys = [[sweep.prepare(task).key for task in sweep.tasks()] for sweep in (over, one_by_one)]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 12
    run_sweep(over, tmp_path / "drawn.sweep")
    report = run_sweep(one_by_one, tmp_path / "made.sweep")
    assert not report.failed
    rows = [results(tmp_path / name).rows() for name in ("drawn.sweep", "made.sweep")]
    metrics = [
        [{key: row[key] for key in row if key.startswith(("response", "energy"))} for row in each] for each in rows
    ]
    assert metrics[0] == metrics[1]


@pytest.mark.parametrize("key", ["actuator_mn", "bit_nm", "access_mm_s", "spring_n_m"])
def test_sensitivities_agree_with_a_sweep(key: str) -> None:
    here = getattr(design("g2").drawing, key)
    over = Sweep(drawn(), {f"device.drawing.{key}": [0.9 * here, here, 1.1 * here]})
    low, middle, high = (over.base.resolve(over.settings(task)).values["system"]["device"] for task in over.tasks())

    def settle_ms(device: dict[str, Any]) -> float:
        return float(device["settle_constants"] / device["resonance_hz"])

    def acceleration(device: dict[str, Any]) -> float:
        return float(device["acceleration_x_m_s2"])

    moved = design("g2").sensitivity().moves[key]
    for name, figure in (("settle_ms", settle_ms), ("acceleration_m_s2", acceleration)):
        # Devices have six digits.
        assert 50 * (figure(high) - figure(low)) / figure(middle) == pytest.approx(moved[name], abs=1e-3)
    assert moved["settle_ms"] != 0 or key == "access_mm_s"


def test_impossible_drawings_are_refused_before_a_sweep_and_fail_evaluations(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="leaves no sled") as raised:
        Sweep(drawn(), {"device.drawing.frame_mm": [1.0, 9.0]}).check()
    assert raised.value.path == "axes.device.drawing.frame_mm.1"
    with pytest.raises(ScenarioError, match="did you mean"):
        Sweep(drawn(), {"device.drawing.bit_mm": [1.0, 9.0]}).check()
    with pytest.raises(ScenarioError, match=r'did you mean "device\.drawing\.bit_nm"'):
        Sweep(drawn(), {"device.drawing.bitnm": [30, 40]}).check()
    with Evaluation(drawn(), tmp_path / "some.sweep") as evaluation:
        [[right], [wrong]] = evaluation.evaluate([{"device.drawing.frame_mm": width} for width in (1.0, 9.0)])
    assert right.error is None
    assert "leaves no sled" in str(wrong.error)


def test_interrupted_sweeps_continue(tmp_path: Path) -> None:
    store = tmp_path / "drawn.sweep"
    run_sweep(Sweep(drawn(), {"device.drawing.bit_nm": WIDTHS[:2]}), store)
    report = run_sweep(Sweep(drawn(), {"device.drawing.bit_nm": WIDTHS}), store)
    assert (report.done, report.skipped) == (1, 2)


def test_search_finds_the_known_best_drawing(tmp_path: Path) -> None:
    forces = [30, 40, 50, 60]
    means = {each: sledsim.run(made(actuator_mn=each))["response"]["mean_ms"] for each in forces}
    # A stronger actuator shortens every move.
    assert sorted(means, key=means.__getitem__) == forces[::-1]
    found = optimise(
        {
            "scenario": drawn(),
            "parameters": {"device.drawing.actuator_mn": forces},
            "objectives": ["response"],
            "trials": 24,
        },
        tmp_path / "best.sweep",
    )
    [best] = {trial.values["device.drawing.actuator_mn"] for trial in found.front}
    assert best == 60
    assert found.front[0].objectives == (means[60],)


def test_commands_take_drawings(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('workload.arrival = { kind = "poisson", rate_per_s = 300.0 }\n'
                        'run.requests = 300\nsystem.device = { drawing = "g2" }\n')  # fmt: skip
    outs = [
        sledsim_cli("run", str(scenario), "--json", *more).out for more in ((), ("--set", "device.drawing.bit_nm=30"))
    ]
    assert outs[0] != outs[1]
    refused = sledsim_cli("run", str(scenario), "--set", "device.drawing.bit_nm=-1")
    assert refused.status == 2
    assert "a number (nm) above 0" in refused.err


def test_drawings_are_accepted_where_a_device_is_named(tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text('drawing = "g2"\nbit_nm = 30\n')
    second.write_text('base = "first.toml"\nsleds = 2\n')
    named = {**drawn(), "system": {"device": str(first)}}
    assert without_name(resolve(named)) == without_name(resolve(made(bit_nm=30)))
    assert resolve(named, ["device.tips=3200"]).values["system"]["device"]["name"] == "first with tips 3200"
    assert resolve(named, ["device.drawing.sleds=2"]).values["system"]["device"]["sleds"] == 2
    assert resolve({**drawn(), "system": {"device": "drawing:g2"}}) == resolve(drawn())
    assert sledsim.Device(str(second)).parameters["sleds"] == 2
    assert sledsim.Device("drawing:g3").label == "drawing g3"
    assert sledsim.devices.device_entry(str(first)).values["bit_nm"].value == 30


def test_files_based_on_device_files_are_no_drawings(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text('base = "g2"\nbit_nm = 30\n')
    (tmp_path / "second.toml").write_text('base = "first.toml"\ntips = 3200\n')
    device = sledsim.Device(str(tmp_path / "second.toml"))
    assert (device.parameters["bit_nm"], device.parameters["tips"], device.is_drawn) == (30, 3200, False)


def test_commands_take_a_drawing_as_device(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    drawing = tmp_path / "mine.toml"
    drawing.write_text('drawing = "g2"\nsled_density_kg_m3 = 2.33\n')
    trace = tmp_path / "a.csv"
    trace.write_text("time_ms,offset_bytes,size_bytes,op\n" + "".join(f"{i},{i * 8192},4096,R\n" for i in range(40)))
    for command in (
        ["device", str(drawing)],
        ["device", str(drawing), "--break-even"],
        ["device", "drawing:g2", "--toml"],
        ["relation", "--device", str(drawing), "--records", "1000"],
    ):
        assert sledsim_cli(*command).status == 0, command
    assert sledsim.Session(drawing).now_ns == sledsim.Session("drawing:g2").now_ns == 0
    refused = sledsim_cli("run", str(drawing))
    assert "this is a drawing, which `sledsim design` takes" in refused.err
    shown = sledsim_cli("replay", str(trace), "--device", str(drawing))
    assert shown.out.startswith("mine, ")
    assert "note: device.acceleration_x_m_s2 and device.acceleration_y_m_s2 804,100 m/s² is outside" in shown.out
    compared = sledsim_cli("replay", str(trace), "--device", f"drawing:g2,{drawing}", "--set", "device.overhead_ms=0.1")
    assert "drawing g2 with overhead_ms 0.1, fcfs" in compared.out
    assert "mine with overhead_ms 0.1, fcfs" in compared.out
