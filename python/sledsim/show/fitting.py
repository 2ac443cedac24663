"""Layout of tables in a given width: columns that do not fit are folded, moved below their row, or split into parts."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from sledsim.show.tables import Table

__all__ = ["Line", "lay_out", "terminal_width", "visible", "visible_in_strings", "wrap_text"]

#: Characters that act on a terminal: control and bidirectional control characters; and lone surrogates.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
#: Space between columns.
GAP = "  "
#: Indent of a note below its row.
NOTE_INDENT = "    "
#: Minimum width of a folded column of words.
LEAST_WORDS = 18
#: Minimum width of a folded column that identifies rows.
LEAST_NAME = 24
#: Headers of numeric columns up to this length are not folded.
SHORT_HEAD = 8
#: Cells longer than this are sentences, which may move below their row.
SENTENCE = 32
#: Sentences that need more lines than this in their column move below their row.
MOST_LINES = 3
#: Lines are indented only if at least this number of characters remains.
LEAST_BESIDE_INDENT = 8
#: Minimum width of a table; smaller widths of a terminal are ignored.
LEAST_WIDTH = 20


def terminal_width(stream: TextIO | None) -> int | None:
    """Return the width of an output in characters: ``COLUMNS``, or that of its terminal; ``None`` without both.

    Parameters
    ----------
    stream
        The output; ``None`` if it was closed before the program began.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    if stream is None or not stream.isatty():
        return None
    return os.get_terminal_size(stream.fileno()).columns or None


@dataclass(frozen=True)
class Line:
    """A line of a table, and its kind: ``title``, ``head``, ``rule``, ``row`` or ``note``."""

    kind: str
    text: str


def lay_out(table: "Table", width: int | None) -> list[Line]:
    """Lay a table out.

    Parameters
    ----------
    table
        The table.
    width
        Maximum length of a line; unlimited if not given.
    """
    if width is not None:
        width = max(width, LEAST_WIDTH)
    cells = [[visible(cell).replace("\n", " ") for cell in row] for row in table.rows]
    table = replace(table, rows=cells, headers=[visible(head) for head in table.headers])
    lines = [Line("title", part) for part in wrap_text(table.title, width)] if table.title else []
    if table.headers:
        lines += _columns(table, width)
    return lines + [Line("note", part) for note in table.notes for part in wrap_text(note, width, "  ")]


def visible(text: str) -> str:
    r"""Return a text with control characters as escapes, such as ``\x1b``.

    Parameters
    ----------
    text
        The text; its line breaks and tabs are kept.
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_in_strings(document: str) -> str:
    r"""Return JSON or TOML with control characters as escapes of its strings, such as ``\u001b``.

    Parameters
    ----------
    document
        The document.
    """
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def wrap_text(text: str, width: int | None, hanging: str = "") -> list[str]:
    """Wrap a text between words; only words longer than a line are broken.

    Parameters
    ----------
    text
        The text; leading spaces of a line indent its continuation lines, too.
    width
        Maximum length of a line; unlimited if not given.
    hanging
        Start of continuation lines.
    """
    text = visible(text)
    if width is None:
        return text.split("\n")
    lines = []
    for line in text.split("\n"):
        rest = line.lstrip(" ")
        indent = line[: len(line) - len(rest)]
        if len(indent) + len(hanging) > width - LEAST_BESIDE_INDENT:
            indent = hanging = ""
        if len(line) <= width:
            lines.append(line)
        else:
            more = indent + hanging
            lines += wrap(rest, width, initial_indent=indent, subsequent_indent=more, break_on_hyphens=False)
    return lines or [""]


def _columns(table: "Table", width: int | None) -> list[Line]:
    every = list(range(len(table.headers)))
    natural = [_widest(table, i) for i in every]
    if width is None or _total(natural) <= width:
        return _panel(table, every, natural)
    beside, below = every, list[int]()
    while True:
        sizes = _sizes(table, beside, natural, width)
        sentences = [i for i in beside[1:] if table.is_left(i) and natural[i] > SENTENCE]
        if sizes is not None:
            # In a table of two columns, name and description, the description is folded instead of moved.
            share = dict(zip(beside, sizes, strict=True))
            sentences = [i for i in sentences if natural[i] > MOST_LINES * share[i] and len(beside) > 2]
            if not sentences:
                return _panel(table, beside, sizes, below, width)
        elif not sentences:
            return _split_columns(table, beside, below, natural, width)
        beside = [i for i in beside if i != sentences[-1]]
        below = [sentences[-1], *below]


def _split_columns(
    table: "Table", beside: Sequence[int], below: Sequence[int], natural: Sequence[int], width: int
) -> list[Line]:
    """Split the table into parts with fewer columns, each with the names of the rows; or into single rows."""
    names, others = list(beside[: table.names]), _column_groups(table, beside[table.names :])
    parts, part = [], list[int]()
    for columns in others:
        if _sizes(table, [*names, *part, *columns], natural, width) is None:
            if part:
                parts.append(part)
            part = columns
        else:
            part = [*part, *columns]
    parts.append(part)
    lines = list[Line]()
    for each in parts:
        sizes = _sizes(table, [*names, *each], natural, width)
        if sizes is None:
            return _stack_rows(table, width)
        last = each is parts[-1]
        lines += [Line("row", "")] if lines else []
        lines += _panel(table, [*names, *each], sizes, below if last else (), width)
    return lines


def _column_groups(table: "Table", columns: Sequence[int]) -> list[list[int]]:
    """Group columns that belong together: a column with a repeated header belongs to the column before it."""
    headers = list(table.headers)
    groups = list[list[int]]()
    for column in columns:
        if groups and headers.count(headers[column]) > 1:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def _stack_rows(table: "Table", width: int) -> list[Line]:
    """Return each row as a line with its name, followed by a line for each value."""
    names = table.names
    head = GAP.join(table.headers[:names])
    lines = [Line("head", part) for part in wrap_text(head, width)] if head else []
    for row in table.rows:
        lines += [Line("row", part) for part in wrap_text(GAP.join(row[:names]), width)]
        for header, cell in list(zip(table.headers, row, strict=True))[names:]:
            text = NOTE_INDENT + (f"{header}: {cell.strip()}" if header else cell.strip())
            lines += [Line("note", part) for part in wrap_text(text, width, "  ")] if cell.strip() else []
    return lines


def _panel(
    table: "Table", columns: Sequence[int], sizes: Sequence[int], below: Sequence[int] = (), width: int | None = None
) -> list[Line]:
    """Lay out some of the columns side by side, and those of ``below`` on lines below each row."""
    lines = [Line("head", text) for text in _row(table, columns, sizes, table.headers)]
    lines.append(Line("rule", GAP.join("─" * size for size in sizes)))
    for row in table.rows:
        lines += [Line("row", text) for text in _row(table, columns, sizes, row)]
        for i in below:
            if row[i].strip():
                label = table.headers[i] and f"{table.headers[i]}: "
                text = f"{NOTE_INDENT}{label}{row[i].strip()}"
                lines += [Line("note", part) for part in wrap_text(text, width, "  ")]
    return lines


def _row(table: "Table", columns: Sequence[int], sizes: Sequence[int], cells: Sequence[str]) -> list[str]:
    """Return the lines of a row."""
    parts = [wrap_text(cells[i], size, "  " if i == 0 else "") for i, size in zip(columns, sizes, strict=True)]
    lines = []
    for k in range(max(map(len, parts))):
        texts = []
        for i, size, part in zip(columns, sizes, parts, strict=True):
            text = part[k] if k < len(part) else ""
            texts.append(text.ljust(size) if table.is_left(i) else text.rjust(size))
        lines.append(GAP.join(texts).rstrip())
    return lines


def _sizes(table: "Table", columns: Sequence[int], natural: Sequence[int], width: int) -> list[int] | None:
    """Return the widths of columns in a width, or ``None`` if they would be too narrow."""
    least = [_least(table, i, natural[i]) for i in columns]
    spare = width - _total(least)
    if spare < 0:
        return None
    sizes = list(least)
    # Spare width goes to the column of words that is folded most, and to headers of numeric columns last.
    while spare > 0:
        folded = [k for k, i in enumerate(columns) if sizes[k] < natural[i]]
        if not folded:
            break
        words = [k for k in folded if table.is_left(columns[k])]
        sizes[max(words or folded, key=lambda k: natural[columns[k]] / sizes[k])] += 1
        spare -= 1
    return sizes


def _least(table: "Table", column: int, natural: int) -> int:
    """Return the minimum width of a column: numbers are not folded, texts only between words."""
    texts = [row[column] for row in table.rows]
    if not table.is_left(column):
        head = table.headers[column]
        return max(len(head) if len(head) <= SHORT_HEAD else _longest_word(head), *map(len, texts), 1)
    words = max(map(_longest_word, (table.headers[column], *texts)))
    least = LEAST_NAME if column < table.names else LEAST_WORDS
    return min(natural, max(words, least if column else SENTENCE))


def _longest_word(text: str) -> int:
    indent = len(text) - len(text.lstrip(" "))
    return indent + max((len(word) for word in text.split()), default=0)


def _widest(table: "Table", column: int) -> int:
    return max(len(line) for row in (table.headers, *table.rows) for line in row[column].split("\n"))


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + len(GAP) * (len(sizes) - 1)
