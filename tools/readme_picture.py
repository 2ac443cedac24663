"""Draw the picture at the top of the README: a labelled sled over its tips, and response time against load.

python tools/readme_picture.py docs/images/overview.svg
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import altair as alt

import sledsim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUESTS = 20_000
WIDTH, HEIGHT = 330, 250
INK, SLED, TIP, ACCENT = "#334155", "#93c5fd", "#475569", "#b45309"


def sled() -> alt.LayerChart | alt.FacetChart:
    """Return a sled that has moved away from the middle, above the grid of its fixed tips."""
    scale = {"x": alt.Scale(domain=[0, 13.2]), "y": alt.Scale(domain=[0, 10])}

    def x(name: str) -> alt.X:
        return alt.X(name, scale=scale["x"], axis=None)

    def y(name: str) -> alt.Y:
        return alt.Y(name, scale=scale["y"], axis=None)

    def layer(rows: Sequence[Mapping[str, object]]) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=rows))

    frame = (
        layer([{"x": 0.2, "x2": 13.0, "y": 0.9, "y2": 9.3}])
        .mark_rect(fill="#f8fafc", stroke=INK, strokeWidth=2, cornerRadius=6)
        .encode(x("x:Q"), y("y:Q"), x2="x2:Q", y2="y2:Q")
    )
    left, right, bottom, top = 3.1, 10.9, 2.6, 8.0
    body = (
        layer([{"x": left, "x2": right, "y": bottom, "y2": top}])
        .mark_rect(fill=SLED, opacity=0.75, stroke="#1d4ed8", strokeWidth=1.5, cornerRadius=4)
        .encode(x("x:Q"), y("y:Q"), x2="x2:Q", y2="y2:Q")
    )
    grid = [{"x": 3.6 + 0.97 * i, "y": 3.1 + 0.85 * j} for i in range(8) for j in range(6)]
    tips = (
        layer(grid)
        .mark_point(shape="triangle-up", size=34, filled=True, color=TIP, opacity=1)
        .encode(x("x:Q"), y("y:Q"))
    )
    springs = [
        {"spring": name, "k": k, "x": x0 + (x1 - x0) * k / 12, "y": 5.3 + (0.28 if k % 2 else -0.28) * (0 < k < 12)}
        for name, x0, x1 in (("left", 0.25, left), ("right", right, 12.95))
        for k in range(13)
    ]
    coils = (
        layer(springs).mark_line(color=INK, strokeWidth=1.5).encode(x("x:Q"), y("y:Q"), detail="spring:N", order="k:Q")
    )
    arrows = (
        layer([{"x": 5.4, "x2": 8.6, "y": 8.55, "y2": 8.55}, {"x": 11.6, "x2": 11.6, "y": 6.2, "y2": 8.0}])
        .mark_rule(color=ACCENT, strokeWidth=2)
        .encode(x("x:Q"), y("y:Q"), x2="x2:Q", y2="y2:Q")
    )
    heads = (
        layer(
            [
                {"x": 8.6, "y": 8.55, "angle": 90},
                {"x": 5.4, "y": 8.55, "angle": 270},
                {"x": 11.6, "y": 8.0, "angle": 0},
                {"x": 11.6, "y": 6.2, "angle": 180},
            ]
        )
        .mark_point(shape="triangle", filled=True, size=60, color=ACCENT, opacity=1)
        .encode(x("x:Q"), y("y:Q"), angle=alt.Angle("angle:Q", scale=None))
    )
    words = (
        layer(
            [
                {"x": 7.0, "y": 9.0, "text": "x: seek to a cylinder"},
                {"x": 11.75, "y": 8.45, "text": "y: read"},
                {"x": 7.0, "y": 2.05, "text": "media sled"},
                {"x": 1.65, "y": 4.4, "text": "spring"},
                {"x": 7.0, "y": 0.35, "text": "▲ read/write tips: fixed, many at work at once"},
            ]
        )
        .mark_text(fontSize=12, color=INK)
        .encode(x("x:Q"), y("y:Q"), text="text:N")
    )
    return alt.layer(frame, coils, body, tips, arrows, heads, words).properties(
        width=WIDTH, height=HEIGHT, title="A MEMS storage device, from above"
    )


def responses() -> alt.LayerChart | alt.FacetChart:
    """Return mean response time against load for a MEMS device and a disk, by scheduler."""
    rows = []
    for device, rates in (("g2", [100, *range(200, 2200, 200)]), ("atlas10k", range(20, 220, 20))):
        for scheduler in ("fcfs", "sptf"):
            for rate in rates:
                scenario = {
                    "workload": {"arrival": {"kind": "poisson", "rate_per_s": rate}},
                    "system": {"device": device, "scheduler": scheduler},
                    "run": {"requests": REQUESTS, "warmup_requests": REQUESTS // 10},
                }
                mean = sledsim.run(scenario)["response"]["mean_ms"]
                label = f"{'MEMS (g2)' if device == 'g2' else 'disk (Atlas 10K)'}, {scheduler.upper()}"
                if mean < 100:
                    rows.append({"rate": rate, "ms": mean, "line": label})
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point={"size": 18})
        .encode(
            alt.X(
                "rate:Q",
                title="requests per second",
                scale=alt.Scale(type="log", domain=[20, 2200], nice=False),
                axis=alt.Axis(values=[20, 50, 100, 200, 500, 1000, 2000], grid=False),
            ),
            alt.Y(
                "ms:Q",
                title="mean response time (ms)",
                scale=alt.Scale(type="log", domain=[0.6, 100], nice=False),
                axis=alt.Axis(values=[1, 2, 5, 10, 20, 50, 100]),
            ),
            alt.Color(
                "line:N", title=None, scale=alt.Scale(range=["#1d4ed8", "#0891b2", "#b45309", "#ca8a04"]), legend=None
            ),
        )
    )
    names = (
        alt.Chart(
            alt.InlineData(
                values=[
                    {"rate": 52, "ms": 75, "text": "disk, FCFS", "line": "disk (Atlas 10K), FCFS"},
                    {"rate": 310, "ms": 75, "text": "disk, SPTF", "line": "disk (Atlas 10K), SPTF"},
                    {"rate": 600, "ms": 4.2, "text": "MEMS, FCFS", "line": "MEMS (g2), FCFS"},
                    {"rate": 950, "ms": 40, "text": "MEMS, SPTF", "line": "MEMS (g2), SPTF"},
                ]
            )
        )
        .mark_text(fontSize=12, fontWeight="bold")
        .encode(x="rate:Q", y="ms:Q", text="text:N", color="line:N")
    )
    return alt.layer(chart, names).properties(
        width=WIDTH, height=HEIGHT, title="MEMS device (g2) and disk (Atlas 10K), 4 KB"
    )


def main() -> None:
    """Write the picture to the named file."""
    picture = alt.hconcat(sled(), responses(), spacing=30).configure(background="white").configure_view(stroke=None)
    picture = picture.configure_title(fontSize=13, color=INK, anchor="middle").configure_axis(
        labelColor=INK, titleColor=INK
    )
    picture.save(sys.argv[1])


if __name__ == "__main__":
    main()
