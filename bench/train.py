"""The training run of `make wheel`: the compiler optimises what these scenarios use (profile-guided optimisation).

They cover every kind of mechanism, scheduler and component. Workloads are synthetic, so that wheels do not depend on
the traces of the reference data. Results do not depend on the profile.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measures import (
    disk_scenario,
    drive_session,
    pending_scenario,
    raid_scenario,
    random_scenario,
    run_sweep,
    thrifty_scenario,
)

import sledsim

Scenario = dict[str, Any]

REQUESTS = 50_000
SCHEDULERS = ["look", "clook", "vscan", "sstf_lbn", "sptf", "asptf", "sdf", "zsptf"]
CACHE_POLICIES = ["lru", "fifo", "clock", "arc", "2q", "slru", "s3-fifo", "sieve", "w-tinylfu"]


def transactions(system: Any) -> Scenario:
    """Return a scenario of a database's transactions."""
    return {"workload": "tpcc-like", "system": system, "run": {"requests": REQUESTS}}


def scenarios() -> list[Scenario]:
    """Return the scenarios."""
    found = [
        random_scenario(4 * REQUESTS),
        thrifty_scenario(REQUESTS),
        disk_scenario(4 * REQUESTS, buffer=False),
        disk_scenario(2 * REQUESTS, buffer=True),
        raid_scenario(5, REQUESTS),
        pending_scenario(random_scenario(REQUESTS), 1_000),
        pending_scenario(disk_scenario(REQUESTS, buffer=True), 64),
    ]
    for scheduler in SCHEDULERS:
        scenario = pending_scenario(random_scenario(REQUESTS // 2), 32)
        scenario["system"]["scheduler"] = scheduler
        found.append(scenario)
    mems, disk = {"device": "g2", "scheduler": "sptf"}, {"device": "atlas10k", "scheduler": "sptf"}
    caches = [{"kind": "ram-cache", "bytes": "16 MiB", "policy": policy, "child": disk} for policy in CACHE_POLICIES]
    above = {"mems": {"device": "g3"}, "disk": disk, "mems_bytes": "256 MB"}
    mirror = {"kind": "mirror", "members": [{"count": 2, "system": mems}]}
    return [*found, *map(transactions, [*caches, {"kind": "mwb", **above}, {"kind": "mcd", **above}, mirror])]


def main() -> None:
    """Run everything once."""
    for scenario in scenarios():
        sledsim.run(scenario)
    with TemporaryDirectory() as folder:
        drive_session("arrays", 0.02, Path(folder))
        run_sweep(2, 1_000, 1, 1, Path(folder))
        trace = Path(folder, "trace.csv")
        lines = (f"{i * 1_000_000},0,{i * 7919 % 50_000 * 4096},4096,{'RW'[i % 3 == 0]}" for i in range(REQUESTS))
        trace.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *lines, ""]))
        sledsim.replay(trace)
        sledsim.run(random_scenario(REQUESTS), log=Path(folder, "log.parquet"))
        sledsim.studies.hit_ratio(trace, "lru", 1000)


if __name__ == "__main__":
    main()
