"""Show what layouts of a relation are worth on MEMS storage, beside a disk of the same mean access time."""

from __future__ import annotations

import argparse

import sledsim


def main() -> None:
    """Time scans and row fetches under every layout that each device can have."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    relation = sledsim.studies.Relation(records=parser.parse_args().records)
    for device in ("g2", "uberdisk"):
        times = sledsim.studies.relation_times(device, relation)
        print(times, end="\n\n")
        fetches = {name: times[name, "fetch"].time_s for name in times.layouts}
        scans = {name: times[name, "scan of a1"].time_s for name in times.layouts}
        quick = [name for name in times.layouts if fetches[name] < 1.5 * min(fetches.values())]
        both = [name for name in quick if scans[name] < 0.5 * max(scans.values())]
        print(f"{device}: rows are fetched and attributes scanned quickly by {', '.join(both) or 'no layout'}\n")


if __name__ == "__main__":
    main()
