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
        Number of its member, from 0 (at least 0; default 0).
    first_block
        Its first block on the member; by default the block after the volume before it there (at least 0).
    origin
        Origin of its requests; by default its number, from 0. Only with `by_origin` (at least 0).
    """

    name: str
    bytes: int | str
    member: int | None = None
    first_block: int | None = None
    origin: int | None = None


class Move(Model):
    """A move of a volume to another place while requests continue.

    It is copied in chunks. Until all chunks are copied, reads are served from the old place, and writes of copied
    blocks are made at both places.

    Attributes
    ----------
    volume
        Name of the volume.
    to
        Number of the target member, from 0. The volume takes the first free range there (at least 0).
    at_s
        Earliest time at which it begins; it waits for the end of the move before it (s; at least 0, at most
        1e+09; default 0.0).
    chunk_bytes
        Size of a chunk, a multiple of the block size. Writes of a chunk wait while it is copied (B; at least 1,
        at most 1.07374e+09; default 1048576).
    mb_per_s
        Bandwidth limit of the copy, by chunk; no limit if absent (MB/s; at least 1e-06, at most 1,000,000).
    """

    volume: str
    to: int
    at_s: float | str | None = None
    chunk_bytes: int | str | None = None
    mb_per_s: float | str | None = None
