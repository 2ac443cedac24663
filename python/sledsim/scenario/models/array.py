"""The tables of a scenario as typed classes: array.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.model import Model
from sledsim.scenario.models.policy import CustomPolicy

__all__ = [
    "ArrayRebuild",
    "Journal",
    "JournalHolds",
    "MemberFault",
    "ReadChoice",
    "SparePlace",
    "Unreadable",
    "WriteMethod",
]


class ArrayRebuild(Model):
    """The pace of rebuilds.

    Attributes
    ----------
    mb_per_s
        Largest rebuild rate; no limit when absent (MB/s; at least 1e-06, at most 1,000,000).
    rows
        Stripe units of a member per step (at least 1, at most 4,096; default 8).
    outstanding
        Largest number of outstanding steps (at least 1, at most 64; default 1).
    delay_s
        Time from the detection of a failure to the first step (s; at least 0, at most 1e+09; default 0.0).
    """

    mb_per_s: float | str | None = None
    rows: int | None = None
    outstanding: int | None = None
    delay_s: float | str | None = None


# The content of a journal entry.
JournalHolds = Literal["data", "intents"]


class Journal(Model):
    """A journal in non-volatile memory that closes the write hole of parity and copies.

    Attributes
    ----------
    size_bytes
        Its size (B; at least 512, at most 1.09951e+12; default 1048576).
    holds
        The content of an entry (default "data").
    access_us
        Time to enter a write (us; at least 0, at most 1,000,000; default 1.0).
    """

    size_bytes: int | str | None = None
    holds: JournalHolds | None = None
    access_us: float | str | None = None


class Unreadable(Model):
    """Blocks that are unreadable until they are written.

    Attributes
    ----------
    lbn
        First block (at least 0).
    blocks
        Number of blocks (at least 1; default 1).
    """

    lbn: int
    blocks: int | None = None


class MemberFault(Model):
    """Faults of a numbered member of an array.

    Attributes
    ----------
    member
        Number of the member, from 0; spares follow the members (at least 0).
    fails_at_s
        Time of failure; never if absent (s; at least 0, at most 1e+09).
    detect_ms
        Time until an access detects the failure (ms; at least 0, at most 1,000,000; default 0.0).
    unreadable
        Latent sector errors: unreadable blocks (default []).
    latent_per_gb
        Further latent sector errors of single blocks at random addresses: mean number in 1e9 bytes (at least 0,
        at most 1,000,000; default 0.0).
    """

    member: int
    fails_at_s: float | str | None = None
    detect_ms: float | str | None = None
    unreadable: list[Unreadable] | None = None
    latent_per_gb: float | str | None = None


# The rule that chooses the copy of a mirror for a read.
ReadChoice = CustomPolicy | str | Literal["round-robin", "shortest-queue", "nearest"]

# The parity update of a write to a part of a row.
WriteMethod = Literal["cost", "rmw", "reconstruct"]

# The place of rebuilt data.
SparePlace = Literal["dedicated", "distributed"]
