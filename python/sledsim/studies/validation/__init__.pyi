"""Public names of ``sledsim.studies.validation``, each loaded on first use."""

from sledsim.studies.validation.drive import Agreement as Agreement
from sledsim.studies.validation.drive import DriveValidation as DriveValidation
from sledsim.studies.validation.drive import demerit_ms as demerit_ms
from sledsim.studies.validation.drive import validate_drive as validate_drive

__all__: list[str]
