"""Descriptions of enclosures from files, texts, dictionaries, with values replaced."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sledsim.reliability.description import Description
from sledsim.scenario.documents import read
from sledsim.scenario.reading import Sets

__all__ = ["DescriptionLike", "Sets", "load", "name_of"]

#: What can be analysed.
DescriptionLike = Description | Mapping[str, Any] | Path | str

#: Keys that hold the path of a file, which starts from the folder of the description.
PATHS = (("rebuild", "load"), ("device", "name"))


def load(source: DescriptionLike, *, overrides: Sets = ()) -> Description:
    """Read a description of an enclosure and check it.

    Parameters
    ----------
    source
        A file (TOML, YAML or JSON), ``"-"`` for standard input, a text of several lines, a dictionary of tables, or a
        description.
    overrides
        Values that replace those of the description: ``["enclosure.spares=3", "device.mttf=100000 h"]`` or a
        dictionary.

    Raises
    ------
    ReliabilityError
        Where the description is wrong: all that is, with file, line, key, value and what is allowed.

    Examples
    --------
    >>> text = '''
    ... enclosure = {data = 19, parity = 1, spares = 5}
    ... device = {mttf = "200000 h"}
    ... rebuild = {time = "15 min"}
    ... '''
    >>> load(text, overrides=["enclosure.spares=3"]).enclosure.spares
    3
    """
    if isinstance(source, Description) and not overrides:
        return source
    tables = source.to_dict() if isinstance(source, Description) else source
    found = read(Description, tables, overrides)
    started = {table: _started(found.table, table, key, found.folder) for table, key in PATHS}
    return found.table.replace(**{table: keys for table, keys in started.items() if keys})


def _started(description: Description, table: str, key: str, folder: Path) -> dict[str, str]:
    """Return the path of a file as it is from anywhere, where a description has one that is not."""
    given = getattr(getattr(description, table), key)
    is_path = given is not None and Path(given).suffix and not Path(given).is_absolute()
    return {key: str(folder / given)} if is_path else {}


def name_of(source: DescriptionLike) -> str | None:
    """Return what a heading calls a description, where it has a name: its file without folder and ending."""
    if isinstance(source, Path):
        return source.stem
    named = isinstance(source, str) and source != "-" and "\n" not in source and not source.lstrip().startswith("{")
    return Path(str(source)).stem if named else None
