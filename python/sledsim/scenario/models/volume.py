"""The tables of a scenario as typed classes: volume.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from sledsim.scenario.models.model import Model

__all__ = [
    "Move",
    "Volume",
]


class Volume(Model):
    """A logical volume.

    Attributes
    ----------
    name
        Its name.
    bytes
        Its size; a multiple of the block size (B; at least 1).
    member
        Number of the member that it is on, from 0 (at least 0; default 0).
    first_block
        Block of the member with which it begins; the one after the volume before it there when absent (at least
        0).
    origin
        Origin of its requests; its number, from 0, when absent. Only with `by_origin` (at least 0).
    """

    name: str
    bytes: int | str
    member: int | None = None
    first_block: int | None = None
    origin: int | None = None


class Move(Model):
    """A volume that is moved to another place while requests go on.

    It is copied in chunks; until all of it is there, reads are served from its old place, and writes of what has
    been copied are made at both.

    Attributes
    ----------
    volume
        Its name.
    to
        Number of the member that it moves to, from 0: it takes the first free range there (at least 0).
    at_s
        When it begins, unless the move before it is still under way (s; at least 0, at most 1e+09; default 0.0).
    chunk_bytes
        What is copied at once; a multiple of the block size. Writes of it wait meanwhile (B; at least 1, at most
        1.07374e+09; default 1048576).
    mb_per_s
        Most bytes copied in a second: no chunk is over sooner than that gives it. No limit when absent (MB/s; at
        least 1e-06, at most 1,000,000).
    """

    volume: str
    to: int
    at_s: float | str | None = None
    chunk_bytes: int | str | None = None
    mb_per_s: float | str | None = None
