"""The tables of a scenario as typed classes: seek.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.model import Model

__all__ = [
    "ConstantSeekCurve",
    "HplSeekCurve",
    "LeeSeekCurve",
    "LinearSeekCurve",
    "SeekCurve",
    "TableSeekCurve",
    "ThreePointSeekCurve",
]


class TableSeekCurve(Model):
    """Measured times, interpolated linearly between them.

    Attributes
    ----------
    points
        Pairs of a distance in cylinders and its time, ms; distances rise (ms).
    """

    curve: Literal["table"] = "table"
    points: list[tuple[float | str, float | str]]


class HplSeekCurve(Model):
    """Up to `short_below` cylinders `a + b * sqrt(d)`, from there `c + e * d` (Ruemmler and Wilkes 1994).

    The first distances may have measured times of their own.

    Attributes
    ----------
    short_below
        First distance of the straight part, cylinders (at least 0, at most 1e+09).
    short_constant_ms
        Constant of the short part, ms (ms; at least -10,000, at most 10,000).
    short_sqrt_ms
        Factor of the square root of the distance, ms (ms; at least -10,000, at most 10,000).
    long_constant_ms
        Constant of the long part, ms (ms; at least -10,000, at most 10,000).
    long_linear_ms
        Factor of the distance, ms (ms; at least -10,000, at most 10,000).
    first_ms
        Measured times of the distances 1, 2, and so on, ms; they come before the formula (ms; default []).
    """

    curve: Literal["hpl"] = "hpl"
    short_below: float | str
    short_constant_ms: float | str
    short_sqrt_ms: float | str
    long_constant_ms: float | str
    long_linear_ms: float | str
    first_ms: list[float | str] | None = None


class LeeSeekCurve(Model):
    """`a + b * sqrt(d - 1) + c * (d - 1)` through a single-cylinder, an average and a full-stroke time (Lee 1993).

    Where `b` or `c` would be negative, as `three-point`.

    Attributes
    ----------
    single_ms
        Time of one cylinder (ms; at least 0, at most 10,000).
    average_ms
        Time of a third of the stroke (ms; at least 0, at most 10,000).
    full_ms
        Time of the full stroke (ms; at least 0, at most 10,000).
    """

    curve: Literal["lee"] = "lee"
    single_ms: float | str
    average_ms: float | str
    full_ms: float | str


class ThreePointSeekCurve(Model):
    """Through a single-cylinder, an average and a full-stroke time, in two straight lines.

    Up to a third of the stroke and beyond.

    Attributes
    ----------
    single_ms
        Time of one cylinder (ms; at least 0, at most 10,000).
    average_ms
        Time of a third of the stroke (ms; at least 0, at most 10,000).
    full_ms
        Time of the full stroke (ms; at least 0, at most 10,000).
    """

    curve: Literal["three-point"] = "three-point"
    single_ms: float | str
    average_ms: float | str
    full_ms: float | str


class LinearSeekCurve(Model):
    """A straight line from a single cylinder to the full stroke.

    Attributes
    ----------
    single_ms
        Time of one cylinder (ms; at least 0, at most 10,000).
    full_ms
        Time of the full stroke (ms; at least 0, at most 10,000).
    """

    curve: Literal["linear"] = "linear"
    single_ms: float | str
    full_ms: float | str


class ConstantSeekCurve(Model):
    """The same time for every distance above 0.

    Attributes
    ----------
    seek_ms
        The time (ms; at least 0, at most 10,000).
    """

    curve: Literal["constant"] = "constant"
    seek_ms: float | str


# Seek time as a function of the distance in cylinders.
SeekCurve = TableSeekCurve | HplSeekCurve | LeeSeekCurve | ThreePointSeekCurve | LinearSeekCurve | ConstantSeekCurve
