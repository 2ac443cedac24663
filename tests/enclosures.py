"""The enclosure of hong2006 that the tests of reliability start from."""

from __future__ import annotations

from typing import Any

from sledsim.reliability import Description

# The enclosure of hong2006, section 3.2.1.
TABLES: dict[str, Any] = {
    "enclosure": {"data": 19, "parity": 1, "spares": 5},
    "device": {"mttf": "200000 h"},
    "rebuild": {"time": "15 min"},
}


def enclosure(spares: int, strategy: str = "none", time: str = "1 week", **keys: Any) -> Description:
    """Return the enclosure of hong2006 with a number of spares and further keys of its table."""
    repair = {} if strategy == "none" else {"strategy": strategy, strategy: time}
    return Description.load(TABLES | {"enclosure": TABLES["enclosure"] | {"spares": spares} | keys, "repair": repair})


def disk() -> Description:
    """Return a single disk of the same MTTF."""
    return Description.load(TABLES | {"enclosure": {"data": 1, "parity": 0}})
