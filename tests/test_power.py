"""Power saving: strategies and spin-down policies compared, on the command line and in Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import SCENARIO
from sledsim import SledsimError
from sledsim.runs.running import run_resolved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

STRATEGIES = ["base", "spin-down", "merging", "subsector", "together"]
#: Settings with which every strategy has something to do.
BUSY = [
    "device.name=g3",
    "scheduler=fcfs",
    'workload.location={kind = "sequential", run_requests = 8}',
    "workload.arrival={kind = 'on-off', burst_ms = 20, idle_ms = 60, rate_per_s = 2000}",
    "workload.metadata={share = 0.5}",
]
ALL_ON = ["system.spin_down=immediate", "system.merge={}", "system.subsector=true"]


@pytest.fixture(scope="module")
def strategies() -> sledsim.studies.PowerComparison:
    return sledsim.power(SCENARIO, overrides=BUSY)


@pytest.fixture(scope="module")
def policies() -> sledsim.studies.PowerComparison:
    return sledsim.power(SCENARIO, policies=True)


def test_each_run_is_the_scenario_with_its_strategy(strategies: sledsim.studies.PowerComparison) -> None:
    assert list(strategies.results) == STRATEGIES
    for name, settings in zip(STRATEGIES, [[], *([each] for each in ALL_ON), ALL_ON], strict=True):
        alone = sledsim.run(SCENARIO, overrides=[*BUSY, *settings])
        assert strategies[name].to_json() == alone.to_json(), name


def test_every_strategy_saves_energy(strategies: sledsim.studies.PowerComparison) -> None:
    rows = {row["name"]: row for row in strategies.rows()}
    for name in ("spin-down", "subsector"):
        assert rows[name]["saved_share"] > 0.05, name
    for name in ("merging", "subsector"):
        assert rows[name]["servicing_j"] < rows["base"]["servicing_j"]
        assert rows[name]["response_ratio"] < 1
    assert {row["requests"] for row in rows.values()} == {SCENARIO["run"]["requests"]}
    best = max(row["saved_share"] for row in rows.values() if row["name"] not in ("base", "together"))
    assert rows["together"]["saved_share"] > best
    # A sled that stops at once is ready only while the bus carries the last blocks.
    assert rows["spin-down"]["idle_j"] < 0.02 * rows["base"]["idle_j"]
    assert rows["spin-down"]["response_ratio"] > 1


def test_merging_saves_nothing_without_spin_down(strategies: sledsim.studies.PowerComparison) -> None:
    rows = {row["name"]: row for row in strategies.rows()}
    # A seeking sled takes the power of an idle one, and the tips have the same bits to read: only time is saved.
    assert rows["merging"]["saved_share"] == pytest.approx(0, abs=1e-9)
    assert len(strategies.notes) == 1
    assert "with spin-down the total falls" in strategies.notes[0]


def test_rows_are_ratios_to_the_base(strategies: sledsim.studies.PowerComparison) -> None:
    base, *others = strategies.rows()
    assert (base["saved_share"], base["response_ratio"], base["throughput_ratio"]) == (None, None, None)
    for row in others:
        summary = strategies[row["name"]].summary
        # One division and one subtraction of doubles.
        assert row["saved_share"] == pytest.approx(1 - summary["energy"]["total_j"] / base["total_j"], abs=1e-15)
        assert row["response_ratio"] == summary["response"]["mean_ms"] / base["response_mean_ms"]
        assert row["throughput_ratio"] == summary["throughput"]["requests_per_s"] / base["throughput_per_s"]
    for row in (base, *others):
        parts = row["servicing_j"] + row["startup_j"] + row["idle_j"] + row["inactive_j"]
        assert parts == pytest.approx(row["total_j"], rel=1e-12)  # the same sum in another order


def test_the_scenarios_own_settings_are_used() -> None:
    sets = {
        "system.spin_down": {"name": "timeout", "after_ms": 3.0},
        "system.merge": {"requests": 4, "writes": True},
        "system.delayed_startup": {"requests": 3, "wait_ms": 2.0},
        "run.requests": 200,
    }
    found = sledsim.power(SCENARIO, overrides=sets)
    systems = {name: result.summary["scenario"]["system"] for name, result in found.results.items()}
    for name, system in systems.items():
        stops, merges = name in ("spin-down", "together"), name in ("merging", "together")
        assert system["spin_down"] == ({"name": "timeout", "after_ms": 3.0} if stops else None)
        assert (system["delayed_startup"] is not None) == stops
        assert ((system["merge"] or {}).get("requests") == 4) == merges
        assert system["subsector"] == (name in ("subsector", "together"))
        assert found[name].summary["scenario"]["seed"] == SCENARIO["seed"]
    assert any("delayed start-up" in note for note in found.notes)
    assert "after_ms = 3.0" in str(found)
    settings = next(table for table in found.tables() if table.headers[0] == "strategy")
    assert {(row[0], row[2]) for row in settings.rows} == {
        ("spin-down", "scenario"),
        ("merging", "scenario"),
        ("subsector", "default"),
    }


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ([], ["subsector access did nothing", "workload.last_block", "workload.metadata"]),
        (["workload.metadata={share = 0}"], ["none of the requests is metadata", "workload.metadata.share"]),
        (
            ["workload.arrival={kind = 'closed', outstanding = 1}"],
            ["merging did nothing", "waited together", "raise the load (workload.arrival.outstanding)"],
        ),
        (["workload.arrival.rate_per_s=900"], ["merging did nothing", "Lin et al.", "anywhere = true"]),
        (["system.batch_max=4"], ["merging is left out", "system.batch_max = 4"]),
        (["system.spin_down=never"], ["spin-down did nothing", "never"]),
        (["device.inactive_after_ms=0"], ["spin-down did nothing", "by itself"]),
        (["device.inactive_mw=101"], ["spin-down is left out", "inactive_mw = 101"]),
        (
            [
                "workload.arrival={kind = 'closed', outstanding = 2, think_ms = {kind = 'exponential', mean = 9.0}}",
                "run.requests=1000000",
                "run.time_s=0.5",
            ],
            ["compare the energy per request", "run.requests"],
        ),
    ],
)
def test_ineffective_strategies_suggest_a_change(sets: list[str], words: list[str]) -> None:
    found = sledsim.power(SCENARIO, overrides=["run.requests=500", *sets])
    notes = "\n".join(found.notes)
    for word in words:
        assert word in notes, f"{word!r} in {notes!r}"
    assert " ".join(str(found).split()).count(" ".join(words[0].split())) == 1


@pytest.mark.parametrize(
    ("mode", "remedy"),
    [
        ("open", "(workload.time_scale below 1)"),
        ("outstanding", '(workload.mode = "outstanding" with workload.outstanding above 1)'),
        ("auto", "(workload.time_scale below 1 for a trace replayed at its own times, else workload.mode"),
    ],
)
def test_traces_get_only_applicable_strategies(tmp_path: Path, mode: str, remedy: str) -> None:
    trace = tmp_path / "lonely.csv"
    records = [f"{place}000000000,0,{place * 4096},4096,R" for place in range(1, 6)]
    trace.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *records]) + "\n")
    scenario = {"workload": {"path": str(trace), "mode": mode}, "system": {"device": "g2"}}
    assert remedy in "\n".join(sledsim.power(scenario).notes)
    # All arrive at once in the queue, at addresses apart from each other.
    apart = ["1,0,0,4096,R", "1,0,8192,4096,R", "1,0,81920,4096,R"]
    trace.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *apart]) + "\n")
    notes = "\n".join(sledsim.power(scenario, overrides=["workload.mode=open"]).notes)
    assert "the rule of Lin et al." in notes
    assert "sequential runs" not in notes


def test_stand_ins_are_labelled() -> None:
    found = sledsim.power({"workload": "snake-like", "system": {"device": "g3"}, "run": {"requests": 50}})
    assert "snake-like (stand-in)" in str(found)
    assert "snake-like (stand-in)" in found.plot().to_dict()["title"]["subtitle"]


def test_ineffective_strategies_are_explained_for_several_streams() -> None:
    stream = {"arrival": {"kind": "poisson", "rate_per_s": 1}}
    scenario = {"workload": {"streams": [stream, stream]}, "system": {"device": "g3"}, "run": {"requests": 50}}
    notes = "\n".join(sledsim.power(scenario).notes)
    assert "raise the load (workload.time_scale below 1)" in notes
    assert 'set workload.streams.0.last_block = "uniform"' in notes
    notes = "\n".join(sledsim.power(scenario, overrides=["workload.streams.0.metadata.share=0"]).notes)
    assert "none of the requests is metadata" in notes
    notes = "\n".join(sledsim.power(scenario, overrides=["workload.streams.0.metadata.share=1"]).notes)
    assert "subsector" not in notes


def test_empty_runs_can_be_compared() -> None:
    found = sledsim.power(SCENARIO, overrides=["run.time_s=1e-9"])
    assert [row["response_mean_ms"] for row in found.rows()] == [None] * len(STRATEGIES)
    assert "–" in str(found)
    assert [note.partition(",")[0] for note in found.notes] == ["no request was completed in the measurement window"]
    assert "<table>" in found._repr_html_()
    assert found.plot().to_dict()["title"]


def test_policies_are_compared_with_staying_ready(policies: sledsim.studies.PowerComparison) -> None:
    names = list(policies.results)
    assert names[0] == "never"
    # 0.5 ms: the break-even time of g2 over a fixed span.
    assert {"immediate", "timeout 500 µs", "offline"} < set(names)
    for row in policies.rows():
        assert row["hindsight_j"] <= row["total_j"]
    rows = {row["name"]: row for row in policies.rows()}
    assert rows["never"]["startups"] <= 1
    assert rows["immediate"]["startups"] >= rows["timeout 500 µs"]["startups"]
    # The offline optimum is at least as good; tolerance for rounding of sums over thousands of idle times.
    assert rows["offline"]["total_j"] == pytest.approx(rows["offline"]["hindsight_j"], rel=1e-9)
    assert "hindsight" in str(policies)


def test_a_timeout_costs_at_most_twice_the_optimum_of_its_idle_times(policies: sledsim.studies.PowerComparison) -> None:
    least_w = 0.05
    row = next(row for row in policies.rows() if row["name"] == "timeout 500 µs")
    window_s = policies["timeout 500 µs"].run.measured_s
    # Both are above the energy of a sled that is always stopped.
    floor_j = least_w * window_s
    assert row["total_j"] - floor_j <= 2 * (row["hindsight_j"] - floor_j)


def test_policies_keep_other_settings_of_the_scenario() -> None:
    sets = {
        "run.requests": 200,
        "system.spin_down": {"name": "timeout", "after_ms": 7.0},
        "system.merge": {},
        "system.delayed_startup": {"requests": 2, "wait_ms": 1.0},
        "device.inactive_after_ms": 20.0,
    }
    found = sledsim.power(SCENARIO, overrides=sets, policies=True)
    assert list(found.results)[:2] == ["never", "device's own"]
    assert "timeout 7 ms" in found.results
    for name, result in found.results.items():
        system = result.summary["scenario"]["system"]
        assert system["merge"]["requests"] == 2
        assert (system["delayed_startup"] is None) == (name == "never")
    assert found["device's own"].summary["scenario"]["system"]["spin_down"] is None


def test_interrupted_runs_are_marked_and_end_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def second_is_interrupted(*arguments: Any, **options: Any) -> sledsim.Result:
        result = run_resolved(*arguments, **options)
        ran.append(result)
        result.summary["run"]["complete"] = len(ran) < 2
        return result

    monkeypatch.setattr("sledsim.studies.power_saving.strategies.run_resolved", second_is_interrupted)
    found = sledsim.power(SCENARIO, overrides=["run.requests=100"])
    assert list(found.results) == STRATEGIES[:2]
    assert not found.complete
    assert found.rows()[1]["saved_share"] is None
    assert "spin-down (incomplete)" in str(found)
    assert "(incomplete)" in json.dumps(found.plot().to_dict())


def test_interrupted_runs_are_not_drawn(
    monkeypatch: pytest.MonkeyPatch, sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path
) -> None:
    def is_interrupted(*arguments: Any, **options: Any) -> sledsim.Result:
        result = run_resolved(*arguments, **options)
        result.summary["run"]["complete"] = False
        return result

    for module in ("sledsim.studies.power_saving.strategies", "sledsim.runs.running"):
        monkeypatch.setattr(f"{module}.run_resolved", is_interrupted)
    picture, table = tmp_path / "picture.svg", tmp_path / "timeline.csv"
    for command in (["power"], ["power", "--policies"], ["compare"], ["run", "--timeline", table]):
        found = sledsim_cli(*command, scenario_file, "--set", "run.requests=50", "--plot", picture)
        assert found.status == 130
        assert f"not drawn: {picture}\n" in found.err
        assert found.out
    assert not picture.exists()
    assert table.exists()


def test_bar_lengths_are_proportional_to_energy(strategies: sledsim.studies.PowerComparison) -> None:
    rows = strategies.rows()
    [bars] = [table for table in strategies.tables() if table.headers[0] == "energy by state"]
    most = max(row["total_j"] for row in rows)
    for row, (_, bar) in zip(rows, bars.rows, strict=True):
        assert abs(len(bar) - 50 * row["total_j"] / most) <= 0.5


def test_the_command_prints_the_results_of_python(sledsim_cli: Callable[..., Outcome], scenario_file: Path) -> None:
    sets = ["--set", "run.requests=500"]
    found = sledsim_cli("power", scenario_file, *sets)
    assert (found.status, found.err) == (0, "")
    assert found.out == str(sledsim.power(scenario_file, overrides=["run.requests=500"])) + "\n"
    # Notes are sentences: a terminal folds them.
    assert max(map(len, found.out.partition("notes\n")[0].splitlines())) <= 80
    given = scenario_file.read_text()
    assert sledsim_cli("power", "-", *sets, given=given).out == found.out
    listed = sledsim_cli("power", scenario_file, *sets, "--policies").out
    assert listed == str(sledsim.power(scenario_file, overrides=["run.requests=500"], policies=True)) + "\n"


def test_the_command_prints_json_and_nothing_else(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "power.svg"
    found = sledsim_cli("power", scenario_file, "--set", "run.requests=300", "--json", "--plot", picture)
    answer = json.loads(found.out)
    assert list(answer) == ["rows", "notes", "metrics", "runs"]
    assert [row["name"] for row in answer["rows"]] == STRATEGIES
    assert [each["name"] for each in answer["runs"]] == STRATEGIES
    assert answer["runs"][1]["settings"] == {"spin_down": {"name": "immediate"}, "delayed_startup": None}
    assert [each["defaults"] for each in answer["runs"][:3]] == [[], ["spin_down"], ["merge"]]
    assert answer["runs"][0]["summary"]["requests"]["completed"] == 300
    assert "<svg" in picture.read_text()


def test_a_state_has_one_colour_in_pictures_of_runs_and_of_break_even_times() -> None:
    definition = sledsim.Device("g2").break_even().plot().to_dict()
    lines = next(layer for layer in definition["layer"] if layer["mark"]["type"] == "line")
    colours = sledsim.runs.state_colours(("startup", "idle", "inactive"))
    assert lines["encoding"]["color"]["scale"]["range"] == [colours["idle"], colours["inactive"]]


def test_break_even_is_printed_with_its_arithmetic(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    picture = tmp_path / "break-even.svg"
    found = sledsim_cli("device", "g2", "--break-even", "--plot", picture)
    assert found.status == 0
    lines = [" ".join(line.split()) for line in found.out.splitlines()]
    assert lines[0] == "g2: inactive saves energy against idle in idle times longer than 1 ms"
    # Lin et al. 2002, Table 1: 5e-5 J; in the way their section 5.1 takes a disk's 6 J over 1 W, 0.5 ms.
    assert "energy of the return 0.1 W × 0.0005 s 5e-05 J" in lines
    assert "break-even 5e-05 J ÷ 0.05 W 0.001 s" in lines
    assert "over a fixed span (0.1 W − 0.05 W) × 0.0005 s ÷ 0.05 W 0.0005 s" in lines
    assert "idle time of equal energy 5e-05 J ÷ 0.1 W 0.0005 s" in lines
    assert "<svg" in picture.read_text()
    [case] = json.loads(sledsim_cli("device", "g2", "--break-even", "--json").out)["cases"]
    # The arithmetic of doubles: a few roundings.
    assert case["modes"][1]["idle_s"] == pytest.approx(1e-3, rel=1e-12)
    assert case["modes"][1]["fixed_span_s"] == pytest.approx(0.5e-3, rel=1e-12)


def test_break_even_counts_the_tips_that_stay_on(sledsim_cli: Callable[..., Outcome]) -> None:
    sets = ["--set", "device.idle_tips=last-access"]
    text = sledsim_cli("device", "g2", "--break-even", *sets).out
    assert "64 tips on while idle" in text
    assert "1,280 tips on while idle" in text
    assert "0.1 W + 64 × 0.001 W × 10 ÷ 90" in text
    few, many = json.loads(sledsim_cli("device", "g2", "--break-even", *sets, "--json").out)["cases"]
    assert many["modes"][1]["idle_s"] < few["modes"][1]["idle_s"] < 1e-3


def test_devices_that_never_break_even_are_reported() -> None:
    found = sledsim.Device("g2", inactive_mw=100).break_even()
    assert found.idle_s is None
    assert "inactive never saves energy" in str(found)
    assert "none: the mode saves no power" in str(found)
    assert "never" in repr(found)
    with pytest.raises(SledsimError, match="nothing to draw"):
        found.plot()
    with pytest.raises(sledsim.ScenarioError, match="inactive_mw = 101"):
        sledsim.Device("g2", inactive_mw=101).break_even()


def test_instant_return_breaks_even_at_once() -> None:
    found = sledsim.Device("g2", startup_ms=0).break_even()
    assert (found.idle_s, found.fixed_span_s) == (0.0, 0.0)
    assert "longer than 0 s" in str(found)


def test_return_below_idle_power_costs_nothing() -> None:
    found = sledsim.Device("g2", startup_mw=10).break_even()
    assert found.fixed_span_s == 0.0
    lines = [" ".join(line.split()) for line in str(found).splitlines()]
    assert "over a fixed span 0.01 W is less than 0.05 W: a return costs nothing 0 s" in lines
    # 10 mW for 0.5 ms over 50 mW saved.
    assert "break-even 5e-06 J ÷ 0.05 W 0.0001 s" in lines


@pytest.mark.parametrize(("kilo", "format_"), [(1, None), (1000, "~s")])
def test_large_figures_have_short_labels(monkeypatch: pytest.MonkeyPatch, kilo: int, format_: str | None) -> None:
    found = sledsim.power(SCENARIO, overrides=["run.requests=50"])
    rows = [{**row, "total_j": 99.0 * kilo} for row in found.rows()]
    monkeypatch.setattr(found, "rows", lambda: rows)
    energy = found.plot().to_dict()["hconcat"][0]["layer"][0]
    assert energy["encoding"]["x"]["axis"].get("format") == format_
