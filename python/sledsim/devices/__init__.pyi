"""Public names of ``sledsim.devices``, each loaded on first use."""

from sledsim.devices.break_even import BreakEven as BreakEven
from sledsim.devices.custom import PluginDevice as PluginDevice
from sledsim.devices.device import Device as Device
from sledsim.devices.device import WrongMechanismError as WrongMechanismError
from sledsim.devices.disk import DiskDrive as DiskDrive
from sledsim.devices.disk import Place as Place
from sledsim.devices.entries import CatalogValue as CatalogValue
from sledsim.devices.entries import DeviceEntry as DeviceEntry
from sledsim.devices.entries import catalog as catalog
from sledsim.devices.entries import device_entry as device_entry
from sledsim.devices.mems import MemsStorage as MemsStorage
from sledsim.devices.simple import SimpleDevice as SimpleDevice
from sledsim.scenario.compiled_policies import compiled as compiled
from sledsim.scenario.compiled_policies import include_folder as include_folder
from sledsim.scenario.drawings.materials import Material as Material
from sledsim.scenario.drawings.materials import materials as materials
from sledsim.scenario.policies import Mechanism as Mechanism

__all__: list[str]
