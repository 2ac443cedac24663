"""Linux machines in virtual time whose storage is simulated: what a program takes on them."""

from sledsim.machine.assembled import folder, is_there, packages
from sledsim.machine.description import Guest
from sledsim.machine.result import MachineRun, MachineRuns
from sledsim.machine.running import run, run_each

__all__ = [
    "Guest",
    "MachineRun",
    "MachineRuns",
    "folder",
    "is_there",
    "packages",
    "run",
    "run_each",
]
