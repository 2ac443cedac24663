"""What saves power: strategies and spin-down policies, alone and together."""

from sledsim.studies.power.strategies import PowerComparison, Variant, power_strategies, spin_down_policies

__all__ = [
    "PowerComparison",
    "Variant",
    "power_strategies",
    "spin_down_policies",
]
