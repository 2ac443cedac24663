"""Scenarios: the one description of a run, from a file, a text, a dictionary or typed classes.

Every key, its unit, range, default and meaning is defined in the core. The classes in :mod:`sledsim.scenario.models`
are generated from its schema; the core checks the values.
"""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
