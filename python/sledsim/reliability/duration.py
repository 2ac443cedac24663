"""Lengths of time as people write them: a number and its unit."""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from sledsim._core import quantity
from sledsim.reliability.table import ReliabilityError
from sledsim.show.arguments import require_number, require_several
from sledsim.show.faults import brief, make_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    #: Several times. A text is itself a sequence of texts, so those of texts are named.
    Times = Sequence[float] | Sequence["Duration"] | list[str] | tuple[str, ...] | NDArray[np.float64]

__all__ = ["LONGEST_H", "YEAR_H", "Duration", "NoDurationError", "Time", "hours"]

#: Hours in a year of 365 days, as hong2006 counts.
YEAR_H = 8760.0
#: The longest time, h, that is computed with: whatever else it is multiplied with stays a number.
LONGEST_H = 1e100

_EXAMPLE = 'write a number and a unit, such as "200000 h", "15 min" or "3 years"'


class NoDurationError(ReliabilityError, ValueError):
    """A value is no duration; also a ``ValueError``, as for other values of descriptions."""


@dataclass(frozen=True)
class Duration:
    """A length of time above zero, written with its unit.

    Parameters
    ----------
    text
        A number and a unit of time, as in a scenario: s, min, h, day, week, month (a twelfth of a year),
        year (8,760 h), or their long or plural forms.

    Attributes
    ----------
    h : float
        The same in hours, above zero and finite.

    Raises
    ------
    ReliabilityError
        Where that is not a length of time; it is a ``ValueError``, too.

    Examples
    --------
    >>> Duration("15 min").h
    0.25
    >>> Duration("3 years").h
    26280.0
    """

    text: str = field(compare=False)
    h: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", _hours(self.text))

    @classmethod
    def read(cls, value: object) -> Self:
        """Read a duration from what a description or a program gives.

        Parameters
        ----------
        value
            A text, a :class:`datetime.timedelta` or a duration. A number is refused: its unit is missing.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, timedelta):
            return cls(f"{value.total_seconds()!r} s")
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            shown, _ = brief(value)
            raise _none(f'{shown} has no unit; {_EXAMPLE} (perhaps "{shown} h")')
        raise _none(f"{type(value).__name__} {brief(value)[0]} is not a length of time; {_EXAMPLE}")

    @property
    def years(self) -> float:
        """The same in years of 8,760 h."""
        return self.h / YEAR_H

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.read,
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "x-unit": "h", "exclusiveMinimum": 0, "examples": ["15 min"]}

    def to_dict(self) -> str:
        """Return what stands for it in a document: its text."""
        return self.text

    def __str__(self) -> str:
        return self.text


def _none(says: str) -> NoDurationError:
    return make_error(NoDurationError, "wrong-type", says)


def _hours(text: str) -> float:
    try:
        value = quantity(text, "h")
    except ValueError as error:
        raise _none(f"{text!r} is not a length of time: {error}; {_EXAMPLE}") from None
    if not (value > 0 and math.isfinite(value)):
        raise _none(f"{text!r} is not a length of time above zero")
    return value


#: A time: a text with its unit, or a number of hours.
Time = str | float | Duration


def hours(times: "Time | Times") -> "NDArray[np.float64]":
    """Return times in hours: an array without dimensions for a single time.

    Parameters
    ----------
    times
        A time or several: texts such as ``"3 years"``, or hours from 0 up.

    Raises
    ------
    ReliabilityError
        Where one is no time.
    """
    import numpy as np

    if isinstance(times, str | int | float | Duration):
        return np.array(_hours_from_zero(times))
    several = require_several(ReliabilityError, "time", times, 'times, such as "3 years" or hours from 0 up')
    return np.array([_hours_from_zero(time) for time in several], dtype=np.float64)


def _hours_from_zero(time: object) -> float:
    try:
        given = Duration(time).h if isinstance(time, str) else time.h if isinstance(time, Duration) else time
    except NoDurationError as error:
        raise make_error(ReliabilityError, "wrong-type", f"time: {error}", path="time", value=time) from None
    return require_number(ReliabilityError, "time", given, most=LONGEST_H, unit="hours")
