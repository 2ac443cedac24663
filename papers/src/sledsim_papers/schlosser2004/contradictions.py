"""Statements in which Schlosser and Ganger 2004 contradicts itself."""

from math import ceil

from sledsim_papers.harness.contradictions import Statement, contradiction

__all__: list[str] = []

#: Section 6.1.1: records, bytes of their attributes, and how many are on a page of 8 KB.
RECORDS, RECORD_BYTES, PER_PAGE, PAGE_BYTES = 10_000_000, 8 + 32 + 15 + 16, 115, 8192

contradiction(
    "schlosser2004.table-size",
    Statement("section 6.1.1", "printed", (694.0,), "MB"),
    Statement("section 6.1.1, attributes", "10^7 × (8 + 32 + 15 + 16) B", (RECORDS * RECORD_BYTES * 1e-6,), "MB"),
    Statement("section 6.1.1, pages", "10^7 / 115 × 8,192 B", (ceil(RECORDS / PER_PAGE) * PAGE_BYTES * 1e-6,), "MB"),
)
contradiction(
    "schlosser2004.bandwidth-per-capacity",
    Statement("section 1", "printed as almost two orders of magnitude", (100.0,), "times, almost"),
    Statement("section 6.3", "(100 MB/s / 10 GB) / (100 MB/s / 72 GB)", (72 / 10,), "times"),
)
