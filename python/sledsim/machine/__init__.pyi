"""Public names of ``sledsim.machine``, each loaded on first use."""

from sledsim.machine.assembled import folder as folder
from sledsim.machine.assembled import is_there as is_there
from sledsim.machine.assembled import packages as packages
from sledsim.machine.description import Guest as Guest
from sledsim.machine.result import MachineRun as MachineRun
from sledsim.machine.result import MachineRuns as MachineRuns
from sledsim.machine.running import run as run
from sledsim.machine.running import run_each as run_each

__all__: list[str]
