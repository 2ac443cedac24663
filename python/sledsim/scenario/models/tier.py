"""The tables of a scenario as typed classes: tier.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from sledsim.scenario.models.model import Model

__all__ = [
    "BlockRange",
    "TierMigration",
    "TierPlacement",
]


class BlockRange(Model):
    """A range of blocks.

    Attributes
    ----------
    first_block
        Its first block (at least 0; default 0).
    bytes
        Its size; a multiple of the block size (B; at least 1).
    """

    first_block: int | None = None
    bytes: int | str


class TierPlacement(Model):
    """The component on which an extent is placed at its first access.

    The fast one if any of these keys applies, else the slow one. If that is full, the other.

    Attributes
    ----------
    metadata
        If true, requests for file-system metadata place extents on the fast component (default false).
    small_bytes
        Requests of up to this size place extents on the fast component; none if absent (B; at least 1, at most
        1.07374e+09).
    origins
        Origins (a trace's device number, a workload's stream) whose requests place extents on the fast component
        (default []).
    pinned
        Ranges of blocks that are always on the fast component (default []).
    """

    metadata: bool | None = None
    small_bytes: int | str | None = None
    origins: list[int] | None = None
    pinned: list[BlockRange] | None = None


class TierMigration(Model):
    """When extents move.

    Once a period, the most used extents of the slow component change places with the least used extents of the
    fast one.

    Attributes
    ----------
    mb_per_s
        Bandwidth limit of moves, averaged since the start; extents do not move if it is 0 (MB/s; at least 0, at
        most 1,000,000; default 10.0).
    period_s
        Interval between comparisons of uses (s; at least 1e-06, at most 1,000,000; default 1.0).
    half_life_s
        Time after which a use counts half (s; at least 1e-06, at most 1e+09; default 60.0).
    factor
        An extent replaces another only if its uses exceed those of the other by this factor (at least 1, at most
        1,000,000; default 2.0).
    least_uses
        Smallest decayed number of uses of an extent that moves to the fast component (at least 0, at most 1e+09;
        default 2.0).
    """

    mb_per_s: float | str | None = None
    period_s: float | str | None = None
    half_life_s: float | str | None = None
    factor: float | str | None = None
    least_uses: float | str | None = None
