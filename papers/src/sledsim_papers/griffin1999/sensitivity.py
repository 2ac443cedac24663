"""Griffin et al. 1999, section 4.3: how the access time depends on the parameters of the device."""

from collections.abc import Mapping, Sequence
from typing import Any

from sledsim_papers.griffin1999.workload import (
    acceleration,
    access,
    access_ms,
    closed,
    mean_ms,
    random,
    speed,
)
from sledsim_papers.harness.finding import COMPUTED, Finding, Probe, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

__all__ = [
    "ACCELERATIONS_M_S2",
    "CONSTANTS",
    "DEFAULT_M_S2",
    "RESONANCES_HZ",
    "SPEEDS_MM_S",
    "WIDTHS_NM",
    "by_acceleration",
    "by_constants",
    "by_resonance",
    "by_speed",
    "by_width",
]

DEFAULT_M_S2, FAST_M_S2, DEFAULT_MM_S = 114.8, 400.0, 20.0
ACCELERATIONS_M_S2 = (50.0, 100.0, 200.0, 400.0, 800.0)
SPEEDS_MM_S = tuple(float(mm_s) for mm_s in range(1, 151))
#: The subset of these in tables.
SHOWN_MM_S = (1.0, 2.0, 5.0, 8.0, 10.0, 20.0, 30.0, 50.0, 75.0, 100.0, 150.0)
WIDTHS_NM = (30.0, 40.0, 50.0, 60.0, 80.0, 100.0)
RESONANCES_HZ = (100.0, 150.0, 220.0, 400.0, 800.0)
CONSTANTS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)

HOW = "random workload, one request at a time"


def by_acceleration(study: Study, values: Sequence[float] = ACCELERATIONS_M_S2) -> list[float]:
    """Return mean access times for accelerations, ms."""
    return access_ms(study, [acceleration(value) for value in values])


def by_speed(study: Study, acceleration_m_s2: float, values: Sequence[float] = SPEEDS_MM_S) -> list[float]:
    """Return mean access times for access speeds at an acceleration, ms."""
    return access_ms(study, [_sled(acceleration_m_s2, mm_s) for mm_s in values])


def _sled(acceleration_m_s2: float, mm_s: float) -> dict[str, Any]:
    return {**acceleration(acceleration_m_s2), **speed(mm_s)}


def by_width(study: Study, values: Sequence[float] = WIDTHS_NM, *, hold: str = "bit rate") -> list[float]:
    """Return mean access times for widths of a bit in a fixed tip region, bit rate or access speed held, ms."""
    held = [{} if hold == "bit rate" else speed(DEFAULT_MM_S, nm) for nm in values]
    return access_ms(study, [{"bit_nm": nm, **each} for nm, each in zip(values, held, strict=True)])


def by_resonance(study: Study, values: Sequence[float] = RESONANCES_HZ) -> list[float]:
    """Return mean access times for resonant frequencies, ms."""
    return access_ms(study, [{"resonance_hz": hz} for hz in values])


def by_constants(study: Study, values: Sequence[float] = CONSTANTS) -> list[float]:
    """Return mean access times for numbers of settling time constants, ms."""
    return access_ms(study, [{"settle_constants": value} for value in values])


def curve(name: str, values: Sequence[float], times_ms: Sequence[float], **more: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the rows behind a figure: a parameter and the mean access time."""
    pairs = zip(values, times_ms, strict=True)
    return tuple({name: value, "mean access time, ms": time_ms, **more} for value, time_ms in pairs)


@experiment("griffin1999.acceleration")
def acceleration_trend(study: Study) -> Finding:
    """Figure 6."""
    times_ms = by_acceleration(study)
    rows = curve("acceleration, m/s²", ACCELERATIONS_M_S2, times_ms)
    ends = tuple(access(study, acceleration(value)) for value in _ends(ACCELERATIONS_M_S2))
    return Finding(trend(times_ms), f"50 to 800 m/s² along both axes, {HOW}.", curve=rows, scenarios=ends)


@experiment("griffin1999.velocity-optimum")
def velocity_optimum(study: Study) -> Finding:
    """Figure 7: where the curve is least."""
    times_ms = by_speed(study, DEFAULT_M_S2)
    best_mm_s, least_ms = _least(SPEEDS_MM_S, times_ms)
    whole = curve("access velocity, mm/s", SPEEDS_MM_S, times_ms)
    return Finding(
        best_mm_s,
        f"1 to 150 mm/s in steps of 1 at 114.8 m/s², {HOW}.",
        decimals=0,
        curve=tuple(row for row in whole if row["access velocity, mm/s"] in {*SHOWN_MM_S, best_mm_s}),
        scenarios=tuple(access(study, _sled(DEFAULT_M_S2, mm_s)) for mm_s in (DEFAULT_MM_S, best_mm_s)),
        cause=f"The curve is flat: {times_ms[SPEEDS_MM_S.index(DEFAULT_MM_S)]:.2f} ms at 20 mm/s, {least_ms:.2f} ms "
        f"at the optimum. {EITHER_WAY}",
        probes=study.probes(
            lambda: tuple(
                Probe(change, _least(SPEEDS_MM_S, _alone_ms(study, SPEEDS_MM_S, **values))[0])
                for change, values in CHANGES.items()
            )
        ),
    )


EITHER_WAY = (
    "If each track has its own direction and data pass without rows, the optimum is near the paper's, but then a seek "
    "has more than one reversal, and the paper has slightly fewer (turnarounds-per-seek)."
)
FLUID = "bits at the rate of all 1280 tips, without rows"
CHANGES: dict[str, dict[str, Any]] = {
    "each track passed in its own direction": {"row_direction": "by-track"},
    f"each track passed in its own direction, and {FLUID}": {"row_direction": "by-track", "transfer": "fluid"},
    "rows entered one way only": {"bidirectional": False},
    FLUID: {"transfer": "fluid"},
}


def _alone_ms(study: Study, speeds_mm_s: Sequence[float], **changes: Any) -> list[float]:
    """Return mean accesses at speeds on a device with further changes."""
    requests = study.requests(100_000, 20_000)
    cases = [random(closed(), requests, **_sled(DEFAULT_M_S2, mm_s), **changes) for mm_s in speeds_mm_s]
    return [mean_ms(run) for run in study.runs(cases)]


#: Velocities of the claims on both sides of the optimum.
SLOW_MM_S, BEYOND_MM_S = (1.0, 2.0, 5.0, 10.0), (20.0, 25.0, 30.0, 35.0, 40.0)


@experiment("griffin1999.velocity-below-10")
def velocity_below_10(study: Study) -> Finding:
    """Figure 7: its steep part."""
    times_ms = by_speed(study, DEFAULT_M_S2, SLOW_MM_S)
    return Finding(
        trend(times_ms),
        f"1 to 10 mm/s at 114.8 m/s², {HOW}.",
        curve=curve("access velocity, mm/s", SLOW_MM_S, times_ms),
        scenarios=tuple(access(study, _sled(DEFAULT_M_S2, mm_s)) for mm_s in _ends(SLOW_MM_S)),
    )


@experiment("griffin1999.velocity-above-20")
def velocity_above_20(study: Study) -> Finding:
    """Figure 7: beyond 20 mm/s."""
    times_ms = by_speed(study, DEFAULT_M_S2, BEYOND_MM_S)

    def probe(change: str) -> Probe:
        found = _alone_ms(study, BEYOND_MM_S, **CHANGES[change])
        said = f"{change}: {found[0]:.3f} to {found[-1]:.3f} ms, of which any rise counts"
        return Probe(said, trend(found, COMPUTED))

    return Finding(
        trend(times_ms),
        f"20 to 40 mm/s at 114.8 m/s², {HOW}: {times_ms[0]:.3f} to {times_ms[-1]:.3f} ms.",
        curve=curve("access velocity, mm/s", BEYOND_MM_S, times_ms),
        scenarios=tuple(access(study, _sled(DEFAULT_M_S2, mm_s)) for mm_s in _ends(BEYOND_MM_S)),
        cause=EITHER_WAY,
        probes=study.probes(lambda: tuple(map(probe, CHANGES))),
    )


@experiment("griffin1999.velocity-needs-acceleration")
def velocity_needs_acceleration(study: Study) -> Finding:
    """Figure 7: the optimum at two accelerations."""
    both = (DEFAULT_M_S2, FAST_M_S2)
    optima = [_least(SPEEDS_MM_S, by_speed(study, value))[0] for value in both]
    how = (
        f"1 to 150 mm/s in steps of 1, {HOW}: optimum {optima[0]:.0f} mm/s at 114.8 m/s², {optima[1]:.0f} at 400 m/s²."
    )
    scenarios = tuple(access(study, _sled(*each)) for each in zip(both, optima, strict=True))
    return Finding(trend(optima), how, scenarios=scenarios)


@experiment("griffin1999.bit-width")
def bit_width(study: Study) -> Finding:
    """Figure 8."""
    times_ms = by_width(study)
    other_ms = by_width(study, hold="access speed")
    rows = curve("bit width, nm", WIDTHS_NM, times_ms, held="bit rate") + curve(
        "bit width, nm", WIDTHS_NM, other_ms, held="access speed"
    )
    how = (
        "30 to 100 nm over a fixed tip region with the bit rate held, so that the sled moves faster over wider bits, "
        f"{HOW}. With the access speed held, so that transfers get longer, the trend is {trend(other_ms)}."
    )
    ends = tuple(access(study, {"bit_nm": nm}) for nm in _ends(WIDTHS_NM))
    return Finding(
        trend(times_ms),
        how,
        curve=rows,
        scenarios=ends,
        cause=f"With the bit rate held the sled moves faster over wider bits and takes longer to turn: "
        f"{times_ms[0]:.3f} ms at "
        f"30 nm, {times_ms[-1]:.3f} ms at 100 nm. Near the default of 50 nm there is less of it.",
        probes=(Probe("40 to 60 nm", trend(times_ms[1:4])),),
    )


@experiment("griffin1999.resonant-frequency")
def resonant_frequency(study: Study) -> Finding:
    """Figure 9."""
    times_ms = by_resonance(study)
    rows = curve("resonance, Hz", RESONANCES_HZ, times_ms)
    ends = tuple(access(study, {"resonance_hz": hz}) for hz in _ends(RESONANCES_HZ))
    return Finding(trend(times_ms), f"100 to 800 Hz, {HOW}.", curve=rows, scenarios=ends)


#: Resonant frequencies from 100 to 800 Hz in equal steps of 1/f.
EVEN_HZ = tuple(1 / (1 / 100 + step / 7 * (1 / 800 - 1 / 100)) for step in range(8))


@experiment("griffin1999.resonant-frequency-inverse")
def resonant_frequency_inverse(study: Study) -> Finding:
    """Figure 9: a straight line through access times against 1/f."""
    times_ms = by_resonance(study, EVEN_HZ)
    return Finding(
        _r_squared([1 / hz for hz in EVEN_HZ], times_ms),
        f"100 to 800 Hz in equal steps of 1/f, {HOW}.",
        decimals=4,
        curve=curve("resonance, Hz", EVEN_HZ, times_ms),
        scenarios=tuple(access(study, {"resonance_hz": hz}) for hz in _ends(EVEN_HZ)),
    )


@experiment("griffin1999.time-constants")
def time_constants(study: Study) -> Finding:
    """Figure 10: a straight line through the points."""
    times_ms = by_constants(study)
    rows = curve("settling time constants", CONSTANTS, times_ms)
    ends = tuple(access(study, {"settle_constants": value}) for value in _ends(CONSTANTS))
    r_squared = _r_squared(CONSTANTS, times_ms)
    return Finding(r_squared, f"0.5 to 4 constants in steps of 0.5, {HOW}.", decimals=4, curve=rows, scenarios=ends)


def _r_squared(arguments: Sequence[float], values: Sequence[float]) -> float:
    """Return R² of a straight-line fit."""
    import numpy as np

    return float(np.corrcoef(arguments, values)[0, 1]) ** 2


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return values[0], values[-1]


def _least(arguments: Sequence[float], quantity: Sequence[float]) -> tuple[float, float]:
    """Return the argument of the minimum of a quantity, and the minimum."""
    best = min(range(len(quantity)), key=lambda place: quantity[place])
    return arguments[best], quantity[best]
