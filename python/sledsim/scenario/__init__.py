"""Scenarios: the one description of a run, from a file, a text, a dictionary or typed classes.

Every key, its unit, range, default and meaning is defined in the core; the classes here are generated from
its schema, and the core alone judges values.
"""

from sledsim.scenario.disksim import DiskSimImport, import_disksim
from sledsim.scenario.explanation import Explanation, explain
from sledsim.scenario.folders import catalog_folders, use_catalog
from sledsim.scenario.models.scenario import *  # noqa: F403  the generated classes are this room's public names
from sledsim.scenario.models.scenario import __all__ as _generated
from sledsim.scenario.reading import Resolved, Scenario, ScenarioLike, Sets, Written, resolve

__all__ = [
    "DiskSimImport",
    "Explanation",
    "Resolved",
    "Scenario",
    "ScenarioLike",
    "Sets",
    "Written",
    "catalog_folders",
    "explain",
    "import_disksim",
    "resolve",
    "use_catalog",
    *_generated,
]
