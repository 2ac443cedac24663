"""Schedulers: the built-in policies, and the contract of custom ones."""

from sledsim._guarding import end_when_stuck
from sledsim.scenario.compiled_policies import compiled, include_folder
from sledsim.scenario.policies import Pending, Policy, Request
from sledsim.schedulers.entries import catalog, schedulers_table

__all__ = [
    "Pending",
    "Policy",
    "Request",
    "catalog",
    "compiled",
    "end_when_stuck",
    "include_folder",
    "schedulers_table",
]
