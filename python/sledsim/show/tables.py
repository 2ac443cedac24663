"""Tables as plain text and as HTML."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from sledsim.show.fitting import Line, lay_out, terminal_width

__all__ = ["Table", "duration", "number", "with_default"]

# Range of the powers of ten of numbers written without an exponent.
SMALL_EXPONENT, LARGE_EXPONENT = 4, 12


def with_default(name: str, schema: Mapping[str, Any]) -> str:
    """Write a parameter with its default, if it has one.

    Parameters
    ----------
    name
        The parameter.
    schema
        Its JSON Schema.
    """
    if "default" not in schema:
        return name
    default = schema["default"]
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    return f"{name} = {f'{default:g}' if is_number else json.dumps(default)}"


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with a number of significant digits; ``None`` as a dash.

    Parameters
    ----------
    value
        The number; ``None`` if the quantity is undefined.
    digits
        Significant digits of a float.
    """
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = int(f"{rounded:e}".rpartition("e")[2])
    if not -SMALL_EXPONENT <= exponent < LARGE_EXPONENT:
        return f"{value:.{digits}g}"
    return f"{rounded:,.{max(0, digits - 1 - exponent)}f}"


def duration(seconds: float | None) -> str:
    """Write a time in a suitable unit, or "never" for none.

    Parameters
    ----------
    seconds
        The time; ``None`` for never.
    """
    if seconds is None:
        return "never"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or not seconds:
            # From 1,000 s on with thousands separators, such as 10,000 s rather than 1e+04 s.
            return f"{number(seconds) if seconds >= 1e3 else format(seconds / size, '.4g')} {unit}"
    return f"{seconds:.4g} s"


@dataclass(frozen=True)
class Table:
    """Rows of text under headers; the first column is flush left, the others flush right.

    Parameters
    ----------
    headers
        The headers, with units.
    rows
        Cells of each row; leading spaces in the first cell indent it.
    title
        A line above the table.
    left
        Further columns that are flush left.
    names
        Number of leading columns that identify a row.
    notes
        Sentences below the table.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str | None = None
    left: frozenset[int] = field(default_factory=frozenset)
    names: int = 1
    notes: Sequence[str] = ()

    def is_left(self, column: int) -> bool:
        """Return true if a column is flush left."""
        return column == 0 or column in self.left

    def lines(self, width: int | None = None) -> list[Line]:
        """Lay the table out in lines; cells are never truncated.

        Parameters
        ----------
        width
            Maximum length of a line; unlimited if not given.
        """
        return lay_out(self, width)

    def __str__(self) -> str:
        # On a terminal, or with COLUMNS, the table fits the width; otherwise it has its natural width.
        return "\n".join(line.text for line in self.lines(terminal_width(sys.stdout)))

    def _repr_html_(self) -> str:
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        head = "".join(self._cell("th", i, text) for i, text in enumerate(self.headers))
        body = "".join(
            "<tr>" + "".join(self._cell("td", i, text) for i, text in enumerate(row)) + "</tr>" for row in self.rows
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"

    def _cell(self, tag: str, column: int, text: str) -> str:
        align = "left" if self.is_left(column) else "right"
        indent = f"padding-left:{0.5 + 0.6 * (len(text) - len(text.lstrip()))}em;" if column == 0 else ""
        return f'<{tag} style="text-align:{align};{indent}">{escape(text.strip())}</{tag}>'
