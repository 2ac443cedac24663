"""Public names of ``sledsim.studies.objective``, each loaded on first use."""

from sledsim.studies.objective.files import RoleFile as RoleFile
from sledsim.studies.objective.files import role_file as role_file
from sledsim.studies.objective.objective_tests import RULE as RULE
from sledsim.studies.objective.objective_tests import Case as Case
from sledsim.studies.objective.objective_tests import ObjectiveTest as ObjectiveTest
from sledsim.studies.objective.objective_tests import merit as merit
from sledsim.studies.objective.objective_tests import specificity as specificity
from sledsim.studies.objective.roles import Sampling as Sampling

__all__: list[str]
