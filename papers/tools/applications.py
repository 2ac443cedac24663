"""Make the runs of applications on whole machines that claims of schlosser2000 rest on; those that are there stay.

make applications            (after `make machine`; minutes of a processor for each of some hundred and sixty)
make applications ARGS=--record    what they found goes into the project, for those who have made none
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from os import cpu_count

from sledsim_papers.schlosser2000.applications import Run, all_runs, make, record


def made(run: Run) -> None:
    """Make a run and say so."""
    if make(run):
        print(f"{run.application} on {run.device}", *run.changes, *map(str, run.guest.values()), flush=True)


def main() -> int:
    """Make them, several at a time."""
    parser = argparse.ArgumentParser(description="Run applications on whole machines.")
    parser.add_argument("--threads", type=int, default=cpu_count(), help="machines at a time")
    parser.add_argument("--first", type=int, help="so many of the runs; all if not given")
    parser.add_argument("--record", action="store_true", help="record what those that are there have found")
    options = parser.parse_args()
    if options.record:
        print(f"{record(datetime.now(UTC).date().isoformat())} runs recorded")
        return 0
    with ThreadPoolExecutor(options.threads) as pool:
        list(pool.map(made, islice(all_runs(), options.first)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
