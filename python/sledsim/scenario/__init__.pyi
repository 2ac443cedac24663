"""Public names of ``sledsim.scenario``, each loaded on first use."""

from sledsim._core import Fault as Fault
from sledsim.scenario import models as models
from sledsim.scenario.disksim import DiskSimImport as DiskSimImport
from sledsim.scenario.disksim import import_disksim as import_disksim
from sledsim.scenario.explanation import Explanation as Explanation
from sledsim.scenario.explanation import explain as explain
from sledsim.scenario.folders import catalog_folders as catalog_folders
from sledsim.scenario.folders import use_catalog as use_catalog
from sledsim.scenario.reading import Resolved as Resolved
from sledsim.scenario.reading import ScenarioLike as ScenarioLike
from sledsim.scenario.reading import Sets as Sets
from sledsim.scenario.reading import Written as Written
from sledsim.scenario.reading import resolve as resolve
from sledsim.scenario.typed import Scenario as Scenario

__all__: list[str]
