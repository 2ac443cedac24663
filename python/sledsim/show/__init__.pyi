"""Public names of ``sledsim.show``, each loaded on first use."""

from sledsim.show.faults import make_error as make_error
from sledsim.show.files import atomic_write as atomic_write
from sledsim.show.files import write_atomically as write_atomically
from sledsim.show.frames import Framed as Framed
from sledsim.show.frames import need as need
from sledsim.show.frames import relation_of as relation_of
from sledsim.show.frames import write_columns as write_columns
from sledsim.show.naming import label_of as label_of
from sledsim.show.progress import ProgressBar as ProgressBar
from sledsim.show.progress import duration_in_words as duration_in_words
from sledsim.show.saving import save as save
from sledsim.show.section import Section as Section
from sledsim.show.style import COLOURS as COLOURS
from sledsim.show.style import HEIGHT as HEIGHT
from sledsim.show.style import WIDTH as WIDTH
from sledsim.show.style import altair_library as altair_library
from sledsim.show.style import apply_style as apply_style
from sledsim.show.style import rows_of as rows_of
from sledsim.show.style import values as values
from sledsim.show.tables import Table as Table
from sledsim.show.tables import duration as duration
from sledsim.show.tables import number as number

__all__: list[str]
