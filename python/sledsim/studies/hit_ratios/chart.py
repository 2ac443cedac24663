"""Chart of miss-ratio curves."""

from pathlib import Path
from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.style import COLOURS, HEIGHT, WIDTH, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair

    from sledsim.studies.hit_ratios.ratios import HitRatios

__all__ = ["miss_ratio_curves"]

#: The axis of sizes is logarithmic if the largest size is at least this multiple of the smallest.
LOG_SPREAD = 10


def miss_ratio_curves(found: "HitRatios") -> "altair.TopLevelMixin":
    """Draw the miss ratio against the size of the cache, with a curve for each policy.

    Parameters
    ----------
    found
        The hit ratios of caches.
    """
    if not found.references:
        message = "there is nothing to draw: no request of the trace touches a page"
        raise make_error(SledsimError, "missing", message)
    alt = altair_library()
    page_bytes = found.page_bytes
    labels = list(dict.fromkeys(cache.label for cache in found.caches))
    rows = [
        {
            "policy": cache.label,
            "pages": cache.pages,
            **({} if page_bytes is None else {"megabytes": cache.pages * page_bytes / 1e6}),
            "miss": round(1 - cache.hit_ratio, 6),
        }
        for cache in found.caches
        if cache.hit_ratio is not None
    ]
    sizes = [cache.pages for cache in found.caches]
    spread = max(sizes) / min(sizes) >= LOG_SPREAD
    scale = alt.Scale(type="log", nice=False, padding=8) if spread else alt.Scale(nice=False, zero=False, padding=8)
    # With more policies than colours, the colours repeat with dashed lines.
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(labels))]
    dashes = [[1, 0] if place < len(COLOURS) else [4, 3] for place in range(len(labels))]
    chart = (
        alt.Chart(values(rows))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("pages:Q", title="Size of the cache (pages)", scale=scale, axis=alt.Axis(format="~s")),
            y=alt.Y("miss:Q", title="References missed", axis=alt.Axis(format="~%"), scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("policy:N", title="Policy", sort=labels, scale=alt.Scale(domain=labels, range=colours)),
            strokeDash=alt.StrokeDash(
                "policy:N", title="Policy", sort=labels, scale=alt.Scale(domain=labels, range=dashes)
            ),
            tooltip=[
                alt.Tooltip("policy:N"),
                alt.Tooltip("pages:Q", format=","),
                *([] if page_bytes is None else [alt.Tooltip("megabytes:Q", title="MB", format=".4g")]),
                alt.Tooltip("miss:Q", title="missed", format=".2%"),
            ],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    touched = "objects" if page_bytes is None else f"pages of {page_bytes:,} bytes"
    subtitle = f"{Path(found.trace).name}: {found.references:,} references to {touched}"
    return apply_style(chart, "Miss ratio by size of the cache", subtitle)
