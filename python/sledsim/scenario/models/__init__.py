"""The tables of a scenario as typed classes; tools/generate_scenario.py writes all but what they have in common."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
