"""Schlosser et al. 2000, section 4.2 and Figures 8 to 11: run times of applications on each device."""

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

from sledsim.runs import run as simulated
from sledsim_papers.harness.averaging import SEEDS
from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.finding import COMPUTED, Finding, Ours, Probe, join_level, order, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import MissingRunsError, Study
from sledsim_papers.schlosser2000.applications import (
    APPLICATIONS,
    EVERY,
    INWARD,
    SLED,
    SLEDS,
    TWO_WAY,
    VARIATIONS,
    WRITE_BACK,
    WRITTEN_LATER,
    Run,
    Runs,
    inner,
    machines_of,
    origin_of_runs,
)
from sledsim_papers.schlosser2000.microbenchmark import DISKSIM_OVERHEAD_MS

__all__ = ["BEFORE", "MACHINE", "OURS", "robust_orders", "single_changes", "spent_ms", "spent_on_turns"]

#: Remark on differences between our machine and the paper's.
MACHINE = (
    "whole machine, 1 GHz at one instruction a cycle, 128 MB; Linux with ext2 and metadata written at once, on x86-64, "
    "where the paper has Digital UNIX with FFS on Alpha; programs in memory; disks without write-back, a bus of 50 "
    "MB/s for the Atlas 10K, no command overhead of sleds"
)
#: The application used for each of the paper's.
OURS = {
    "andrew": "71 C sources of 200 kB made, copied, scanned, read, compiled with tcc",
    "postmark": "PostMark 1.5, 500 files, 500 transactions",
    "gnuld": "GNU ld links 1,500 objects of a C library",
    "tpcd-q4": "query 4 of TPC-H at scale 0.01 in SQLite, cold",
    "tpcd-q6": "query 6 of TPC-H at scale 0.01 in SQLite, cold",
}


def _scenario(run: Run) -> Mapping[str, Any]:
    """Return what was run, as far as a scenario says it: the storage."""
    return {"system": run.system, "workload": {"kind": "session"}}


def _curve(runs: Runs, application: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        {"device": device, **{key: round(each[key], 3) for key in ("run_ms", "processor_ms", "waiting_ms")}}
        for device, each in runs.on_each(application).items()
    )


def _under_variations(application: str, of: Any) -> tuple[Probe, ...]:
    """Return what is found with each of the other machines, of those whose runs were made."""
    probes = []
    for change, guest in list(machines_of(application).items())[1:]:
        try:
            ours: Ours = of(**guest)
        except MissingRunsError:
            continue
        probes.append(Probe(change, ours))
    return tuple(probes)


def _swapped(now: Sequence[str], before: Sequence[str]) -> list[str]:
    """Return pairs of devices that come in another order than before."""
    pairs = combinations(before, 2)
    return [f"{first} and {second}" for first, second in pairs if now.index(first) > now.index(second)]


def _devices(ranked: Ours) -> list[str]:
    """Return the devices of an order one by one."""
    return [device for each in ranked for device in re.split(r"[~+]", str(each))] if isinstance(ranked, tuple) else []


def robust_orders() -> list[list[str]]:
    """Return, for each application and machine, run times from the quickest, and which devices change places.

    Machines other than the paper's whose runs were not made are left out. An order of two devices is robust where no
    other machine changes it: the last row of an application says which is not.

    Raises
    ------
    MissingRunsError
        Where the runs were not made here.
    """
    rows, runs = [], Runs()
    for application in APPLICATIONS:
        before = order(runs.figures(application, "run_ms"))
        changed: dict[str, None] = {}
        for name, guest in machines_of(application).items():
            try:
                times = runs.figures(application, "run_ms", **guest)
            except MissingRunsError:
                continue
            ranked = order(times)
            told = ", ".join(f"{device} {times[device]:,.0f}" for device in ranked)
            swapped = _swapped(ranked, before)
            changed.update(dict.fromkeys(swapped))
            message = "" if not guest else ", ".join(swapped) + " change places" if swapped else "the same"
            rows.append([application, name, told, message])
        tried = rows[-1][1] != "as the paper's"
        message = f"not robust: {', '.join(changed)}" if changed else "robust" if tried else "no other was tried"
        rows.append([application, "any of them", "", message])
    return rows


def _scenarios(runs: Runs, application: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(_scenario(runs.of(application, device)) for device in EVERY)


def _order(
    claim: str, application: str, devices: Sequence[str], level: Sequence[str], study: Study, runs: Runs
) -> Finding:
    def ranked(**guest: Any) -> tuple[str, ...]:
        times = runs.figures(application, "run_ms", devices, **guest)
        found = order(times, level=level)
        return join_level(claims()[f"schlosser2000.{claim}"].joined(found), times) if claim == "gnuld-order" else found

    told = ", ".join(f"{device} {ms:,.0f} ms" for device, ms in runs.figures(application, "run_ms", devices).items())
    others = study.probes(lambda: _under_variations(application, ranked))
    swapped = [pair for other in others for pair in _swapped(_devices(other.ours), _devices(ranked()))]
    pairs = ", ".join(dict.fromkeys(swapped))
    robust = f"Not robust to the machine: {pairs}. " if pairs else "Robust to the machine. " if others else ""
    return Finding(
        ranked(),
        f"{OURS[application]}: {told}. {robust}{MACHINE}",
        scenarios=_scenarios(runs, application),
        curve=_curve(runs, application),
        probes=(*study.probes(lambda: _beside(claim, runs)), *others),
        cause=CAUSES.get(claim, ""),
    )


def _beside(claim: str, runs: Runs) -> tuple[Probe, ...]:
    """Return the evidence for the cause of a differing order."""
    if claim == "andrew-order":
        level = order(runs.figures("andrew", "run_ms"), level=("g2", "g3"))
        made = runs.found(runs.of("andrew", "g2"))
        same = order({device: spent_ms(made, runs.of("andrew", device).system) for device in ("g2", "g3")})
        return (
            Probe("g2 and g3 level where they are within 10 %", level),
            Probe("the requests of the run on g2, replayed on both", same),
        )
    if claim == "tpcd-q4":
        both = {**runs.figures(claim, "run_ms"), "g1": float(runs.found(runs.of(claim, "g1", TWO_WAY))["run_ms"])}
        return (
            Probe("g1 with access both ways", order(both, level=("superdisk", "g1"))),
            Probe("ms of it then", both["g1"]),
        )
    return ()


def _gains(runs: Runs, key: str, overhead_ms: Mapping[str, float] | None = None) -> tuple[float, ...]:
    """Return the Atlas 10K's figure over that of each generation, for each application.

    Parameters
    ----------
    runs
        The runs.
    key
        The figure, a time in ms.
    overhead_ms
        Command overhead by generation, added for every request as if the application waited for each.
    """
    gains = []
    for application in APPLICATIONS:
        figures = runs.figures(application, key)
        requests = runs.figures(application, "requests", SLEDS) if overhead_ms else {}
        added_ms = {sled: requests[sled] * overhead for sled, overhead in (overhead_ms or {}).items()}
        gains += [figures["atlas10k"] / (figures[sled] + added_ms.get(sled, 0.0)) for sled in SLEDS]
    return tuple(gains)


def _over_all(key: str, what: str, claim: str, study: Study, runs: Runs) -> Finding:
    gains = _gains(runs, key)
    per = len(SLEDS)
    rows = [
        {"application": name, **{sled: round(gains[per * place + at], 2) for at, sled in enumerate(SLEDS)}}
        for place, name in enumerate(APPLICATIONS)
    ]

    def tested() -> tuple[Probe, ...]:
        alone = {f"{name} alone": gains[per * place : per * (place + 1)] for place, name in enumerate(APPLICATIONS)}
        later, journal = (
            runs.figures("postmark", key, (*SLEDS, "atlas10k"), **guest)
            for guest in (WRITTEN_LATER, VARIATIONS["ext4"])
        )
        both = runs.found(runs.of("tpcd-q4", "g1", TWO_WAY))[key]
        changed: dict[str, Ours] = {
            "DiskSim's command overhead added to every request, at the most": _gains(runs, key, DISKSIM_OVERHEAD_MS),
            "postmark where metadata is written later": tuple(later["atlas10k"] / later[sled] for sled in SLEDS),
            "postmark with ext4": tuple(journal["atlas10k"] / journal[sled] for sled in SLEDS),
            "tpcd-q4 on a g1 with access both ways": runs.figures("tpcd-q4", key)["atlas10k"] / both,
        }
        return tuple(Probe(name, ours) for name, ours in {**alone, **changed}.items())

    return Finding(
        gains,
        f"{what}: g1, g2, g3 of each of {', '.join(APPLICATIONS)}. {MACHINE}",
        decimals=2,
        scenarios=tuple(each for name in APPLICATIONS for each in _scenarios(runs, name)),
        curve=tuple(rows),
        shape_holds=all(gain > 1 for gain in gains),
        cause=CAUSES.get(claim, ""),
        probes=study.probes(tested),
    )


def _share_waited(study: Study, runs: Runs) -> Finding:
    """How much of query 6 is waiting, on the disk."""
    times = runs.on_each("tpcd-q6")
    shares = {device: each["waiting_ms"] / each["run_ms"] for device, each in times.items()}

    def share(**guest: Any) -> float:
        made = runs.found(runs.of("tpcd-q6", "atlas10k", {}, guest))
        return float(made["waiting_ms"] / made["run_ms"])

    return Finding(
        shares["atlas10k"],
        f"{OURS['tpcd-q6']}, on the Atlas 10K: waiting over run time. {MACHINE}",
        scenarios=_scenarios(runs, "tpcd-q6"),
        curve=_curve(runs, "tpcd-q6"),
        shape_holds=times["atlas10k"]["processor_ms"] > times["atlas10k"]["waiting_ms"],
        cause=CAUSES.get("tpcd-q6-cpu-bound", ""),
        probes=study.probes(
            lambda: (
                *(Probe(f"on {device}", each) for device, each in shares.items() if device != "atlas10k"),
                *_under_variations("tpcd-q6", share),
            )
        ),
    )


def _generations(study: Study, runs: Runs) -> Finding:
    def ratio(key: str = "run_ms", **guest: Any) -> float:
        ms = runs.figures("andrew", key, SLEDS, **guest)
        return (1 - ms["g2"] / ms["g1"]) / (1 - ms["g3"] / ms["g2"])

    ms = runs.figures("andrew", "run_ms", SLEDS)
    return Finding(
        ratio(),
        f"{OURS['andrew']}: g1 {ms['g1']:,.0f} ms, g2 {ms['g2']:,.0f} ms, g3 {ms['g3']:,.0f} ms. {MACHINE}",
        scenarios=_scenarios(runs, "andrew"),
        curve=_curve(runs, "andrew"),
        shape_holds=ms["g1"] > ms["g2"] > ms["g3"],
        cause=CAUSES.get("andrew-generations", ""),
        probes=study.probes(
            lambda: (Probe("of the wait alone", ratio("waiting_ms")), *_under_variations("andrew", ratio))
        ),
    )


def _saved(runs: Runs, **guest: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Return what access both ways saves of the wait from G1 to G2, and the rest, ms; and the waits."""
    asked = {"g1": ("g1", {}), "g1 both ways": ("g1", TWO_WAY), "g2": ("g2", {})}
    waits = {
        name: float(runs.found(runs.of("andrew", device, changes, guest))["waiting_ms"])
        for name, (device, changes) in asked.items()
    }
    first, middle, last = waits.values()
    return {"two_way": first - middle, "rest": middle - last}, waits


def _two_way(study: Study, runs: Runs) -> Finding:
    saved, waits = _saved(runs)
    told = ", ".join(f"{ms:.1f} ms on {name}" for name, ms in waits.items())

    def tested() -> tuple[Probe, ...]:
        journal, _ = _saved(runs, **VARIATIONS["ext4"])
        run = runs.of("andrew", "g1")
        made = runs.found(run)
        as_it_is = spent_ms(made, run.system)
        each = {
            name: as_it_is - spent_ms(made, runs.of("andrew", "g1", change).system)
            for name, change in single_changes(study).items()
        }
        return (
            Probe("ms saved by both ways, by the rest", tuple(saved.values())),
            Probe("the same with ext4", tuple(journal.values())),
            Probe(f"ms of the same requests saved by {', '.join(each)}, each by itself", tuple(each.values())),
            Probe("changes by what each saves", order({name: -ms for name, ms in each.items()})),
        )

    return Finding(
        order({name: -ms for name, ms in saved.items()}),
        f"{OURS['andrew']}: waiting {told}. {MACHINE}",
        scenarios=tuple(
            _scenario(run)
            for run in (runs.of("andrew", "g1"), runs.of("andrew", "g1", TWO_WAY), runs.of("andrew", "g2"))
        ),
        cause=CAUSES.get("andrew-two-way", ""),
        probes=study.probes(tested),
    )


#: How far back a write of the same sector may lie that is looked for where the cause is tested.
FURTHER = 16


def _turns(study: Study, runs: Runs) -> Finding:
    """Share of rotations until the same sector returns, from a replay of the run's trace."""
    run = runs.of("postmark", "atlas10k")
    made = runs.found(run)
    spent, further = (spent_on_turns(made, run.system, before) for before in (BEFORE, FURTHER))

    def ranked(turns: float, rest: float) -> tuple[str, ...]:
        return order({"full_turns": -turns, "seeks+latency+transfer": -rest})

    return Finding(
        ranked(spent["turns"], spent["seeks"] + spent["rest"]),
        f"{OURS['postmark']}: {spent['turns']:,.0f} ms of rotation before writes of what one of the {BEFORE} writes "
        f"before had written, {spent['seeks'] + spent['rest']:,.0f} ms of everything else, of which seeks are "
        f"{spent['seeks']:,.0f} ms. {MACHINE}",
        scenarios=(_scenario(run),),
        cause=CAUSES.get("postmark-rotations", ""),
        probes=(
            Probe("without seeks", ranked(spent["turns"], spent["rest"])),
            Probe(
                f"of what one of {FURTHER} before had written",
                ranked(further["turns"], further["seeks"] + further["rest"]),
            ),
            Probe("both", ranked(further["turns"], further["rest"])),
            Probe("ms of turns then, of the rest", (further["turns"], further["rest"])),
        ),
    )


def _write_back(study: Study, runs: Runs) -> Finding:
    made = [runs.of("postmark", "atlas10k", each) for each in WRITE_BACK]
    waits = [float(runs.found(each)["waiting_ms"]) for each in made]
    told = ", ".join(f"{ms:,.0f}" for ms in waits)

    def waited(**guest: Any) -> float:
        return runs.figures("postmark", "waiting_ms", ("atlas10k",), **guest)["atlas10k"]

    return Finding(
        trend(waits),
        f"{OURS['postmark']}, on the Atlas 10K without write-back, with 2 and with 10 segments of its buffer for "
        f"it: waiting {told} ms. {MACHINE}",
        scenarios=tuple(map(_scenario, made)),
        cause=CAUSES.get("postmark-write-back", ""),
        probes=study.probes(
            lambda: (
                Probe("ms where the file system caches them", waited(**WRITTEN_LATER)),
                *_under_variations("postmark", waited),
            )
        ),
    )


def _inward(study: Study, runs: Runs) -> Finding:
    made = [runs.of("tpcd-q4", "superdisk", inner(each)) for each in INWARD]
    times = [float(runs.found(each)["run_ms"]) for each in made]
    transfers, turns = (
        [spent_ms(runs.found(each), each.system, phase) for each in made] for phase in ("transfer", "rotation")
    )
    told = ", ".join(f"{ms:,.1f}" for ms in times)
    zones = ", ".join(str(each + 1) for each in INWARD)
    return Finding(
        trend(times, COMPUTED),
        f"{OURS['tpcd-q4']}: data from zone {zones} of 13 inward, {told} ms. {MACHINE}",
        scenarios=tuple(map(_scenario, made)),
        cause=CAUSES.get("tpcd-q4-inner-tracks", ""),
        probes=(
            Probe("the outermost and the innermost alone", trend([times[0], times[-1]], COMPUTED)),
            Probe("transfer alone", trend(transfers, COMPUTED)),
            Probe("ms of it", tuple(transfers)),
            Probe("ms of rotation", tuple(turns)),
        ),
    )


#: By how much the processor times of a program differ from one build of the server in the guest to another.
BUILDS_DIFFER = 0.005


def _system_time(study: Study, runs: Runs) -> Finding:
    """Processor time, of which the program's own is the same: what differs is the system's."""
    devices = sorted(EVERY, key=lambda each: -sum(runs.figures(name, "run_ms")[each] for name in APPLICATIONS))
    sums = [sum(runs.figures(name, "processor_ms")[each] for name in APPLICATIONS) for each in devices]
    alone = {name: [runs.figures(name, "processor_ms")[each] for each in devices] for name in APPLICATIONS}
    kernel = [sum(runs.figures(name, "kernel_ms")[each] for name in APPLICATIONS) for each in devices]
    told = ", ".join(f"{device} {ms:,.1f}" for device, ms in zip(devices, sums, strict=True))
    counted = [own + threads for own, threads in zip(sums, kernel, strict=True)]
    return Finding(
        trend(sums, BUILDS_DIFFER),
        f"Processor time of the five together, devices from the slowest to the fastest: {told} ms; instructions of "
        f"the programs themselves are the same. {MACHINE}",
        scenarios=tuple(each for name in APPLICATIONS for each in _scenarios(runs, name)),
        cause=CAUSES.get("system-time", ""),
        probes=(
            Probe("the kernel's own threads charged to it, too", trend(counted, BUILDS_DIFFER)),
            Probe("ms of these threads, in the same order", tuple(kernel)),
            *(Probe(f"{name} alone", trend(each, BUILDS_DIFFER)) for name, each in alone.items()),
        ),
    )


#: Why figures differ, where they do.
CAUSES: Mapping[str, str] = {
    "io-stall-reduction": "Gains above the range are of small writes of metadata, for which a disk seeks and turns and "
    "a sled does not: PostMark waits for hardly anything else. So it is on G2 and G3 whenever the file system writes "
    "them, and with ext4; what the paper's waited for is not told. Gains below it are of reads in long pieces, by the "
    "linker and by both queries, which take what the sled's bandwidth lets them: least on G1, which reads rows one way "
    "only and comes back for each. With access both ways query 4 gains more there.",
    "application-speedup": "An application that does little but wait, as PostMark does here, gains with its run what "
    "it gains of its wait; where metadata is written later it waits for less. How much the paper's waited is lost with "
    "its figures. Those below the range are Andrew's, which mostly computes, so that what its wait gains is little of "
    "the run; and of reads in long pieces, as for io-stall-reduction.",
    "andrew-order": "The file system lays out more groups over the larger G3, and so the blocks of metadata that are "
    "written in turn lie further apart across its cylinders. The same requests take less time on G3 than on G2; and "
    "where metadata goes to a journal, with ext4, the order is the paper's.",
    "andrew-generations": "As for andrew-order: the file system spreads metadata that is written in turn over the "
    "larger G3. With ext4 the run gains from G2 to G3, too, though less than from G1 to G2.",
    "andrew-two-way": "Of all that changes from G1 to G2, access both ways saves the most by itself of the "
    "same requests; but the others together save more, with either file system.",
    "tpcd-q6-cpu-bound": "The query takes SQLite little of the processor for what it reads; by the paper's 8 %, its "
    "database worked more than ten times as long as it waited. A slower processor brings the share down, a faster "
    "device more so.",
    "tpcd-q4": "G1 reads rows one way only, and comes back for each; with access both ways it makes up about half of "
    "what it is behind the SuperDisk. What is left is bandwidth, and the pieces in which SQLite reads through its "
    "index; how the paper's database reads is not told.",
    "tpcd-q4-inner-tracks": "Further inward the transfer of the same data takes longer, as the paper says; but "
    "the pieces that SQLite reads lie apart, so that rotation before them takes several times as long, and how far "
    "the disk has to turn for each hangs on where it lies.",
    "gnuld-order": "G1 reads rows one way only, and comes back for each; it and the Atlas 10K are near each "
    "other, and which comes first hangs on the machine.",
    "postmark-write-back": "When the file system writes metadata hangs on moments: with little write-back PostMark "
    "waits for less than with more of it, and without any on machines that differ in memory or processor alone it "
    "waits for less or longer, too. Where the file system itself caches writes, hardly any wait is left.",
    "postmark-rotations": "ext2 spreads directories over the whole disk, so that more than half of the time is seeks, "
    "and it writes other blocks between two writes of the same: looked for further back, and seeks left out, turns "
    "take more than the rest.",
    "system-time": "Linux charges a program for what it does in its own name, which hardly differs from one device to "
    "another. What a longer wait costs falls to the kernel's own threads; counted in, time falls as the paper says.",
}


def _as_made(work: Callable[[Study, Runs], Finding], study: Study) -> Finding:
    """Do an experiment, where only the motion and the devices may be changed; state the origin of its runs."""
    if study.perturbation or study.seeds != SEEDS:
        raise MissingRunsError
    settings = study.settings if study.settings and study.settings.of_devices else None
    done = work(study, Runs(study.motion or SLED["seek_model"], settings))
    return replace(done, how=f"{done.how}. {'Runs made here' if settings else origin_of_runs()}")


_EXPERIMENTS: dict[str, Callable[[Study, Runs], Finding]] = {
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


#: A write is one again of a sector where one of so many before it wrote it.
BEFORE = 4


def _log(made: Mapping[str, Any], system: Mapping[str, Any]) -> Any:
    """Return the log of a replay, from the program's start on."""
    scenario = {
        "system": system,
        "workload": {"kind": "trace", "path": str(made["trace"])},
        "run": {"warmup_s": made["starts_s"]},
    }
    return simulated(scenario, log=True).log


def spent_ms(made: Mapping[str, Any], system: Mapping[str, Any], phase: str = "service") -> float:
    """Return what all requests of a run take without waiting for each other, or one phase of that, ms.

    Parameters
    ----------
    made
        The summary of the run.
    system
        The storage that they are replayed on.
    phase
        A phase of the service, such as ``transfer``.
    """
    return float(_log(made, system)[f"{phase}_ns"].sum()) / 1e6


def single_changes(study: Study) -> dict[str, dict[str, Any]]:
    """Return what a g2 has and a g1 has not, each by itself, as changes to a g1.

    Parameters
    ----------
    study
        Whose g2.
    """
    given = study.sled("g2-paper", **SLED).parameters
    keys = {
        "two_way": ("bidirectional",),
        "settling": ("settle_constants",),
        "tips' rate": ("bit_rate_kbit_s",),
        "bits": ("bit_nm",),
        "acceleration": ("acceleration_x_m_s2", "acceleration_y_m_s2"),
    }
    return {name: {key: given[key] for key in its} for name, its in keys.items()}


def spent_on_turns(made: Mapping[str, Any], system: Mapping[str, Any], before: int = BEFORE) -> dict[str, float]:
    """Return the parts of a disk's time, ms: ``turns`` until the same sector returns, ``seeks``, and the ``rest``.

    Parameters
    ----------
    made
        The summary of the run.
    system
        The storage that its requests are replayed on.
    before
        A sector comes again where one of so many writes before had written it.
    """
    log = _log(made, system)
    lately: deque[int] = deque(maxlen=before)
    spent = {"turns": 0.0, "seeks": 0.0, "rest": 0.0}
    columns = ("lbn", "read", "service_ns", "seek_ns", "rotation_ns")
    for lbn, read, service, seek, rotation in zip(*(log[each].tolist() for each in columns), strict=True):
        turn = rotation * (not read and lbn in lately)
        spent["turns"] += turn / 1e6
        spent["seeks"] += seek / 1e6
        spent["rest"] += (service - seek - turn) / 1e6
        if not read:
            lately.append(lbn)
    return spent
