"""Relations of a database laid out on devices: how long scans and fetches take."""

from sledsim.studies.relation.access import Access, TableTimes, fetch_rows, scan_relation, table_times
from sledsim.studies.relation.chart import scan_bars
from sledsim.studies.relation.layouts import (
    ColumnMajor,
    Layout,
    Relation,
    RowMajor,
    TipSubset,
    layout_named,
    layouts_of,
)

__all__ = [
    "Access",
    "ColumnMajor",
    "Layout",
    "Relation",
    "RowMajor",
    "TableTimes",
    "TipSubset",
    "fetch_rows",
    "layout_named",
    "layouts_of",
    "scan_bars",
    "scan_relation",
    "table_times",
]
