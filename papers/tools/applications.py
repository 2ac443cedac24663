"""Run the applications of schlosser2000 on whole machines; keep the results that exist.

make applications                  after `make machine`; 35 runs, each of up to some minutes of processor time
make applications ARGS=--record    put the runs made here into the package
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from os import cpu_count

from sledsim_papers.schlosser2000.applications import RUNS, make, record


def make_and_print(name: str) -> None:
    """Make a run if it is missing, and print its name and duration."""
    start = time.monotonic()
    if make(name):
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


def main() -> int:
    """Make the runs, several at a time."""
    parser = argparse.ArgumentParser(description="Run applications on whole machines.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="runs to make; all if none is given")
    parser.add_argument("--threads", type=int, default=cpu_count(), help="machines at a time")
    parser.add_argument("--record", action="store_true", help="put the runs made here into the package")
    options = parser.parse_args()
    if unknown := set(options.names) - set(RUNS):
        parser.error(f"unknown runs: {', '.join(sorted(unknown))}; known: {', '.join(RUNS)}")
    if options.record:
        print("recorded:", *record(datetime.now(UTC).date().isoformat()))
        return 0
    with ThreadPoolExecutor(options.threads) as pool:
        list(pool.map(make_and_print, options.names or RUNS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
