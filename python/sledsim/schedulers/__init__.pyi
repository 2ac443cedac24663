"""Public names of ``sledsim.schedulers``, each loaded on first use."""

from sledsim._guarding import end_when_stuck as end_when_stuck
from sledsim.scenario.catalog import PolicyEntry as PolicyEntry
from sledsim.scenario.compiled_policies import compiled as compiled
from sledsim.scenario.compiled_policies import include_folder as include_folder
from sledsim.scenario.policies import Pending as Pending
from sledsim.scenario.policies import Policy as Policy
from sledsim.scenario.policies import Request as Request
from sledsim.schedulers.entries import catalog as catalog

__all__: list[str]
