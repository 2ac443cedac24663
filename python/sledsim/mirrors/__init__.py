"""Mirrors: the contract of a choice of a mirror's copy of one's own."""

from sledsim.scenario.compiled_policies import compiled, include_folder
from sledsim.scenario.policies import Copies, CopyChoice, Request

__all__ = ["Copies", "CopyChoice", "Request", "compiled", "include_folder"]
