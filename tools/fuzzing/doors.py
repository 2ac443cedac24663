"""What a case is, what a door is, and which there are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

#: An input as JSON could hold it, so that it can be kept.
Given = dict[str, Any]


class BrokenError(AssertionError):
    """Something was accepted, and what came out of it can't be."""


class RefusedError(Exception):
    """An input was refused in Sledsim's own words: ``cause`` has them."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Door(Protocol):
    """A way into Sledsim."""

    def make(self, random: Random) -> Given:
        """Make an input."""

    def attempt(self, given: Given, folder: Path) -> None:
        """Try an input; raise what comes out of it."""


@dataclass(frozen=True)
class Case:
    """One input.

    Parameters
    ----------
    door
        The name of the door.
    seed
        Of the campaign.
    number
        Which one.
    """

    door: str
    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.door}:{self.seed}:{self.number}"

    @classmethod
    def of(cls, text: str) -> Case:
        """Read what ``str`` makes of one."""
        door, seed, number = text.split(":")
        return cls(door, int(seed), int(number))

    def random(self) -> Random:
        """Return what the input is drawn from."""
        return Random(hashlib.sha256(str(self).encode()).digest())


def doors() -> dict[str, Door]:
    """Return the doors by name; what they need of Sledsim is loaded here."""
    from fuzzing.arguments import Arguments
    from fuzzing.command import Command
    from fuzzing.custom_policies import CustomPolicies
    from fuzzing.disksim import DiskSimFiles
    from fuzzing.documents import Documents
    from fuzzing.systems import Systems
    from fuzzing.traces import Traces

    return {
        "document": Documents(),
        "trace": Traces(),
        "disksim": DiskSimFiles(),
        "argument": Arguments(),
        "system": Systems(),
        "command": Command(),
        "custom": CustomPolicies(),
    }


#: Their names, without loading anything.
NAMES = ("document", "trace", "disksim", "argument", "system", "command", "custom")
#: How often each comes up: a system takes ten times as long as a document.
TURNS = ("document", "system", "trace", "document", "argument", "system", "disksim", "custom", "trace", "command")
