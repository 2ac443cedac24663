"""Descriptions of enclosures from files, texts, dictionaries, with values replaced."""

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sledsim.reliability.description import Description, ReliabilityError
from sledsim.show.naming import nearest_file

__all__ = ["DescriptionLike", "Sets", "load", "name_of"]

#: What can be analysed.
DescriptionLike = Description | Mapping[str, Any] | Path | str
#: Values that replace those of a description.
Sets = Iterable[str] | Mapping[str, Any]

#: Keys that hold the path of a file, which starts from the folder of the description.
PATHS = (("rebuild", "load"), ("device", "name"))


def load(source: DescriptionLike, *, set: Sets = ()) -> Description:  # noqa: A002  the name it has on the command line
    """Read a description of an enclosure and check it.

    Parameters
    ----------
    source
        A file (TOML or JSON), ``"-"`` for standard input, a text of several lines, a dictionary of tables, or a
        description.
    set
        Values that replace those of the description: ``["enclosure.spares=3", "device.mttf=100000 h"]`` or a
        dictionary.

    Raises
    ------
    ReliabilityError
        Where the description is wrong: names the file, the key, the value and what is allowed.

    Examples
    --------
    >>> text = '''
    ... enclosure = {data = 19, parity = 1, spares = 5}
    ... device = {mttf = "200000 h"}
    ... rebuild = {time = "15 min"}
    ... '''
    >>> load(text, set=["enclosure.spares=3"]).enclosure.spares
    3
    """
    if isinstance(source, Description):
        tables, name, folder = source.to_dict(), "description", Path.cwd()
    elif isinstance(source, Mapping):
        tables, name, folder = {key: _copied(value) for key, value in source.items()}, "description", Path.cwd()
    elif isinstance(source, Path | str):
        tables, name, folder = _read(source)
    else:
        raise ReliabilityError(
            f"description: {type(source).__name__} {source!r} is of the wrong type: expected the path of a file, a "
            "text, a dictionary or a Description"
        )
    if "workload" in tables and "enclosure" not in tables:
        raise ReliabilityError(f"{name}: this is a scenario, which `sledsim run` takes; expected an [enclosure] table")
    _start_from(tables, folder)
    for path, value in _replacements(set):
        _put(tables, path, value)
    return Description.of(tables, name)


def name_of(source: DescriptionLike) -> str | None:
    """Return what a heading calls a description, where it has a name: its file without folder and ending."""
    if isinstance(source, Path):
        return source.stem
    named = isinstance(source, str) and source != "-" and not _is_text(source)
    return Path(str(source)).stem if named else None


def _read(source: Path | str) -> tuple[dict[str, Any], str, Path]:
    """Return the tables of a file or a text, what messages call it, and the folder that its paths start from."""
    if isinstance(source, str) and source == "-":
        return _parsed(sys.stdin.read(), "standard input"), "standard input", Path.cwd()
    if isinstance(source, str) and _is_text(source):
        return _parsed(source, "description"), "description", Path.cwd()
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReliabilityError(f"{path}: no such file{nearest_file(path)}") from None
    except UnicodeDecodeError as error:
        raise ReliabilityError(
            f"{path}: byte {error.start} is not UTF-8 text; expected a description of an enclosure in TOML or JSON"
        ) from None
    except OSError as error:
        raise ReliabilityError(f"{path}: {error.strerror}") from None
    return _parsed(text, str(path)), str(path), path.parent.resolve()


def _is_text(source: str) -> bool:
    return "\n" in source or source.lstrip().startswith("{")


def _parsed(text: str, name: str) -> dict[str, Any]:
    """Parse TOML, or JSON where the text begins with a brace."""
    if not text.strip():
        raise ReliabilityError(f"{name}: empty; expected a description of an enclosure in TOML or JSON")
    notation, parse = ("JSON", json.loads) if text.lstrip().startswith("{") else ("TOML", tomllib.loads)
    try:
        tables = parse(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise ReliabilityError(f"{name}: is not {notation}: {error}") from None
    return dict(tables)


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _start_from(tables: Mapping[str, Any], folder: Path) -> None:
    """Make the paths of files absolute."""
    for table, key in PATHS:
        keys = tables.get(table)
        if not isinstance(keys, dict):
            continue
        given = keys.get(key)
        if isinstance(given, str) and Path(given).suffix and not Path(given).is_absolute():
            keys[key] = str(folder / given)


def _replacements(sets: Sets) -> Iterable[tuple[str, Any]]:
    """Yield the paths and values to put in."""
    if isinstance(sets, Mapping):
        yield from sets.items()
        return
    for each in [sets] if isinstance(sets, str) else sets:
        path, equals, written = each.partition("=")
        if not equals:
            raise ReliabilityError(f"{each!r}: expected path=value, such as enclosure.spares=3")
        yield path.strip(), _value(written.strip())


def _value(written: str) -> Any:
    """Read a value as TOML has it; a text needs no quotes."""
    try:
        return tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        return written


def _put(tables: dict[str, Any], path: str, value: Any) -> None:
    """Put a value in its place; tables on the way are made."""
    *outer, key = parts = path.split(".")
    if not all(parts):
        raise ReliabilityError(f"{path!r}: expected a table and a key, such as enclosure.spares")
    table = tables
    for part in outer:
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ReliabilityError(f"{path}: {part} is no table (it is {inner!r})")
        table = inner
    table[key] = value
