"""Seek curve and zone map of a disk drive."""

from typing import TYPE_CHECKING

from sledsim.plots.style import COLOURS, HEIGHT, WIDTH, altair_library, rows_of, styled, values

if TYPE_CHECKING:
    import altair

    from sledsim.mechanisms import DiskDrive

__all__ = ["seek_chart", "zone_chart"]

#: Points of a table that a picture marks: more of them would hide the curve.
MARKS = 60


def seek_chart(drive: "DiskDrive") -> "altair.TopLevelMixin":
    """Draw seek time against distance for reads and writes, with the distances that the parameters give marked.

    Parameters
    ----------
    drive
        The drive.
    """
    alt = altair_library()
    rows = rows_of(drive.seek_curve())
    marked = [row for row in rows if row["in_table"]]
    # Of many points every so many is marked, the first and the last among them.
    stride = -(-len(marked) // MARKS) or 1
    kept = {id(row) for row in [*marked[::stride], *marked[-1:]]}
    for row in rows:
        row["in_table"] = id(row) in kept
    ops = ["read", "write"]
    colour = alt.Color(
        "op:N",
        title="Request",
        scale=alt.Scale(domain=ops, range=list(COLOURS[:2])),
        legend=alt.Legend(orient="bottom", direction="horizontal", symbolOpacity=1),
    )
    base = alt.Chart(values(rows)).encode(
        x=alt.X("distance_cylinders:Q", title="Distance (cylinders)", scale=alt.Scale(nice=False)),
        y=alt.Y("seek_ms:Q", title="Seek time (ms)"),
        color=colour,
        tooltip=[
            alt.Tooltip("op:N", title="request"),
            alt.Tooltip("distance_cylinders:Q", title="distance (cylinders)", format=","),
            alt.Tooltip("seek_ms:Q", title="seek (ms)", format=".3f"),
        ],
    )
    line = base.mark_line(strokeWidth=2)
    points = base.transform_filter("datum.in_table").mark_point(size=22, filled=True, opacity=0.9)
    said = f"{drive.parameters['seek']['curve']} curve; mean {drive.mean_seek_ms:.3g} ms over all pairs of cylinders"
    if marked:
        said += "; dots: given by the parameters" + ("" if stride == 1 else f", every {stride}th")
    chart = (line + points).properties(width=WIDTH, height=HEIGHT)
    return styled(chart, f"Seek time of {drive.name} against distance", said)


def zone_chart(drive: "DiskDrive") -> "altair.TopLevelMixin":
    """Draw the zones: sectors of a track over the cylinders, and the media rate over the LBNs.

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
        "from_gb:Q", title="Place in the LBN space (GB)", scale=alt.Scale(domain=[0, rows[-1]["to_gb"]], nice=False)
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
    said = (
        f"{len(rows)} zones, {drive.surfaces} surfaces, {drive.parameters['rotation_rpm']:,g} rpm, "
        f"{drive.capacity_bytes / 1e9:.3g} GB; streaming over all {drive.streaming_bandwidth_mb_s:.3g} MB/s"
    )
    return styled(chart, f"Zones of {drive.name}", said)
