"""Passes on what the core's tests print, and ends with the ten that took longest.

Usage: cargo test ... -- -Z unstable-options --report-time 2>&1 | slowest_tests.py
"""

import re
import sys

SHOWN = 10


def main() -> None:
    program, tests = "", []
    for line in sys.stdin:
        print(line, end="", flush=True)
        if running := re.match(r"\s+Running (?:unittests|tests/)\s*(\S+?)(?:/main\.rs)? ", line):
            program = running[1]
        elif timed := re.match(r"test (\S+) .*<([\d.]+)s>$", line):
            tests.append((float(timed[2]), program, timed[1]))
    for seconds, program, name in sorted(tests, reverse=True)[:SHOWN]:
        print(f"{seconds:8.2f} s  {program} {name}")


if __name__ == "__main__":
    main()
