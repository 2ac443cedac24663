"""Schlosser et al. 2000, section 4.2 and Figures 8 to 11: what applications take on each device."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sledsim.runs import run as simulated
from sledsim_papers.harness.finding import COMPUTED, Finding, Ours, Probe, order, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import MissingRunsError, Study
from sledsim_papers.schlosser2000.applications import (
    APPLICATIONS,
    CACHED_BY_THE_FILE_SYSTEM,
    DISKS,
    INWARD,
    SLED,
    SLEDS,
    VARIATIONS,
    WRITE_BACK,
    Run,
    found,
    inner,
)

__all__ = ["MACHINE", "OURS", "run_times"]

#: What of our machine is another than the paper's, beside each figure.
MACHINE = (
    "whole machine, 1 GHz at one instruction a cycle, 128 MB; Linux with ext2 and metadata written at once, on x86-64, "
    "where the paper has Digital UNIX with FFS on Alpha; programs in memory; disks without write-back, a bus of 50 "
    "MB/s for the Atlas 10K, no command overhead of sleds"
)
#: What each application is here.
OURS = {
    "andrew": "71 C sources of 200 kB made, copied, scanned, read, compiled with tcc",
    "postmark": "PostMark 1.5, 500 files, 500 transactions",
    "gnuld": "GNU ld links 1,500 objects of a C library",
    "tpcd-q4": "query 4 of TPC-H at scale 0.01 in SQLite, cold",
    "tpcd-q6": "query 6 of TPC-H at scale 0.01 in SQLite, cold",
}
EVERY = (*SLEDS, *DISKS)


def run_times(application: str, **guest: Any) -> dict[str, dict[str, Any]]:
    """Return what an application found on each device.

    Parameters
    ----------
    application
        Which one.
    **guest
        What of the machine is another.

    Raises
    ------
    MissingRunsError
        Where the runs were not made here.
    """
    return {device: found(Run(application, device, {}, guest)) for device in EVERY}


def _scenario(run: Run) -> Mapping[str, Any]:
    """Return what was run, as far as a scenario says it: the storage."""
    return {"system": run.system, "workload": {"kind": "session"}}


def _figures(application: str, key: str, devices: Sequence[str] = EVERY, **guest: Any) -> dict[str, float]:
    times = run_times(application, **guest)
    return {device: float(times[device][key]) for device in devices}


def _curve(application: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        {"device": device, **{key: round(each[key], 3) for key in ("run_ms", "processor_ms", "waiting_ms")}}
        for device, each in run_times(application).items()
    )


def _under_variations(application: str, of: Any) -> tuple[Probe, ...]:
    """Return what is found with each of the other machines, of those whose runs were made."""
    probes = []
    for change, guest in VARIATIONS.items():
        try:
            ours: Ours = of(**guest)
        except MissingRunsError:
            continue
        probes.append(Probe(change, ours))
    return tuple(probes)


def _scenarios(application: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(_scenario(Run(application, device)) for device in EVERY)


def _order(claim: str, application: str, devices: Sequence[str], level: Sequence[str], study: Study) -> Finding:
    def ranked(**guest: Any) -> tuple[str, ...]:
        return order(_figures(application, "run_ms", devices, **guest), level=level)

    told = ", ".join(f"{device} {ms:,.0f} ms" for device, ms in _figures(application, "run_ms", devices).items())
    return Finding(
        ranked(),
        f"{OURS[application]}: {told}. {MACHINE}",
        scenarios=_scenarios(application),
        curve=_curve(application),
        probes=(*_beside(claim), *_under_variations(application, ranked)),
        cause=CAUSES.get(claim, ""),
    )


def _beside(claim: str) -> tuple[Probe, ...]:
    """Return what tells where an order comes from that differs."""
    if claim == "andrew-order":
        level = order(_figures("andrew", "run_ms"), level=("g2", "g3"))
        return (Probe("g2 and g3 level where they are within 10 %", level),)
    without = {"tpcd-q4": ("g2", "g3", *DISKS), "gnuld-order": ("g2", "g3", "atlas10k")}
    if claim in without:
        rest = order(_figures(claim.removesuffix("-order"), "run_ms", without[claim]))
        return (Probe("without g1", rest),)
    return ()


def _gains(key: str) -> tuple[float, ...]:
    """Return the Atlas 10K's figure over that of each generation, for each application."""
    gains = []
    for application in APPLICATIONS:
        figures = _figures(application, key)
        gains += [figures["atlas10k"] / figures[sled] for sled in SLEDS]
    return tuple(gains)


def _over_all(key: str, what: str, claim: str, study: Study) -> Finding:
    gains = _gains(key)
    per = len(SLEDS)
    rows = [
        {"application": name, **{sled: round(gains[per * place + at], 2) for at, sled in enumerate(SLEDS)}}
        for place, name in enumerate(APPLICATIONS)
    ]
    alone = {name: gains[per * place : per * (place + 1)] for place, name in enumerate(APPLICATIONS)}
    return Finding(
        gains,
        f"{what}: g1, g2, g3 of each of {', '.join(APPLICATIONS)}. {MACHINE}",
        decimals=2,
        scenarios=tuple(each for name in APPLICATIONS for each in _scenarios(name)),
        curve=tuple(rows),
        shape_holds=all(gain > 1 for gain in gains),
        cause=CAUSES.get(claim, ""),
        probes=tuple(Probe(f"{name} alone", ours) for name, ours in alone.items()),
    )


def _share_waited(study: Study) -> Finding:
    """How much of query 6 is waiting, on the disk."""
    times = run_times("tpcd-q6")
    shares = {device: each["waiting_ms"] / each["run_ms"] for device, each in times.items()}
    return Finding(
        shares["atlas10k"],
        f"{OURS['tpcd-q6']}, on the Atlas 10K: waiting over run time. {MACHINE}",
        scenarios=_scenarios("tpcd-q6"),
        curve=_curve("tpcd-q6"),
        shape_holds=times["atlas10k"]["processor_ms"] > times["atlas10k"]["waiting_ms"],
        cause=CAUSES.get("tpcd-q6-cpu-bound", ""),
        probes=tuple(Probe(f"on {device}", share) for device, share in shares.items() if device != "atlas10k"),
    )


def _generations(study: Study) -> Finding:
    def ratio(key: str = "run_ms", **guest: Any) -> float:
        ms = _figures("andrew", key, SLEDS, **guest)
        return (1 - ms["g2"] / ms["g1"]) / (1 - ms["g3"] / ms["g2"])

    ms = _figures("andrew", "run_ms", SLEDS)
    return Finding(
        ratio(),
        f"{OURS['andrew']}: g1 {ms['g1']:,.0f} ms, g2 {ms['g2']:,.0f} ms, g3 {ms['g3']:,.0f} ms. {MACHINE}",
        scenarios=_scenarios("andrew"),
        curve=_curve("andrew"),
        shape_holds=ms["g1"] > ms["g2"] > ms["g3"],
        cause=CAUSES.get("andrew-generations", ""),
        probes=(Probe("of the wait alone", ratio("waiting_ms")), *_under_variations("andrew", ratio)),
    )


def _two_way(study: Study) -> Finding:
    waits = {device: found(Run("andrew", device))["waiting_ms"] for device in ("g1", "g2")}
    both = Run("andrew", "g1", {"bidirectional": True})
    middle = found(both)["waiting_ms"]
    saved = {"two_way": waits["g1"] - middle, "rest": middle - waits["g2"]}
    ranked = tuple(sorted(saved, key=lambda each: -saved[each]))
    return Finding(
        ranked,
        f"{OURS['andrew']}: waiting {waits['g1']:.1f} ms on g1, {middle:.1f} ms on g1 with access both ways, "
        f"{waits['g2']:.1f} ms on g2. {MACHINE}",
        scenarios=(_scenario(Run("andrew", "g1")), _scenario(both), _scenario(Run("andrew", "g2"))),
        cause=CAUSES.get("andrew-two-way", ""),
        probes=(Probe("saved by both ways, ms", saved["two_way"]), Probe("by the rest, ms", saved["rest"])),
    )


#: A write is one again of a sector where one of so many before it wrote it.
BEFORE = 4


def _turns(study: Study) -> Finding:
    """Where the time of the requests goes, from the trace of the run replayed: turns until a sector comes again."""
    run = Run("postmark", "atlas10k")
    made = found(run)
    scenario = {
        "system": run.system,
        "workload": {"kind": "trace", "path": made["trace"]},
        "run": {"warmup_s": made["starts_s"]},
    }
    log = simulated(scenario, log=True).log
    lately: deque[int] = deque(maxlen=BEFORE)
    spent = {"full_turns": 0.0, "seeks+latency+transfer": 0.0}
    for lbn, read, service, rotation in zip(
        log["lbn"].tolist(), log["read"].tolist(), log["service_ns"].tolist(), log["rotation_ns"].tolist(), strict=True
    ):
        again = not read and lbn in lately
        spent["full_turns"] += rotation * again
        spent["seeks+latency+transfer"] += service - rotation * again
        if not read:
            lately.append(lbn)
    ranked = tuple(sorted(spent, key=lambda each: -spent[each]))
    times = {name: round(ns / 1e6, 1) for name, ns in spent.items()}
    return Finding(
        ranked,
        f"{OURS['postmark']}: {times['full_turns']:,} ms of rotation before writes of what one of the {BEFORE} writes "
        f"before had written, {times['seeks+latency+transfer']:,} ms of everything else. {MACHINE}",
        scenarios=(_scenario(run),),
        cause=CAUSES.get("postmark-rotations", ""),
        probes=(
            Probe("ms of full turns", times["full_turns"]),
            Probe("ms of the rest", times["seeks+latency+transfer"]),
        ),
    )


def _write_back(study: Study) -> Finding:
    runs = [Run("postmark", "atlas10k", each) for each in WRITE_BACK]
    waits = [float(found(each)["waiting_ms"]) for each in runs]
    cached = float(found(CACHED_BY_THE_FILE_SYSTEM)["waiting_ms"])
    told = ", ".join(f"{ms:,.0f}" for ms in waits)
    return Finding(
        trend(waits),
        f"{OURS['postmark']}, on the Atlas 10K without write-back, with 2 and with 10 segments of its buffer for "
        f"it: waiting {told} ms. {MACHINE}",
        scenarios=tuple(map(_scenario, runs)),
        cause=CAUSES.get("postmark-write-back", ""),
        probes=(Probe("ms where the file system caches them", cached),),
    )


def _inward(study: Study) -> Finding:
    runs = [Run("tpcd-q4", "superdisk", inner(each)) for each in INWARD]
    times = [float(found(each)["run_ms"]) for each in runs]
    told = ", ".join(f"{ms:,.1f}" for ms in times)
    zones = ", ".join(str(each + 1) for each in INWARD)
    return Finding(
        trend(times, COMPUTED),
        f"{OURS['tpcd-q4']}: data from zone {zones} of 13 inward, {told} ms. {MACHINE}",
        scenarios=tuple(map(_scenario, runs)),
        cause=CAUSES.get("tpcd-q4-inner-tracks", ""),
        probes=(Probe("the outermost and the innermost alone", trend([times[0], times[-1]], COMPUTED)),),
    )


def _system_time(study: Study) -> Finding:
    """Processor time, of which the program's own is the same: what differs is the system's."""
    devices = sorted(EVERY, key=lambda each: -sum(_figures(name, "run_ms")[each] for name in APPLICATIONS))
    sums = [sum(_figures(name, "processor_ms")[each] for name in APPLICATIONS) for each in devices]
    alone = {name: [_figures(name, "processor_ms")[each] for each in devices] for name in APPLICATIONS}
    told = ", ".join(f"{device} {ms:,.1f}" for device, ms in zip(devices, sums, strict=True))
    return Finding(
        trend(sums, COMPUTED),
        f"Processor time of the five together, devices from the slowest to the fastest: {told} ms; instructions of "
        f"the programs themselves are the same. {MACHINE}",
        scenarios=tuple(each for name in APPLICATIONS for each in _scenarios(name)),
        cause=CAUSES.get("system-time", ""),
        probes=tuple(Probe(f"{name} alone", trend(each, COMPUTED)) for name, each in alone.items()),
    )


#: Why figures differ, where they do.
CAUSES: Mapping[str, str] = {
    "io-stall-reduction": "How much an application gains hangs on how much metadata its file system writes at "
    "once, of which the paper gives no number. PostMark waits for hardly anything else "
    "here, and gains more than the range has; each application by itself stands beside it.",
    "application-speedup": "An application that does little but wait, as PostMark does here, gains with its run "
    "what it gains of its wait. How much the paper's waited is lost with its figures.",
    "andrew-order": "G2 and G3 are within a percent of each other: on G3 the blocks of metadata that are "
    "written in turn lie on more cylinders, and each write of them settles.",
    "andrew-generations": "On G3 the blocks of metadata that are written in turn lie on more cylinders than on "
    "G2, and each write of them settles. The file system's layout decides that, and the "
    "paper's was another.",
    "andrew-two-way": "Our benchmark waits for small writes of metadata. That G2 settles within one time "
    "constant, where G1 takes two, and passes rows faster saves more of them than access in "
    " both directions does.",
    "tpcd-q6-cpu-bound": "The query takes SQLite 75 ms of processor for 60,000 rows that are read cold; by the "
    "paper's 8 %, its database worked twelve times as long as it waited.",
    "tpcd-q4": "SQLite reads through an index, by pieces of some 30 kB that lie apart; G1 has to come "
    "back for each row as it reads one way only. How the paper's database reads is not "
    "told.",
    "gnuld-order": "The linker reads 1,500 objects that lie one after the other, and G1, which reads rows "
    "one way only and comes back for each, passes them no faster than the Atlas 10K does.",
    "postmark-rotations": "ext2 spreads the ten directories over the whole disk, so that more than half of the "
    "time goes into seeks, 8.2 of 15.0 s; 5.5 s are rotation. A write of the same sector "
    "right after another waits 5.2 ms, nearly a whole turn, as the paper says.",
    "system-time": "The sums differ by less than a thousandth: what the kernel does for a request is the "
    "same on each device, and its timer takes little of a longer run. On a faster device "
    "more answers come one by one, each with an interrupt of its own.",
}


def _as_made(work: Callable[[Study], Finding], study: Study) -> Finding:
    """Do an experiment, whose runs were made by the paper's motion and with nothing changed."""
    if study.motion not in {None, SLED["seek_model"]} or study.doubt or study.later_seeds or study.settings:
        raise MissingRunsError
    return work(study)


_EXPERIMENTS: dict[str, Callable[[Study], Finding]] = {
    "io-stall-reduction": partial(
        _over_all, "waiting_ms", "Waiting on the Atlas 10K over that on the device", "io-stall-reduction"
    ),
    "application-speedup": partial(
        _over_all, "run_ms", "Run time on the Atlas 10K over that on the device", "application-speedup"
    ),
    "andrew-order": partial(_order, "andrew-order", "andrew", EVERY, ()),
    "andrew-generations": _generations,
    "andrew-two-way": _two_way,
    "postmark-order": partial(_order, "postmark-order", "postmark", EVERY, ()),
    "postmark-rotations": _turns,
    "postmark-write-back": _write_back,
    "gnuld-order": partial(_order, "gnuld-order", "gnuld", (*SLEDS, "atlas10k"), ()),
    "tpcd-q4": partial(_order, "tpcd-q4", "tpcd-q4", EVERY, ("superdisk", "g1")),
    "tpcd-q4-inner-tracks": _inward,
    "tpcd-q6-cpu-bound": _share_waited,
    "system-time": _system_time,
}
for _claim, _work in _EXPERIMENTS.items():
    experiment(f"schlosser2000.{_claim}")(partial(_as_made, _work))
