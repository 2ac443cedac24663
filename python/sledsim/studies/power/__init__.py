"""What saves power: strategies and spin-down policies, alone and together."""

from sledsim.studies.power.strategies import PowerComparison, Variant, power

__all__ = [
    "PowerComparison",
    "Variant",
    "power",
]
