"""Descriptions of enclosures read from files, texts and dictionaries, with overrides."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sledsim.reliability.description import Description
from sledsim.scenario.reading import Sets

__all__ = ["DescriptionLike", "Sets", "load", "name_of"]

#: A description of an enclosure.
DescriptionLike = Description | Mapping[str, Any] | Path | str


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
        If the description is invalid. The error lists all faults, with file, line, key, value and allowed values.

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
    return Description.load(source, overrides=overrides)


def name_of(source: DescriptionLike) -> str | None:
    """Return the name of a description for headings: its file name without suffix; ``None`` if it is not a file."""
    if isinstance(source, Path):
        return source.stem
    named = isinstance(source, str) and source != "-" and "\n" not in source and not source.lstrip().startswith("{")
    return Path(str(source)).stem if named else None
