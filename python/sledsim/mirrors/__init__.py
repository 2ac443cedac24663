"""Mirrors: the contract of custom policies for reads."""

from sledsim.scenario.compiled_policies import compiled, include_folder
from sledsim.scenario.policies import Copies, CopyChoice, Request

__all__ = ["Copies", "CopyChoice", "Request", "compiled", "include_folder"]
