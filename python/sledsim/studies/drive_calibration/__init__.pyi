"""Public names of ``sledsim.studies.drive_calibration``, each loaded on first use."""

from sledsim.studies.drive_calibration.calibration import DriveCalibration as DriveCalibration
from sledsim.studies.drive_calibration.calibration import Residual as Residual
from sledsim.studies.drive_calibration.calibration import calibrate_drive as calibrate_drive
from sledsim.studies.drive_calibration.fitting import Parameter as Parameter
from sledsim.studies.drive_calibration.jobs import JobFiles as JobFiles
from sledsim.studies.drive_calibration.jobs import write_jobs as write_jobs
from sledsim.studies.drive_calibration.refinement import refine_drive as refine_drive

__all__: list[str]
