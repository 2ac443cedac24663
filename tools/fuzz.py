"""Try inputs on all that Sledsim reads, and say what did not end as it should.

    python tools/fuzz.py --seconds 3600 --seed 1         # two processes; the same seed tries the same cases
    python tools/fuzz.py --case document:1:4711          # one case again, with what is wrong with it
    python tools/fuzz.py --case document:1:4711 --keep sweep-without-axes

What is kept is tried again by every run of the tests: a file in ``tests/findings``. See docs/reference/validation.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from fuzzing.campaign import CASE_S, Tally, Worker, cases, tried
from fuzzing.doors import NAMES, TURNS, Case, doors
from fuzzing.worker import MEMORY_BYTES, packed, unpacked

FINDINGS = Path(__file__).parents[1] / "tests" / "findings"
#: Findings of a kind that are told.
TOLD = 3


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long, on the clock")
    parser.add_argument("--count", type=int, help="how many cases of each process, whatever it takes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--door", choices=NAMES, help="one door only")
    parser.add_argument("--case", help="one case again")
    parser.add_argument("--keep", metavar="NAME", help="write the input of --case into tests/findings")
    parser.add_argument("--stop", action="store_true", help="end with the first finding")
    asked = parser.parse_args()
    return again(asked.case, asked.keep) if asked.case else campaign(asked)


def again(name: str, keep: str | None) -> int:
    """Try one case again and show it; keep its input where that is asked for."""
    case = Case.of(name)
    given = doors()[case.door].make(case.random())
    print(json.dumps(given, indent=1)[:20_000])
    if keep:
        FINDINGS.mkdir(exist_ok=True)
        path = FINDINGS / f"{keep}.json"
        path.write_text(json.dumps({"door": case.door, "given": given}, indent=1) + "\n")
        print(f"kept as {path}")
    worker = Worker()
    outcome, finding = worker.attempt(name, packed(given))
    worker.stop()
    print(outcome, f"{finding.what}\n{finding.detail}" if finding else "")
    return int(finding is not None)


def campaign(asked: argparse.Namespace) -> int:
    """Try cases with several processes, and tell the outcome."""
    tallies = [Tally() for _ in range(asked.workers)]
    begun = time.monotonic()
    chosen = (asked.door,) if asked.door else TURNS
    until = None if asked.count else begun + asked.seconds
    threads = [
        threading.Thread(
            target=tried,
            args=(cases(asked.seed, first, asked.workers, chosen), tally),
            kwargs={"until": until, "count": asked.count, "stop": asked.stop},
        )
        for first, tally in enumerate(tallies)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        # What was found until now is told, once the cases under way have ended.
        for tally in tallies:
            tally.is_over = True
        for thread in threads:
            thread.join()
    return told(tallies, time.monotonic() - begun)


def told(tallies: list[Tally], seconds: float) -> int:
    """Say what became of the cases; return how many did not end as they should, at most 1."""
    doors_: Counter[tuple[str, str]] = sum((tally.by_door for tally in tallies), Counter())
    findings = [finding for tally in tallies for finding in tally.findings]
    for name in NAMES:
        counts = {outcome: doors_[name, outcome] for outcome in ("accepted", "refused", "failed")}
        print(f"{name:9} {sum(counts.values()):8,} cases: " + ", ".join(f"{n:,} {what}" for what, n in counts.items()))
    total = sum(tally.cases for tally in tallies)
    slowest_s, slowest = max(tally.slowest for tally in tallies)
    print(f"{total:,} cases in {seconds:.0f} s; the slowest took {slowest_s:.1f} s ({slowest})")
    print(f"limits of each: {CASE_S:g} s of processor time, {MEMORY_BYTES >> 20} MiB")
    kinds = Counter(finding.place for finding in findings)
    for kind, count in kinds.most_common():
        print(f"\n{count} × {kind}")
        for finding in [each for each in findings if each.place == kind][:TOLD]:
            print(f"  {finding.name}")
        first = next(each for each in findings if each.place == kind)
        print("    " + "\n    ".join(first.detail.splitlines()[-12:]))
        if first.given:
            print(f"    {json.dumps(unpacked(first.given))[:600]}")
    print(f"\n{len(findings)} findings of {len(kinds)} kinds")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
