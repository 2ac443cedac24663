"""From materials to numbers: what a drawing of a sled decides, and the device that comes of it."""

from sledsim.scenario.drawings.drawing import DRAWINGS, Drawing
from sledsim.studies.design.drawn import Design, design
from sledsim.studies.design.figures import Figure, figures_of
from sledsim.studies.design.sensitivity import Sensitivity

__all__ = [
    "DRAWINGS",
    "Design",
    "Drawing",
    "Figure",
    "Sensitivity",
    "design",
    "figures_of",
]
