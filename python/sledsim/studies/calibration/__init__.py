"""Devices fitted to others."""

from sledsim.studies.calibration.fitted_disk import FittedDisk, matched_disk, mean_access_ms

__all__ = [
    "FittedDisk",
    "matched_disk",
    "mean_access_ms",
]
