"""What shows things, whatever they are: tables, charts' style and files, frames, progress, names."""

from sledsim.show.faults import wrong
from sledsim.show.files import atomic_write, write_atomically
from sledsim.show.frames import Framed, need, relation_of, write_columns
from sledsim.show.naming import label_of
from sledsim.show.progress import ProgressBar, duration_in_words
from sledsim.show.saving import save
from sledsim.show.section import Section
from sledsim.show.style import COLOURS, HEIGHT, WIDTH, altair_library, rows_of, styled, values
from sledsim.show.tables import Table, duration, number

__all__ = [
    "COLOURS",
    "HEIGHT",
    "WIDTH",
    "Framed",
    "ProgressBar",
    "Section",
    "Table",
    "altair_library",
    "atomic_write",
    "duration",
    "duration_in_words",
    "label_of",
    "need",
    "number",
    "relation_of",
    "rows_of",
    "save",
    "styled",
    "values",
    "write_atomically",
    "write_columns",
    "wrong",
]
