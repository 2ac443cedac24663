"""What `make test` says at the end of the core's tests."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools/slowest_tests.py"

PRINTED = """\
     Running tests/engine/main.rs (target/debug/deps/engine-1)

running 3 tests
test a::passes ... ok <0.001s>
test a::lost_writes_are_found ... ok <0.120s>
test b::panics - should panic ... FAILED <2.500s>

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.50s
"""


def test_the_slowest_and_the_planted_bugs_come_last() -> None:
    said = subprocess.run([sys.executable, TOOL], input=PRINTED, capture_output=True, text=True, check=True).stdout
    assert said.removeprefix(PRINTED).splitlines() == [
        "Tests that took longest:",
        "    2.50 s  engine b::panics",
        "    0.12 s  engine a::lost_writes_are_found",
        "    0.00 s  engine a::passes",
        "Planted bugs:",
        "        ok  engine a::lost_writes_are_found",
    ]
