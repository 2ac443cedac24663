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
    """Where an extent is put when it is first read or written.

    Fast where one of these keys says so, slow otherwise, and wherever there is room once the one that it belongs
    to is full.

    Attributes
    ----------
    metadata
        Whether requests for file-system metadata put theirs on the fast one (default false).
    small_bytes
        Requests of so many bytes or fewer put theirs on the fast one; none does when absent (B; at least 1, at
        most 1.07374e+09).
    origins
        Origins (a trace's device number, a workload's stream) whose requests put theirs on the fast one (default
        []).
    pinned
        Ranges of blocks that are on the fast one from the start, and stay (default []).
    """

    metadata: bool | None = None
    small_bytes: int | str | None = None
    origins: list[int] | None = None
    pinned: list[BlockRange] | None = None


class TierMigration(Model):
    """When extents move.

    Once a period, those of the slow one that have been used most change places with those of the fast one that
    have been used least.

    Attributes
    ----------
    mb_per_s
        Most bytes copied in a second, over any time from the start on; with 0 nothing moves (MB/s; at least 0, at
        most 1,000,000; default 10.0).
    period_s
        How often uses are compared (s; at least 1e-06, at most 1,000,000; default 1.0).
    half_life_s
        After so long a use counts half (s; at least 1e-06, at most 1e+09; default 60.0).
    factor
        An extent takes the place of another only if it was used more than so many times as much (at least 1, at
        most 1,000,000; default 2.0).
    least_uses
        Uses that an extent of the slow one needs to move, decayed (at least 0, at most 1e+09; default 2.0).
    """

    mb_per_s: float | str | None = None
    period_s: float | str | None = None
    half_life_s: float | str | None = None
    factor: float | str | None = None
    least_uses: float | str | None = None
