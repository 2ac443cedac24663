"""Scans of a relation over tips, Figure 6 of schlosser2004 and its claims, and along two axes."""

from collections.abc import Mapping
from typing import Any

from sledsim.studies.relations import Access, Relation, RowMajor, TipSubset, TwoAxes, relation_times
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import Drawn, experiment, picture
from sledsim_papers.harness.study import Study

__all__ = ["scans"]

#: Names of the layouts in the figure.
NORMAL, MEMSTORE = RowMajor.NAME, TipSubset.NAME
RELATION = Relation()
BARS = {NORMAL: "normal", MEMSTORE: "MEMStore"}

HOW = "g2, 10,000,000 records of 8, 32, 15 and 16 bytes, every scan from rest; without command overhead. "
HOW_NORMAL = HOW + "Pages of 8 KB hold 115 whole records, so that every scan reads every page."
HOW_MEMSTORE = HOW + "Of every 71 tracks (tip groups) an attribute has as many as it has bytes, and a scan reads those."


def scans(study: Study) -> Mapping[tuple[str, str], Access]:
    """Return what scans of the paper's relation take, by layout and operation; they are made once for a study.

    Parameters
    ----------
    study
        The runs that experiments share.
    """
    return study.once("schlosser2004 table scans", _scans)


def _scans(study: Study) -> dict[tuple[str, str], Access]:
    accesses = relation_times(study.sled("g2"), RELATION, layouts=[NORMAL, MEMSTORE], fetches=0).accesses
    return {(each.layout, each.operation): each for each in accesses}


def single_s(times: Mapping[tuple[str, str], Access], layout: str) -> list[float]:
    """Return the times of a scan of each attribute.

    Parameters
    ----------
    times
        What scans took.
    layout
        Under which layout.
    """
    return [times[layout, f"scan of a{number}"].time_s for number in range(1, len(RELATION.attributes) + 1)]


def scan_rows(times: Mapping[tuple[str, str], Access], layout: str) -> tuple[Mapping[str, Any], ...]:
    """Return the scans under a layout as rows of a table.

    Parameters
    ----------
    times
        What scans took.
    layout
        Under which layout.
    """
    shown = [each for each in times.values() if each.layout == layout]
    return tuple(
        {"scan": each.operation, "time_s": round(each.time_s, 4), "read_mb": round(each.read_bytes / 1e6, 3)}
        for each in shown
    )


@experiment("schlosser2004.table-normal-layout")
def normal_layout(study: Study) -> Finding:
    """Four scans of one attribute each over one of all, by rows."""
    times = scans(study)
    ratio = sum(single_s(times, NORMAL)) / times[NORMAL, "scan"].time_s
    return Finding(ratio, HOW_NORMAL, curve=scan_rows(times, NORMAL))


@experiment("schlosser2004.table-mems-layout")
def mems_layout(study: Study) -> Finding:
    """Four scans of one attribute each over one of all, over tips."""
    times = scans(study)
    ratio = sum(single_s(times, MEMSTORE)) / times[MEMSTORE, "scan"].time_s
    return Finding(ratio, HOW_MEMSTORE, curve=scan_rows(times, MEMSTORE))


@experiment("schlosser2004.table-full-scan")
def full_scan(study: Study) -> Finding:
    """Find a scan of all attributes over tips, over one by rows."""
    times = scans(study)
    ratio = times[MEMSTORE, "scan"].time_s / times[NORMAL, "scan"].time_s
    return Finding(ratio, f"{HOW_NORMAL} {HOW_MEMSTORE}", curve=scan_rows(times, MEMSTORE) + scan_rows(times, NORMAL))


@experiment("schlosser2004.table-size")
def table_size(study: Study) -> Finding:
    """Bytes that a scan by rows reads."""
    read = scans(study)[NORMAL, "scan"].read_bytes
    records = RELATION.records * RELATION.record_bytes
    return Finding(
        read * 1e-6,
        "g2: what a scan of the relation by rows reads, pages of 8 KB of 115 whole records each.",
        decimals=1,
        cause="Neither the pages nor the records alone add up to the printed size, whether a megabyte has 10^6 or 2^20 "
        "bytes.",
        probes=(
            Probe("the records alone", records * 1e-6),
            Probe("the pages in megabytes of 2^20 bytes", read / 2**20),
        ),
    )


@experiment("schlosser2004.table-attribute-proportional")
def attribute_proportional(study: Study) -> Finding:
    """Largest error of the times of scans over tips against the attributes' shares of a record."""
    times = scans(study)
    full_s = times[MEMSTORE, "scan"].time_s
    shares = [size / RELATION.record_bytes for size in RELATION.attributes]
    errors = [abs(one_s / full_s / share - 1) for one_s, share in zip(single_s(times, MEMSTORE), shares, strict=True)]
    return Finding(max(errors), HOW_MEMSTORE, curve=scan_rows(times, MEMSTORE))


#: Values that make G2 a device of points: 8 × 512 tips and those of its code, 10 bits a byte (section 7). The paper
#: names no bus; one of 100 MB/s would be slower than the media.
POINTS: Mapping[str, Any] = {"transfer": "points", "active_tips": 5120, "bus_ms_per_block": 0.0}


@experiment("schlosser2004.point-access-axes")
def point_access_axes(study: Study) -> Finding:
    """Each attribute by its columns along Y, one after the other, over all of the table by its lines along X."""
    sled = study.sled("g2", **POINTS)
    times = relation_times(sled, RELATION, layouts=[TwoAxes.NAME], fetches=0)
    by_name = {(each.layout, each.operation): each for each in times.accesses}
    rows_s, columns_s = by_name[TwoAxes.NAME, "scan"].time_s, sum(single_s(by_name, TwoAxes.NAME))
    return Finding(
        columns_s / rows_s,
        f"g2 with {POINTS['active_tips']:,} tips at work, one for each bit of a block, and no bus: 10,000,000 records "
        "of 8, 32, 15 and 16 bytes, records along X and attributes along Y, as many side by side as make lines along "
        f"both axes about as long. Every column along Y {columns_s:.3f} s, every row along X {rows_s:.3f} s.",
        curve=scan_rows(by_name, TwoAxes.NAME),
    )


@picture("schlosser2004", "Figure 6", "Scans of a relation by rows and over tips: all attributes, and each by itself")
def figure_6(study: Study) -> Drawn:
    """Bars of a scan of all attributes and of one of each, by layout."""
    from sledsim.show import apply_style
    from sledsim.studies.relations import scan_bars

    subtitle = f"{RELATION.records:,} records on g2; left all attributes at once, right each by itself"
    bars = scan_bars([*scans(study).values()], BARS)
    chart = apply_style(bars, "Database table scan with different number of attributes", subtitle)
    return Drawn(chart, f"{HOW_NORMAL} MEMStore: of every 71 tracks an attribute has as many as it has bytes.")
