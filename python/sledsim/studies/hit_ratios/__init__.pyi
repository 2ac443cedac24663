"""Public names of ``sledsim.studies.hit_ratios``, each loaded on first use."""

from sledsim.studies.hit_ratios.ratios import CacheHits as CacheHits
from sledsim.studies.hit_ratios.ratios import HitRatios as HitRatios
from sledsim.studies.hit_ratios.ratios import PolicyLike as PolicyLike
from sledsim.studies.hit_ratios.ratios import hit_ratio as hit_ratio

__all__: list[str]
