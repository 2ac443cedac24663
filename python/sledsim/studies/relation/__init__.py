"""Relations of a database laid out on devices: how long scans and fetches take."""

from sledsim.studies.relation.access import Access, RelationTimes, fetch_rows, relation, scan_relation
from sledsim.studies.relation.chart import scan_bars
from sledsim.studies.relation.layouts import (
    ColumnMajor,
    Layout,
    Relation,
    RowMajor,
    TipSubset,
    all_layouts,
    layout_named,
    layouts_of,
)
from sledsim.studies.relation.two_axes import TwoAxes

__all__ = [
    "Access",
    "ColumnMajor",
    "Layout",
    "Relation",
    "RelationTimes",
    "RowMajor",
    "TipSubset",
    "TwoAxes",
    "all_layouts",
    "fetch_rows",
    "layout_named",
    "layouts_of",
    "relation",
    "scan_bars",
    "scan_relation",
]
