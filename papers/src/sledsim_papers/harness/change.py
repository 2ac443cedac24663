"""A claim with a parameter changed, beside the same claim without."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sledsim_papers.harness.reproduction import Answer, Reproduction, reproduce
from sledsim_papers.harness.settings import Settings
from sledsim_papers.harness.study import Study

__all__ = ["Change", "change"]


@dataclass(frozen=True)
class Change:
    """What came of a claim, and what comes of it with other values.

    Parameters
    ----------
    settings
        The values, as ``path=value``.
    plain, changed
        What came of the claim without and with them.
    """

    settings: tuple[str, ...]
    plain: Reproduction
    changed: Reproduction

    @property
    def answers(self) -> tuple[Answer, Answer]:
        """The claim without and with the settings."""
        return self.plain.answers[0], self.changed.answers[0]

    @property
    def complete(self) -> bool:
        """Whether both were gone through; false after Ctrl-C."""
        return self.plain.complete and self.changed.complete

    @property
    def failures(self) -> int:
        """How many of the two failed."""
        return sum(each.failed for each in self.answers)


def change(
    name: str, settings: Sequence[str], study: Study, progress: Callable[[int, int], object] | None = None
) -> Change:
    """Check a claim as it is, and with values changed in all that its experiment runs.

    Parameters
    ----------
    name
        Full name of the claim.
    settings
        What is changed: see :class:`~sledsim_papers.harness.settings.Settings`.
    study
        Makes the runs.
    progress
        Called with 1, then 2, and with 2 as each of the two is done.

    Raises
    ------
    SledsimError
        Where a setting does not fit, or changes nothing.
    """

    def told(before: int) -> Callable[[int, int], object] | None:
        return (lambda done, _: progress(before + done, 2)) if progress else None

    plain = reproduce(name, study=study, progress=told(0))
    laid = Settings(settings)
    # Without probes: what changes them alone changes nothing in the claim.
    changed = reproduce(name, study=study.unprobed().changed(laid), progress=told(1))
    [answer] = changed.answers
    if answer.error:
        raise answer.error
    if answer.finding:
        laid.require_changes(name)
    return Change(tuple(settings), plain, changed)
