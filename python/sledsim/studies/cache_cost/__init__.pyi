"""Public names of ``sledsim.studies.cache_cost``, each loaded on first use."""

from sledsim.studies.cache_cost.cached_disk import GB as GB
from sledsim.studies.cache_cost.cached_disk import CachedDisk as CachedDisk
from sledsim.studies.cache_cost.cached_disk import CacheDesign as CacheDesign
from sledsim.studies.cache_cost.cached_disk import mean_response as mean_response
from sledsim.studies.cache_cost.comparison import CostComparison as CostComparison
from sledsim.studies.cache_cost.comparison import cost as cost
from sledsim.studies.cache_cost.plan import RATIOS as RATIOS
from sledsim.studies.cache_cost.plan import CostStudy as CostStudy

__all__: list[str]
