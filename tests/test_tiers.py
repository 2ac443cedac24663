"""No test is left out: `make test-all` runs each once, and `make test` each that is not slow."""

from __future__ import annotations

import os
import re
import subprocess
from itertools import product

import pytest

from conftest import ROOT


def selections(target: str) -> list[str]:
    """Return which tests each run of pytest takes, as an expression of their marks."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    told = subprocess.run(["make", "--dry-run", target], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    return re.findall(r'-m pytest .*-m "(.+)"', told.stdout)


@pytest.mark.parametrize("target", ["test", "test-all"])
def test_every_test_is_in_one_run_of_its_tier(target: str) -> None:
    runs = selections(target)
    for slow, prompt in product([False, True], repeat=2):
        taken = [eval(run, {"slow": slow, "prompt": prompt}) for run in runs]
        assert taken.count(True) == (target == "test-all" or not slow), (slow, prompt)
