"""`sledsim reproduce`: verdicts, the table, JSON, exit statuses, Ctrl-C, and runs that experiments share."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT, SCENARIO
from sledsim import SledsimError, __version__
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.claim import Claim, claims
from sledsim_papers.harness.finding import ALL_THE_SAME, COMPUTED, Finding, Ours, Probe, join_level, order, trend
from sledsim_papers.harness.registry import select
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.study import Study
from sledsim_papers.harness.wording import ours_text, published_text, rests_text
from waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome
    from sledsim_papers.harness.registry import Experiment


def claim(kind: str, **facts: Any) -> Claim:
    return Claim(
        **{"paper": "lin2002", "id": "made-up", "where": "", "what": "", "data": "model", "kind": kind, **facts}
    )


VALUE = claim("value", published=(10.0, 20.0), tol=0.1, unit="ms")
RANGE = claim("range", low=1.0, high=2.0, unit="ratio")
ORDER = claim("order", published=("sptf", "fcfs"))
TREND = claim("trend", published="-")


GROUPS = claim("order", published=("sptf", "sstf+clook", "g1~g2", "saturated:mwb+disk"))
SETTLED = ("g1~g2", "saturated:mwb+disk")


@pytest.mark.parametrize(
    ("made_up", "ours", "verdict"),
    [
        (GROUPS, ("sptf", "sstf", "clook", *SETTLED), "reproduced"),
        (GROUPS, ("sptf", "clook", "sstf", *SETTLED), "reproduced"),
        (GROUPS, ("clook", "sptf", "sstf", *SETTLED), "differs"),
        (GROUPS, ("sptf", "sstf", "g1~g2", "clook", "saturated:mwb+disk"), "differs"),
        (GROUPS, ("sptf", "sstf", "clook", "g1", "g2", "saturated:mwb+disk"), "differs"),
        (GROUPS, ("sptf", "sstf", "clook", "g1~g2", "mwb", "disk"), "differs"),
        (VALUE, (9.01, 21.9), "reproduced"),
        (VALUE, (8.99, 20.0), "differs"),
        (VALUE, (10.0, 22.01), "differs"),
        (VALUE, (10.0, float("nan")), "differs"),
        (claim("value", published=-4.0, tol=0.25), -4.9, "reproduced"),
        (claim("value", published=-4.0, tol=0.25), 4.0, "differs"),
        (RANGE, 1, "reproduced"),
        (RANGE, (1.0, 2.0), "reproduced"),
        (RANGE, (1.5, 2.01), "differs"),
        (RANGE, 0.99, "differs"),
        (ORDER, ("sptf", "fcfs"), "reproduced"),
        (ORDER, ("fcfs", "sptf"), "differs"),
        (TREND, "-", "reproduced"),
        (TREND, "?", "differs"),
    ],
)
def test_a_verdict_is_computed(made_up: Claim, ours: Ours, verdict: str) -> None:
    assert made_up.verdict(Finding(ours, "")) == verdict
    # A shape is only checked for stand-ins and for claims with a published shape; orders and trends always are.
    shaped = made_up.model_copy(update={"shape": "rises"})
    assert shaped.verdict(Finding(ours, "", shape_holds=True)) == verdict
    stand_in = made_up.model_copy(update={"data": "stand-in"})
    assert stand_in.verdict(Finding(ours, "", shape_holds=True)) == verdict
    # A figure made from the paper's own results is not a reproduction and has no shape.
    made_of = shaped.model_copy(update={"data": "stand-in", "inputs_from": ("Table 4",)})
    from_inputs = "by construction" if verdict == "reproduced" else verdict
    assert made_of.verdict(Finding(ours, "", shape_holds=True)) == from_inputs


@pytest.mark.parametrize(
    ("made_up", "ours", "verdict"),
    [
        (VALUE, (3.34, 59.9), "shape only"),
        (VALUE, (3.32, 20.0), "differs"),
        (VALUE, (10.0, 60.1), "differs"),
        (VALUE, (-10.0, 20.0), "differs"),
        (VALUE, (10.0, float("nan")), "differs"),
        (claim("value", published=-4.0, tol=0.25), -11.9, "shape only"),
        (claim("value", published=-4.0, tol=0.25), -12.1, "differs"),
        (RANGE, 0.34, "shape only"),
        (RANGE, 0.33, "differs"),
        (RANGE, (1.5, 5.99), "shape only"),
        (RANGE, (0.34, 6.01), "differs"),
        (RANGE, 1.5, "reproduced"),
        (claim("range", low=0.0, high=2.0), -0.1, "differs"),
        (ORDER, ("fcfs", "sptf"), "differs"),
        (TREND, "+", "differs"),
    ],
)
def test_a_shape_needs_its_order_and_figures_within_a_factor_of_three(made_up: Claim, ours: Ours, verdict: str) -> None:
    shaped = made_up.model_copy(update={"data": "stand-in", "shape": "rises"})
    assert shaped.verdict(Finding(ours, "", shape_holds=True)) == verdict
    assert shaped.verdict(Finding(ours, "")) == ("reproduced" if verdict == "reproduced" else "differs")
    made_of = shaped.model_copy(update={"inputs_from": ("Table 4",)})
    assert made_of.verdict(Finding(ours, "", shape_holds=True)) in {"by construction", "differs"}


def contradicted(kind: str, **facts: Any) -> Claim:
    return claim(kind, contradicts="two statements", **facts)


TWO = {"published": (1.0, 2.0), "tol": 0.1, "other": (3.0, 4.0), "other_tol": 0.1}
ONE = {"published": 2.72, "tol": 0.01, "other": 2.59, "other_tol": 0.01}
BETWEEN = {"low": 4.0, "high": 10.0, "other_low": 1.0, "other_high": 12.0}


@pytest.mark.parametrize(
    ("made_up", "ours", "verdict"),
    [
        (contradicted("value", **ONE), 2.58, "paper inconsistent"),
        (contradicted("value", **ONE), 2.72, "reproduced"),
        (contradicted("value", **ONE), 2.65, "differs"),
        (claim("value", published=2.72, tol=0.01), 2.58, "differs"),
        (contradicted("value", **TWO), (3.0, 4.3), "paper inconsistent"),
        (contradicted("value", **TWO), (3.0, 2.0), "differs"),
        (contradicted("range", **BETWEEN), (3.0, 11.0), "paper inconsistent"),
        (contradicted("range", **BETWEEN), (3.0, 13.0), "differs"),
    ],
)
def test_a_figure_that_agrees_with_the_other_statement_is_inconsistent(
    made_up: Claim, ours: Ours, verdict: str
) -> None:
    assert made_up.verdict(Finding(ours, "")) == verdict
    # Agreement with the claim from its own inputs is by construction; the other statement never is.
    made_of = made_up.model_copy(update={"inputs_from": ("Table 4",)})
    assert made_of.verdict(Finding(ours, "")) == ("by construction" if verdict == "reproduced" else verdict)
    shaped = made_up.model_copy(update={"data": "stand-in", "shape": "rises"})
    assert shaped.verdict(Finding(ours, "", shape_holds=True)) == ("shape only" if verdict == "differs" else verdict)


@pytest.mark.parametrize(
    ("made_up", "ours"),
    [(VALUE, 10.0), (VALUE, "+"), (RANGE, ()), (RANGE, True), (ORDER, "-"), (ORDER, (1.0, 2.0)), (TREND, 1.0)],
)
def test_a_finding_of_another_kind_is_refused(made_up: Claim, ours: Any) -> None:
    with pytest.raises(TypeError, match=r"lin2002\.made-up is of kind \w+"):
        made_up.verdict(Finding(ours, ""))


def test_intervals_belong_to_figures() -> None:
    with pytest.raises(ValueError, match="1 intervals for 2 figures"):
        Finding((1.0, 2.0), "", intervals=((0.9, 1.1),))


def test_trends_and_orders_are_compared() -> None:
    assert trend([1.0, 1.5, 2.0]) == "+"
    assert trend([2.0, 1.5, 1.501]) == "-"
    # How far from where it starts counts.
    assert trend([1.0, 1.04, 1.02]) == "~"
    assert trend([1.0, 1.06]) == "+"
    assert trend([1.0, 1.02], 0.01) == "+"
    assert trend([1.0, 0.998, 0.996], COMPUTED) == "-"
    assert trend([1.0, 1.0], COMPUTED) == "~"
    assert trend([1.0, 2.0, 1.0]) == "?"
    means = {"fcfs": 3.0, "sptf": 1.0, "clook": 2.0, "sstf": 2.15}
    assert order(means) == ("sptf", "clook", "sstf", "fcfs")
    assert join_level(("a+b", "c", "d"), {"a": 1.0, "b": 2.0, "c": 2.1, "d": 3.0}) == ("a+b~c", "d")
    # If the values do not differ, no order is reported.
    assert order(dict.fromkeys(("sptf", "clook", "fcfs"), 2.0)) == ALL_THE_SAME
    assert order({"sptf": 2.0}) == ("sptf",)
    assert order(means, level=("sstf", "clook")) == ("sptf", "sstf~clook", "fcfs")
    assert order(means, level=("sptf", "clook")) == ("sptf", "clook", "sstf", "fcfs")
    assert order(means, level=("clook", "fcfs")) == ("sptf", "clook", "sstf", "fcfs")
    assert order(means, saturated=("clook", "fcfs")) == ("sptf", "sstf", "saturated:clook+fcfs")


def test_texts_of_claims_and_findings() -> None:
    level = claim("trend", published="~", tol=0.01)
    assert [published_text(each) for each in (VALUE, RANGE, ORDER, TREND, level)] == [
        "10, 20 ms ± 10 %",
        "1 to 2 ratio",
        "sptf, fcfs",
        "falls",
        "hardly moves (by 1 % at most)",
    ]
    assert rests_text(VALUE) == "model"
    made_of = VALUE.model_copy(update={"data": "stand-in", "inputs_from": ("Table 4.", "Table 5.")})
    assert rests_text(made_of) == "stand-in; from the paper's own results: Table 4. Table 5."
    finding = Finding((9.0, 21.25), "", decimals=1, intervals=((8.5, 9.5), (21.0, 21.5)))
    assert ours_text(finding.ours, finding) == "9.0 (8.5 to 9.5), 21.2 (21.0 to 21.5)"
    assert ours_text(7.0, finding, intervals=False) == "7.0"
    assert ours_text(("a", "b"), finding) == "a, b"
    assert ours_text("~", finding) == "hardly moves"


def settled(_: Study) -> Finding:
    return Finding(0.72, "formula", decimals=2, intervals=((0.71, 0.73),))


def too_slow(_: Study) -> Finding:
    return Finding(3.0, "formula", cause="springs", probes=(Probe("no springs", 1.8),))


def failing(_: Study) -> Finding:
    raise ZeroDivisionError("by nought")


def without_trace(study: Study) -> Finding:
    return Finding(float(study.trace("hplajw").stat().st_size), "size")


@pytest.fixture
def made_up_experiments(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Experiment]], None]:
    """Return a function that replaces the experiments of the papers."""

    def put(experiments: dict[str, Experiment]) -> None:
        monkeypatch.setattr(reproduction, "experiments", lambda: experiments)

    return put


def test_the_command_prints_findings_and_verdicts(
    sledsim_cli: Callable[..., Outcome], made_up_experiments: Callable[[dict[str, Experiment]], None]
) -> None:
    made_up_experiments({"griffin1999.settle-time": settled, "griffin1999.seek-max": too_slow})
    found = sledsim_cli("reproduce")
    assert found.status == 0, found.err
    lines = {line.split()[0]: line.split() for line in found.out.splitlines() if line.strip()}
    settle = "griffin1999.settle-time model 0.72 ms ± 1 % 0.72 (0.71 to 0.73) ms reproduced 0.0"
    assert " ".join(lines["griffin1999.settle-time"]) == settle
    assert "differs" in lines["griffin1999.seek-max"]
    assert found.out.count("STAND-IN") == sum(each.stand_in for each in claims().values())
    assert lines["griffin1999"][1:] == ["0", "1", "0", "0", "0", "1", "45", "47"]
    assert " ".join(lines["in"]) == "in total 0 1 0 0 0 1 290 292"
    listed = found.out.rpartition("not done  ")[2]
    for name in claims():
        assert (f"\n{name} " in listed) == (name not in {"griffin1999.settle-time", "griffin1999.seek-max"})


def test_a_claim_without_experiment_is_not_done(
    sledsim_cli: Callable[..., Outcome], made_up_experiments: Callable[[dict[str, Experiment]], None]
) -> None:
    made_up_experiments({"schlosser2000.density": settled})
    reasons = {
        answer.claim.id: answer.reason for answer in reproduce("schlosser2000").answers if answer.finding is None
    }
    assert reasons["atlas-cov"] == "no experiment yet"
    assert "schlosser2000.atlas-cov  no experiment yet" in sledsim_cli("reproduce", "schlosser2000.atlas-cov").out


def test_json_has_the_findings(
    sledsim_cli: Callable[..., Outcome], made_up_experiments: Callable[[dict[str, Experiment]], None]
) -> None:
    made_up_experiments({"griffin1999.settle-time": settled, "griffin1999.seek-max": too_slow})
    found = json.loads(sledsim_cli("reproduce", "griffin1999", "--full", "--json").out)
    assert {key: found[key] for key in ("schema", "sledsim", "mode", "complete")} == {
        "schema": 4,
        "sledsim": __version__,
        "mode": "full",
        "complete": True,
    }
    counts = {"by construction": 0, "reproduced": 1, "paper inconsistent": 0, "shape only": 0, "differs": 1}
    counts |= {"not done": 45, "simulated": 0}
    assert found["papers"][0]["totals"] == counts
    assert found["totals"] == {**counts, "failed": 0}
    assert len(found["claims"]) == 47
    by_name = {each["name"]: each for each in found["claims"]}
    settle = by_name["griffin1999.settle-time"]
    facts = {"kind": "value", "unit": "ms", "published": 0.72, "tol": 0.01, "data": "model", "where": "Table 2"}
    assert settle.items() >= {**facts, "verdict": "reproduced", "ours": 0.72}.items()
    assert settle["intervals"] == [[0.71, 0.73]]
    assert by_name["griffin1999.seek-max"]["probes"] == [{"change": "no springs", "ours": 1.8}]
    assert by_name["griffin1999.seek-max"]["cause"] == "springs"
    assert found["papers"][0]["motion"] == "first-order"
    assert settle["time_optimal"] == 0.72
    assert by_name["griffin1999.seek-std"]["reason"].startswith("no experiment")


def test_an_experiment_that_fails_does_not_stop_the_others(
    sledsim_cli: Callable[..., Outcome], made_up_experiments: Callable[[dict[str, Experiment]], None]
) -> None:
    made_up_experiments({"griffin1999.settle-time": failing, "griffin1999.seek-max": too_slow})
    found = sledsim_cli("reproduce", "griffin1999")
    assert found.status == 1
    assert "error: ZeroDivisionError: by nought (test_reproduce.py:" in found.out
    assert "1 of the experiments and figures failed" in found.err
    assert "differs" in found.out
    made_up_experiments({"griffin1999.settle-time": settled})
    assert sledsim_cli("reproduce", "griffin1999.settle-time").status == 0


def test_a_claim_with_a_missing_trace_is_not_done(
    sledsim_cli: Callable[..., Outcome],
    made_up_experiments: Callable[[dict[str, Experiment]], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    made_up_experiments({"griffin1999.settle-time": without_trace})
    monkeypatch.setenv("SLEDSIM_REFERENCE", str(tmp_path))
    found = sledsim_cli("reproduce", "griffin1999.settle-time")
    assert found.status == 0
    reason = "the trace hplajw is missing: set SLEDSIM_REFERENCE to a folder that holds traces/hplajw-1992-1week.srt"
    assert f"griffin1999.settle-time  {reason}" in found.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["griffin1999.settle-tim"], "there is no claim griffin1999.settle-tim; did you mean griffin1999.settle-time?"),
        (["grifin1999"], "there is no claim grifin1999; did you mean griffin1999?"),
        (["settle-time"], "did you mean griffin1999.settle-time?"),
        (["@"], "there is no claim @ (papers are griffin1999, schlosser2000"),
    ],
)
def test_a_wrong_argument_is_named(sledsim_cli: Callable[..., Outcome], arguments: list[str], said: str) -> None:
    found = sledsim_cli("reproduce", *arguments)
    assert found.status == 2
    assert said in " ".join(found.err.replace("│", " ").split())


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_run(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("")
    found = sledsim_cli("reproduce", "--report", tmp_path / "taken")
    assert found.status == 2
    assert f"{tmp_path / 'taken'}: can't be a folder for the report" in found.err


def test_names_select_claims() -> None:
    assert select(None) == list(claims())
    assert len(select("griffin1999")) == 47
    assert select("griffin1999.settle-time") == ["griffin1999.settle-time"]
    with pytest.raises(SledsimError, match="did you mean griffin1999"):
        select("griffin")


ENDLESS = """
import sys
from pathlib import Path
from conftest import SCENARIO
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.finding import Finding

def settled(study):
    return Finding(0.72, "formula")

def endless(study):
    go_on = study._go_on
    def recorded(*progress):
        if progress:
            Path(sys.argv[-1], "running").touch()
        go_on()
    study._go_on = recorded
    scenario = {**SCENARIO, "run": {"requests": 4_000_000_000}}
    return Finding(study.run(scenario).summary["response"]["mean_ms"], "run")

def thinking(study):
    while True:
        pass

experiments = {"settle-time": settled, "turnaround-time": endless, "seek-mean": thinking}
reproduction.experiments = lambda: {f"griffin1999.{name}": make for name, make in experiments.items()}
from sledsim.cli import main
main()
"""


def test_ctrl_c_keeps_finished_claims(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENDLESS, "reproduce", "griffin1999", "--report", str(tmp_path / "report")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT / "tests"
    ) as process:
        assert wait_until((tmp_path / "report" / "running").exists, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted" in err
    assert "INCOMPLETE: interrupted" in out
    found = json.loads((tmp_path / "report" / "verdicts.json").read_text())
    assert not found["complete"]
    verdicts = {each["name"]: each for each in found["claims"]}
    assert verdicts["griffin1999.settle-time"]["verdict"] == "reproduced"
    assert verdicts["griffin1999.turnaround-time"]["reason"] == "interrupted"
    assert "INCOMPLETE" in (tmp_path / "report" / "index.html").read_text()


def scenario(requests: int) -> dict[str, Any]:
    return {**SCENARIO, "run": {"requests": requests}}


def in_time(work: Callable[[], Any]) -> Any:
    """Return the result of some work; fail if its threads deadlock."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert found, "it failed, or threads wait for each other"
    return found[0]


def test_runs_are_shared() -> None:
    with Study(workers=2) as study:
        first, second = study.runs([scenario(200), scenario(100)], {"run.requests": 200})
        assert first is second
        assert study.run(scenario(200)) is first
        logged = study.run(scenario(200), log=True)
        assert logged is not first
        assert study.run(scenario(200), log=True) is logged
        assert study.run(scenario(300), log=True) is study.run(scenario(300))
        assert logged.summary == first.summary


def test_nested_work_does_not_deadlock() -> None:
    with Study(workers=1) as study:

        def shared(study: Study) -> float:
            means = study.map(lambda n: float(study.run(scenario(n)).summary["response"]["mean_ms"]), [50, 60, 70])
            return sum(means)

        def each(n: int) -> float:
            return study.once("shared", shared) + n * float(study.run(scenario(50)).summary["response"]["mean_ms"])

        def together() -> list[list[float]]:
            return study.map(lambda n: study.map(each, [n, n + 1]), [1, 2, 3])

        found = in_time(together)
    assert [len(inner) for inner in found] == [2, 2, 2]
    assert found[0][1] == found[1][0]


def test_a_failed_shared_value_fails_for_all() -> None:
    with Study() as study:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                study.once("nothing", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            study.map(lambda n: 1 / n, [1, 0, 2])
        with pytest.raises(SledsimError):
            study.run({"system": {"device": "no such device"}})
        assert study.map(str, [1, 2, 3]) == ["1", "2", "3"]


def test_shared_time_counts_for_the_first_request() -> None:
    with Study() as study:
        _, first = study.seconds(lambda: study.run(scenario(30_000)))
        _, second = study.seconds(lambda: study.run(scenario(30_000)))
        _, mapped = study.seconds(lambda: study.map(lambda n: study.run(scenario(n)), [30_001, 30_002]))
    # Finding a run that has been made costs next to nothing.
    assert second < first / 2
    assert mapped > first


def test_a_stopped_study_ends_its_runs() -> None:
    running = threading.Event()

    class Told(Study):
        def _go_on(self, *progress: object) -> None:
            if progress:
                running.set()
            super()._go_on()

    with Told(workers=1) as study:
        heard: list[BaseException] = []

        def wait() -> None:
            try:
                study.run(scenario(4_000_000_000))
            except BaseException as error:
                heard.append(error)

        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert running.wait(PATIENCE_S)
        study.stop()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert [type(error) for error in heard] <= [KeyboardInterrupt, KeyboardInterrupt]
        assert len(heard) == 2
        with pytest.raises((KeyboardInterrupt, CancelledError)):
            study.run(scenario(10))


def test_sample_sizes() -> None:
    with Study() as quick, Study(quick=False) as full:
        assert quick.requests(full=100, quick=10) == 10
        assert full.requests(full=100, quick=10) == 100


def test_progress_and_selection_from_python() -> None:
    seen: list[tuple[int, int]] = []
    found = reproduce("griffin1999.settle-time", progress=lambda done, all_of_them: seen.append((done, all_of_them)))
    assert seen == [(1, 1)]
    assert [answer.verdict for answer in found.answers] == ["reproduced"]
    assert found.complete


def test_the_command_writes_a_report(
    sledsim_cli: Callable[..., Outcome],
    made_up_experiments: Callable[[dict[str, Experiment]], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    made_up_experiments({"griffin1999.settle-time": settled})
    monkeypatch.setattr(reproduction, "pictures", lambda _: [])
    found = sledsim_cli("reproduce", "griffin1999", "--report", tmp_path / "new" / "report", "--json")
    assert found.status == 0, found.err
    written = json.loads((tmp_path / "new" / "report" / "verdicts.json").read_text(encoding="utf-8"))
    assert written == json.loads(found.out)
    assert "griffin1999.settle-time" in (tmp_path / "new" / "report" / "index.html").read_text(encoding="utf-8")
