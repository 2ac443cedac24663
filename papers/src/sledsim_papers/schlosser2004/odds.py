"""Where Schlosser and Ganger 2004 is at odds with itself."""

from math import ceil

from sledsim_papers.harness.odds import Side, at_odds

__all__: list[str] = []

#: Section 6.1.1: records, bytes of their attributes, and how many are on a page of 8 KB.
RECORDS, RECORD_BYTES, PER_PAGE, PAGE_BYTES = 10_000_000, 8 + 32 + 15 + 16, 115, 8192

at_odds(
    "schlosser2004.table-size",
    Side("section 6.1.1", "printed", (694.0,), "MB"),
    Side("section 6.1.1, attributes", "10^7 × (8 + 32 + 15 + 16) B", (RECORDS * RECORD_BYTES * 1e-6,), "MB"),
    Side("section 6.1.1, pages", "10^7 / 115 × 8,192 B", (ceil(RECORDS / PER_PAGE) * PAGE_BYTES * 1e-6,), "MB"),
)
at_odds(
    "schlosser2004.bandwidth-per-capacity",
    Side("section 1", "printed as almost two orders of magnitude", (100.0,), "times, almost"),
    Side("section 6.3", "(100 MB/s / 10 GB) / (100 MB/s / 72 GB)", (72 / 10,), "times"),
)
