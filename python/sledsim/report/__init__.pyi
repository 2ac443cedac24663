"""Public names of ``sledsim.report``, each loaded on first use."""

from sledsim.report.charts import caption_of as caption_of
from sledsim.report.charts import definition_of as definition_of
from sledsim.report.charts import write_chart as write_chart
from sledsim.report.charts import write_library as write_library
from sledsim.show.pages import page_environment as page_environment

__all__: list[str]
