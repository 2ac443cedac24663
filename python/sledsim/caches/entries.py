"""The built-in replacement policies."""

from dataclasses import dataclass

from sledsim import _core
from sledsim.scenario.catalog import PolicyEntry, policy_catalog
from sledsim.show.shown import Catalog

__all__ = ["ReplacementEntry", "catalog"]


@dataclass(frozen=True)
class ReplacementEntry(PolicyEntry):
    """A built-in replacement policy.

    Parameters
    ----------
    name, title, description, source, parameters
        As for every policy.
    bytes_per_slot
        Memory that the policy takes per cached page, bytes.
    """

    bytes_per_slot: float


def catalog() -> Catalog[ReplacementEntry]:
    """Return the built-in replacement policies by name."""
    policies = (ReplacementEntry(**each) for each in _core.cache_policies())
    return policy_catalog(policies, ["policy", "parameters", "keeps and gives up"])
