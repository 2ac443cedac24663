"""Public names of ``sledsim.studies.calibration``, each loaded on first use."""

from sledsim.studies.calibration.fitted_disk import FittedDisk as FittedDisk
from sledsim.studies.calibration.fitted_disk import matched_disk as matched_disk
from sledsim.studies.calibration.fitted_disk import mean_access_ms as mean_access_ms

__all__: list[str]
