"""Caches that cost the same: MEMS against NVRAM."""

from sledsim.studies.cost.cached_disk import GB, CachedDisk, CacheDesign, mean_response
from sledsim.studies.cost.comparison import CostComparison, cost
from sledsim.studies.cost.plan import RATIOS, CostFile, cost_file

__all__ = [
    "GB",
    "RATIOS",
    "CacheDesign",
    "CachedDisk",
    "CostComparison",
    "CostFile",
    "cost",
    "cost_file",
    "mean_response",
]
