"""Statements in which Griffin et al. 1999 contradicts itself."""

from math import pi, sqrt

from sledsim_papers.harness.contradictions import Statement, contradiction

__all__: list[str] = []

#: Table 1: the travel, m; acceleration, m/s²; resonance, Hz, with one settling constant; kbit/s of a tip.
TRAVEL_M, M_S2, HZ, KBIT_S = 100e-6, 114.8, 220.0, 400.0
#: Bits of a tip sector, its servo burst included.
SECTOR_BITS = 90

contradiction(
    "griffin1999.factor-of-five",
    Statement("abstract", "printed", (5.0,), "times"),
    Statement("section 3 and Table 2", "12.2 ms / 1.96 ms", (12.2 / 1.96,), "times"),
)
contradiction(
    "griffin1999.seek-max",
    Statement("Table 2", "printed", (2.72,), "ms"),
    Statement(
        "equations 2 and 3 with Table 1",
        "a full stroke that settles, 2 √(100 µm / 114.8 m/s²) + 1 / (2 π 220 Hz)",
        (1e3 * (2 * sqrt(TRAVEL_M / M_S2) + 1 / (2 * pi * HZ)),),
        "ms",
    ),
)
contradiction(
    "griffin1999.transfer-mean",
    Statement("Table 2", "printed", (0.16,), "ms"),
    Statement("Table 1", "the least there is to transfer, 90 bits / 400 kbit/s", (SECTOR_BITS / KBIT_S,), "ms"),
)
