"""Caches that cost the same: MEMS against NVRAM."""

from sledsim.studies.cost.cached_disk import GB, CachedDisk, CacheDesign, mean_response
from sledsim.studies.cost.performance import RATIOS, CostPerformance, cost_performance

__all__ = [
    "GB",
    "RATIOS",
    "CacheDesign",
    "CachedDisk",
    "CostPerformance",
    "cost_performance",
    "mean_response",
]
