"""Public names of ``sledsim``, each loaded on first use."""

from sledsim import caches as caches
from sledsim import devices as devices
from sledsim import explorer as explorer
from sledsim import machine as machine
from sledsim import mirrors as mirrors
from sledsim import reliability as reliability
from sledsim import runs as runs
from sledsim import scenario as scenario
from sledsim import schedulers as schedulers
from sledsim import spin_down as spin_down
from sledsim import sqlite as sqlite
from sledsim import studies as studies
from sledsim import sweep as sweep
from sledsim import traces as traces
from sledsim import workloads as workloads
from sledsim._core import RunError as RunError
from sledsim._core import ScenarioError as ScenarioError
from sledsim._core import SledsimError as SledsimError
from sledsim._core import TraceError as TraceError
from sledsim._core import __version__ as __version__
from sledsim.devices.device import Device as Device
from sledsim.devices.entries import device as device
from sledsim.explorer.notebook import explore as explore
from sledsim.runs.comparison import compare as compare
from sledsim.runs.load_limit import find_limit as find_limit
from sledsim.runs.replaying import replay as replay
from sledsim.runs.result import Result as Result
from sledsim.runs.running import run as run
from sledsim.runs.session import Session as Session
from sledsim.scenario.typed import Scenario as Scenario
from sledsim.studies.power_saving.strategies import power as power
from sledsim.sweep.optimisation import optimise as optimise
from sledsim.traces.trace import Trace as Trace

__all__: list[str]
