"""The rules that ``--check`` holds: each is in the reference, told as it says there, and broken once by a test."""

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parent.parent / "crates" / "sledsim" / "src"
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "checks.md"

#: Where each section's rules are checked; of the hierarchy every component.
ROOMS = {
    "The engine": [CORE / "engine" / "ledger.rs", CORE / "engine" / "system.rs"],
    "Devices": [CORE / "devices" / "checked.rs"],
    "Schedulers": [CORE / "schedulers" / "checked.rs"],
    "The hierarchy": sorted((CORE / "hierarchy").rglob("*.rs")),
}
#: What begins the part of a file that holds its tests.
TESTS = "#[cfg(test)]\nmod tests"


def _told(section: str) -> list[str]:
    """Return what is told when each rule of a section breaks, as the page says."""
    part = PAGE.read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return [row[-1] for row in rows if not set(row[0]) <= {"-"} and row[-1] != "what is told where it does not"]


def _literals(code: str) -> list[str]:
    joined = re.sub(r"\\\n\s*", "", code)
    return [text for text in re.findall(r'"((?:[^"\\]|\\.)*)"', joined) if len(text) > 5]


def _checking(path: Path, code: str) -> str:
    """Return the part of a file that checks rules: all of a watcher, of others the functions that do."""
    if path.stem in ("checked", "ledger"):
        return code
    names = r"check\(&self, (?:at_rest|pending)|broken_rule\(&mut|unsound\(&self"
    found: list[str] = re.findall(rf"\n    (?:pub(?:\(super\))? )?fn (?:{names}).*?\n    }}\n", code, re.DOTALL)
    return "".join(found)


def _of_room(section: str) -> tuple[list[str], list[str]]:
    """Return the texts of a room's code that tell of rules, and those of its tests."""
    telling: list[str] = []
    testing: list[str] = []
    for path in ROOMS[section]:
        code, _, tests = path.read_text(encoding="utf-8").partition(TESTS)
        telling += _literals(_checking(path, code))
        apart = path.with_suffix("") / "tests.rs"
        testing += _literals(tests + (apart.read_text(encoding="utf-8") if apart.exists() else ""))
    return telling, testing


@pytest.mark.parametrize("section", ROOMS)
def test_every_rule_is_told_as_documented_and_broken_once(section: str) -> None:
    documented = _told(section)
    telling, testing = _of_room(section)
    assert documented
    for words in documented:
        assert any(words in text for text in telling), f"nothing tells {words!r}"
        assert any(words in text or text in words for text in testing), f"no test breaks the rule that tells {words!r}"


@pytest.mark.parametrize("section", ROOMS)
def test_every_rule_is_documented(section: str) -> None:
    documented = _told(section)
    for text in _of_room(section)[0]:
        passes_words_on = text in ("{rule}", "not in order is {part}")
        assert passes_words_on or any(words in text for words in documented), f"{text!r} is not documented"
