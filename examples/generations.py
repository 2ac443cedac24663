"""Show how three generations of MEMS storage serve a workload, side by side.

    workload ──▶ drive: scheduler + g1
             ──▶ drive: scheduler + g2
             ──▶ drive: scheduler + g3

Without a trace the workload is random: 4 KB requests, two thirds of them reads, 500 a second.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

import sledsim
from sledsim.cli import print_tables

GENERATIONS = ["g1", "g2", "g3"]

# After the random workload of Griffin et al. 1999, section 3, with one size instead of an exponential spread.
RANDOM = {
    "read_fraction": 0.67,
    "arrival": {"kind": "poisson", "rate_per_s": 500.0},
    "size_bytes": {"kind": "fixed", "value": 4096},
    "location": {"kind": "uniform"},
}


def scenario(device: str, scheduler: str, trace: str | None, fit: str) -> dict[str, Any]:
    """Describe one of the runs."""
    system = {"device": {"name": device}, "scheduler": {"name": scheduler}}
    if trace is not None:
        return {"title": device, "workload": {"kind": "trace", "path": trace, "fit": fit}, "system": system}
    run = {"requests": 200_000, "warmup_requests": 1_000}
    return {"title": device, "seed": 1, "workload": RANDOM, "system": system, "run": run}


def main() -> int:
    """Run the three and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trace", help="replay this trace instead of a random workload")
    parser.add_argument(
        "--fit",
        choices=["error", "wrap", "scale"],
        default="error",
        help="what to do with requests beyond the device (default: stop with an error)",
    )
    parser.add_argument("--scheduler", default="fcfs", help="see `sledsim list schedulers` (default: fcfs)")
    options = parser.parse_args()
    try:
        runs = {name: scenario(name, options.scheduler, options.trace, options.fit) for name in GENERATIONS}
        comparison = sledsim.compare(runs, progress=True)
    except sledsim.SledsimError as error:
        print(f"error: {error}", file=sys.stderr)
        if options.trace and options.fit == "error" and any(fault.kind == "misfit" for fault in error.faults):
            for fit in ("scale", "wrap"):
                print(f'Next: make run TRACE={shlex.quote(options.trace)} ARGS="--fit {fit}"', file=sys.stderr)
        return 2
    print_tables([comparison.table()])
    if options.trace is None:
        print("\nNext: .venv/bin/sledsim example my-trace.gz && make run TRACE=my-trace.gz  # or a trace of your own")
    else:
        fit = f" --fit {options.fit}" if options.fit != "error" else ""
        print(f"\nNext: .venv/bin/sledsim replay {shlex.quote(options.trace)} --device g2 --scheduler sptf{fit}")
    return 0 if comparison.complete else 130


if __name__ == "__main__":
    sys.exit(main())
