"""Metamorphic checks of time: scaled, shifted, cut in two; devices that are twice as fast, or draw twice the power."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

import random_scenarios
import sledsim
from metamorphic import CONSTANT, RANGES, Scene, by_number, log_of, powers_scaled, replay, resolved, scenes, slower

if TYPE_CHECKING:
    from pathlib import Path

    from metamorphic import Table

over = pytest.mark.parametrize("numbers", RANGES)

#: Rounding of one phase to whole nanoseconds, up and down, in both runs.
PHASE_NS = 4


def round_system(scene: Scene, depth: int = 1) -> Table:
    """Draw a tree of components whose every time is a whole number of microseconds."""
    drive: Table = {
        "kind": "drive",
        "device": CONSTANT | {"access_ms": scene.random.randint(1, 40) / 10},
        "scheduler": {"name": scene.random.choice(["fcfs", "look", "clook", "sstf_lbn", "vscan"])},
    }
    child = round_system(scene, depth - 1) if depth and scene.chance(0.6) else drive
    kinds = ["drive", "stripe", "mirror", "raid5", "raid6", "concat", "ram-cache", "volumes", "raid4", "tiers"]
    kind = kinds[scene.number % len(kinds)]
    members = [{"count": 4, "system": child}]
    if kind == "drive":
        return drive
    if kind == "ram-cache":
        flush = {"idle_ms": 5, "period_s": scene.random.choice([None, 0.25])}
        keys = {"access_us": 10, "write": scene.random.choice(["back", "through"]), "flush": flush}
        return {"kind": kind, "child": child, "bytes": 2**18, **keys}
    if kind == "volumes":
        placed = [{"name": f"v{i}", "bytes": 2**23, "member": i} for i in range(4)]
        return {"kind": kind, "members": members, "volumes": placed}
    if kind == "tiers":
        migration = {"period_s": 0.01, "half_life_s": 0.5, "mb_per_s": 64}
        return {"kind": kind, "fast": drive, "slow": child, "extent_bytes": 2**16, "migration": migration}
    system: Table = {"kind": kind, "members": members}
    if kind not in {"concat", "mirror"}:
        system["unit_bytes"] = 2 ** scene.random.randint(9, 15)
    if kind not in {"concat", "stripe"} and depth == 1:
        befallen = {"member": 0, "fails_at_s": 0.05, "detect_ms": 4, "unreadable": [{"lbn": 100, "blocks": 9}]}
        system |= {"spares": 1, "faults": [befallen], "rebuild": {"rows": 4, "delay_s": 0.01}}
    return system


@over
def test_doubled_input_times_double_all_times(numbers: range, tmp_path: Path) -> None:
    """Exact: all times are whole microseconds, which integer nanoseconds double without rounding."""
    for scene in scenes(numbers, tmp_path):
        path = scene.trace(60)
        document = resolved({**replay(path, round_system(scene)), "run": {"time_s": 3.0}})
        twice = slower(document, 2.0)
        twice["workload"]["time_scale"] = 2.0
        one, other = (sledsim.run(each, log=True, check=True) for each in (document, twice))
        first, second = by_number(one), by_number(other)
        for name in ("id", "lbn", "blocks", "read"):
            assert np.array_equal(first[name], second[name]), (scene.number, name)
        for name in (name for name in first if name.endswith("_ns")):
            assert np.array_equal(first[name] * 2, second[name]), (scene.number, name)
        assert one["requests"] == other["requests"], scene.number
        assert one["queue"] == pytest.approx(other["queue"]), scene.number
        for mine, its in zip(one.summary.get("components", []), other.summary.get("components", []), strict=True):
            counted = [{each["name"]: each["value"]} for each in mine["counts"] if each["unit"] == ""]
            assert counted == [{each["name"]: each["value"]} for each in its["counts"] if each["unit"] == ""]


def mechanical(scene: Scene) -> Table:
    """Draw a drive whose times all scale: a sled under any model of seeks, or a disk whose rotation is an average."""
    names = [*random_scenarios.MEMS, "uberdisk", "cheetah73", *random_scenarios.SIMPLE]
    name = names[scene.number % len(names)]
    device: Table = {"name": name}
    if name in random_scenarios.MEMS:
        device["seek_model"] = scene.random.choice(["first-order", "decomposed", "time-optimal"])
        device["settle_constants"] = scene.random.choice([0, 1, 2])
    elif name not in random_scenarios.SIMPLE:
        device |= {"rotation": "average", "read_ahead": "none", "fast_write": "none", "buffer_caching": False}
    return {"kind": "drive", "device": device, "scheduler": {"name": "fcfs"}}


@over
def test_a_device_twice_as_fast_halves_every_phase(numbers: range, tmp_path: Path) -> None:
    """To some nanoseconds: each phase is rounded once in either run, and a request has tens of passes at most."""
    for scene in scenes(numbers, tmp_path):
        path = scene.trace(60, blocks=scene.random.choice([1, 8, 40]))
        slow = resolved(replay(path, mechanical(scene), mode="outstanding", outstanding=3))
        fast = slower(slow, 0.5)
        first, second = log_of(slow), log_of(fast)
        for name in ("service_ns", "seek_ns", "settle_ns", "transfer_ns", "servo_ns", "bus_ns", "turnaround_ns"):
            rounding = 1e-9 * first[name] + PHASE_NS * (2 + first["blocks"].astype(float) * 2)
            off = np.abs(first[name] / 2 - second[name].astype(float))
            assert (off <= rounding).all(), (scene.number, name, off.max())


@over
def test_faster_server_never_increases_waiting(numbers: range, tmp_path: Path) -> None:
    """Exact, by Lindley's recursion: in the order of arrival, a completion is monotone in all services before it."""
    for scene in scenes(numbers, tmp_path):
        path = scene.trace(150, gap_us=scene.random.choice([200, 1_000]), blocks=8)
        access_ms = scene.random.randint(2, 30) / 10
        ends = []
        for share in (1.0, 0.9, 0.5, 0.1):
            device = CONSTANT | {"access_ms": access_ms * share}
            ends.append(log_of(replay(path, {"kind": "drive", "device": device}))["end_ns"])
        for slow, fast in pairwise(ends):
            assert (fast <= slow).all(), scene.number


@over
def test_first_half_of_a_trace_is_independent_of_the_second(numbers: range, tmp_path: Path) -> None:
    """Exact: requests completed before the second half begins are the same without it, in every system."""
    kinds = [*random_scenarios.ARRAYS, "drive", "drive", "ram-cache", "mcd", "mwb", "volumes", "tiers", "nested"]
    for scene in scenes(numbers, tmp_path):
        kind = kinds[scene.number % len(kinds)]
        system = scene.sound(lambda scene=scene, kind=kind: scene.system(kind))  # type: ignore[misc]
        path = scene.trace(60, reach=4_000)
        # Without a limit, so that each run ends with its trace; background work stops with it.
        whole = by_number(sledsim.run(replay(path, system, fit="wrap"), log=True, check=True))
        half = by_number(sledsim.run(replay(path, system, fit="wrap", records=30), log=True, check=True))
        cut_ns = whole["arrival_ns"][whole["id"] >= 30].min(initial=2**63)
        early = half["end_ns"] < cut_ns
        assert set(half["id"][early]) == set(whole["id"][whole["end_ns"] < cut_ns]), scene.number
        both = np.isin(whole["id"], half["id"][early])
        for name in half:
            # Ahead-of-time knowledge is the offline policy's alone, of energies that it chooses by.
            if not (name.startswith("energy") or "startup" in name):
                assert np.array_equal(half[name][early], whole[name][both]), (scene.number, name)


@over
def test_shifted_traces_give_the_same_results(numbers: range, tmp_path: Path) -> None:
    """Exact: times count from the first record."""
    for scene in scenes(numbers, tmp_path):
        path = scene.trace(60)
        head, *rows = path.read_text().splitlines()
        later = tmp_path / "later.csv"
        moved = [f"{int(time) + 7_777_777_000_000},{rest}" for time, _, rest in (row.partition(",") for row in rows)]
        later.write_text("\n".join([head, *moved, ""]))
        drive = scene.sound(scene.plain_drive)
        first, second = log_of(replay(path, drive)), log_of(replay(later, drive))
        assert all(np.array_equal(first[name], second[name]) for name in first), scene.number


@over
def test_warm_up_excludes_requests_and_changes_none(numbers: range, tmp_path: Path) -> None:
    """Exact for the requests; means to the digits of a sum of doubles."""
    for scene in scenes(numbers, tmp_path):
        path = scene.trace(80)
        document = replay(path, scene.sound(scene.plain_drive))
        whole = log_of(document)
        warm = sledsim.run({**document, "run": {"warmup_requests": 20}}, log=True)
        assert warm.requests.warmup == 20
        measured = whole["id"] >= 20
        assert warm.requests.measured == measured.sum(), scene.number
        assert warm.response.mean_ms == pytest.approx(whole["response_ns"][measured].mean() / 1e6), scene.number
        assert warm.response.max_ms == whole["response_ns"][measured].max() / 1e6, scene.number


@over
def test_doubled_power_doubles_energy(numbers: range, tmp_path: Path) -> None:
    """Exact: a double is doubled without rounding, and no decision rests on anything but ratios of powers."""
    for scene in scenes(numbers, tmp_path):
        names = [*random_scenarios.MEMS, "travelstar"]
        drive = scene.plain_drive([names[scene.number % len(names)]])
        if scene.chance(0.6):
            drive["spin_down"] = scene.random.choice([{"name": "timeout", "after_ms": 3}, {"name": "immediate"}])
        document = resolved(replay(scene.trace(60, gap_us=20_000), drive))
        one, two = (sledsim.run(each, log=True) for each in (document, powers_scaled(document, 2.0)))
        assert by_number(one)["end_ns"].tolist() == by_number(two)["end_ns"].tolist(), scene.number
        for key, value in one["energy"].items():
            if key.endswith(("_j", "_w", "_mj")):
                assert two["energy"][key] == 2 * value, (scene.number, key)
