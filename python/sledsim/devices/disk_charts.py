"""Seek curve and zone map of a disk drive."""

from typing import TYPE_CHECKING, Any

from sledsim.show.style import COLOURS, HEIGHT, WIDTH, altair_library, apply_style, rows_of, values

if TYPE_CHECKING:
    import altair

    from sledsim.devices.disk import DiskDrive

__all__ = ["seek_chart", "zone_chart"]

#: Maximum number of marked points; more would hide the curve.
MARKS = 250
#: Short seeks have a separate panel, as they are the most frequent and the curve is steepest there. The panel covers
#: this share of the stroke, and at least so many cylinders.
SHORT_SHARE = 0.03
LEAST_SHORT = 20
SHORT_WIDTH = 200


def seek_chart(drive: "DiskDrive") -> "altair.TopLevelMixin":
    """Draw seek time against distance for reads and writes, with the distances that the parameters give marked.

    Parameters
    ----------
    drive
        The drive.
    """
    alt = altair_library()
    # The curve starts at a distance of one cylinder, without the zero at distance 0.
    rows = [row for row in rows_of(drive.seek_curve()) if row["distance_cylinders"]]
    mean = f"mean {drive.mean_seek_ms:.3g} ms over all pairs of cylinders"
    subtitle = f"{drive.parameters['seek']['curve']} curve; {mean}"
    marked = _mark(rows)
    if marked:
        subtitle += "; dots: given by the parameters" + (f", one in {marked}" if marked > 1 else "")
    ops = ["read", "write"]
    colour = alt.Color(
        "op:N",
        title="Request",
        scale=alt.Scale(domain=ops, range=list(COLOURS[:2])),
        legend=alt.Legend(orient="bottom", direction="horizontal", symbolType="stroke"),
    )
    tooltip = [
        alt.Tooltip("op:N", title="request"),
        alt.Tooltip("distance_cylinders:Q", title="distance (cylinders)", format=","),
        alt.Tooltip("seek_ms:Q", title="seek (ms)", format=".3f"),
    ]
    data = values(rows)

    def panel(longest: int, width: int, title: str | None) -> Any:
        distance = alt.X(
            "distance_cylinders:Q",
            title="Distance (cylinders)",
            scale=alt.Scale(domain=[0, longest], nice=False),
            axis=alt.Axis(tickCount=width // 60, labelFlush=False),
        )
        time = alt.Y("seek_ms:Q", title=title, scale=alt.Scale(zero=True))
        base = alt.Chart(data).encode(x=distance, y=time, color=colour, tooltip=tooltip)
        line = base.mark_line(strokeWidth=2, clip=True)
        points = base.transform_filter("datum.in_table").mark_point(size=22, filled=True, opacity=0.9, clip=True)
        return (line + points).properties(width=width, height=HEIGHT)

    longest = max(drive.cylinders - 1, 1)
    short = min(longest, max(LEAST_SHORT, round(SHORT_SHARE * longest)))
    chart = alt.hconcat(
        panel(short, SHORT_WIDTH, "Seek time (ms)"), panel(longest, WIDTH - SHORT_WIDTH, None), spacing=14
    ).resolve_scale(y="shared")
    return apply_style(chart, f"Seek time of {drive.label} against distance", subtitle)


def _mark(rows: list[dict[str, Any]]) -> int:
    """Limit the rows with ``in_table`` to every n-th one, so that at most ``MARKS`` are left; return n, 0 for none."""
    marked = [row for row in rows if row["in_table"]]
    stride = -(-len(marked) // MARKS)
    kept = {id(row) for row in marked[:: stride or 1]}
    for row in rows:
        row["in_table"] = id(row) in kept
    return stride


def zone_chart(drive: "DiskDrive") -> "altair.TopLevelMixin":
    """Draw the zones: sectors per track over the cylinders, and the media rate over the LBNs.

    Parameters
    ----------
    drive
        The drive.
    """
    alt = altair_library()
    rows = rows_of(drive.zones(), digits=6)
    for i, row in enumerate(rows):
        row["zone"] = i
        row["end_cylinder"] = row["last_cylinder"] + 1
        row["from_gb"] = row["first_lbn"] * drive.block_bytes / 1e9
        row["to_gb"] = (row["first_lbn"] + row["blocks"]) * drive.block_bytes / 1e9
    tooltip = [
        alt.Tooltip("zone:O", title="zone"),
        alt.Tooltip("first_cylinder:Q", title="from cylinder", format=","),
        alt.Tooltip("last_cylinder:Q", title="to cylinder", format=","),
        alt.Tooltip("sectors_per_track:Q", title="sectors per track", format=","),
        alt.Tooltip("first_lbn:Q", title="from LBN", format=","),
        alt.Tooltip("media_mb_s:Q", title="media (MB/s)", format=".2f"),
        alt.Tooltip("streaming_mb_s:Q", title="streaming (MB/s)", format=".2f"),
    ]
    base = alt.Chart(values(rows)).encode(tooltip=tooltip)
    sectors = base.mark_rect(color=COLOURS[0], opacity=0.6, stroke="white", strokeWidth=0.5).encode(
        x=alt.X("first_cylinder:Q", title="Cylinder", scale=alt.Scale(domain=[0, drive.cylinders], nice=False)),
        x2="end_cylinder:Q",
        y=alt.Y("sectors_per_track:Q", title="Sectors per track", scale=alt.Scale(zero=True)),
        y2=alt.datum(0),
    )
    gigabytes = alt.X(
        "from_gb:Q", title="Position in the LBN space (GB)", scale=alt.Scale(domain=[0, rows[-1]["to_gb"]], nice=False)
    )
    names = {"media_mb_s": "under the head", "streaming_mb_s": "streaming, head switches included"}
    rate = (
        base.transform_fold(list(names), as_=["kind", "rate"])
        .transform_calculate(kind=f"{names!r}[datum.kind]")
        .mark_rule(strokeWidth=2.5)
        .encode(
            x=gigabytes,
            x2="to_gb:Q",
            y=alt.Y("rate:Q", title="Rate (MB/s)", scale=alt.Scale(zero=True)),
            color=alt.Color(
                "kind:N",
                title="Rate",
                scale=alt.Scale(domain=list(names.values()), range=list(COLOURS[:2])),
                legend=alt.Legend(orient="bottom", direction="horizontal", labelLimit=260),
            ),
        )
    )
    chart = alt.vconcat(
        sectors.properties(width=WIDTH, height=200), rate.properties(width=WIDTH, height=180), spacing=18
    )
    subtitle = (
        f"{len(rows)} zones, {drive.surfaces} surfaces, {drive.parameters['rotation_rpm']:,g} rpm, "
        f"{drive.capacity_bytes / 1e9:.3g} GB; sequential read of the medium {drive.streaming_bandwidth_mb_s:.3g} MB/s"
    )
    return apply_style(chart, f"Zones of {drive.label}", subtitle)
