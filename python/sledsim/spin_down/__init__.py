"""Spin-down: the contract of custom spin-down policies."""

from sledsim.scenario.compiled_policies import compiled_alone as compiled
from sledsim.scenario.compiled_policies import include_folder
from sledsim.scenario.policies import Modes, Request, SpinDown

__all__ = ["Modes", "Request", "SpinDown", "compiled", "include_folder"]
