"""Schlosser et al. 2000, sections 2.2 to 2.4: effects of parameters, drawings, failed tips and redundant sleds."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sledsim.devices import MemsStorage
from sledsim.studies.sled_design import figures_of
from sledsim_papers.harness.averaging import SEEDS, SEEDS_SAID
from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.finding import COMPUTED, Finding, Probe, trend
from sledsim_papers.harness.motion import DECOMPOSED
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = ["DEVICE", "DRAWING", "EXACT", "TRENDS", "keeps_all"]

DEVICE = "g2-paper"

#: No bus, so that only the sled limits the bandwidth.
NO_BUS: dict[str, Any] = {"bus_ms_per_block": 0.0}

#: Parameters and their values; bits get smaller.
SPRINGS = ("spring factor", (0.0, 0.25, 0.5, 0.75))
ACCELERATIONS = ("acceleration, m/s²", (200.0, 400.0, 800.0, 1600.0))
VELOCITIES = ("velocity, mm/s", (5.0, 10.0, 20.0, 40.0, 80.0))
WIDTHS = ("bit, nm", (50.0, 40.0, 30.0, 20.0))

#: Relative change from which a computed quantity counts as changed.
EXACT = COMPUTED

#: A quantity of a study's sled by the value of a parameter.
Quantity = Callable[[Study, float], float]

#: Random seeks that a mean is taken over: the same for each value of a parameter.
SEEKS = 20_000


def accelerated(value_m_s2: float) -> dict[str, Any]:
    """Return the values of a sled that accelerates so much along both axes."""
    return {"acceleration_x_m_s2": value_m_s2, "acceleration_y_m_s2": value_m_s2}


def at_speed(mm_s: float, bit_nm: float = 40.0) -> dict[str, Any]:
    """Return the bit rate of a tip over bits of a width at an access velocity."""
    return {"bit_rate_kbit_s": mm_s * 1e3 / bit_nm}


def _trend(
    name: str,
    given: tuple[str, Sequence[float]],
    what: str,
    how: str,
    quantity: Quantity,
    *,
    cause: str = "",
    changed: Mapping[str, Quantity] | None = None,
) -> None:
    """Register the experiment of a claim on the trend of a computed quantity over a parameter and its values.

    Where it differs, ``cause`` says why, and the quantities of ``changed``, by what is changed, are its probes.
    """
    claim, (parameter, values) = f"schlosser2000.{name}", given
    changed = changed or {}

    @experiment(claim)
    def found(study: Study) -> Finding:
        said = claims()[claim]
        computed = [quantity(study, value) for value in values]
        return Finding(
            trend(computed, said.hardly_moves if said.published == "~" else EXACT),
            f"`{DEVICE}`: {how}; {computed[0]:.4g} to {computed[-1]:.4g}.",
            curve=tuple({parameter: value, what: each} for value, each in zip(values, computed, strict=True)),
            cause=cause,
            probes=tuple(
                Probe(change, trend([other(study, value) for value in values], EXACT))
                for change, other in changed.items()
            ),
        )


def _mean_seeks_ms(study: Study, **changes: Any) -> tuple[float, float, float]:
    """Return the means of random seeks along X, along Y, and of the longer of both, ms."""
    sled = study.sled(DEVICE, **changes)
    half_um = sled.parameters["x_range_um"] / 2
    # A pass may end within a run-out of the edge; a seek needs room to brake.
    drawn = [np.random.default_rng(seed).uniform(-0.98 * half_um, 0.98 * half_um, (2, 2, SEEKS)) for seed in SEEDS]
    start, end = np.concatenate(drawn, axis=-1)
    x_ms = sled.seek_x_ms(start[0], end[0])
    # Passes with a fixed direction go each way equally often.
    y_ms = [sled.seek_y_ms(start[1], end[1], 1, way) for way in (1, -1)]
    return float(x_ms.mean()), float(np.mean(y_ms)), float(np.mean([np.maximum(x_ms, each) for each in y_ms]))


def _acceleration_m_s2(study: Study) -> float:
    """Return the default acceleration of the sled."""
    return float(study.sled(DEVICE).parameters["acceleration_x_m_s2"])


MEAN = f"20,000 random seeks with each of {SEEDS_SAID}, the direction of the next pass either as often"


_trend(
    "velocity-y-seek",
    VELOCITIES,
    "mean, ms",
    f"{MEAN}, 5 to 80 mm/s (a pass that may go whichever way is sooner has fewer reversals, and the mean falls)",
    lambda study, mm_s: _mean_seeks_ms(study, **at_speed(mm_s))[1],
)
_trend(
    "velocity-x-seek",
    VELOCITIES,
    "mean, ms",
    f"{MEAN}, 5 to 80 mm/s",
    lambda study, mm_s: _mean_seeks_ms(study, **at_speed(mm_s))[0],
)
_trend(
    "acceleration-seek",
    ACCELERATIONS,
    "mean, ms",
    f"{MEAN}, the longer of X and Y, 200 to 1600 m/s²",
    lambda study, value: _mean_seeks_ms(study, **accelerated(value))[2],
)
_trend(
    "sleds-seek",
    ("sleds", (1.0, 2.0, 4.0, 8.0)),
    "mean, ms",
    f"{MEAN}; each of 1 to 8 sleds has its share of the mass and the whole actuator, so that it accelerates as much "
    "more",
    lambda study, sleds: _mean_seeks_ms(study, **accelerated(sleds * _acceleration_m_s2(study)))[2],
)
_trend(
    "spring-full-stroke-seek",
    SPRINGS,
    "seek, ms",
    "seek along X from one end of travel to the other, settling included, springs of 0 to 75 % of the force",
    lambda study, factor: float(study.sled(DEVICE, spring_factor=factor).seek_x_ms(-50.0, 50.0).item()),
)
_trend(
    "spring-edge-seek",
    SPRINGS,
    "seek, ms",
    "seek along X of a tenth of the travel from its end inward, springs of 0 to 75 % of the force",
    lambda study, factor: float(study.sled(DEVICE, spring_factor=factor).seek_x_ms(-50.0, -40.0).item()),
)


#: Position near the edge, µm.
NEAR_EDGE_UM = 40.0


def _reversal_ms(sled: MemsStorage, y_um: float = 0.0, way: int = 1) -> float:
    return float(sled.seek_y_ms(y_um, y_um, way, -way).item())


def _reversals(name: str, y_um: float, way: int, how: str) -> None:
    _trend(
        f"spring-turnaround-{name}",
        SPRINGS,
        "reversal, ms",
        f"reversal {how}, springs of 0 to 75 % of the force",
        lambda study, factor: _reversal_ms(study.sled(DEVICE, spring_factor=factor), y_um, way),
    )


_reversals("outward", NEAR_EDGE_UM, 1, "40 µm from the centre on the way out")
_reversals("inward", NEAR_EDGE_UM, -1, "40 µm from the centre on the way in")
_reversals("centre", 0.0, 1, "at the centre")
_trend(
    "force-turnaround",
    ACCELERATIONS,
    "reversal, ms",
    "reversal at the centre, 200 to 1600 m/s² of a sled of given mass",
    lambda study, value: _reversal_ms(study.sled(DEVICE, **accelerated(value))),
)
_trend(
    "velocity-turnaround",
    VELOCITIES,
    "reversal, ms",
    "reversal at the centre, 5 to 80 mm/s",
    lambda study, mm_s: _reversal_ms(study.sled(DEVICE, **at_speed(mm_s))),
)


def _streaming_mb_s(study: Study, **changes: Any) -> float:
    return study.sled(DEVICE, **NO_BUS, **changes).streaming_bandwidth_mb_s


LONG_READ = "20 cylinders in the middle read in order, every turnaround and servo burst counted, no bus"


_trend(
    "bit-size-bandwidth",
    WIDTHS,
    "MB/s",
    f"{LONG_READ}, bits of 50 to 20 nm at the same velocity",
    lambda study, nm: _streaming_mb_s(study, bit_nm=nm, **at_speed(study.sled(DEVICE).access_speed_m_s * 1e3, nm)),
)
_trend(
    "acceleration-bandwidth",
    ACCELERATIONS,
    "MB/s",
    f"{LONG_READ}, 200 to 1600 m/s²",
    lambda study, value: _streaming_mb_s(study, **accelerated(value)),
)
_trend(
    "spring-bandwidth",
    SPRINGS,
    "MB/s",
    f"{LONG_READ}, springs of 0 to 75 % of the force, time-optimal motion",
    lambda study, factor: _streaming_mb_s(study, spring_factor=factor),
    changed={
        f"{DECOMPOSED} motion, that of DiskSim, whose springs act with the wrong sign at the last reversal before a "
        "row": lambda study, factor: _streaming_mb_s(study, spring_factor=factor, seek_model=DECOMPOSED),
        f"{DECOMPOSED} motion and a device without servo bursts": lambda study, factor: _streaming_mb_s(
            study, spring_factor=factor, servo_bits=0, seek_model=DECOMPOSED
        ),
    },
)
_trend(
    "bit-size-capacity",
    WIDTHS,
    "GB",
    "room for data in bits of 50 to 20 nm",
    lambda study, nm: study.sled(DEVICE, bit_nm=nm).capacity_bytes * 1e-9,
)

#: Velocities among which the best is sought. With its springs a G2 does not reach any beyond the last from everywhere.
SOUGHT_MM_S = tuple(float(mm_s) for mm_s in range(10, 301, 10))


def _best_velocity(study: Study, generation: str, **changes: Any) -> tuple[float, list[float]]:
    """Return the velocity at which a generation streams fastest, and its bandwidth at each."""
    bit_nm = study.sled(generation).parameters["bit_nm"]
    sleds = [study.sled(generation, **NO_BUS, **at_speed(mm_s, bit_nm), **changes) for mm_s in SOUGHT_MM_S]
    mb_s = [sled.streaming_bandwidth_mb_s for sled in sleds]
    return SOUGHT_MM_S[max(range(len(mb_s)), key=lambda place: mb_s[place])], mb_s


def _beyond(best: float, mb_s: Sequence[float]) -> str:
    found = [each for mm_s, each in zip(SOUGHT_MM_S, mb_s, strict=True) if mm_s >= best]
    return trend(found, EXACT) if len(found) > 1 else "?"


@experiment("schlosser2000.velocity-bandwidth-rise", beyond=False)
@experiment("schlosser2000.velocity-bandwidth-fall", beyond=True)
def best_velocity(study: Study, *, beyond: bool) -> Finding:
    """Streaming by velocity, up to the best and beyond it."""
    best, mb_s = study.once("schlosser2000 best velocity", lambda made: _best_velocity(made, DEVICE))
    free_best, free_mb_s = study.once(
        "schlosser2000 no springs", lambda made: _best_velocity(made, DEVICE, spring_factor=0.0)
    )
    g1_best, g1_mb_s = study.once("schlosser2000 best of g1", lambda made: _best_velocity(made, "g1-paper"))
    rising = [each for mm_s, each in zip(SOUGHT_MM_S, mb_s, strict=True) if mm_s <= best]
    return Finding(
        _beyond(best, mb_s) if beyond else trend(rising, EXACT),
        f"`{DEVICE}`: {LONG_READ}, 10 to 300 mm/s in steps of 10: fastest at {best:.0f} mm/s, {max(mb_s):.1f} MB/s. "
        "With time-optimal motion it goes on rising where the actuator can no longer bring the sled to access speed "
        "everywhere against the springs, which then help it to turn.",
        curve=tuple(
            {"velocity, mm/s": mm_s, "MB/s": each, "no springs, MB/s": free, "g1-paper, MB/s": first}
            for mm_s, each, free, first in zip(SOUGHT_MM_S, mb_s, free_mb_s, g1_mb_s, strict=True)
        ),
        probes=(
            Probe(f"no springs: greatest at {free_best:.0f} mm/s", _beyond(free_best, free_mb_s)),
            Probe(f"g1-paper: greatest at {g1_best:.0f} mm/s", _beyond(g1_best, g1_mb_s)),
        ),
    )


@experiment("schlosser2000.sleds-bandwidth")
def sleds_bandwidth(study: Study) -> Finding:
    """Streaming by sleds."""
    counts = (1, 2, 4)
    scenarios = [
        {
            "workload": {
                "arrival": {"kind": "closed", "outstanding": 8},
                "location": {"kind": "sequential"},
                "size_bytes": {"kind": "fixed", "value": 1 << 20},
            },
            "system": {"device": {"name": DEVICE, **NO_BUS, "sleds": sleds, "sled_layout": "striped"}},
            "run": {"requests": 500},
        }
        for sleds in counts
    ]
    mb_s = [float(run["bandwidth"]["mb_per_s"]) for run in study.runs(scenarios)]
    return Finding(
        trend(mb_s),
        f"`{DEVICE}`, sleds that the data is striped over, 500 reads of 1 MiB in order, 8 outstanding, no bus: "
        f"{', '.join(f'{each:.0f}' for each in mb_s)} MB/s with 1, 2 and 4 sleds.",
        curve=tuple({"sleds": sleds, "MB/s": each} for sleds, each in zip(counts, mb_s, strict=True)),
        scenarios=tuple(scenarios),
    )


@experiment("schlosser2000.density")
def density(study: Study) -> Finding:
    """Bits under all tips over their area."""

    def gb_per_cm2(nm: float) -> float:
        sled = study.sled("g1-paper", bit_nm=nm)
        given = sled.parameters
        area_cm2 = given["tips"] * given["x_range_um"] * given["y_range_um"] * 1e-8
        return float(sled.raw_capacity_bytes * 1e-9 / area_cm2)

    how = (
        "g1-paper with bits of 50 and of 30 nm: bits under all tips, encoded bits over 10, over the media that tips "
        "reach."
    )
    return Finding((gb_per_cm2(50.0), gb_per_cm2(30.0)), how, decimals=2)


#: Blocks that take all tips of a group at once, eight bytes under each.
BYTES_PER_TIP = 8


@experiment("schlosser2000.tip-failure-capacity")
def tip_failure_capacity(study: Study) -> Finding:
    """Room with 9,900 of 10,000 tips."""
    group: dict[str, Any] = {"block_bytes": 100 * BYTES_PER_TIP, "active_tips": 100}
    whole, left = (study.sled("g1-paper", **group, tips=tips).capacity_bytes for tips in (10_000, 9_900))
    return Finding(1 - left / whole, "g1-paper with 10,000 tips and with 9,900, in groups of a hundred.", decimals=4)


@experiment("schlosser2000.all-tips-power", 10_000)
@experiment("schlosser2000.max-power", 1_000, 6)
def powered(study: Study, tips: int, inactive: int = 1) -> Finding:
    """Return the power of a G2 that accesses data with so many tips, W.

    Parameters
    ----------
    study
        Where it is run.
    tips
        Active at once.
    inactive
        Groups of as many that it has in all.
    """
    scenario = {
        "workload": {
            "arrival": {"kind": "poisson", "rate_per_s": 20.0},
            "size_bytes": {"kind": "fixed", "value": tips * BYTES_PER_TIP},
        },
        "system": {
            "device": {
                "name": DEVICE,
                "block_bytes": tips * BYTES_PER_TIP,
                "tips": inactive * tips,
                "active_tips": tips,
            }
        },
        "run": {"requests": 1000},
    }
    run = study.run(scenario)
    energy, time = run["energy"], run["state_time"]
    watts = (energy["servo_j"] + energy["data_j"]) / (time["servo_s"] + time["data_s"])
    how = f"`{DEVICE}`: joules of servo bursts and data over their time, of 1,000 requests that use {tips:,} tips each."
    return Finding(float(watts), how, scenarios=(scenario,))


DRAWING = "g2"


class Trend(NamedTuple):
    """A figure of a drawing, by the values of one of its keys, and what the relation between them rests on."""

    figure: str
    key: str
    values: Sequence[float]
    rests_on: str
    assumes: str = ""


FORCES_MN = (30.0, 36.0, 50.0, 72.0)
WIDTHS_NM = (50.0, 40.0, 30.0, 20.0)
VELOCITIES_MM_S = (10.0, 20.0, 40.0, 80.0)
ERROR_RATES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)

RUN_OUT = "the sled stops within a run-out of v²/2a at either end of its travel; far less than a row of bits as drawn"
CODE = "a code that corrects as many bits of a tip sector as leave one in 10^10 wrong"
DAMPED = "the actuator damps the oscillation with 5 % of its force"
PROCESSED = "a tip's power goes with 50 nm over the width of bits"
HELD = "a steady shock against which actuator and springs keep the fingers apart"

#: Figures of a drawing, by claim.
TRENDS = {
    "force-settle": Trend("settle_ms", "actuator_mn", FORCES_MN, "the oscillation decays faster", DAMPED),
    "bit-size-settle": Trend("settle_ms", "bit_nm", WIDTHS_NM, "the oscillation decays to a tenth of a bit"),
    "force-capacity": Trend("capacity_gb", "actuator_mn", FORCES_MN, RUN_OUT),
    "velocity-capacity": Trend("capacity_gb", "access_mm_s", VELOCITIES_MM_S, RUN_OUT),
    "sleds-capacity": Trend("capacity_gb", "sleds", (1, 2, 4), "actuators of a given width surround each sled"),
    "errors-capacity": Trend("capacity_gb", "bit_error_rate", ERROR_RATES, CODE),
    "bit-size-power": Trend("power_mw", "bit_nm", WIDTHS_NM, "1,280 tips at work", PROCESSED),
    "velocity-power": Trend("power_mw", "access_mm_s", VELOCITIES_MM_S, "each reversal costs its kinetic energy"),
    "errors-power": Trend("energy_nj_per_byte", "bit_error_rate", ERROR_RATES, CODE),
    "force-shock": Trend("shock_g", "actuator_mn", FORCES_MN, HELD),
    "spring-shock": Trend("shock_g", "spring_n_m", (0.0, 200.0, 400.0, 600.0), HELD),
}


def drawn(study: Study, claim: str) -> Finding:
    """Return how a figure goes with a value of the drawing.

    Parameters
    ----------
    study
        Makes the drawings.
    claim
        One of :data:`TRENDS`.
    """
    figure, key, values, rests_on, assumes = TRENDS[claim]
    found = [figures_of(study.drawing(DRAWING, {key: value}))[figure].value for value in values]
    how = (
        f"Drawing `{DRAWING}`, {key} of {values[0]:g} to {values[-1]:g}: {rests_on}; {found[0]:.6g} to {found[-1]:.6g}."
    )
    curve = tuple({key: value, figure: each} for value, each in zip(values, found, strict=True))
    return Finding(trend(found, COMPUTED), how, curve=curve, assumes=assumes)


for _claim in TRENDS:
    experiment(f"schlosser2000.{_claim}", _claim)(drawn)


#: Forces of the actuator, mN, thicknesses of the sled, µm, falling, and gaps between fingers, µm.
LIMITS: dict[str, tuple[float, ...]] = {
    "actuator_mn": FORCES_MN,
    "sled_thickness_um": (500.0, 300.0, 200.0, 100.0),
    "finger_gap_um": (1.0, 5.0, 10.0, 50.0),
}


@experiment("schlosser2000.velocity-limit")
def velocity_limit(study: Study) -> Finding:
    """Velocity from which actuator and springs stop the sled within the gap between its fingers."""

    def limit_mm_s(key: str, value: float) -> float:
        drawing = study.drawing(DRAWING, {key: value})
        acceleration = figures_of(drawing)["acceleration_m_s2"].value
        sled = study.sled(DEVICE, **accelerated(acceleration), finger_gap_um=float(drawing.finger_gap_um))
        return 1e3 * float(sled.access_speed_limit_m_s or 0.0)

    found = {key: [limit_mm_s(key, value) for value in values] for key, values in LIMITS.items()}
    signs = {key: trend(limits, COMPUTED) for key, limits in found.items()}
    said = "; ".join(f"{key} {limits[0]:.1f} to {limits[-1]:.1f} mm/s" for key, limits in found.items())
    return Finding(
        signs["actuator_mn"] if len({*signs.values()}) == 1 else "?",
        f"`{DEVICE}` with the acceleration of the drawing `{DRAWING}` and `finger_gap_um`: the work of actuator and "
        "springs over the gap beyond the travel is the kinetic energy at the limit, beyond which the device is "
        f"refused; more force, a thinner sled, a wider gap: {said}.",
        curve=tuple(
            {"key": key, "value": value, "limit, mm/s": limit}
            for key, values in LIMITS.items()
            for value, limit in zip(values, found[key], strict=True)
        ),
    )


#: Tips that failed, one after the other, and the spare tips there are for them: a track's.
FAILED, SPARE = (0, 1, 10, 100, 640), 640

#: Probability that a sled fails, by which the figures are reckoned; they rise with any.
FAILS = 0.1

#: Devices, by sleds and how they share data.
MIRRORS = (1, 2, 3, 4)
PARITY = (3, 4)


@experiment("schlosser2000.tip-remap")
def tip_remap(study: Study) -> Finding:
    """Room, and requests that are lost, as tips fail."""
    sleds = [study.sled("g1-paper", spare_tips=SPARE, failed_tips=failed) for failed in FAILED]
    rooms = [sled.readable_bytes / 1e9 for sled in sleds]
    scenarios = [_reading({"name": "g1-paper", "spare_tips": SPARE, "failed_tips": failed}) for failed in FAILED]
    runs = study.runs(scenarios)
    rows = tuple(
        {
            "failed tips": failed,
            "can be read, GB": room,
            "requests lost": run["requests"]["failed"],
            "mean response, ms": _mean_ms(run),
        }
        for failed, room, run in zip(FAILED, rooms, runs, strict=True)
    )
    return Finding(
        trend(rooms, 0.001),
        f"`g1-paper` of whose 6,400 tips {SPARE} are spare ones, and up to {FAILED[-1]} fail: what of it can be read; "
        f"{rooms[0]:.4g} to {rooms[-1]:.4g} GB. Of 2,000 random requests {runs[-1]['requests']['failed']} are lost at "
        f"the end, and responses take {_mean_ms(runs[0]):.4f} and {_mean_ms(runs[-1]):.4f} ms.",
        curve=rows,
        scenarios=(scenarios[0], scenarios[-1]),
    )


def _mean_ms(run: "Result") -> float:
    """Return the mean response of the requests that were served, ms; 0 where none was."""
    return float(run["response"]["mean_ms"]) if run["response"] else 0.0


def _reading(device: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario with random requests, half of them reads, over all of a device."""
    return {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 50.0}, "read_fraction": 0.5},
        "system": {"device": device},
        "run": {"requests": 2000},
    }


def _device(sleds: int, layout: str, failed: Sequence[int]) -> dict[str, Any]:
    return {"name": "g2-paper", "sleds": sleds, "sled_layout": layout, "failed_sleds": list(failed)}


def keeps_all(study: Study, sleds: int, layout: str) -> float:
    """Return the probability that a device keeps all of its data, each sled failing with :data:`FAILS` by itself.

    Every set of sleds is made to fail, and the device is asked for blocks all over it.

    Parameters
    ----------
    study
        Where it is run.
    sleds
        Sleds of the device.
    layout
        How they share data.
    """
    sets = [failed for count in range(sleds + 1) for failed in combinations(range(sleds), count)]
    runs = study.runs([_reading(_device(sleds, layout, failed)) for failed in sets])
    return sum(
        FAILS ** len(failed) * (1 - FAILS) ** (sleds - len(failed))
        for failed, run in zip(sets, runs, strict=True)
        if run["requests"]["failed"] == 0
    )


@experiment("schlosser2000.sleds-reliability")
def sleds_reliability(study: Study) -> Finding:
    """Probability that nothing is lost."""
    mirrors = [keeps_all(study, sleds, "mirrored") for sleds in MIRRORS]
    parity = [keeps_all(study, sleds, "parity") for sleds in PARITY]
    apart = keeps_all(study, MIRRORS[-1], "split")
    said = ", ".join(f"{each:.4f}" for each in mirrors)
    return Finding(
        trend(mirrors, 1e-6),
        f"`g2-paper` with {MIRRORS[0]} to {MIRRORS[-1]} sleds that hold the same: each set of sleds fails and 2,000 "
        f"requests all over the device are served or lost; with a probability of {FAILS} for each sled nothing is lost "
        f"with {said}. Under RAID level 5 of {PARITY[0]} and {PARITY[1]} sleds that is {parity[0]:.4f} and "
        f"{parity[1]:.4f}, and of four sleds without redundancy {apart:.4f}.",
        curve=tuple({"sleds": n, "keeps all": each} for n, each in zip(MIRRORS, mirrors, strict=True)),
        scenarios=(_reading(_device(1, "mirrored", (0,))), _reading(_device(2, "mirrored", (0,)))),
    )
