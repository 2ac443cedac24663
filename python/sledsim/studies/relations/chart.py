"""Bar charts of scans and fetches for several layouts of a relation."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.show.style import COLOURS, HEIGHT, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair

    from sledsim.studies.relations.access import Access, RelationTimes

__all__ = ["relation_bars", "scan_bars"]

#: Width of a bar, and of a layout on the axis.
BAR, LAYOUT_WIDTH = 26, 110
ALL, SINGLE = "all", "single"


def scan_bars(accesses: "Sequence[Access]", names: Mapping[str, str]) -> Any:
    """Draw for each layout a bar for the scan of all attributes, and a stacked bar for one scan of each.

    This is Figure 6 of Schlosser and Ganger 2004.

    Parameters
    ----------
    accesses
        The operations; only scans are drawn.
    names
        Layouts to draw, with their names on the axis.
    """
    alt = altair_library()
    rows = [_scan_row(each, names[each.layout]) for each in accesses if each.layout in names and _is_scan(each)]
    parts = list(dict.fromkeys(row["part"] for row in rows))
    layouts = list(names.values())
    # The scan of all attributes comes last and has its own colour.
    domain = [*(part for part in parts if part != ALL), ALL]
    colours = [*COLOURS, *("#999999" for _ in domain)]
    scale = alt.Scale(domain=domain, range=[*colours[: len(domain) - 1], "#555555"])
    chart = alt.Chart(values(rows)).mark_bar(size=BAR)
    return chart.encode(
        x=alt.X("layout:N", title=None, sort=layouts, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("scan:N", sort=[ALL, SINGLE]),
        y=alt.Y("time_s:Q", title="Scan time (s)", stack=True),
        color=alt.Color("part:N", sort=domain, scale=scale, title="scan of"),
        order=alt.Order("order:Q"),
        tooltip=["layout:N", alt.Tooltip("part:N", title="scan of"), alt.Tooltip("time_s:Q", format=".4g")],
    ).properties(width=LAYOUT_WIDTH * len(layouts), height=HEIGHT)


def relation_bars(times: "RelationTimes") -> "altair.TopLevelMixin":
    """Draw scans and fetches of rows, side by side.

    Parameters
    ----------
    times
        The times.
    """
    alt = altair_library()
    fetches = [each for each in times.accesses if each.operation == "fetch"]
    relation = times.schema
    sizes = ", ".join(map(str, relation.attributes))
    subtitle = [
        f"{relation.records:,} records of {relation.record_bytes} bytes ({sizes}) on {times.device.label}",
        "Scans: all attributes at once on the left, each by itself on the right. Fetches: with 95 % intervals",
    ]
    scans = scan_bars(times.accesses, {name: name for name in times.layouts})
    chart = alt.hconcat(scans, _fetch_bars(times, fetches), spacing=36) if fetches else scans
    return apply_style(chart, "A relation under several layouts", subtitle)


def _fetch_bars(times: "RelationTimes", fetches: "list[Access]") -> Any:
    alt = altair_library()
    rows = []
    for each in fetches:
        low, high = each.ci95_s or (each.time_s, each.time_s)
        rows.append({"layout": each.layout, "mean_ms": 1e3 * each.time_s, "low_ms": 1e3 * low, "high_ms": 1e3 * high})
    base = alt.Chart(values(rows)).encode(
        x=alt.X("layout:N", title=None, sort=list(times.layouts), axis=alt.Axis(labelAngle=0))
    )
    bars = base.mark_bar(size=BAR, color=COLOURS[5]).encode(
        y=alt.Y("mean_ms:Q", title="Fetch of a random row, mean (ms)"),
        tooltip=["layout:N", *(alt.Tooltip(f"{key}:Q", format=".4g") for key in ("mean_ms", "low_ms", "high_ms"))],
    )
    interval = base.mark_rule(strokeWidth=2).encode(y="low_ms:Q", y2="high_ms:Q")
    return (bars + interval).properties(width=LAYOUT_WIDTH * len(fetches), height=HEIGHT)


def _is_scan(access: "Access") -> bool:
    return access.operation.startswith("scan")


def _scan_row(access: "Access", layout: str) -> dict[str, Any]:
    """Return the row of a scan: the left bar, or a part of the right one."""
    part = access.operation.removeprefix("scan").removeprefix(" of ") or ALL
    order = int(part[1:]) if part != ALL else 0
    return {
        "layout": layout,
        "scan": ALL if part == ALL else SINGLE,
        "part": part,
        "order": order,
        "time_s": float(f"{access.time_s:.5g}"),
    }
