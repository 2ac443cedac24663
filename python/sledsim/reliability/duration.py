"""Durations written as a number and a unit."""

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

    #: Several times. ``Sequence[str]`` would accept a single text, so lists and tuples of texts are listed.
    Times = Sequence[float] | Sequence["Duration"] | list[str] | tuple[str, ...] | NDArray[np.float64]

__all__ = ["LONGEST_H", "YEAR_H", "Duration", "NoDurationError", "Time", "hours"]

#: Hours in a year of 365 days, as in hong2006.
YEAR_H = 8760.0
#: The longest accepted time, h: its products with rates stay finite.
LONGEST_H = 1e100

_EXAMPLE = 'write a number and a unit, such as "200000 h", "15 min" or "3 years"'


class NoDurationError(ReliabilityError, ValueError):
    """The error for an invalid duration; also a ``ValueError``, so that Pydantic reports it."""


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
        The duration in hours, above zero and finite.

    Raises
    ------
    ReliabilityError
        If the text is not a duration; the error is also a ``ValueError``.

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
        """Convert a value to a duration.

        Parameters
        ----------
        value
            A text, a :class:`datetime.timedelta` or a duration. A number is rejected, as it has no unit.
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
        """The duration in years of 8,760 h."""
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
        """Return the text that represents the duration in a document."""
        return self.text

    def __str__(self) -> str:
        return self.text


def _none(message: str) -> NoDurationError:
    return make_error(NoDurationError, "wrong-type", message)


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
    """Return times in hours; a single time gives a zero-dimensional array.

    Parameters
    ----------
    times
        A time or several: texts such as ``"3 years"``, or hours from 0 up.

    Raises
    ------
    ReliabilityError
        If a time is invalid.
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
