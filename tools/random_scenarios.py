"""Generate random scenarios that cover the features of Sledsim. A number gives the same scenario on every machine.

    python tools/random_scenarios.py 17 | sledsim run - --json
    python tools/random_scenarios.py 17 --fragile | sledsim run - --check

Fragile scenarios are small systems whose members fail, also during rebuilds, and have latent errors.

Only the names of the schedulers come from Sledsim, and a caller can pass others, so the scenarios do not depend on a
build.
"""

from __future__ import annotations

import json
import math
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Table = dict[str, Any]

#: A trace of the package's examples.
OFFICE = str(Path(__file__).parents[1] / "python" / "sledsim" / "examples" / "office.csv")
MIB = 1_048_576
MEMS = ["g1-paper", "g1", "g2-paper", "g2", "g3-paper", "g3", "griffin1999", "hong2006"]
DISKS = [
    *("atlas10k-50mb", "atlas10k", "barracuda", "cheetah4LP", "cheetah73", "cheetah9LP", "hp_c2247a", "st41601n"),
    *("superdisk", "travelstar", "uberdisk", "ultrastar36z15"),
]
SIMPLE = ["simpledisk-constant", "simpledisk-linear"]
# Devices with known powers; others have no idle modes.
WITH_POWER = {*MEMS, "travelstar"}
REPLACEMENTS = ["lru", "fifo", "clock", "lfuda", "arc", "2q", "slru", "s3-fifo", "sieve", "w-tinylfu"]
STAND_INS = ["cello-like", "snake-like", "symmetrix-like", "tpcc-like", "tpcd-like"]
SMALL_STAND_INS = ["snake-like", "tpcd-like"]
ARRAYS = ["stripe", "mirror", "raid4", "raid5", "raid6"]
READS = ["round-robin", "shortest-queue", "nearest"]
SYSTEMS = [
    *("drive", "drive", "drive", "concat", *ARRAYS, "ram-cache", "ram-cache", "mwb", "mcd", "mcd", "volumes"),
    *("tiers", "nested"),
]
DISTRIBUTIONS = [
    *("fixed", "uniform", "exponential", "lognormal", "erlang", "hyperexponential", "exponential-mixture", "gamma"),
    *("weibull", "pareto", "empirical"),
]


@cache
def registered_schedulers() -> tuple[str, ...]:
    """Return the names of the built-in schedulers."""
    from sledsim import schedulers

    return tuple(schedulers.catalog())


class Factory:
    """Draws one scenario. Consecutive numbers use kinds of systems, devices and policies in turn, so that all occur.

    ``schedulers`` are the names of the schedulers to use; the built-in ones by default.
    """

    def __init__(self, number: int, schedulers: Sequence[str] | None = None) -> None:
        self.number = number
        self.random = Random(number)
        self.schedulers = schedulers

    def chance(self, probability: float) -> bool:
        """Whether something of this probability comes to pass."""
        return self.random.random() < probability

    def scale(self, low: float, high: float) -> float:
        """Draw a number from the one to the other, every order of magnitude as likely, with four digits."""
        return float(f"{low * math.exp(self.random.random() * math.log(high / low)):.4g}")

    def maybe(self, probability: float, **keys: Any) -> Table:
        """Return the keys, each with this probability."""
        return {key: value for key, value in keys.items() if self.chance(probability)}

    def scenario(self) -> Table:
        """Describe a scenario."""
        system = self.system(SYSTEMS[self.number % len(SYSTEMS)])
        roomy = "partition" not in json.dumps(system)
        run: Table = {"requests": self.random.randint(200, 2_000)}
        run |= self.maybe(0.2, time_s=self.scale(0.5, 50), warmup_requests=self.random.randint(1, 150))
        run |= self.maybe(0.1, warmup_s=self.scale(0.01, 1))
        return {
            "seed": self.random.randint(0, 2**53),
            "workload": self.workload(roomy=roomy),
            "system": system,
            "run": run,
        }

    # What is asked.

    def distribution(self, mean: float) -> Table:
        """Draw a distribution of about this mean."""
        kind = self.random.choice(DISTRIBUTIONS)
        other = float(f"{mean * 3:.6g}")
        weighted = [{"value": mean, "weight": 3}, {"value": other, "weight": 1.5}]
        keys: dict[str, Table] = {
            "fixed": {"value": mean},
            "uniform": {"min": 0, "max": 2 * mean},
            "lognormal": {"mean": mean, "scv": self.scale(0.1, 10)},
            "erlang": {"mean": mean, "k": self.random.randint(1, 9)},
            "hyperexponential": {"mean": mean, "scv": self.scale(1.1, 20)},
            "exponential-mixture": {"means": weighted},
            "gamma": {"mean": mean, "scv": self.scale(0.1, 10)},
            "weibull": {"mean": mean, "shape": self.scale(0.4, 4)},
            "pareto": {"mean": mean, "shape": self.scale(1.2, 5)},
            "empirical": {"points": weighted},
        }
        return {"kind": kind} | keys.get(kind, {"mean": mean})

    def arrival(self) -> Table:
        """Draw how requests arrive."""
        rate = self.scale(10, 1_500)
        arrivals: list[Table] = [
            {"kind": "poisson", "rate_per_s": rate},
            {"kind": "constant", "rate_per_s": rate},
            {"kind": "renewal", "interarrival_ms": self.distribution(float(f"{1e3 / rate:.4g}"))},
            {"kind": "on-off", "burst_ms": self.scale(5, 500), "idle_ms": self.scale(5, 5_000), "rate_per_s": rate},
            {"kind": "closed", "outstanding": self.random.randint(1, 60)}
            | self.maybe(0.5, think_ms=self.distribution(self.scale(0.1, 30))),
        ]
        return self.random.choice(arrivals)

    def location(self) -> Table:
        """Draw where requests go."""
        spots = [
            {"start_fraction": 0.1, "end_fraction": 0.12, "probability": 0.5},
            {"start_fraction": 0.7, "end_fraction": 0.75, "probability": 0.3},
        ]
        aligned = self.maybe(0.4, align_bytes=self.random.choice([512, 4096, 8192]))
        locations: list[Table] = [
            {"kind": "uniform"} | aligned,
            {"kind": "sequential"} | self.maybe(0.7, run_requests=self.scale(1, 100)),
            {"kind": "local-walk", "scale_bytes": self.scale(1e4, 1e7)},
            {"kind": "zipf", "exponent": self.scale(0.2, 2), "regions": self.random.randint(2, 400)}
            | {"shuffle": self.chance(0.5)}
            | aligned,
            {"kind": "hot-spots", "spots": spots} | aligned,
        ]
        return self.random.choice(locations)

    def needed(self) -> Table:
        """Draw how much requests need of what they ask for."""
        metadata = {"share": self.scale(0.01, 0.5)} | self.maybe(0.5, read_bytes=64, write_bytes=4)
        return self.maybe(0.3, last_block="uniform", metadata=metadata)

    def synthetic(self) -> Table:
        """Draw a synthetic workload."""
        start = round(self.random.random() * 0.5, 3)
        keys: Table = {
            "size_bytes": self.distribution(self.scale(512, 65_536)),
            "location": self.location(),
            "read_fraction": round(self.random.random(), 2),
            "continuation": {"reads": 0.3, "writes": 0.2},
            "synchronous_fraction": round(self.random.random(), 2),
            "time_scale": self.scale(0.5, 2),
        }
        if "regions" not in keys["location"]:
            # A small range is what makes caches hit and logs fill up.
            length = min(1 - start, self.scale(0.001, 0.5))
            keys["range"] = {"start_fraction": start, "end_fraction": round(start + length, 6)}
        return {"arrival": self.arrival()} | self.maybe(0.6, **keys) | self.needed()

    def workload(self, *, roomy: bool) -> Table | str:
        """Draw a workload for a system that is as large as a drive, or for any."""
        kind = self.random.choices(["synthetic", "mix", "stand-in", "trace"], [12, 3, 3, 3])[0]
        if kind == "stand-in":
            # Others have more regions than a small system has blocks.
            return self.random.choice(STAND_INS if roomy else SMALL_STAND_INS)
        if kind == "synthetic":
            return {"kind": "synthetic"} | self.synthetic()
        if kind == "mix":
            return {"kind": "mix", "streams": [self.synthetic() for _ in range(self.random.randint(2, 4))]}
        keys = self.maybe(0.4, rebase=False, first_record=self.random.randint(1, 20), end_s=self.scale(0.3, 3))
        if self.chance(0.4):
            keys = {"mode": "outstanding", "outstanding": self.random.randint(1, 16)}
        fit = self.random.choice(["wrap", "scale"])
        trace = {"kind": "trace", "path": OFFICE, "fit": fit, "repeat": self.random.randint(1, 8)}
        return trace | keys | {"time_scale": self.scale(0.2, 2)} | self.needed()

    # What serves it.

    def mems(self, name: str) -> Table:
        """Draw a MEMS device."""
        keys = self.maybe(
            0.15,
            seek_model=self.random.choice(["first-order", "decomposed", "time-optimal"]),
            settle_constants=self.scale(0.1, 3),
            spring_factor=self.random.choice([0, 0.5, 0.9]),
            layout=self.random.choice(["simple", "serpentine"]),
            bidirectional=self.chance(0.5),
            idle=self.random.choice(["hold", "sweep"]),
            idle_tips=self.random.choice(["none", "last-access"]),
            inactive_after_ms=self.random.choice([0, 5, 100, "never"]),
            overhead_ms=self.scale(0.01, 1),
        )
        keys |= self.maybe(0.2, sleds=self.random.choice([2, 3, 4]))
        striped = {"sled_layout": "striped", "stripe_blocks": 2 ** self.random.randint(0, 10)}
        return {"name": name} | keys | (striped if "sleds" in keys and self.chance(0.5) else {})

    def disk(self, name: str) -> Table:
        """Draw a disk drive."""
        keys = self.maybe(
            0.15,
            rotation=self.random.choice(["phase", "average"]),
            rotation_error_percent=self.random.choice([-1, 0.5]),
            actuators=2,
            buffer_caching=self.chance(0.5),
            buffer_segments=self.random.randint(1, 20),
            read_ahead=self.random.choice(["none", "track", "cylinder", "segment", "next-track"]),
            fast_write=self.random.choice(["none", "sequential", "full"]),
            zero_latency_reads=self.chance(0.5),
            zero_latency_writes=self.chance(0.5),
            read_free_blocks=self.chance(0.5),
            hold_bus_reading=self.chance(0.5),
            never_disconnect=self.chance(0.5),
            combine_writes=self.chance(0.5),
            overhead_scale=self.scale(0.1, 3),
            seek=self.random.choice(
                [
                    {"curve": "lee", "single_ms": 1.1, "average_ms": 5.5, "full_ms": 10.5},
                    {"curve": "three-point", "single_ms": 1.1, "average_ms": 5.5, "full_ms": 10.5},
                    {"curve": "linear", "single_ms": 1, "full_ms": 9.5},
                    {"curve": "constant", "seek_ms": 4},
                ]
            ),
        )
        # A buffer that keeps nothing can't read ahead or write behind.
        buffer = keys.get("buffer_caching", name != "uberdisk")
        return {"name": name} | keys | ({} if buffer else {"read_ahead": "none", "fast_write": "none"})

    def device(self, names: list[str]) -> Table:
        """Draw a device of these names, taking turns."""
        name = names[(self.number + self.random.randint(0, 1)) % len(names)]
        if name in MEMS:
            return self.mems(name)
        return self.disk(name) if name in DISKS else {"name": name}

    def scheduler(self) -> Table:
        """Draw a scheduler, taking turns."""
        names = self.schedulers or registered_schedulers()
        name = names[(self.number + self.random.randint(0, 2)) % len(names)]
        parameters: dict[str, Table] = {
            "vscan": {"r": round(self.random.random(), 2)},
            "asptf": {"weight": self.scale(0.001, 1)},
            "zsptf": {"zones": self.random.randint(1, 50)},
        }
        return {"name": name} | (parameters.get(name, {}) if self.chance(0.6) else {})

    def spin_down(self) -> Table:
        """Draw a policy of stopping."""
        policies: list[Table] = [
            {"name": "immediate"},
            {"name": "timeout", "after_ms": self.scale(0.5, 3_000)},
            {"name": "never"},
            {"name": "adaptive"} | self.maybe(0.5, experts=5, learning_rate=2.5, sharing=0.01, longest_ms=900),
            {"name": "offline"},
        ]
        return self.random.choice(policies)

    def drive(self, names: list[str] | None = None) -> Table:
        """Draw a drive."""
        device = self.device(names or [*MEMS, *DISKS, *MEMS, *SIMPLE])
        merge = {"requests": self.random.choice([2, 4, 16])}
        merge |= self.maybe(0.5, anywhere=True, writes=True, rows=True)
        keys = self.maybe(0.25, merge=merge)
        if device["name"] in MEMS:
            keys |= self.maybe(0.3, subsector=True)
        if "merge" not in keys:
            keys |= self.maybe(0.15, batch_max=self.random.randint(2, 16))
        if device["name"] in WITH_POWER:
            delayed = {"requests": self.random.randint(1, 20), "wait_ms": self.scale(1, 500)}
            keys |= self.maybe(0.35, spin_down=self.spin_down(), delayed_startup=delayed)
        return {"kind": "drive", "device": device, "scheduler": self.scheduler()} | keys

    def part(self, names: list[str] | None = None) -> Table:
        """Draw a small range of a drive: what arrays rebuild and volumes move gets done in a short run."""
        size_bytes = self.random.choice([16, 32, 128]) * MIB
        first_block = self.random.randint(0, 100_000)
        return {"kind": "partition", "child": self.drive(names), "first_block": first_block, "bytes": size_bytes}

    def member(self) -> Table:
        """Draw a member of an array."""
        return self.part() if self.chance(0.7) else self.drive()

    def fault(self, members: int) -> Table:
        """Draw what befalls a member of an array."""
        unreadable = [{"lbn": self.random.randint(0, 10_000), "blocks": self.random.randint(1, 64)} for _ in range(3)]
        keys = self.maybe(
            0.6,
            fails_at_s=self.scale(0.01, 3),
            detect_ms=self.scale(0.1, 100),
            unreadable=unreadable,
            latent_per_gb=self.scale(1, 3_000),
        )
        return {"member": self.random.randrange(members)} | keys

    def array(self, kind: str, member: Table | None = None) -> Table:
        """Draw an array of members that are built alike."""
        count = self.random.randint({"raid6": 4, "raid4": 3, "raid5": 3}.get(kind, 2), 7)
        members = [{"count": count, "system": member or self.member()}]
        unit_bytes = 2 ** self.random.randint(9, 18)
        if kind == "concat":
            return {"kind": kind, "members": members}
        if kind == "stripe":
            return {"kind": kind, "members": members, "unit_bytes": unit_bytes}
        rebuild = self.maybe(0.5, mb_per_s=self.scale(0.5, 50), rows=self.random.randint(1, 32), outstanding=3)
        rebuild |= self.maybe(0.5, delay_s=self.scale(0.01, 1))
        # Room for a few rows, so that writes wait for it.
        journal = {"size_bytes": self.random.choice([2, 8]) * (count + 1) * max(unit_bytes, 4_096)}
        journal |= self.maybe(0.5, holds="intents", access_us=5)
        spares = self.random.randint(0, 2)
        keys = {"spares": spares, "rebuild": rebuild} | self.maybe(0.3, journal=journal)
        keys |= self.maybe(0.6, faults=[self.fault(count)])
        if kind == "mirror":
            return {"kind": kind, "members": members, "read": self.random.choice(READS)} | keys
        write = self.random.choice(["cost", "rmw", "reconstruct"])
        if kind in {"raid5", "raid6"} and self.chance(0.3):
            keys |= {"sparing": "distributed", "spares": 1}
        return {"kind": kind, "members": members, "unit_bytes": unit_bytes, "write": write} | keys

    def replacement(self) -> Table:
        """Draw a replacement policy, taking turns."""
        name = REPLACEMENTS[(self.number // 2) % len(REPLACEMENTS)]
        parameters: dict[str, Table] = {
            "2q": {"in_share": 0.3, "out_share": 0.7},
            "slru": {"protected_share": 0.6},
            "s3-fifo": {"small_share": 0.2, "ghost_ratio": 0.5, "promotion_references": 1},
            "w-tinylfu": {"window_share": 0.1, "protected_share": 0.6},
        }
        return {"name": name} | (parameters.get(name, {}) if self.chance(0.5) else {})

    def ram_cache(self, child: Table | None = None) -> Table:
        """Draw a cache in RAM."""
        read_ahead = self.random.choice([{"kind": "line"}, {"kind": "sequential", "most_bytes": 65_536}])
        low = round(self.random.random() * 0.5, 2)
        flush = self.maybe(0.5, idle_ms=self.scale(1, 100), period_s=self.scale(0.1, 30), outstanding=4)
        keys = {
            "line_bytes": 2 ** self.random.randint(9, 16),
            "policy": self.replacement(),
            "write": self.random.choice(["back", "through"]),
            "volatile": self.chance(0.5),
            "access_us": self.scale(0.1, 100),
            "mb_per_s": self.scale(50, 5_000),
            "read_ahead": read_ahead,
            "flush": flush | {"low_water": low, "high_water": round(low + 0.3, 2), "most_write_bytes": 262_144},
        }
        cache = {"kind": "ram-cache", "child": child or self.drive(), "bytes": 2 ** self.random.randint(18, 24)}
        return cache | self.maybe(0.6, **keys)

    def write_buffer(self) -> Table:
        """Draw a MEMS write buffer of a disk."""
        clean = {"high_water": 0.5, "low_water": 0.3, "urgent": 0.7, "idle_ms": self.scale(0.1, 50), "outstanding": 3}
        log_bytes = 2 ** self.random.randint(15, 18)
        keys = {"clean": clean, "log_bytes": log_bytes, "buffer_bytes": log_bytes * self.random.choice([2, 4, 16])}
        pair = {"kind": "mwb", "mems": self.drive(MEMS), "disk": self.drive(DISKS)}
        return pair | {"mems_bytes": self.random.choice([4, 16, 64]) * MIB} | self.maybe(0.6, **keys)

    def caching_disk(self, disk: Table | None = None) -> Table:
        """Draw a disk that MEMS caches."""
        segment_bytes = 2 ** self.random.randint(13, 17)
        low = round(self.random.random() * 0.5, 2)
        flush = self.maybe(0.5, idle_ms=self.scale(1, 200), period_s=self.scale(0.1, 30))
        units = {"least_bytes": segment_bytes // self.random.choice([2, 8]), "region_bytes": segment_bytes * 64}
        keys = {
            "policy": self.replacement(),
            "shortcut": self.chance(0.5),
            "immediate_report": self.chance(0.5),
            "flush": flush | {"low_water": low, "high_water": round(low + 0.2, 2)},
            "bypass_bytes": self.random.choice([65_536, 524_288]),
            "units": units,
            "buffer_bytes": self.random.choice([1, 2, 8]) * 1_048_576,
        }
        chosen = {"segment_bytes": segment_bytes} | self.maybe(0.5, **keys)
        if "units" not in chosen:
            chosen |= self.maybe(0.4, partial_write=False)
        pair = {"kind": "mcd", "mems": self.drive(MEMS), "disk": disk or self.drive(DISKS)}
        return pair | {"mems_bytes": self.random.choice([2, 8, 64]) * MIB} | chosen

    def volumes(self) -> Table:
        """Draw volumes on several members, and moves of them."""
        count = self.random.randint(2, 4)
        members = [{"count": count, "system": self.part()}]
        placed = [
            {"name": f"v{index}", "bytes": self.random.randint(8, 20) * 262_144, "member": index % count}
            for index in range(self.random.randint(2, 5))
        ]
        moves = [
            {"volume": f"v{index}", "to": self.random.randrange(count), "at_s": self.scale(0.001, 2)}
            | self.maybe(0.5, chunk_bytes=65_536, mb_per_s=self.scale(0.5, 20))
            for index in range(2)
        ]
        return {"kind": "volumes", "members": members, "volumes": placed} | self.maybe(0.6, moves=moves)

    def tiers(self) -> Table:
        """Draw a fast and a slow component as one, small enough that both fill."""
        pinned = [{"first_block": self.random.randint(0, 1_000), "bytes": 65_536}]
        placement = self.maybe(0.3, metadata=True, small_bytes=self.random.choice([4_096, 16_384]), pinned=pinned)
        moves = {"mb_per_s": self.random.choice([0, self.scale(0.5, 50)]), "period_s": self.scale(0.01, 2)}
        moves |= {"half_life_s": self.scale(0.05, 20), "factor": self.scale(1, 4), "least_uses": self.scale(0.5, 4)}
        keys = self.maybe(0.7, extent_bytes=2 ** self.random.randint(16, 20), placement=placement)
        pair = {"kind": "tiers", "fast": self.part(MEMS), "slow": self.part(DISKS)}
        return pair | keys | self.maybe(0.8, migration=moves)

    def nested(self) -> Table:
        """Draw components within components."""
        choices: list[Callable[[], Table]] = [
            lambda: self.ram_cache(self.array(self.random.choice(ARRAYS))),
            lambda: self.array("mirror", self.array("stripe", self.drive())),
            lambda: self.ram_cache(self.caching_disk()),
            lambda: self.array("raid5", self.caching_disk()),
            lambda: self.caching_disk(self.array("stripe", self.drive(DISKS))),
            lambda: self.array("concat", self.ram_cache()),
        ]
        return self.random.choice(choices)()

    def system(self, kind: str) -> Table:
        """Draw a system of this kind."""
        if kind in {"concat", *ARRAYS}:
            return self.array(kind)
        makers: dict[str, Callable[[], Table]] = {
            "drive": self.drive,
            "ram-cache": self.ram_cache,
            "mwb": self.write_buffer,
            "mcd": self.caching_disk,
            "volumes": self.volumes,
            "tiers": self.tiers,
            "nested": self.nested,
        }
        return makers[kind]()


class Fragile(Factory):
    """Draws small systems whose members fail one after the other."""

    def scenario(self) -> Table:
        """Describe a scenario."""
        rate = self.scale(5, 500)
        arrivals: list[Table] = [
            {"kind": "poisson", "rate_per_s": rate},
            {"kind": "closed", "outstanding": self.random.randint(1, 8)}
            | self.maybe(0.5, think_ms={"kind": "fixed", "value": 5}),
        ]
        workload = {"arrival": self.random.choice(arrivals), "read_fraction": round(self.random.random(), 2)}
        workload |= self.maybe(0.5, size_bytes=self.distribution(self.scale(512, 262_144)))
        run: Table = {"time_s": self.scale(0.2, 3)} | self.maybe(0.7, requests=self.random.randint(50, 500))
        return {
            "seed": self.random.randint(0, 2**53),
            "workload": {"kind": "synthetic"} | workload,
            "system": self.breakable(depth=2),
            "run": run | self.maybe(0.2, power_cuts={"times_s": [self.scale(0.05, 1)]}),
        }

    def fault(self, members: int) -> Table:
        """Draw what befalls a member of an array, early and often."""
        unreadable = [{"lbn": self.random.randint(0, 1_000), "blocks": self.random.randint(1, 64)}]
        keys = self.maybe(
            0.4,
            detect_ms=self.random.choice([0, 0, 0.5, 50]),
            unreadable=unreadable,
            latent_per_gb=self.random.choice([-0.0, 0, self.scale(1, 1e5)]),
        )
        return {"member": self.random.randrange(members)} | self.maybe(0.8, fails_at_s=self.scale(0.005, 1)) | keys

    def breakable(self, *, depth: int) -> Table:
        """Draw an array whose members fail, or what stands over one."""
        kind = self.random.choice(["mirror", "raid4", "raid5", "raid5", "raid6"])
        if depth > 0 and self.chance(0.25):
            inner = self.breakable(depth=depth - 1)
            around: list[Callable[[], Table]] = [
                lambda: self.ram_cache(inner),
                lambda: self.array("concat", inner),
                lambda: self.array("mirror", inner),
                lambda: {"kind": "mwb", "mems": self.drive(MEMS), "disk": inner, "mems_bytes": 4 * MIB},
            ]
            return self.random.choice(around)()
        least = {"raid6": 4, "raid4": 3, "raid5": 3}.get(kind, 2)
        member = self.random.choice(
            [self.part(), self.drive(), {"kind": "drive", "device": self.random.choice(SIMPLE)}]
        )
        count = self.random.randint(least, least + 2)
        keys: Table = {"members": [{"count": count, "system": member}], "spares": self.random.randint(0, 3)}
        if kind in {"raid5", "raid6"}:
            keys |= self.maybe(0.4, sparing="distributed")
        if kind != "mirror":
            keys["unit_bytes"] = 2 ** self.random.randint(9, 18)
        rebuild = self.maybe(0.4, mb_per_s=self.scale(0.1, 1e4), rows=self.random.randint(1, 64), delay_s=0.01)
        keys["rebuild"] = rebuild | self.maybe(0.4, outstanding=self.random.randint(1, 16))
        # Each member has one entry at most.
        befallen = {each["member"]: each for each in (self.fault(count) for _ in range(self.random.randint(1, 4)))}
        return {"kind": kind} | keys | {"faults": list(befallen.values())}


def fragile(number: int) -> Table:
    """Return the fragile scenario of this number."""
    return Fragile(number).scenario()


def scenario(number: int) -> Table:
    """Return the scenario of this number."""
    return Factory(number).scenario()


if __name__ == "__main__":
    make = fragile if "--fragile" in sys.argv[2:] else scenario
    print(json.dumps(make(int(sys.argv[1])), indent=1))
