"""Claims of schlosser2000 about applications: the recorded runs, their replays, and verdicts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import missing
from sledsim import machine
from sledsim_papers.harness import claims, experiments
from sledsim_papers.harness.change import change
from sledsim_papers.harness.registry import pictures
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000 import application_claims, applications
from sledsim_papers.schlosser2000.application_claims import single_changes, spent_on_turns
from sledsim_papers.schlosser2000.applications import (
    APPLICATIONS,
    EVERY,
    RUNS,
    SLEDS,
    Times,
    device,
    make,
    measured,
    recorded,
    replay,
    small,
    times,
)
from test_schlosser2000 import APPLICATION_CLAIMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

#: Times of a run in which everything is as the paper says, ms: processor, and waiting on each device.
PROCESSOR_MS = 100.0
WAITING_MS = {"g3": 80.0, "g2": 125.0, "g1": 180.0, "superdisk": 190.0, "atlas10k": 600.0}
#: Two writes each of two sectors of the Atlas 10K in turn.
TRACE = "t_ns,offset_bytes,bytes,op,response_ns\n" + "".join(
    f"{each * 20_000_000},{4096 * (each % 2)},4096,W,1000000\n" for each in range(20)
)


@pytest.fixture
def study() -> Iterator[Study]:
    with Study(workers=1) as made:
        yield made


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Replace the times of replays by made-up ones; return the waiting times, which may be changed."""
    waiting = dict(WAITING_MS)

    def made_up_times(_: Study, name: str, storage: Mapping[str, Any], *, processor_time: float = 1.0) -> Times:
        wait = waiting[str(storage["name"]).removesuffix("-paper")]
        if storage.get("bidirectional"):
            wait -= 40
        if storage.get("fast_write") == "full":
            wait /= storage["buffer_segments"]
        wait += 10 * (13 - len(storage.get("zones", range(13))))
        processor_ms = processor_time * PROCESSOR_MS
        return Times(wait + processor_ms, processor_ms)

    monkeypatch.setattr(application_claims, "times", made_up_times)
    return waiting


def verdict(name: str, study: Study) -> str:
    """Return the verdict on a claim."""
    claim = claims()[f"schlosser2000.{name}"]
    return claim.verdict(experiments()[claim.name](study))


#: Claims whose figures are not times of replays.
OTHER_SOURCES = {"postmark-rotations", "system-time"}


def test_the_papers_times_give_its_verdicts(made_up: dict[str, float], study: Study) -> None:
    verdicts = {name: verdict(name, study.unprobed()) for name in APPLICATION_CLAIMS - OTHER_SOURCES}
    assert verdicts.pop("tpcd-q6-cpu-bound") == "differs"
    assert set(verdicts.values()) == {"reproduced"}, verdicts


@pytest.mark.parametrize(
    ("on", "waiting_ms", "claim"),
    [
        ("g3", 200.0, "andrew-order"),
        ("g2", 700.0, "postmark-order"),
        ("g1", 700.0, "gnuld-order"),
        ("superdisk", 300.0, "tpcd-q4"),
        ("g1", 500.0, "io-stall-reduction"),
        ("g2", 90.0, "andrew-two-way"),
    ],
)
def test_a_different_run_time_changes_the_verdict(
    made_up: dict[str, float], study: Study, on: str, waiting_ms: float, claim: str
) -> None:
    before = verdict(claim, study.unprobed())
    made_up[on] = waiting_ms
    assert verdict(claim, study.unprobed()) != before


@pytest.fixture
def two_sectors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replace the recorded run of PostMark by :data:`TRACE`."""
    (tmp_path / "trace.csv").write_text(TRACE)
    figures = {"starts_s": 0.0, "ends_s": 1.0, "run_ms": 400.0, "processor_ms": 300.0, "outside_ms": 10.0}
    monkeypatch.setattr(applications, "trace", lambda _: tmp_path / "trace.csv")
    monkeypatch.setattr(applications, "measured", lambda _: figures)


@pytest.mark.usefixtures("two_sectors")
def test_run_time_is_replay_and_processor_time_around_it(study: Study) -> None:
    # 20 writes of 2 ms, 19 gaps of 19 ms between them, and 10 ms before and after.
    storage = {"name": "simpledisk-constant", "access_ms": 2.0}
    found = times(study, "postmark", storage)
    assert found.run_ms == pytest.approx(20 * 2 + 19 * 19 + 10, abs=0.1)
    assert (found.processor_ms, found.waiting_ms) == (300, found.run_ms - 300)
    slower = times(study, "postmark", storage, processor_time=2.0)
    assert slower.run_ms == pytest.approx(20 * 2 + 2 * (19 * 19 + 10), abs=0.1)
    assert slower.processor_ms == 600


@pytest.mark.usefixtures("two_sectors")
def test_turns_are_rotations_before_rewriting_the_same_sector(study: Study) -> None:
    spent = spent_on_turns(study, "postmark", device("atlas10k"))
    # 18 of the 20 writes come to a sector that was written two writes before; the drive turns once in 5.99 ms.
    assert 0 < spent["turns"] < 18 * 5.99
    assert spent["rest"] > 0
    assert spent_on_turns(study, "postmark", device("atlas10k"), distance=1)["turns"] == 0


def test_time_outside_the_requests_is_the_rest_of_the_run() -> None:
    # The first request lies before the program, the last after it; responses overlap.
    text = "t_ns,response_ns\n0,1000000\n20000000,5000000\n22000000,1000000\n30000000,2000000\n90000000,1000000\n"
    figures = {"starts_s": 0.01, "ends_s": 0.08, "run_ms": 70.0}
    assert applications.outside_ms(text, figures) == pytest.approx(70 - 12)


def test_every_run_is_recorded() -> None:
    assert list(recorded()["runs"]) == list(RUNS)
    for name, figures in recorded()["runs"].items():
        assert {*figures} >= {*applications.FIGURES, "made"}
        assert figures["made"] in recorded()["machines"]
        # Time outside the program and the kernel counts as waiting; guest clocks have microseconds.
        assert figures["processor_ms"] + figures["waiting_ms"] == pytest.approx(figures["run_ms"], abs=0.01)
        assert applications.trace(name).exists() == RUNS[name].has_trace
    sizes = sum(path.stat().st_size for path in applications.RECORDS.iterdir())
    assert sizes < 10e6, "the recorded runs make the package large"


@pytest.mark.parametrize(("name", "least"), [("andrew", 2_000), ("postmark", 20_000), ("tpcd-q4", 2_500)])
def test_recorded_programs_are_large(name: str, least: int) -> None:
    assert measured(name)["requests"] >= least


def test_replays_take_as_long_as_the_runs_on_the_recorded_and_on_another_device(study: Study) -> None:
    # A replay waits for each request before it sends the next; the program goes on computing while the kernel writes
    # data or reads ahead. That is most for PostMark, 1.6 %.
    names = {**{name: name for name in APPLICATIONS}, **applications.CHECKED}
    for run, name in names.items():
        on = RUNS[run].device
        found = times(study, name, {**device(on), **({"seek_model": "decomposed"} if on in SLEDS else {})})
        assert found.run_ms == pytest.approx(measured(run)["run_ms"], rel=0.02), run


def test_a_recorded_trace_keeps_the_requests_and_the_time_between_them(tmp_path: Path) -> None:
    # A machine's trace has further columns. The second request arrives 3 ms after the first is complete.
    trace = (
        "t_ns,device,offset_bytes,bytes,op,due_ns,sent_ns,response_ns\n"
        "0,0,0,4096,R,1,2,2000000\n5000000,0,8192,512,W,1,2,1000000\n"
    )
    path = tmp_path / "kept.csv.xz"
    path.write_bytes(applications.compressed(trace))
    workload = {"kind": "trace", "path": str(path), "mode": "closed"}
    system = {"device": {"name": "simpledisk-constant", "access_ms": 10.0}}
    log = sledsim.run({"workload": workload, "system": system}, log=True).log
    assert (log["blocks"].tolist(), log["read"].tolist()) == ([8, 1], [True, False])
    first, second = log["arrival_ns"].tolist()
    assert second - first == log["response_ns"].tolist()[0] + 3_000_000


def test_requests_fit_every_device_without_scaling(study: Study) -> None:
    for name in APPLICATIONS:
        assert "fit" not in replay(name, device("g1"))["workload"]
        assert times(study, name, device("g1")).run_ms > 0


def test_each_change_from_g1_to_g2_saves_time_on_the_same_requests(made_up: dict[str, float], study: Study) -> None:
    *_, each, ranked = experiments()["schlosser2000.andrew-two-way"](study).probes
    assert isinstance(each.ours, tuple)
    assert isinstance(ranked.ours, tuple)
    assert len(each.ours) == len(ranked.ours) == len(single_changes(study))
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


def test_findings_name_the_recorded_runs(study: Study) -> None:
    for name in APPLICATION_CLAIMS - {"system-time"}:
        found = experiments()[f"schlosser2000.{name}"](study.unprobed())
        assert found.how.endswith(f". {applications.origin_of_runs()}")


def test_motion_and_settings_change_replays(study: Study) -> None:
    [answer] = reproduce("schlosser2000.andrew-generations", time_optimal=True, study=study.unprobed()).answers
    assert answer.finding
    assert answer.time_optimal != answer.finding.ours
    plain, changed = change("schlosser2000.postmark-order", ["device.settle_constants=60"], study.unprobed()).answers
    assert plain.finding
    assert changed.finding
    findings = (plain.finding, changed.finding)
    before, after = ({row["device"]: row["run_ms"] for row in each.curve} for each in findings)
    assert all(after[sled] > before[sled] for sled in SLEDS)
    assert after["atlas10k"] == before["atlas10k"]


def test_small_runs_have_one_for_each_application_and_device() -> None:
    assert {small(name, on) for name in APPLICATIONS for on in EVERY} <= set(RUNS)
    assert all(RUNS[small(name, on)].device == on for name in APPLICATIONS for on in EVERY)


def test_a_run_is_made_once_and_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Made:
        status, errors = 0, ""

        def save_trace(self, path: Path) -> None:
            path.write_text(f"device,{TRACE}".replace("\n", "\n0,").removesuffix("0,"))

        def to_dict(self) -> dict[str, Any]:
            return {**dict.fromkeys(applications.FIGURES, 0.0), "run_ms": 500.0, "ends_s": 1.0}

    systems = []

    def ran(system: dict[str, Any], *_: Any, **__: Any) -> Made:
        systems.append(system)
        return Made()

    monkeypatch.setattr(applications, "folder", lambda: tmp_path / "made")
    monkeypatch.setattr(applications, "RECORDS", tmp_path / "recorded")
    monkeypatch.setattr(machine, "packages", lambda: {"linux-image-1": "1"})
    monkeypatch.setattr(machine, "run", ran)
    (tmp_path / "recorded").mkdir()
    (tmp_path / "recorded" / "runs.json").write_text(json.dumps({"machines": {}, "runs": {}}))
    recorded.cache_clear()
    try:
        assert [make("gnuld"), make("gnuld")] == [True, False]
        assert [system["device"]["name"] for system in systems] == ["g2-paper"]
        assert applications.record("2000-01-01") == ["gnuld"]
        recorded.cache_clear()
        # 20 requests, one each 20 ms, the last of which takes 1 ms.
        assert measured("gnuld")["outside_ms"] == pytest.approx(500 - 19 * 20 - 1)
        assert applications.trace("gnuld").exists()
    finally:
        recorded.cache_clear()


@pytest.mark.slow
def test_a_local_run_equals_the_recorded_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not machine.is_there():
        missing("no machine: it takes `make machine` and the package qemu-system-x86")
    figures = measured("tpcd-q6")
    if machine.packages() | {"sledsim-nbd": ""} != recorded()["machines"][figures["made"]] | {"sledsim-nbd": ""}:
        pytest.skip("the machine is assembled from other packages than those recorded")
    monkeypatch.setattr(applications, "folder", lambda: tmp_path)
    assert make("tpcd-q6")
    [result] = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert result["requests"] == pytest.approx(figures["requests"], rel=0.02)
    # Another build of the server in the guest sends requests at other times: two builds were 0.6 % apart.
    assert result["run_ms"] == pytest.approx(figures["run_ms"], rel=0.02)


def test_disks_of_the_paper_have_no_write_back() -> None:
    assert all(device(name)["fast_write"] == "none" for name in EVERY if name not in SLEDS)
    assert device("g1") == {"name": "g1-paper"}
