"""How often a trace would hit caches of several sizes and replacement policies."""

from sledsim.studies.hit_ratio.ratios import (
    CacheHits,
    HitRatios,
    PolicyLike,
    cache_policies,
    cache_policies_table,
    hit_ratio,
)

__all__ = [
    "CacheHits",
    "HitRatios",
    "PolicyLike",
    "cache_policies",
    "cache_policies_table",
    "hit_ratio",
]
