"""Miss-ratio curves."""

from pathlib import Path
from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.style import COLOURS, HEIGHT, WIDTH, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair

    from sledsim.studies.hit_ratios.ratios import HitRatios

__all__ = ["miss_ratio_curves"]

#: Sizes that spread over at least this factor stand on a logarithmic axis.
LOG_SPREAD = 10


def miss_ratio_curves(found: "HitRatios") -> "altair.TopLevelMixin":
    """Draw the share of references that are missed against the size of the cache, a curve for each policy.

    Parameters
    ----------
    found
        What caches did with a trace.
    """
    if not found.references:
        says = "there is nothing to draw: no request of the trace touches a page"
        raise make_error(SledsimError, "missing", says)
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
    # As many colours as there are, then other dashes.
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
