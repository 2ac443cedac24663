"""The built-in schedulers."""

from sledsim import _core
from sledsim.scenario.catalog import PolicyEntry, policy_catalog
from sledsim.show.shown import Catalog

__all__ = ["catalog"]


def catalog() -> Catalog[PolicyEntry]:
    """Return the built-in schedulers by name."""
    return policy_catalog((PolicyEntry(**each) for each in _core.schedulers()), ["scheduler", "parameters", "picks"])
