"""Devices by themselves, without a workload: geometry, motion and service times of each mechanism."""

from sledsim.mechanisms.device import Device
from sledsim.mechanisms.disk import DiskDrive
from sledsim.mechanisms.mems import MemsStorage
from sledsim.mechanisms.simple import SimpleDevice

__all__ = ["Device", "DiskDrive", "MemsStorage", "SimpleDevice"]
