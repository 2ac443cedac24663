"""Caches that cost the same: MEMS against NVRAM."""

from sledsim.studies.cost.cached_disk import GB, CachedDisk, CacheDesign, mean_response
from sledsim.studies.cost.performance import RATIOS, CostFile, CostPerformance, cost_file, cost_performance

__all__ = [
    "GB",
    "RATIOS",
    "CacheDesign",
    "CachedDisk",
    "CostFile",
    "CostPerformance",
    "cost_file",
    "cost_performance",
    "mean_response",
]
