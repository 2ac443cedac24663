"""Pass on the output of the core's tests, then list the ten tests that took longest and those that failed.

Usage: cargo test ... -- -Z unstable-options --report-time 2>&1 | slowest_tests.py
"""

import re
import sys

SHOWN = 10


def main() -> None:
    """Copy standard input to standard output and sum up."""
    program, tests, failed = "", [], []
    for line in sys.stdin:
        print(line, end="", flush=True)
        if running := re.match(r"\s+Running tests/(\w+)", line):
            program = running[1]
        elif ran := re.match(r"test (\S+) .* <([\d.]+)s>$", line):
            tests.append((float(ran[2]), f"{program} {ran[1]}"))
        if failure := re.match(r"test (\S+) .*FAILED", line):
            failed.append(f"{program} {failure[1]}")
    print("Tests that took longest:")
    for seconds, name in sorted(tests, reverse=True)[:SHOWN]:
        print(f"{seconds:8.2f} s  {name}")
    for name in failed:
        print(f"FAILED: {name}")


if __name__ == "__main__":
    main()
