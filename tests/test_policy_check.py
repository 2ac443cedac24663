"""`sledsim plugin-check`: built-in schedulers pass, and contract violations are named with their request."""

from __future__ import annotations

import json
import re
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

import sledsim
from conftest import ROOT
from sledsim.runs import policy_check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "custom_schedulers.py").write_text((ROOT / "examples" / "custom_schedulers.py").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", list(sledsim.schedulers.catalog()))
def test_built_in_schedulers_pass_the_contract_check(name: str) -> None:
    found = sledsim.runs.check_policy(name)
    assert found.passed, str(found)
    assert len(found.verdicts) == 9


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["Fcfs", "Clook", "Sptf", "AgedSptf"])
def test_valid_classes_pass_the_contract_check(name: str) -> None:
    found = sledsim.runs.check_policy(f"custom_schedulers:{name}")
    assert found.passed, str(found)


#: Errors of a class, the violated rule, and the message.
BROKEN = {
    "newest": ("return len(pending) - 1", "starves no request", r"request 0 was passed over [\d,]+ times"),
    "beyond": ("return len(pending)", "serves each request once: one sled", r"request 0 \(write of 1 blocks"),
    "shares": (
        "Mine.calls += 1\n        return Mine.calls % len(pending)",
        "repeats its decisions",
        r"completion \d+ is of request \d+, but",
    ),
    "raises": (
        "assert not (pending.lbn > 3_000_000).any()\n        return 0",
        "serves each request once: one sled",
        r"AssertionError",
    ),
    "no copies": (
        "self.lock = __import__('threading').Lock()\n        return 0",
        "continues unchanged from a snapshot",
        "a copy of mine:Mine raised TypeError",
    ),
    "hangs": ("while True: pass", "serves each request once: one sled", r"did not return within 0.2 s"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_contract_violations_are_named(name: str, folder: Path) -> None:
    body, rule, says = BROKEN[name]
    text = """\
    from sledsim.schedulers import Policy

    class Mine(Policy):
        limit_s = 0.2
        calls = 0

        def pick(self, now_ns, pending):
            BODY
    """
    (folder / "mine.py").write_text(dedent(text).replace("BODY", body))
    found = sledsim.runs.check_policy("mine:Mine")
    assert not found.passed
    faults = {verdict.rule: verdict.fault for verdict in found.verdicts if not verdict.passed}
    assert rule in faults
    assert re.search(says, faults[rule])


#: Errors of classes of other roles that do not show in the served requests.
HIDDEN = {
    "a time drawn anew": (
        """\
        from random import randrange
        from sledsim.spin_down import SpinDown

        class Mine(SpinDown):
            def after_ns(self, now_ns, mode, modes):
                return randrange(10_000_000)
        """,
        "repeats its decisions",
        r"request \d+ completed at [\d.]+ s, but",
    ),
    "a choice that is remembered": (
        """\
        from sledsim.caches import Replacement

        class Mine(Replacement):
            def started(self, slots):
                self.slots, self.hand = slots, 0

            def victim(self, key, after):
                self.hand = (self.hand + 1) % self.slots
                return self.hand

            def admitted(self, slot, key, evicted):
                pass

            def hit(self, slot, key):
                pass
        """,
        "choosing changes nothing",
        r"with two calls for each choice, the run fails at [\d.e-]+ s, with request \d+",
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_contract_violations_of_other_roles_are_named(name: str, folder: Path) -> None:
    text, rule, says = HIDDEN[name]
    (folder / "mine.py").write_text(dedent(text))
    found = sledsim.runs.check_policy("mine:Mine")
    faults = {verdict.rule: verdict.fault for verdict in found.verdicts if not verdict.passed}
    assert re.search(says, faults[rule]), faults


def test_unknown_parameters_are_refused(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    unknown = sledsim_cli("plugin-check", "custom_schedulers:AgedSptf", "--parameter", "wait=2")
    assert (unknown.status, "wait" in unknown.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("custom_schedulers:Fcfs", "scheduler"),
        ("custom_caches:Lru", "replacement"),
        ("custom_mirrors:Nearest", "mirror"),
        ("custom_spin_down:Adaptive", "spin-down"),
        ("custom_mechanism:Sled", "device"),
        ("lru", "replacement"),
    ],
)
def test_role_of_a_class_is_detected(
    name: str, role: str, folder: Path, monkeypatch: pytest.MonkeyPatch, sledsim_cli: Callable[..., Outcome]
) -> None:
    for path in (ROOT / "examples").glob("custom_*.py"):
        (folder / path.name).write_text(path.read_text())
    # Only the choice of the contract is tested here.
    monkeypatch.setattr(policy_check, "_fault", lambda _test: "")
    result = sledsim_cli("plugin-check", name, "--json")
    assert (result.status, next(iter(json.loads(result.out)))) == (0, role)


def test_functions_need_a_role_option(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    (folder / "mine.py").write_text("def pick(now_ns, pending):\n    return 0\n")
    for given in ('{ library = "libmine.so", symbol = "pick" }', "mine:pick"):
        result = sledsim_cli("plugin-check", given)
        assert result.status == 2
        assert "give it as --role (known: scheduler, replacement, mirror, spin-down, device)" in " ".join(
            result.err.split()
        )
