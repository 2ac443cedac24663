"""Tables of a description: what they have in common."""

from typing import Annotated, ClassVar

from pydantic import Field

from sledsim._core import SledsimError
from sledsim.scenario import tables

__all__ = ["MAX_DEVICES", "Count", "CountFromOne", "ReliabilityError", "Share", "Switch", "Table"]

#: Most devices of each kind in an enclosure: far more than anybody builds, and few enough to count exactly.
MAX_DEVICES = 100_000

Count = Annotated[int, Field(strict=True, ge=0, le=MAX_DEVICES)]
CountFromOne = Annotated[int, Field(strict=True, ge=1, le=MAX_DEVICES)]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]
Switch = Annotated[bool, Field(strict=True)]


class ReliabilityError(SledsimError):
    """A description of an enclosure is wrong, or asks for what the model cannot say."""


class Table(tables.Table):
    """A table of a description."""

    error: ClassVar[type[SledsimError]] = ReliabilityError
