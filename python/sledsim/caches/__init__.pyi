"""Public names of ``sledsim.caches``, each loaded on first use."""

from sledsim.caches.entries import ReplacementEntry as ReplacementEntry
from sledsim.caches.entries import catalog as catalog
from sledsim.scenario.compiled_policies import compiled as compiled
from sledsim.scenario.compiled_policies import include_folder as include_folder
from sledsim.scenario.policies import Replacement as Replacement

__all__: list[str]
