"""A claim checked without and with changed values (`--set`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sledsim_papers.harness.reproduction import Answer, Reproduction, reproduce
from sledsim_papers.harness.settings import Settings
from sledsim_papers.harness.study import Study

__all__ = ["Change", "change"]


@dataclass(frozen=True)
class Change:
    """The outcomes of a claim without and with changed values.

    Parameters
    ----------
    settings
        The values, as ``path=value``.
    plain, changed
        The outcomes without and with them.
    """

    settings: tuple[str, ...]
    plain: Reproduction
    changed: Reproduction

    @property
    def answers(self) -> tuple[Answer, Answer]:
        """The outcomes without and with the settings."""
        return self.plain.answers[0], self.changed.answers[0]

    @property
    def complete(self) -> bool:
        """True if both are done; false after Ctrl-C."""
        return self.plain.complete and self.changed.complete

    @property
    def failures(self) -> int:
        """Number of failures."""
        return sum(each.failed for each in self.answers)


def change(
    name: str, settings: Sequence[str], study: Study, progress: Callable[[int, int], object] | None = None
) -> Change:
    """Check a claim without and with changed values in all runs of its experiment.

    Parameters
    ----------
    name
        Full name of the claim.
    settings
        Changed values; see :class:`~sledsim_papers.harness.settings.Settings`.
    study
        Makes the runs.
    progress
        Called with (1, 2) and (2, 2) as the checks are done.

    Raises
    ------
    SledsimError
        If a setting is invalid or changes nothing.
    """

    def progress_from(before: int) -> Callable[[int, int], object] | None:
        return (lambda done, _: progress(before + done, 2)) if progress else None

    plain = reproduce(name, study=study, progress=progress_from(0))
    applied = Settings(settings)
    # Without probes, because a setting that changes only probes does not change the claim.
    changed = reproduce(name, study=study.unprobed().changed(applied), progress=progress_from(1))
    [answer] = changed.answers
    if answer.error:
        raise answer.error
    if answer.finding:
        applied.require_changes(name)
    return Change(tuple(settings), plain, changed)
