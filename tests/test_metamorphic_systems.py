"""Metamorphic checks of systems: one member, a volume over a device, caches of nothing and of everything, inclusion."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
import pytest

import random_scenarios
import sledsim
from metamorphic import CONSTANT, RANGES, REACH, by_number, log_of, replay, scenes

if TYPE_CHECKING:
    from pathlib import Path

    from metamorphic import Log, Scene, Table

over = pytest.mark.parametrize("numbers", RANGES)

#: A cache without latency, read-ahead or write-back.
PLAIN_CACHE: Table = {"kind": "ram-cache", "access_us": 0, "write": "through"}
LINE_BLOCKS = 8
#: A stripe unit larger than all addresses of a trace.
UNIT_BYTES = 2**24
assert UNIT_BYTES > REACH * 512


def same_requests(one: Log, other: Log, scene: Scene) -> None:
    """Assert that two logs have the same requests, arriving and ending at the same instants."""
    for name in ("id", "arrival_ns", "end_ns", "response_ns", "lbn", "blocks", "read", "needed_bytes"):
        assert np.array_equal(one[name], other[name]), (scene.number, name)


def capacity_bytes(drive: Table) -> int:
    """Return how large the device of a drive is."""
    return sledsim.Device(drive["device"]).capacity_bytes


#: A drive of the size of an extent, beside another.
IDLE: Table = {
    "kind": "drive",
    "device": {"mechanism": "simpledisk-constant", "name": "idle", "capacity_blocks": 2_048, "access_ms": 1},
}


def wrapping(drive: Table, kind: str) -> Table:
    """Return a component that is nothing but a drive."""
    members = [{"count": 1, "system": drive}]
    size = capacity_bytes(drive)
    still = {"migration": {"mb_per_s": 0}}
    pinned = [{"bytes": size // 2**20 * 2**20}]
    systems: dict[str, Table] = {
        # A stripe needs two members: the second is beyond all requests.
        "stripe": {"kind": "stripe", "members": [{"count": 2, "system": drive}], "unit_bytes": UNIT_BYTES},
        "concat": {"kind": "concat", "members": members},
        "partition": {"kind": "partition", "child": drive, "bytes": size},
        "volumes": {"kind": "volumes", "members": members},
        "volume": {"kind": "volumes", "members": members, "volumes": [{"name": "all", "bytes": size, "member": 0}]},
        # The other is never asked for.
        "slow": {"kind": "tiers", "fast": IDLE, "slow": drive, **still},
        "fast": {"kind": "tiers", "fast": drive, "slow": IDLE, **still, "placement": {"pinned": pinned}},
    }
    return systems[kind]


@over
@pytest.mark.parametrize("kind", ["stripe", "concat", "partition", "volumes", "volume", "slow", "fast"])
def test_arrays_of_one_drive_equal_the_drive(numbers: range, kind: str, tmp_path: Path) -> None:
    """Exact: requests are passed on unchanged for every device and scheduler, with the same power."""
    for scene in scenes(numbers, tmp_path):
        drive = scene.sound(scene.plain_drive)
        path = scene.trace(60)
        alone = sledsim.run(replay(path, drive), log=True, check=True)
        within = sledsim.run(replay(path, wrapping(drive, kind)), log=True, check=True)
        same_requests(by_number(alone), by_number(within), scene)
        if kind in {"stripe", "slow", "fast"}:
            continue
        assert alone["utilisation"] == within["utilisation"], scene.number
        assert alone.summary.get("energy") == within.summary.get("energy"), scene.number


def distinct_lines(scene: Scene, count: int) -> Path:
    """Write a trace of one-line requests to distinct lines."""
    lines = scene.random.sample(range(2_000), count)
    rows = [
        f"{i * 2_000_000},0,{line * LINE_BLOCKS * 512},{LINE_BLOCKS * 512},{'R' if scene.chance(0.6) else 'W'}"
        for i, line in enumerate(lines)
    ]
    path = scene.folder / f"distinct-{scene.number}.csv"
    path.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    return path


@over
def test_cache_without_hits_equals_its_child(numbers: range, tmp_path: Path) -> None:
    """Exact: whole lines, none asked for twice, go down as they are, at once.

    A cache of few lines takes one request at a time: others wait for a line to be free.
    """
    for scene in scenes(numbers, tmp_path):
        drive = scene.sound(scene.plain_drive)
        path = distinct_lines(scene, 60)
        # Room for hardly any line, or for all of them: nothing is found either way.
        lines = scene.random.choice([8, 64, 4_000])
        policy = {"name": random_scenarios.REPLACEMENTS[scene.number % 8]}
        cache = PLAIN_CACHE | {"child": drive, "bytes": lines * LINE_BLOCKS * 512, "policy": policy}
        keys: Table = {"mode": "open"} if lines == 4_000 else {"mode": "outstanding", "outstanding": 1}
        same_requests(log_of(replay(path, drive, **keys)), log_of(replay(path, cache, **keys)), scene)


@over
def test_cache_of_everything_reads_each_line_once(numbers: range, tmp_path: Path) -> None:
    """Exact: with room for all, a line is read the first time alone; afterwards it takes the time of the cache."""
    for scene in scenes(numbers, tmp_path):
        path = scene.trace(150, reach=800, blocks=LINE_BLOCKS, reads=1.0, gap_us=20_000)
        policy = {"name": random_scenarios.REPLACEMENTS[scene.number % 8]}
        drive = {"kind": "drive", "device": CONSTANT}
        size = 4 * 1024 * LINE_BLOCKS * 512
        cache = PLAIN_CACHE | {"child": drive, "bytes": size, "line_bytes": LINE_BLOCKS * 512, "policy": policy}
        result = sledsim.run(replay(path, cache | {"access_us": 7}), log=True, check=True)
        log = by_number(result)
        lines, first = np.unique(log["lbn"], return_index=True)
        [below] = [each for each in result["components"] if each["kind"] == "drive"]
        assert below["requests"] == len(lines), scene.number
        late = np.ones(len(log["id"]), dtype=bool)
        late[first] = False
        # A request for a line that is on its way waits for it.
        begun = {int(lbn): int(log["end_ns"][at]) for lbn, at in zip(lines, first, strict=True)}
        on_its_way = np.array([log["arrival_ns"][i] < begun[int(log["lbn"][i])] for i in range(len(late))])
        assert (log["response_ns"][late & ~on_its_way] == 7_000).all(), scene.number
        assert (log["response_ns"][~late] >= 500_000).all(), scene.number


def references(scene: Scene, count: int) -> tuple[Path, list[int]]:
    """Write a trace of single pages of which some are asked for often."""
    pages = [int(scene.random.paretovariate(0.7)) % 400 for _ in range(count)]
    rows = [f"{i},0,{page * 4096},4096,R" for i, page in enumerate(pages)]
    path = scene.folder / f"pages-{scene.number}.csv"
    path.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    return path, pages


def lru_hits(pages: list[int], size: int) -> int:
    """Count the hits of a list of the most recently used, the plain way."""
    kept: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for page in pages:
        hits += page in kept
        kept[page] = None
        kept.move_to_end(page)
        if len(kept) > size:
            kept.popitem(last=False)
    return hits


@over
def test_lru_caches_have_the_inclusion_property(numbers: range, tmp_path: Path) -> None:
    """Exact: by inclusion, hits grow with the size; with room for all, every policy misses each page once."""
    for scene in scenes(numbers, tmp_path):
        path, pages = references(scene, 400)
        sizes = sorted(scene.random.sample(range(2, 300), 6))
        found = sledsim.studies.hit_ratio(path, "lru", [*sizes, 1_000])
        hits = [cache.hits for cache in found.caches]
        assert hits == sorted(hits), scene.number
        assert hits == [lru_hits(pages, size) for size in [*sizes, 1_000]], scene.number
        # Ghost lists may evict entries that would fit, so only part of the check is exact for policies with one.
        whole = sledsim.studies.hit_ratio(path, ["fifo", "clock", "lru"], 1_000)
        assert {cache.hits for cache in whole.caches} == {len(pages) - len(set(pages))}, scene.number
        every = sledsim.studies.hit_ratio(path, random_scenarios.REPLACEMENTS, [3, 30])
        assert all(0 <= cache.hits <= len(pages) - len(set(pages)) for cache in every.caches), scene.number
