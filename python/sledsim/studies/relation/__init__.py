"""Relations of a database laid out on devices: how long scans and fetches take."""

from sledsim.studies.relation.access import Access, RelationTimes, fetch_rows, relation, scan_relation
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
    "RelationTimes",
    "RowMajor",
    "TipSubset",
    "fetch_rows",
    "layout_named",
    "layouts_of",
    "relation",
    "scan_bars",
    "scan_relation",
]
