"""Try random inputs on everything that Sledsim reads, and report crashes, hangs and broken invariants.

    python tools/fuzz.py --seconds 3600 --seed 1         # two processes; the same seed tries the same cases
    python tools/fuzz.py --case document:1:4711          # repeats one case and prints its finding
    python tools/fuzz.py --case document:1:4711 --keep sweep-without-axes

Each test run repeats the kept inputs in ``tests/findings``. See docs/reference/validation.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from fuzzing.campaign import CASE_S, Tally, Worker, cases, try_cases
from fuzzing.targets import NAMES, TURNS, Case, targets
from fuzzing.worker import MEMORY_BYTES, packed, unpacked

FINDINGS = Path(__file__).parents[1] / "tests" / "findings"
#: Maximum number of findings of a kind that are listed.
LISTED = 3


def main() -> int:
    """Run a campaign, or repeat one case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600.0, help="duration of the campaign")
    parser.add_argument("--count", type=int, help="number of cases of each process, instead of --seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--target", choices=NAMES, help="try one target only")
    parser.add_argument("--case", help="repeat one case")
    parser.add_argument("--keep", metavar="NAME", help="write the input of --case to tests/findings/NAME.json")
    parser.add_argument("--stop", action="store_true", help="stop after the first finding")
    options = parser.parse_args()
    return repeat(options.case, options.keep) if options.case else campaign(options)


def repeat(name: str, keep: str | None) -> int:
    """Repeat one case and print it; write its input to a file of this name, if any."""
    case = Case.of(name)
    given = targets()[case.target].make(case.random())
    print(json.dumps(given, indent=1)[:20_000])
    if keep:
        FINDINGS.mkdir(exist_ok=True)
        path = FINDINGS / f"{keep}.json"
        path.write_text(json.dumps({"target": case.target, "given": given}, indent=1) + "\n")
        print(f"written to {path}")
    worker = Worker()
    outcome, finding = worker.attempt(name, packed(given))
    worker.stop()
    print(outcome, f"{finding.kind}\n{finding.detail}" if finding else "")
    return int(finding is not None)


def campaign(options: argparse.Namespace) -> int:
    """Try cases with several processes, and print the outcome."""
    tallies = [Tally() for _ in range(options.workers)]
    begun = time.monotonic()
    chosen = (options.target,) if options.target else TURNS
    until = None if options.count else begun + options.seconds
    threads = [
        threading.Thread(
            target=try_cases,
            args=(cases(options.seed, first, options.workers, chosen), tally),
            kwargs={"until": until, "count": options.count, "stop": options.stop},
        )
        for first, tally in enumerate(tallies)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        # Finish the current cases, then print the findings so far.
        for tally in tallies:
            tally.is_over = True
        for thread in threads:
            thread.join()
    return report(tallies, time.monotonic() - begun)


def report(tallies: list[Tally], seconds: float) -> int:
    """Print the outcomes of the cases; return 1 if there are findings, else 0."""
    totals: Counter[tuple[str, str]] = sum((tally.by_target for tally in tallies), Counter())
    findings = [finding for tally in tallies for finding in tally.findings]
    for name in NAMES:
        counts = {outcome: totals[name, outcome] for outcome in ("accepted", "refused", "failed")}
        print(
            f"{name:9} {sum(counts.values()):8,} cases: "
            + ", ".join(f"{n:,} {outcome}" for outcome, n in counts.items())
        )
    total = sum(tally.cases for tally in tallies)
    slowest_s, slowest = max(tally.slowest for tally in tallies)
    print(f"{total:,} cases in {seconds:.0f} s; the slowest took {slowest_s:.1f} s ({slowest})")
    print(f"limits of each: {CASE_S:g} s of processor time, {MEMORY_BYTES >> 20} MiB")
    kinds = Counter(finding.group for finding in findings)
    for kind, count in kinds.most_common():
        print(f"\n{count} × {kind}")
        for finding in [each for each in findings if each.group == kind][:LISTED]:
            print(f"  {finding.name}")
        first = next(each for each in findings if each.group == kind)
        print("    " + "\n    ".join(first.detail.splitlines()[-12:]))
        if first.given:
            print(f"    {json.dumps(unpacked(first.given))[:600]}")
    print(f"\n{len(findings)} findings of {len(kinds)} kinds")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
