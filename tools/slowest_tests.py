"""Passes on what the core's tests print; ends with the ten that took longest, and with those that found planted bugs.

Usage: cargo test ... -- -Z unstable-options --report-time 2>&1 | slowest_tests.py
"""

import re
import sys

SHOWN = 10


def main() -> None:
    """Read what the tests print, pass it on, and sum up."""
    program, tests = "", []
    for line in sys.stdin:
        print(line, end="", flush=True)
        if running := re.match(r"\s+Running tests/(\w+)", line):
            program = running[1]
        elif ran := re.match(r"test (\S+) .*?(\w+) <([\d.]+)s>$", line):
            tests.append((float(ran[3]), f"{program} {ran[1]}", ran[2]))
    print("Tests that took longest:")
    for seconds, name, _ in sorted(tests, reverse=True)[:SHOWN]:
        print(f"{seconds:8.2f} s  {name}")
    print("Planted bugs:")
    for _, name, outcome in tests:
        if re.search(r"_(is|are)_found$", name):
            print(f"{outcome:>10}  {name}")


if __name__ == "__main__":
    main()
