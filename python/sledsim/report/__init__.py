"""Pages to be read from disk: charts as files and as definitions, and the style that pages share."""

from sledsim.report.charts import caption_of, definition_of, write_chart, write_library
from sledsim.report.pages import page_environment

__all__ = [
    "caption_of",
    "definition_of",
    "page_environment",
    "write_chart",
    "write_library",
]
