"""The objective tests: whether something is specific to MEMS storage, and whether it has merit."""

from sledsim.studies.objective.files import RoleFile, role_file
from sledsim.studies.objective.objective_tests import RULE, Case, ObjectiveTest, merit, specificity
from sledsim.studies.objective.roles import Sampling

__all__ = [
    "RULE",
    "Case",
    "ObjectiveTest",
    "RoleFile",
    "Sampling",
    "merit",
    "role_file",
    "specificity",
]
