"""Public names of ``sledsim.mirrors``, each loaded on first use."""

from sledsim.scenario.compiled_policies import compiled as compiled
from sledsim.scenario.compiled_policies import include_folder as include_folder
from sledsim.scenario.policies import Copies as Copies
from sledsim.scenario.policies import CopyChoice as CopyChoice
from sledsim.scenario.policies import Request as Request

__all__: list[str]
