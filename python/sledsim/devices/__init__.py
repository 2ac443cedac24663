"""Devices by themselves, without a workload: the catalogue, and geometry, motion and service times."""

from sledsim.devices.break_even import BreakEven
from sledsim.devices.custom import CustomDevice
from sledsim.devices.device import Device, WrongMechanismError
from sledsim.devices.disk import DiskDrive, Place
from sledsim.devices.entries import CatalogValue, DeviceEntry, catalog, catalog_tables, device_entry
from sledsim.devices.mems import MemsStorage
from sledsim.devices.simple import SimpleDevice
from sledsim.scenario.compiled_policies import compiled_alone as compiled
from sledsim.scenario.compiled_policies import include_folder
from sledsim.scenario.policies import Mechanism

__all__ = [
    "BreakEven",
    "CatalogValue",
    "CustomDevice",
    "Device",
    "DeviceEntry",
    "DiskDrive",
    "Mechanism",
    "MemsStorage",
    "Place",
    "SimpleDevice",
    "WrongMechanismError",
    "catalog",
    "catalog_tables",
    "compiled",
    "device_entry",
    "include_folder",
]
