"""Public names of ``sledsim.studies.power_saving``, each loaded on first use."""

from sledsim.studies.power_saving.strategies import PowerComparison as PowerComparison
from sledsim.studies.power_saving.strategies import Variant as Variant
from sledsim.studies.power_saving.strategies import power as power

__all__: list[str]
