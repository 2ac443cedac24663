"""The reference pages say what the program says of itself."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from built_core import built_core
from source_text import ROOT

DOCS = ROOT / "docs"


def test_reference_pages_are_up_to_date() -> None:
    built_core()
    command = [sys.executable, str(ROOT / "tools" / "reference_pages.py"), "--check"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize("page", [*sorted(DOCS.glob("*.md")), *sorted(ROOT.glob("*.md"))], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: object) -> None:
    path = ROOT / str(page)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target
