"""Public names of ``sledsim.studies.sled_design``, each loaded on first use."""

from sledsim.scenario.drawings.drawing import DRAWINGS as DRAWINGS
from sledsim.scenario.drawings.drawing import Drawing as Drawing
from sledsim.studies.sled_design.drawn import Design as Design
from sledsim.studies.sled_design.drawn import design as design
from sledsim.studies.sled_design.figures import Figure as Figure
from sledsim.studies.sled_design.figures import figures_of as figures_of
from sledsim.studies.sled_design.sensitivity import Sensitivity as Sensitivity

__all__: list[str]
