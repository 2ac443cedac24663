"""Caches: the contract of custom replacement policies."""

from sledsim.scenario.compiled_policies import compiled_replacement as compiled
from sledsim.scenario.compiled_policies import include_folder
from sledsim.scenario.policies import Replacement

__all__ = ["Replacement", "compiled", "include_folder"]
