"""Public names of ``sledsim.studies.relations``, each loaded on first use."""

from sledsim.studies.relations.access import Access as Access
from sledsim.studies.relations.access import RelationTimes as RelationTimes
from sledsim.studies.relations.access import fetch_rows as fetch_rows
from sledsim.studies.relations.access import relation_times as relation_times
from sledsim.studies.relations.access import scan_relation as scan_relation
from sledsim.studies.relations.chart import scan_bars as scan_bars
from sledsim.studies.relations.layouts import ColumnMajor as ColumnMajor
from sledsim.studies.relations.layouts import Layout as Layout
from sledsim.studies.relations.layouts import Relation as Relation
from sledsim.studies.relations.layouts import RowMajor as RowMajor
from sledsim.studies.relations.layouts import TipSubset as TipSubset
from sledsim.studies.relations.layouts import all_layouts as all_layouts
from sledsim.studies.relations.layouts import layout_named as layout_named
from sledsim.studies.relations.layouts import layouts_of as layouts_of
from sledsim.studies.relations.two_axes import TwoAxes as TwoAxes

__all__: list[str]
