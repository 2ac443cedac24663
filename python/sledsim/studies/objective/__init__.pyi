"""Public names of ``sledsim.studies.objective``, each loaded on first use."""

from sledsim.studies.objective.objective_tests import RULE as RULE
from sledsim.studies.objective.objective_tests import Case as Case
from sledsim.studies.objective.objective_tests import ObjectiveTest as ObjectiveTest
from sledsim.studies.objective.objective_tests import merit as merit
from sledsim.studies.objective.objective_tests import specificity as specificity
from sledsim.studies.objective.role_test import RoleTest as RoleTest

__all__: list[str]
