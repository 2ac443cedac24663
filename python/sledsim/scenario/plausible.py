"""Plausible ranges of values: a value outside is accepted with a note."""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Plausible", "questions"]

#: Factors of common mistakes of units: g/cm³ for kg/m³, ms for µs.
UNIT_FACTORS = (1e3, 1e-3, 1e6, 1e-6)


class Plausible(NamedTuple):
    """The values that a quantity has in devices that were built or published.

    Parameters
    ----------
    low, high
        The range.
    unit
        Unit of the range.
    reason
        Source of the range.
    """

    low: float
    high: float
    unit: str
    reason: str


def questions(
    values: Mapping[str, Any], ranges: Mapping[str, Plausible], *, prefix: str = "", suggest: bool = True
) -> list[str]:
    """Return a note for each value outside its plausible range; zero is accepted, because it switches a quantity off.

    Parameters
    ----------
    values
        Values by key. Those without a range are ignored.
    ranges
        Plausible ranges by key.
    prefix
        Precedes the key in a note.
    suggest
        True to suggest a value if a common mistake of units explains the given one.
    """
    found: dict[tuple[Any, ...], list[str]] = {}
    for key, plausible in ranges.items():
        value = values.get(key)
        if not isinstance(value, int | float) or not value or plausible.low <= value <= plausible.high:
            continue
        meant = (value * factor for factor in UNIT_FACTORS if plausible.low <= value * factor <= plausible.high)
        likely = next(meant, None) if suggest else None
        found.setdefault((value, plausible, likely), []).append(f"{prefix}{key}")
    return [f"note: {' and '.join(keys)} {_question(*asked)}" for asked, keys in found.items()]


def _question(value: float, plausible: Plausible, likely: float | None) -> str:
    unit = f" {plausible.unit}" if plausible.unit else ""
    bounds = f"{_written(plausible.low)}–{_written(plausible.high)}{unit} ({plausible.reason})"
    asked = f"; did you mean {likely:.6g}?" if likely is not None else ""
    return f"{_written(value)}{unit} is outside {bounds}{asked}"


def _written(value: float) -> str:
    """Write a number with four digits, a large one with separators."""
    return f"{float(f'{value:.4g}'):,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
