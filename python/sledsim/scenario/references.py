"""Files that documents name: bases, scenarios, devices and traces, also through other documents."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sledsim import _core
from sledsim._core import SledsimError
from sledsim.scenario.texts import is_document, text_of
from sledsim.show.faults import is_there

__all__ = ["files_named"]

#: The key `base` of a document in each notation, outside comments.
BASE = re.compile(r"""^[^#\n]*?\bbase["']?\s*[:=]\s*["']?([^"'\n,}#]+)""", re.MULTILINE)


def files_named(document: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each file that a document names, itself or through others, with the document that names it.

    Faults of the document are reported by its reader.

    Parameters
    ----------
    document
        Its path.
    """
    seen, left = {document}, [document]
    while left:
        one = left.pop()
        for name in _texts_of(one):
            file = one.parent / name
            if file in seen or not (is_there(file) and file.is_file()):
                continue
            seen.add(file)
            yield one, file
            if is_document(file):
                left.append(file)


def _texts_of(document: Path) -> Iterator[str]:
    """Yield the texts of a document that may be the names of files."""
    try:
        text, notation, name, folder = text_of(document, "document")
    except SledsimError:
        return
    yield from (found.strip() for found in BASE.findall(text))
    try:
        read = _core.Document(text, format=notation, source=name, base_dir=folder, schema=_core.Schema({}))
    except SledsimError:
        # A device that is based on one of the catalogue.
        return
    values: list[Any] = [read.values]
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping | list):
            values += value.values() if isinstance(value, Mapping) else value
