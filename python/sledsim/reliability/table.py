"""Base class and value types of the tables of a description."""

from typing import Annotated, ClassVar

from pydantic import Field

from sledsim._core import SledsimError
from sledsim.scenario import tables

__all__ = ["MAX_DEVICES", "Count", "CountFromOne", "ReliabilityError", "Share", "Switch", "Table"]

#: Maximum number of devices of each kind in an enclosure; all computations with it stay exact.
MAX_DEVICES = 100_000

Count = Annotated[int, Field(strict=True, ge=0, le=MAX_DEVICES)]
CountFromOne = Annotated[int, Field(strict=True, ge=1, le=MAX_DEVICES)]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]
Switch = Annotated[bool, Field(strict=True)]


class ReliabilityError(SledsimError):
    """The error for an invalid description of an enclosure, or one that a model does not support."""


class Table(tables.Table):
    """A table of a description."""

    error: ClassVar[type[SledsimError]] = ReliabilityError
