"""Public names of ``sledsim.studies``, each loaded on first use."""

from sledsim.studies import cache_cost as cache_cost
from sledsim.studies import calibration as calibration
from sledsim.studies import drive_calibration as drive_calibration
from sledsim.studies import hit_ratios as hit_ratios
from sledsim.studies import objective as objective
from sledsim.studies import power_saving as power_saving
from sledsim.studies import relations as relations
from sledsim.studies import sled_design as sled_design
from sledsim.studies import validation as validation
from sledsim.studies.cache_cost.comparison import CostComparison as CostComparison
from sledsim.studies.cache_cost.comparison import cost as cost
from sledsim.studies.cache_cost.plan import CostStudy as CostStudy
from sledsim.studies.calibration.fitted_disk import FittedDisk as FittedDisk
from sledsim.studies.calibration.fitted_disk import matched_disk as matched_disk
from sledsim.studies.drive_calibration.calibration import DriveCalibration as DriveCalibration
from sledsim.studies.drive_calibration.calibration import calibrate_drive as calibrate_drive
from sledsim.studies.drive_calibration.refinement import refine_drive as refine_drive
from sledsim.studies.hit_ratios.ratios import HitRatios as HitRatios
from sledsim.studies.hit_ratios.ratios import hit_ratio as hit_ratio
from sledsim.studies.objective.objective_tests import ObjectiveTest as ObjectiveTest
from sledsim.studies.objective.objective_tests import merit as merit
from sledsim.studies.objective.objective_tests import specificity as specificity
from sledsim.studies.objective.role_test import RoleTest as RoleTest
from sledsim.studies.power_saving.strategies import PowerComparison as PowerComparison
from sledsim.studies.relations.access import RelationTimes as RelationTimes
from sledsim.studies.relations.access import relation_times as relation_times
from sledsim.studies.relations.layouts import Relation as Relation
from sledsim.studies.sled_design.drawn import Design as Design
from sledsim.studies.sled_design.drawn import design as design
from sledsim.studies.validation.drive import DriveValidation as DriveValidation
from sledsim.studies.validation.drive import validate_drive as validate_drive

__all__: list[str]
