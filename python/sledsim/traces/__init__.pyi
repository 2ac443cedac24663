"""Public names of ``sledsim.traces``, each loaded on first use."""

from sledsim.traces.info import info_tables as info_tables
from sledsim.traces.trace import Trace as Trace
from sledsim.traces.trace import formats_table as formats_table
from sledsim.traces.trace import open_trace as open_trace
from sledsim.traces.trace import records_table as records_table
from sledsim.traces.trace import trace_formats as trace_formats

__all__: list[str]
