"""Block traces on disk: their formats, what is in them."""

from sledsim.traces.info_tables import info_tables
from sledsim.traces.trace import Trace, formats_table, open_trace, records_table, trace_formats

__all__ = [
    "Trace",
    "formats_table",
    "info_tables",
    "open_trace",
    "records_table",
    "trace_formats",
]
