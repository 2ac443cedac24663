"""Schlosser et al. 2000, section 4.2 and Figures 8 to 11: run times of applications on each device."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sledsim.scenario import resolve
from sledsim_papers.harness.claim import claims, figures_of
from sledsim_papers.harness.finding import COMPUTED, Finding, Ours, Probe, join_level, order, trend
from sledsim_papers.harness.motion import DECOMPOSED
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.applications import (
    APPLICATIONS,
    CHECKED,
    EVERY,
    RECORDED_ON,
    RUNS,
    SLEDS,
    Times,
    device,
    measured,
    origin_of_runs,
    replay,
    small,
    times,
)
from sledsim_papers.schlosser2000.microbenchmark import DISKSIM_OVERHEAD_MS

__all__ = ["METHOD", "OURS", "REWRITE_DISTANCE", "checks", "single_changes", "spent_on_turns", "times_on_each"]

#: The method of all these claims, and differences between our machine and the paper's.
METHOD = (
    "One run on a whole machine with a G2, whose block trace is replayed on every device with the recorded processor "
    "time between requests. Machine: 1 GHz at one instruction a cycle, 128 MB; Linux with ext2 and synchronous "
    "metadata on x86-64, where the paper has Digital UNIX with FFS on Alpha; programs in memory; a file system of 2 "
    "GiB at the start of each device; disks without write-back, a bus of 50 MB/s for the Atlas 10K, no command "
    "overhead of sleds"
)
_sizes = {name: RUNS[name].sizes for name in APPLICATIONS}
#: The application used for each of the paper's.
OURS = {
    "andrew": f"{_sizes['andrew']['copies']} copies of 71 C sources of 200 kB made, scanned, read, compiled with tcc",
    "postmark": f"PostMark, {_sizes['postmark']['files']} files, {_sizes['postmark']['transactions']:,} transactions",
    "gnuld": f"GNU ld links {_sizes['gnuld']['objects']:,} objects of a C library",
    "tpcd-q4": "query 4 of TPC-H at scale 0.1 in SQLite, cold",
    "tpcd-q6": "query 6 of TPC-H at scale 0.1 in SQLite, cold",
}
#: Names of probes: DiskSim's command overheads, and the processor of the machine.
OVERHEAD = "DiskSim's command overheads: 0.3, 0.2, 0.1 ms a request on G1, G2, G3"
PROCESSORS: Mapping[str, float] = {"half the processor": 2.0, "twice the processor": 0.5}


def times_on_each(study: Study, name: str, devices: Sequence[str] = EVERY, **options: Any) -> dict[str, Times]:
    """Return the times of an application on several devices.

    Parameters
    ----------
    study
        The study that replays its requests.
    name
        Name of the recorded run.
    devices
        Names of the devices.
    **options
        As for :func:`~sledsim_papers.schlosser2000.applications.times`.
    """
    return {each: times(study, name, device(each), **options) for each in devices}


def _run_ms(each: Mapping[str, Times]) -> dict[str, float]:
    return {name: of.run_ms for name, of in each.items()}


def _with_overhead(study: Study, name: str, devices: Sequence[str] = EVERY) -> dict[str, Times]:
    """Return the times of an application with DiskSim's command overheads on the generations."""
    return {
        each: times(study, name, device(each, **({"overhead_ms": DISKSIM_OVERHEAD_MS[each]} if each in SLEDS else {})))
        for each in devices
    }


def _scenarios(name: str, devices: Sequence[str] = EVERY) -> tuple[Mapping[str, Any], ...]:
    return tuple(replay(name, device(each)) for each in devices)


def _curve(each: Mapping[str, Times]) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        {
            "device": name,
            "run_ms": round(of.run_ms, 3),
            "processor_ms": round(of.processor_ms, 3),
            "waiting_ms": round(of.waiting_ms, 3),
        }
        for name, of in each.items()
    )


def _with_other_processors(
    study: Study, application: str, figures: Callable[[dict[str, Times]], Ours], devices: Sequence[str] = EVERY
) -> tuple[Probe, ...]:
    """Return figures with other processors."""
    return tuple(
        Probe(name, figures(times_on_each(study, application, devices, processor_time=of)))
        for name, of in PROCESSORS.items()
    )


def _how(application: str, figures: str) -> str:
    return f"{OURS[application]}: {figures}. {METHOD}. {origin_of_runs()}"


def _order(claim: str, application: str, devices: Sequence[str], level: Sequence[str], study: Study) -> Finding:
    def ranked(each: Mapping[str, Times]) -> tuple[str, ...]:
        ms = _run_ms(each)
        found = order(ms, level=level)
        return join_level(claims()[f"schlosser2000.{claim}"].joined(found), ms) if claim == "gnuld-order" else found

    each = times_on_each(study, application, devices)

    def probes() -> tuple[Probe, ...]:
        both_ways = {"g1": times(study, application, device("g1", **TWO_WAY))}
        return (
            Probe(OVERHEAD, ranked(_with_overhead(study, application, devices))),
            Probe("g1 with access both ways", ranked({**each, **both_ways})),
            *_with_other_processors(study, application, ranked, devices),
        )

    return Finding(
        ranked(each),
        _how(application, ", ".join(f"{name} {of.run_ms:,.0f} ms" for name, of in each.items())),
        scenarios=_scenarios(application, devices),
        curve=_curve(each),
        probes=study.probes(probes),
        cause=CAUSES.get(claim, ""),
    )


def _gains(key: str, of: Callable[[str], Mapping[str, Times]]) -> tuple[float, ...]:
    """Return the Atlas 10K's time over that of each generation, for each application.

    Parameters
    ----------
    key
        The time: ``"run_ms"`` or ``"waiting_ms"``.
    of
        Returns the times of an application on each device.
    """
    gains: list[float] = []
    for application in APPLICATIONS:
        each = of(application)
        gains += [getattr(each["atlas10k"], key) / getattr(each[sled], key) for sled in SLEDS]
    return tuple(gains)


def _over_all(key: str, subject: str, claim: str, study: Study) -> Finding:
    gains = _gains(key, partial(times_on_each, study))
    per = len(SLEDS)
    alone = {name: gains[per * place : per * (place + 1)] for place, name in enumerate(APPLICATIONS)}

    def probes() -> tuple[Probe, ...]:
        both_ways = times(study, "tpcd-q4", device("g1", **TWO_WAY))
        on_disk = times(study, "tpcd-q4", device("atlas10k"))
        changed: dict[str, Ours] = {
            OVERHEAD: _gains(key, partial(_with_overhead, study)),
            "tpcd-q4 on a g1 with access both ways": getattr(on_disk, key) / getattr(both_ways, key),
        }
        return tuple(
            Probe(name, ours) for name, ours in {**{f"{n} alone": g for n, g in alone.items()}, **changed}.items()
        )

    return Finding(
        gains,
        f"{subject}: g1, g2, g3 of each of {', '.join(APPLICATIONS)} "
        f"({'; '.join(OURS[name] for name in APPLICATIONS)}). {METHOD}. {origin_of_runs()}",
        decimals=2,
        scenarios=tuple(each for name in APPLICATIONS for each in _scenarios(name)),
        curve=tuple(
            {"application": name, **{sled: round(gain, 2) for sled, gain in zip(SLEDS, of, strict=True)}}
            for name, of in alone.items()
        ),
        shape_holds=all(gain > 1 for gain in gains),
        cause=CAUSES.get(claim, ""),
        probes=study.probes(probes),
    )


def _share_waited(study: Study) -> Finding:
    """Share of the run time of query 6 on the Atlas 10K that is waiting."""

    def share(of: Times) -> float:
        return of.waiting_ms / of.run_ms

    each = times_on_each(study, "tpcd-q6")

    def probes() -> tuple[Probe, ...]:
        [published] = figures_of(claims()["schlosser2000.tpcd-q6-cpu-bound"].published) or ()
        on_disk = each["atlas10k"]
        factor = on_disk.waiting_ms * (1 / published - 1) / on_disk.processor_ms
        return (
            *(Probe(f"on {name}", share(of)) for name, of in each.items() if name != "atlas10k"),
            *_with_other_processors(study, "tpcd-q6", lambda of: share(of["atlas10k"]), ("atlas10k",)),
            Probe("processor time that gives the published share, in times of ours", factor),
        )

    return Finding(
        share(each["atlas10k"]),
        _how("tpcd-q6", "on the Atlas 10K, waiting over run time"),
        scenarios=_scenarios("tpcd-q6"),
        curve=_curve(each),
        shape_holds=each["atlas10k"].processor_ms > each["atlas10k"].waiting_ms,
        cause=CAUSES.get("tpcd-q6-cpu-bound", ""),
        probes=study.probes(probes),
    )


def _generations(study: Study) -> Finding:
    def ratio(ms: Mapping[str, float]) -> float:
        return (1 - ms["g2"] / ms["g1"]) / (1 - ms["g3"] / ms["g2"])

    each = times_on_each(study, "andrew", SLEDS)
    ms = _run_ms(each)
    return Finding(
        ratio(ms),
        _how("andrew", ", ".join(f"{name} {of:,.0f} ms" for name, of in ms.items())),
        scenarios=_scenarios("andrew", SLEDS),
        curve=_curve(each),
        shape_holds=ms["g1"] > ms["g2"] > ms["g3"],
        cause=CAUSES.get("andrew-generations", ""),
        probes=study.probes(
            lambda: (
                Probe("of the wait alone", ratio({name: of.waiting_ms for name, of in each.items()})),
                Probe(OVERHEAD, ratio(_run_ms(_with_overhead(study, "andrew", SLEDS)))),
                *_with_other_processors(study, "andrew", lambda of: ratio(_run_ms(of)), SLEDS),
            )
        ),
    )


#: Values of a G1 that accesses in both directions.
TWO_WAY: Mapping[str, Any] = {"bidirectional": True}


def _two_way(study: Study) -> Finding:
    storage = {"g1": device("g1"), "g1 both ways": device("g1", **TWO_WAY), "g2": device("g2")}
    waits = {name: times(study, "andrew", of).waiting_ms for name, of in storage.items()}
    savings = {"two_way": waits["g1"] - waits["g1 both ways"], "rest": waits["g1 both ways"] - waits["g2"]}

    def ranked(of: Mapping[str, float]) -> tuple[str, ...]:
        return order({name: -ms for name, ms in of.items()})

    def probes() -> tuple[Probe, ...]:
        each = {
            name: waits["g1"] - times(study, "andrew", device("g1", **change)).waiting_ms
            for name, change in single_changes(study).items()
        }
        return (
            Probe("ms saved by both ways, by the rest", tuple(savings.values())),
            Probe(f"ms saved by {', '.join(each)}, each by itself", tuple(each.values())),
            Probe("changes by what each saves", ranked(each)),
        )

    return Finding(
        ranked(savings),
        _how("andrew", f"waiting {', '.join(f'{ms:,.1f} ms on {name}' for name, ms in waits.items())}"),
        scenarios=tuple(replay("andrew", of) for of in storage.values()),
        cause=CAUSES.get("andrew-two-way", ""),
        probes=study.probes(probes),
    )


#: Number of earlier writes among which a write counts as a rewrite of the same sector, and the number in the probe.
REWRITE_DISTANCE, LONGER_DISTANCE = 4, 16


def _turns(study: Study) -> Finding:
    """Share of rotations until the same sector returns, from a replay on the Atlas 10K."""
    storage = device("atlas10k")
    near, far = (
        spent_on_turns(study, "postmark", storage, distance) for distance in (REWRITE_DISTANCE, LONGER_DISTANCE)
    )

    def ranked(turns: float, rest: float) -> tuple[str, ...]:
        return order({"full_turns": -turns, "seeks+latency+transfer": -rest})

    return Finding(
        ranked(near["turns"], near["seeks"] + near["rest"]),
        _how(
            "postmark",
            f"{near['turns']:,.0f} ms of rotation before writes of a sector that one of the {REWRITE_DISTANCE} writes "
            f"before had written, {near['seeks'] + near['rest']:,.0f} ms of everything else, {near['seeks']:,.0f} ms "
            "of it seeks",
        ),
        scenarios=(replay("postmark", storage),),
        cause=CAUSES.get("postmark-rotations", ""),
        probes=(
            Probe("without seeks", ranked(near["turns"], near["rest"])),
            Probe(f"written by one of {LONGER_DISTANCE} before", ranked(far["turns"], far["seeks"] + far["rest"])),
            Probe("both", ranked(far["turns"], far["rest"])),
            Probe("ms of turns then, of seeks, of the rest", (far["turns"], far["seeks"], far["rest"])),
        ),
    )


#: Buffer settings for early completion of writes, from none to more.
WRITE_BACK: tuple[Mapping[str, Any], ...] = (
    {},
    {"fast_write": "full", "buffer_segments": 2},
    {"fast_write": "full", "buffer_segments": 10},
)


def _write_back(study: Study) -> Finding:
    def waits(**options: Any) -> list[float]:
        return [times(study, "postmark", device("atlas10k", **each), **options).waiting_ms for each in WRITE_BACK]

    waited = waits()
    return Finding(
        trend(waited),
        _how(
            "postmark",
            "on the Atlas 10K without write-back, with 2 and with 10 segments of its buffer for it: waiting "
            f"{', '.join(f'{ms:,.0f}' for ms in waited)} ms",
        ),
        scenarios=tuple(replay("postmark", device("atlas10k", **each)) for each in WRITE_BACK),
        cause=CAUSES.get("postmark-write-back", ""),
        probes=study.probes(
            lambda: tuple(Probe(name, trend(waits(processor_time=factor))) for name, factor in PROCESSORS.items())
        ),
    )


#: First zones of the SuperDisk that are left, so that the data lies further inward.
INWARD = (0, 6, 11)


def _inner(first_zone: int) -> dict[str, Any]:
    """Return the SuperDisk without its zones before one."""
    values = resolve({"workload": {"kind": "session"}, "system": {"device": "superdisk"}}).values
    return (
        device("superdisk", zones=values["system"]["device"]["zones"][first_zone:])
        if first_zone
        else device("superdisk")
    )


def _inward(study: Study) -> Finding:
    storage = [_inner(each) for each in INWARD]
    run_ms = [times(study, "tpcd-q4", each).run_ms for each in storage]
    transfers, turns = (
        [_phase_ms(study, "tpcd-q4", each, phase) for each in storage] for phase in ("transfer", "rotation")
    )
    zones = ", ".join(str(each + 1) for each in INWARD)
    return Finding(
        trend(run_ms, COMPUTED),
        _how("tpcd-q4", f"data from zone {zones} of 13 inward, {', '.join(f'{ms:,.1f}' for ms in run_ms)} ms"),
        scenarios=tuple(replay("tpcd-q4", each) for each in storage),
        cause=CAUSES.get("tpcd-q4-inner-tracks", ""),
        probes=(
            Probe("the outermost and the innermost alone", trend([run_ms[0], run_ms[-1]], COMPUTED)),
            Probe("transfer alone", trend(transfers, COMPUTED)),
            Probe("ms of it", tuple(transfers)),
            Probe("ms of rotation", tuple(turns)),
        ),
    )


#: Relative difference of a program's processor time between builds of the server in the guest.
BUILDS_DIFFER = 0.005


def _system_time(study: Study) -> Finding:
    """Processor time of smaller programs in runs on each device: the system's part is what differs."""

    def total(key: str, on: str) -> float:
        return float(sum(measured(small(name, on))[key] for name in APPLICATIONS))

    devices = sorted(EVERY, key=lambda each: -total("run_ms", each))
    sums, kernel = ([total(key, each) for each in devices] for key in ("processor_ms", "kernel_ms"))
    counted = [own + threads for own, threads in zip(sums, kernel, strict=True)]
    each_ms = ", ".join(f"{name} {ms:,.1f}" for name, ms in zip(devices, sums, strict=True))
    return Finding(
        trend(sums, BUILDS_DIFFER),
        f"Processor time of the five applications in smaller sizes, each run on a whole machine with each device, from "
        f"the slowest to the fastest: {each_ms} ms; instructions of the programs themselves are the same. Runs of "
        f"{measured(small(APPLICATIONS[0], EVERY[0]))['made']}",
        cause=CAUSES.get("system-time", ""),
        probes=(
            Probe("with the time of kernel threads", trend(counted, BUILDS_DIFFER)),
            Probe("ms of these threads, in the same order", tuple(kernel)),
        ),
    )


def checks(study: Study) -> list[list[str]]:
    """Return run times on whole machines beside those of replays of the block traces recorded with a G2.

    Parameters
    ----------
    study
        The study that replays them.
    """
    rows = []
    compared = {name: name for name in RUNS if RUNS[name].has_trace and RUNS[name].device == RECORDED_ON}
    for name, of in {**compared, **CHECKED}.items():
        on, run_ms = RUNS[name].device, measured(name)["run_ms"]
        replayed_ms = times(study, of, {**device(on), **({"seek_model": DECOMPOSED} if on in SLEDS else {})}).run_ms
        rows.append([of, on, f"{run_ms:,.0f}", f"{replayed_ms:,.0f}", f"{100 * (replayed_ms / run_ms - 1):+.1f} %"])
    return rows


#: Reasons for differences.
CAUSES: Mapping[str, str] = {
    "io-stall-reduction": "Gains above the range are of PostMark, which waits for small synchronous writes only: a "
    "disk turns before each, a sled does not. Gains below it are of long reads by the linker and both queries on G1, "
    "which reads rows one way only and returns for each; with access both ways query 4 gains more.",
    "application-speedup": "PostMark does little but wait, so that its run gains what its wait gains. Andrew mostly "
    "computes, so that a shorter wait is little of its run. The linker and query 6 read long pieces, which G1 reads "
    "one way only, more slowly than the Atlas 10K.",
    "andrew-generations": "Andrew waits for single blocks of metadata. A G2 positions for them twice as fast as a G1, "
    "with bits, rate, acceleration, settling and access both ways all better; a G3 gains a quarter more. Of the wait "
    "alone the ratio is nearer to the paper's, and nearer with command overheads, too.",
    "andrew-two-way": "Access both ways saves most of any single change from G1 to G2, but the others together save "
    "more.",
    "postmark-rotations": "ext2 writes other blocks of metadata between two writes of the same one. If rewrites after "
    "up to 16 other writes count, turns take more time than the rest. There are hardly any seeks.",
    "gnuld-order": "The linker reads its objects in long pieces. G1 reads rows one way only and returns for each; "
    "with access both ways it is level with the Atlas 10K.",
    "tpcd-q4": "G1 reads rows one way only and returns for each. With access both ways it is nearer to the SuperDisk; "
    "the rest is bandwidth. The paper does not say how its database reads.",
    "tpcd-q6-cpu-bound": "SQLite uses little processor time for the bytes that it reads. The paper's 8 % need many "
    "times as much.",
    "system-time": "Linux charges a program for work in its own name, which hardly differs from one device to "
    "another. The work of a longer wait is charged to kernel threads; with them the time falls as the paper says.",
}


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
    experiment(f"schlosser2000.{_claim}")(_work)


def _log(study: Study, name: str, storage: Mapping[str, Any]) -> Any:
    """Return the log of a replay."""
    return study.run(replay(name, storage), log=True).log


def _phase_ms(study: Study, name: str, storage: Mapping[str, Any], phase: str) -> float:
    """Return the total time of a phase of the service, such as ``transfer``, ms."""
    return float(_log(study, name, storage)[f"{phase}_ns"].sum()) / 1e6


def single_changes(study: Study) -> dict[str, dict[str, Any]]:
    """Return the differences between G1 and G2, each as changes to a G1.

    Parameters
    ----------
    study
        The study whose G2 is taken.
    """
    given = study.sled("g2-paper").parameters
    keys = {
        "two_way": ("bidirectional",),
        "settling": ("settle_constants",),
        "tips' rate": ("bit_rate_kbit_s",),
        "bits": ("bit_nm",),
        "acceleration": ("acceleration_x_m_s2", "acceleration_y_m_s2"),
    }
    return {name: {key: given[key] for key in its} for name, its in keys.items()}


def spent_on_turns(
    study: Study, name: str, storage: Mapping[str, Any], distance: int = REWRITE_DISTANCE
) -> dict[str, float]:
    """Return the parts of a disk's service time, ms: ``turns`` until the same sector returns, ``seeks`` and ``rest``.

    Parameters
    ----------
    study
        The study that replays the requests.
    name
        Name of the recorded run.
    storage
        The device table.
    distance
        A write counts as a rewrite if one of so many writes before it begins at the same sector.
    """
    log = _log(study, name, storage)
    lately: deque[int] = deque(maxlen=distance)
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
