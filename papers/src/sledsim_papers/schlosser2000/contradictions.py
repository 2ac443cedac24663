"""Statements in which Schlosser et al. 2000 contradicts itself."""

from math import pi

from sledsim_papers.harness.contradictions import Statement, contradiction

__all__: list[str] = []

#: Table 2, a value for each generation: nm of a bit, kbit/s of a tip.
BITS_NM, RATES_KBIT_S = (50.0, 40.0, 30.0), (400.0, 700.0, 1000.0)
#: Table 4, J: all modes of the disk and of the MEMS device, and what accessing data takes of them.
ANDREW_J, POSTMARK_J = (33.053, 2.759, 14.026, 1.400), (2382.131, 308.309, 1378.162, 188.859)


def _settle_ms(constants: float) -> tuple[float]:
    return (1e3 * constants / (2 * pi * 729),)


def _tips_mb_s(tips: int, kbit_s: float) -> tuple[float]:
    """Return what passes under tips at once, ten encoded bits for a byte."""
    return (tips * kbit_s * 1e3 / 10 * 1e-6,)


def _half_turn_ms(rpm: float) -> tuple[float]:
    return (60e3 / rpm / 2,)


def _share_of_accesses(joules: tuple[float, float, float, float]) -> float:
    disk, mems, disk_active, mems_active = joules
    return (disk_active - mems_active) / (disk - mems)


contradiction(
    "schlosser2000.g1-settle",
    Statement("Table 2, settling", "printed", (0.431,), "ms"),
    Statement("Table 2, resonance and constants", "2 / (2 π 729 Hz)", _settle_ms(2), "ms"),
)
contradiction(
    "schlosser2000.g2-settle",
    Statement("Table 2, settling", "printed", (0.215,), "ms"),
    Statement("Table 2, resonance and constants", "1 / (2 π 729 Hz)", _settle_ms(1), "ms"),
)
contradiction(
    "schlosser2000.access-speed",
    Statement("Table 2, speeds", "printed", (20.0, 35.0, 50.0), "mm/s"),
    Statement(
        "Table 2, widths and rates",
        "50 nm × 400 kbit/s, 40 nm × 700 kbit/s, 30 nm × 1,000 kbit/s",
        tuple(nm * kbit_s * 1e-3 for nm, kbit_s in zip(BITS_NM, RATES_KBIT_S, strict=True)),
        "mm/s",
    ),
)
contradiction(
    "schlosser2000.g3-peak-bandwidth",
    Statement("section 1", "printed, as the most there is", (100.0,), "MB/s"),
    Statement("Table 2", "3,200 tips × 1,000 kbit/s / 10 bits", _tips_mb_s(3200, 1000.0), "MB/s"),
)
contradiction(
    "schlosser2000.power-limited-bandwidth",
    Statement("section 4.3", "printed, with no more than 1,000 tips", (89.0,), "MB/s"),
    Statement("Table 2, at 1,000 tips", "1,000 tips × 700 kbit/s / 10 bits", _tips_mb_s(1000, 700.0), "MB/s"),
    Statement("Table 2, as printed", "1,280 tips × 700 kbit/s / 10 bits", _tips_mb_s(1280, 700.0), "MB/s"),
)
contradiction(
    "schlosser2000.atlas-latency",
    Statement("Table 3, latency", "printed", (2.21,), "ms"),
    Statement("Table 3, speed", "half a turn at 10,025 rpm", _half_turn_ms(10_025), "ms"),
)
contradiction(
    "schlosser2000.superdisk-latency",
    Statement("Table 3, latency", "printed", (1.36,), "ms"),
    Statement("Table 3, speed", "half a turn at 20,000 rpm", _half_turn_ms(20_000), "ms"),
)
contradiction(
    "schlosser2000.application-speedup",
    Statement("abstract", "printed, the least of five applications", (1.6,), "times"),
    Statement("section 4.2, query 6 of TPC-D", "8 % less run time, 1 / (1 - 0.08)", (1 / 0.92,), "times"),
)
contradiction(
    "schlosser2000.mems-cache",
    Statement("abstract, sections 4.2 and 6", "printed", (3.5,), "times"),
    Statement("section 4.2", "14.66 ms / 4.03 ms", (14.66 / 4.03,), "times"),
)
contradiction(
    "schlosser2000.energy-range",
    Statement("section 4.3", "printed, the most of three applications", (10.0,), "times"),
    Statement("Table 4, Andrew", "33.053 J / 2.759 J", (ANDREW_J[0] / ANDREW_J[1],), "times"),
)
contradiction(
    "schlosser2000.energy-active-share",
    Statement("section 4.3", "most of what is saved", (0.5,), "or more"),
    Statement(
        "Table 4, Andrew and PostMark",
        "(14.026 J - 1.400 J) / (33.053 J - 2.759 J), (1378.162 J - 188.859 J) / (2382.131 J - 308.309 J)",
        (_share_of_accesses(ANDREW_J), _share_of_accesses(POSTMARK_J)),
    ),
)
contradiction(
    "schlosser2000.energy-netscape",
    Statement(
        "Table 4, the MEMS device, with section 4.3's power", "1318.763 J of standby / 0.05 W", (1318.763 / 0.05,), "s"
    ),
    Statement(
        "Table 4, the disk, with section 4.3's powers",
        "321.211 J / 2.6 W + 1924.1 J / 2 W + 1799.885 J / 1.3 W + 1000.467 J / 0.85 W + 308.885 J / 0.2 W",
        (321.211 / 2.6 + 1924.1 / 2 + 1799.885 / 1.3 + 1000.467 / 0.85 + 308.885 / 0.2,),
        "s",
    ),
)
