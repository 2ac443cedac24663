"""Cases and targets of the fuzzer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

#: An input, in types of JSON so that it can be written to a file.
Given = dict[str, Any]


class BrokenError(AssertionError):
    """An accepted input has an impossible result."""


class RefusedError(Exception):
    """An input was refused with an error of Sledsim, ``cause``."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Target(Protocol):
    """An interface of Sledsim that reads inputs."""

    def make(self, random: Random) -> Given:
        """Make an input."""

    def attempt(self, given: Given, folder: Path) -> None:
        """Try an input; raise the error of Sledsim if it is refused, and other errors for findings."""


@dataclass(frozen=True)
class Case:
    """One input.

    Parameters
    ----------
    target
        The name of the target.
    seed
        Seed of the campaign.
    number
        Number of the case in the campaign.
    """

    target: str
    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.target}:{self.seed}:{self.number}"

    @classmethod
    def of(cls, text: str) -> Case:
        """Parse the text that ``str`` returns."""
        target, seed, number = text.split(":")
        return cls(target, int(seed), int(number))

    def random(self) -> Random:
        """Return the random numbers that determine the input."""
        return Random(hashlib.sha256(str(self).encode()).digest())


def targets() -> dict[str, Target]:
    """Import and return the targets by name."""
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


#: Names of the targets, available without imports.
NAMES = ("document", "trace", "disksim", "argument", "system", "command", "custom")
#: Order of the targets in a campaign: slow ones, such as systems, are rarer.
TURNS = ("document", "system", "trace", "document", "argument", "system", "disksim", "custom", "trace", "command")
