"""Models of drives beside what was measured on the drives."""

from sledsim.studies.validation.drive import Agreement, DriveValidation, demerit_ms, validate_drive

__all__ = [
    "Agreement",
    "DriveValidation",
    "demerit_ms",
    "validate_drive",
]
