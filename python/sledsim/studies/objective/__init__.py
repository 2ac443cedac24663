"""The objective tests: whether something is specific to MEMS storage, and whether it has merit."""

from sledsim.studies.objective.objective_tests import RULE, Case, ObjectiveTest, merit, specificity
from sledsim.studies.objective.roles import RoleFile, Sampling, role_file

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
