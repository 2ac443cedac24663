"""Charts of seek times of MEMS storage: by distance, and over the X-Y plane."""

from typing import TYPE_CHECKING

import numpy as np

from sledsim.show.style import COLOURS, HEIGHT, WIDTH, altair_library, apply_style, rows_of, values

if TYPE_CHECKING:
    import altair

    from sledsim.devices.mems import MemsStorage

__all__ = ["curve_chart", "surface_chart"]


def curve_chart(device: "MemsStorage") -> "altair.TopLevelMixin":
    """Draw seek time against distance: a line for the mean, and a band for the range over starting positions.

    Parameters
    ----------
    device
        The device.
    """
    alt = altair_library()
    rows = rows_of(device.seek_curve())
    names = {"X": "X, settling included", "Y": "Y, turnarounds included"}
    for row in rows:
        row["motion"] = names[row.pop("axis")]
    colour = alt.Color(
        "motion:N",
        title="Motion along",
        scale=alt.Scale(domain=list(names.values()), range=list(COLOURS[:2])),
        legend=alt.Legend(orient="bottom", direction="horizontal", symbolOpacity=1),
    )
    base = alt.Chart(values(rows)).encode(x=alt.X("distance_um:Q", title="Distance (µm)"), color=colour)
    band = base.mark_area(opacity=0.18).encode(y=alt.Y("min_ms:Q", title="Seek time (ms)"), y2="max_ms:Q")
    line = base.mark_line(strokeWidth=2).encode(
        y="mean_ms:Q",
        tooltip=[
            alt.Tooltip("motion:N", title="along"),
            alt.Tooltip("distance_um:Q", title="distance (µm)", format=".1f"),
            alt.Tooltip("min_ms:Q", title="least (ms)", format=".3f"),
            alt.Tooltip("mean_ms:Q", title="mean (ms)", format=".3f"),
            alt.Tooltip("max_ms:Q", title="longest (ms)", format=".3f"),
        ],
    )
    chart = (band + line).properties(width=WIDTH, height=HEIGHT)
    model = device.parameters["seek_model"]
    return apply_style(
        chart,
        f"Seek time of {device.label} against distance",
        f"{model} model; line: mean over starting positions; band: shortest to longest",
    )


def surface_chart(device: "MemsStorage") -> "altair.TopLevelMixin":
    """Draw seek time from rest at the centre over the X-Y plane (as in Schlosser and Ganger 2004, Figure 2).

    Parameters
    ----------
    device
        The device.
    """
    alt = altair_library()
    columns = device.seek_surface()
    rows = rows_of({name: column for name, column in columns.items() if name != "seek_ms"}, digits=4)
    step_x, step_y = (float(np.diff(np.unique(columns[name]))[0]) for name in ("x_um", "y_um"))
    half_x, half_y = device.parameters["x_range_um"] / 2, device.parameters["y_range_um"] / 2
    chart = (
        alt.Chart(values(rows))
        .transform_calculate(
            left=f"datum.x_um - {step_x / 2}",
            right=f"datum.x_um + {step_x / 2}",
            bottom=f"datum.y_um - {step_y / 2}",
            top=f"datum.y_um + {step_y / 2}",
            seek_ms="max(datum.seek_x_ms, datum.seek_y_ms)",
        )
        .mark_rect(clip=True)
        .encode(
            x=alt.X("left:Q", title="X from the centre (µm)", scale=alt.Scale(domain=[-half_x, half_x], nice=False)),
            x2="right:Q",
            y=alt.Y("bottom:Q", title="Y from the centre (µm)", scale=alt.Scale(domain=[-half_y, half_y], nice=False)),
            y2="top:Q",
            color=alt.Color(
                "seek_ms:Q",
                title="Seek time (ms)",
                scale=alt.Scale(scheme="viridis", zero=False),
                legend=alt.Legend(gradientLength=300),
            ),
            tooltip=[
                alt.Tooltip("x_um:Q", title="X (µm)", format=".1f"),
                alt.Tooltip("y_um:Q", title="Y (µm)", format=".1f"),
                alt.Tooltip("seek_ms:Q", title="seek (ms)", format=".3f"),
                alt.Tooltip("seek_x_ms:Q", title="along X (ms)", format=".3f"),
                alt.Tooltip("seek_y_ms:Q", title="along Y (ms)", format=".3f"),
            ],
        )
        .properties(width=360, height=360)
    )
    return apply_style(
        chart,
        f"Seek time of {device.label} from the centre",
        f"{device.parameters['seek_model']} model; the longer of X (settling included) and Y",
    )
