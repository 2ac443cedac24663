"""Claims of schlosser2000 about applications, with made-up run times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import missing
from sledsim import SledsimError, machine
from sledsim_papers.harness import claims, experiments
from sledsim_papers.harness.change import change
from sledsim_papers.harness.registry import pictures
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.settings import Settings
from sledsim_papers.harness.study import NO_MACHINES, MissingRunsError, Study
from sledsim_papers.schlosser2000 import application_claims, applications, energy
from sledsim_papers.schlosser2000.application_claims import single_changes, spent_on_turns
from sledsim_papers.schlosser2000.applications import APPLICATIONS, SLEDS, Run, Runs, all_runs, found, make
from sledsim_papers.schlosser2000.applications import TRACE as TRACE_ENDING
from sledsim_papers.schlosser2000.devices import DISKS
from test_schlosser2000 import APPLICATION_CLAIMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Times of a run in which everything is as the paper says, ms: processor, and waiting on each device.
PROCESSOR_MS = {"g3": 100.0, "g2": 101.0, "g1": 102.0, "superdisk": 103.0, "atlas10k": 104.0}
WAITING_MS = {"g3": 80.0, "g2": 125.0, "g1": 180.0, "superdisk": 190.0, "atlas10k": 600.0}
#: Two writes each of two sectors of the Atlas 10K in turn, then reads of other places.
TRACE = "t_ns,device,offset_bytes,bytes,op\n" + "".join(
    f"{each * 20_000_000},0,{4096 * (each % 2)},4096,W\n" for each in range(20)
)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, float]:
    """Replace recorded runs by made-up ones; return their waiting times, which may be changed."""
    waiting = WAITING_MS | {f"{device} with ext4": ms for device, ms in WAITING_MS.items()}
    (tmp_path / "trace.csv").write_text(TRACE)

    def found(run: Run) -> dict[str, Any]:
        if "memory_mib" in run.guest or "cpu" in run.guest:
            raise MissingRunsError
        wait = waiting[f"{run.device} with ext4" if "file_system" in run.guest else run.device]
        if run.changes.get("bidirectional"):
            wait -= 40
        if run.changes.get("seek_model") == "time-optimal":
            wait /= 1000
        if run.changes.get("fast_write"):
            wait /= run.changes["buffer_segments"]
        wait += 10 * (13 - len(run.changes.get("zones", range(13))))
        times = {
            "run_ms": wait + PROCESSOR_MS[run.device],
            "processor_ms": PROCESSOR_MS[run.device],
            "waiting_ms": wait,
            "kernel_ms": 2.0,
            "requests": 10.0,
        }
        return {**times, "starts_s": 0.0, "trace": str(tmp_path / "trace.csv")}

    monkeypatch.setattr(applications, "found", found)
    return waiting


@pytest.fixture
def study() -> Iterator[Study]:
    with Study(workers=1) as made:
        yield made


def verdict(name: str, study: Study) -> str:
    """Return the verdict on a claim."""
    claim = claims()[f"schlosser2000.{name}"]
    return claim.verdict(experiments()[claim.name](study))


def test_runs_with_the_papers_times_give_its_verdicts(made_up: dict[str, float], study: Study) -> None:
    verdicts = {name: verdict(name, study) for name in APPLICATION_CLAIMS}
    assert verdicts.pop("tpcd-q6-cpu-bound") == "differs"
    assert verdicts.pop("andrew-generations") == "reproduced"
    assert verdicts.pop("application-speedup") == "reproduced"
    assert set(verdicts.values()) == {"reproduced"}, verdicts


def test_recorded_runs_ignore_the_number_of_seeds(made_up: dict[str, float], study: Study) -> None:
    [answer] = reproduce("schlosser2000.postmark-order", seeds=3, time_optimal=True, study=study).answers
    assert answer.finding
    assert answer.finding.simulates
    assert (answer.verdict, answer.by_seed) == ("reproduced", ())


def test_time_optimal_figures_use_runs_with_that_motion(made_up: dict[str, float], study: Study) -> None:
    made_up["g3"] = 5000.0
    [answer] = reproduce("schlosser2000.andrew-order", time_optimal=True, study=study).answers
    assert answer.finding
    assert answer.finding.ours == ("g2", "g1", "superdisk", "atlas10k", "g3")
    # Of 5,000 ms of waiting 5 are left, and 100 of the processor.
    assert answer.time_optimal == ("g2", "g1", "g3", "superdisk", "atlas10k")
    [answer] = reproduce("schlosser2000.postmark-rotations", time_optimal=True, study=study).answers
    assert answer.finding
    assert answer.time_optimal == answer.finding.ours, "a disk moves by neither"


@pytest.mark.parametrize(
    ("device", "waiting_ms", "claim"),
    [
        ("g3", 200.0, "andrew-order"),
        ("g2", 700.0, "postmark-order"),
        ("g1", 700.0, "gnuld-order"),
        ("superdisk", 300.0, "tpcd-q4"),
        ("g1", 500.0, "io-stall-reduction"),
        ("g2", 181.0, "andrew-two-way"),
    ],
)
def test_a_different_run_time_changes_the_verdict(
    made_up: dict[str, float], study: Study, device: str, waiting_ms: float, claim: str
) -> None:
    before = verdict(claim, study)
    made_up[device] = waiting_ms
    assert verdict(claim, study) != before or claim == "andrew-two-way"


def test_turns_are_rotations_before_rewriting_the_same_sector(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text(TRACE)
    made = {"trace": str(tmp_path / "trace.csv"), "starts_s": 0.0}
    spent = spent_on_turns(made, Run("postmark", "atlas10k").system)
    # 18 of the 20 writes come to a sector that was written two writes before; the drive turns once in 5.99 ms.
    assert 0 < spent["turns"] < 18 * 5.99
    assert spent["rest"] > 0
    assert spent_on_turns(made, Run("postmark", "atlas10k").system, before=1)["turns"] == 0


def test_each_change_from_g1_to_g2_saves_time_on_the_same_requests(made_up: dict[str, float], study: Study) -> None:
    *_, each, ranked = experiments()["schlosser2000.andrew-two-way"](study).probes
    assert isinstance(each.ours, tuple)
    assert isinstance(ranked.ours, tuple)
    assert len(each.ours) == len(ranked.ours) == len(single_changes(study))
    assert all(isinstance(saved, float) for saved in each.ours)
    assert [name for name in single_changes(study) if name in each.change] == list(single_changes(study))


@pytest.mark.parametrize(("where", "published"), [("Figure 8", False), ("Figure 10", True), ("Figure 11", True)])
def test_figures_have_every_device_and_the_published_points(
    made_up: dict[str, float], study: Study, where: str, *, published: bool
) -> None:
    [draw] = [each.draw for each in pictures("schlosser2000") if each.where == where]
    assert draw
    text = str(draw(study).shown.to_dict())  # type: ignore[union-attr]
    assert all(f"'device': '{device}'" in text for device in ("Atlas 10K", "SuperDisk", "G1", "G2", "G3"))
    assert ("'of': 'published'" in text) == published


def test_an_order_is_robust_if_no_other_machine_changes_it(made_up: dict[str, float]) -> None:
    rows = [row for row in application_claims.robust_orders() if row[0] == "gnuld"]
    assert [row[1] for row in rows] == ["as the paper's", "ext4", "any of them"]
    assert [row[3] for row in rows] == ["", "the same", "robust"]
    assert rows[0][2] == "g3 180, g2 226, g1 282, superdisk 293, atlas10k 704"
    made_up["superdisk with ext4"] = 1.0
    rows = [row for row in application_claims.robust_orders() if row[0] == "gnuld"]
    pairs = "g3 and superdisk, g2 and superdisk, g1 and superdisk"
    assert [row[3] for row in rows] == ["", f"{pairs} change places", f"not robust: {pairs}"]


def test_every_run_of_a_claim_is_listed() -> None:
    listed = list(all_runs())
    assert {(run.application, run.device) for run in listed if not run.changes and not run.guest} == {
        (application, device) for application in APPLICATIONS for device in (*SLEDS, *DISKS)
    }
    assert len(listed) == len({repr(run) for run in listed})


def test_without_runs_claims_are_not_done_and_name_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLEDSIM_MACHINE", str(tmp_path))
    monkeypatch.setattr(applications, "_recorded", lambda: {"packages": {}, "runs": {}})
    found = reproduce("schlosser2000.andrew-order", draw=True)
    assert [answer.reason for answer in found.answers] == [NO_MACHINES]
    assert [each.reason for each in found.redrawn] == [NO_MACHINES]
    assert not found.failures


def test_runs_count_only_for_their_motion_and_settings(study: Study) -> None:
    with pytest.raises(MissingRunsError):
        experiments()["schlosser2000.andrew-order"](study.under("first-order"))
    with pytest.raises(MissingRunsError):
        experiments()["schlosser2000.andrew-order"](study.seeded(2))


def test_every_run_of_a_claim_is_recorded_for_the_current_set_up() -> None:
    recorded = applications._recorded()
    assert {run.key() for run in all_runs()} == set(recorded["runs"])
    for times in recorded["runs"].values():
        assert set(times) == set(applications.FIGURES)
        # Time outside the program and the kernel counts as waiting; guest clocks have microseconds.
        assert times["processor_ms"] + times["waiting_ms"] == pytest.approx(times["run_ms"], abs=0.01)
    traces = {path.name.removesuffix(TRACE_ENDING) for path in applications.RECORDS.glob(f"*{TRACE_ENDING}")}
    assert {run.key() for run in energy.REPLAYED.values()} <= traces <= set(recorded["runs"])


def test_a_recorded_trace_keeps_the_requests_and_the_time_between_them(tmp_path: Path) -> None:
    # A machine's trace has further columns. The second request arrives 3 ms after the first is complete.
    trace = (
        "t_ns,device,offset_bytes,bytes,op,due_ns,sent_ns,response_ns\n"
        "0,0,0,4096,R,1,2,2000000\n5000000,0,8192,512,W,1,2,1000000\n"
    )
    path = tmp_path / f"kept{TRACE_ENDING}"
    path.write_bytes(applications.compressed(trace))
    workload = {"kind": "trace", "path": str(path), "mode": "closed"}
    system = {"device": {"name": "simpledisk-constant", "access_ms": 10.0}}
    log = sledsim.run({"workload": workload, "system": system}, log=True).log
    assert (log["blocks"].tolist(), log["read"].tolist()) == ([8, 1], [True, False])
    first, second = log["arrival_ns"].tolist()
    assert second - first == log["response_ns"].tolist()[0] + 3_000_000


def test_without_a_machine_claims_use_and_mention_recorded_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, study: Study
) -> None:
    monkeypatch.setenv("SLEDSIM_MACHINE", str(tmp_path))
    for name in APPLICATION_CLAIMS:
        found = experiments()[f"schlosser2000.{name}"](study)
        assert found.how.endswith(f". {applications.origin_of_runs()}")
        assert f"Runs as recorded {applications._recorded()['made']}" in found.how
        assert claims()[f"schlosser2000.{name}"].verdict(found) in {"reproduced", "shape only", "differs"}


def test_local_and_recorded_runs_are_not_mixed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(applications, "folder", lambda: tmp_path)
    monkeypatch.setattr(machine, "is_there", lambda: True)
    monkeypatch.setattr(machine, "packages", lambda: applications._recorded()["packages"])
    run = Run("andrew", "g1")
    assert found(run)["trace"].startswith(str(applications.RECORDS)), "none was made here"
    assert applications.origin_of_runs().startswith("Runs as recorded")
    (tmp_path / "another.json").write_text("{}")
    assert applications.origin_of_runs() == "Runs made here"
    with pytest.raises(MissingRunsError):
        found(run)
    (tmp_path / f"{run.key(machine.packages())}.json").write_text('{"run_ms": 1.0}')
    assert found(run)["run_ms"] == 1.0


@pytest.mark.slow
def test_a_local_run_can_be_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not machine.is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    run = Run("tpcd-q6", "g1")
    here, there = (dict(each) for each in (machine.packages(), applications._recorded()["packages"]))
    build, recorded_build = (each.pop("sledsim-nbd", None) for each in (here, there))
    if here != there:
        pytest.skip("the machine is assembled from other packages than those recorded")
    monkeypatch.setattr(applications, "folder", lambda: tmp_path / "applications")
    recorded = found(run)
    assert make(run)
    made = found(run)
    assert made["requests"] == recorded["requests"]
    is_same_build = build is not None and build == recorded_build
    # The same build of the server in the guest gives the same to the microsecond. Another one takes other moments: two
    # builds were 0.6 % apart.
    assert made["run_ms"] == pytest.approx(recorded["run_ms"], rel=0 if is_same_build else 0.02, abs=0.001)


def test_runs_with_a_changed_device_are_made_on_demand(
    monkeypatch: pytest.MonkeyPatch, study: Study, tmp_path: Path
) -> None:
    asked = []

    def made(run: Run) -> dict[str, Any]:
        asked.append(run)
        ms = 100.0 * run.system["device"].get("bit_nm", 1)
        return {**dict.fromkeys(applications.FIGURES, ms), "trace": ""}

    monkeypatch.setattr(applications, "made_now", made)
    plain, changed = change("schlosser2000.postmark-order", ["device.bit_nm=80"], study).answers
    assert plain.verdict == "reproduced"
    assert changed.finding
    assert changed.finding.how.endswith(". Runs made here")
    assert changed.verdict == "differs"
    assert {run.device: run.system["device"].get("bit_nm") for run in asked} == {
        "g1": 80,
        "g2": 80,
        "g3": 80,
        "atlas10k": None,
        "superdisk": None,
    }
    # Nothing is run where no device changes.
    asked.clear()
    with pytest.raises(SledsimError, match="changes nothing"):
        change("schlosser2000.gnuld-order", ["rebuild.time=1h"], study)
    assert not asked
    monkeypatch.undo()
    monkeypatch.setenv("SLEDSIM_MACHINE", str(tmp_path))
    answer = change("schlosser2000.postmark-order", ["device.bit_nm=80"], study).answers[1]
    assert (answer.verdict, answer.reason) == ("not done", NO_MACHINES)


def test_a_run_with_a_changed_device_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(applications, "folder", lambda: tmp_path)
    monkeypatch.setattr(machine, "is_there", lambda: True)
    monkeypatch.setattr(machine, "packages", lambda: {"kernel": "1"})
    systems = []

    class Made:
        status, errors = 0, ""

        def save_trace(self, path: Path) -> None:
            path.write_text("")

        def to_dict(self) -> dict[str, Any]:
            return {"run_ms": 1.0}

    def ran(system: dict[str, Any], *_: Any, **__: Any) -> Made:
        systems.append(system)
        return Made()

    monkeypatch.setattr(machine, "run", ran)
    runs = Runs(settings=Settings(["device.bit_nm=80"]))
    for _ in range(2):
        assert runs.figures("gnuld", "run_ms", ("g1", "g2")) == {"g1": 1.0, "g2": 1.0}
    assert [system["device"]["bit_nm"] for system in systems] == [80, 80], "each is made once"
    assert not applications.are_made_here()
