"""Public names of ``sledsim.spin_down``, each loaded on first use."""

from sledsim.scenario.compiled_policies import compiled as compiled
from sledsim.scenario.compiled_policies import include_folder as include_folder
from sledsim.scenario.policies import Modes as Modes
from sledsim.scenario.policies import Request as Request
from sledsim.scenario.policies import SpinDown as SpinDown

__all__: list[str]
