"""Claims checked and figures redrawn, side by side."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from sledsim import SledsimError
from sledsim.runs import in_threads
from sledsim_papers.harness.finding import Finding, Ours
from sledsim_papers.harness.ledger import PAPERS, VERDICTS, Claim, Verdict, claims
from sledsim_papers.harness.motion import TIME_OPTIMAL
from sledsim_papers.harness.perturbations import Perturbation, perturbations
from sledsim_papers.harness.registry import Drawn, Experiment, Picture, experiments, pictures, select
from sledsim_papers.harness.study import MissingRunsError, MissingTraceError, Study

__all__ = ["Answer", "Perturbed", "Redrawn", "Reproduction", "pictures_of", "reproduce"]

#: Experiments at a time. Most of them wait for runs; more at a time would only keep more of them unfinished.
THREADS = 16


@dataclass(frozen=True)
class Perturbed:
    """The outcome of a claim's experiment with a perturbation.

    Parameters
    ----------
    perturbation
        The perturbation.
    ours
        The figures; ``None`` if the experiment cannot run with it.
    verdict
        The verdict on these figures.
    reason
        Why the experiment cannot run.
    """

    perturbation: Perturbation
    ours: Ours | None
    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True)
class Answer:
    """What came of a claim.

    Parameters
    ----------
    claim
        The claim.
    finding
        What we find; ``None`` where it is not done.
    verdict
        How the finding compares with what was published.
    reason
        Why it is not done.
    failed
        Whether it is not done because its experiment failed.
    error
        What Sledsim could not do, where that is why it failed.
    seconds
        The processor's time for it, and for what is found beside it.
    seeds, probe_seeds
        The fewest seeds with which a run of the figure, or one of the probes alone, was made; ``None`` where none of
        them draws anything at random.
    time_optimal
        What is found with sleds that move by that model; ``None`` where that was not asked for, or it is not done.
    by_seed
        The verdict with each of the seeds asked for by itself; empty where no more than one was asked for, nothing is
        drawn at random, or runs on whole machines were made with one.
    perturbed
        What comes of it under a change that contradicts it; ``None`` where that was not asked for, or there is none.
    """

    claim: Claim
    finding: Finding | None = None
    verdict: Verdict = "not done"
    reason: str = ""
    failed: bool = False
    error: SledsimError | None = None
    seconds: float = 0.0
    seeds: int | None = None
    probe_seeds: int | None = None
    time_optimal: Ours | None = None
    by_seed: tuple[Verdict, ...] = ()
    perturbed: Perturbed | None = None

    @property
    def unstable(self) -> bool:
        """Whether the verdict depends on the seed."""
        return len(set(self.by_seed)) > 1

    @property
    def insensitive(self) -> bool:
        """True if the perturbation does not change the verdict."""
        return self.perturbed is not None and self.perturbed.verdict == self.verdict


@dataclass(frozen=True)
class Redrawn:
    """What came of a figure or a table.

    Parameters
    ----------
    picture
        Which one.
    drawn
        The chart or the table; ``None`` where there is none.
    reason
        Why there is none.
    failed
        Whether there is none because drawing it failed.
    seconds
        The processor's time for it.
    seeds
        The fewest seeds with which a run of it was made; ``None`` where none draws anything at random.
    """

    picture: Picture
    drawn: Drawn | None = None
    reason: str = ""
    failed: bool = False
    seconds: float = 0.0
    seeds: int | None = None


@dataclass(frozen=True)
class Reproduction:
    """What came of the claims and the figures that were asked for.

    Parameters
    ----------
    answers
        One for each claim, in the order of the papers.
    redrawn
        One for each figure and table.
    quick
        Whether samples are smaller than the papers'.
    complete
        Whether everything was gone through; false after Ctrl-C.
    """

    answers: Sequence[Answer]
    redrawn: Sequence[Redrawn]
    quick: bool
    complete: bool = True

    @property
    def failures(self) -> list[Answer | Redrawn]:
        """What failed."""
        return [*(each for each in self.answers if each.failed), *(each for each in self.redrawn if each.failed)]

    def papers(self) -> list[str]:
        """Return the papers that it is about."""
        about = {answer.claim.paper for answer in self.answers} | {each.picture.paper for each in self.redrawn}
        return [paper for paper in PAPERS if paper in about]

    def count(self, paper: str | None = None) -> Mapping[Verdict, int]:
        """Count the verdicts on a paper's claims, or on all."""
        found = [answer.verdict for answer in self.answers if paper in (None, answer.claim.paper)]
        return {verdict: found.count(verdict) for verdict in VERDICTS}

    def simulated(self, paper: str | None = None) -> int:
        """Count the reproduced claims of a paper, or of all, for which a workload was simulated."""
        return sum(
            answer.verdict == "reproduced" and answer.finding is not None and answer.finding.simulates
            for answer in self.answers
            if paper in (None, answer.claim.paper)
        )


@dataclass(frozen=True)
class Asked:
    """What is asked of each claim beside its verdict, as :func:`reproduce` has it."""

    time_optimal: bool
    seeds: int
    perturb: bool


def reproduce(
    name: str | None = None,
    *,
    draw: bool = False,
    time_optimal: bool = False,
    seeds: int = 1,
    perturb: bool = False,
    study: Study | None = None,
    export: Callable[[Picture, Drawn], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Reproduction:
    """Check claims against our runs.

    An experiment that fails is an answer that says so. Ctrl-C ends it with what has been finished.

    Parameters
    ----------
    name
        Nothing for all claims, ``PAPER`` for those of one, or ``PAPER.CLAIM``.
    draw
        Whether to redraw the figures and tables too: all of a paper, or those in which a single claim stands.
    time_optimal
        Whether to find, beside each figure, what it is where sleds move by that model in place of the paper's.
    seeds
        With how many seeds to do each experiment that simulates a workload; at least 1.
    perturbation
        Whether to do the experiments that have one with the change that contradicts their claim too.
    study
        Makes the runs; a quick one if not given. It stays open, except after Ctrl-C.
    export
        Called with each chart and table as soon as it is drawn, in the thread that drew it.
    progress
        Called with how many claims and figures are done, and with their number, whenever another one is.

    Raises
    ------
    SledsimError
        Where there is no such claim.
    """
    names, asked = select(name), Asked(time_optimal, seeds, perturb)
    known, shown = experiments(), pictures_of(name) if draw else []
    with nullcontext(study) if study else Study() as runs:
        jobs: list[Callable[[], Answer | Redrawn]] = [
            partial(_answer, claims()[each], known.get(each), runs, asked) for each in names
        ]
        jobs += [partial(_redraw, each, runs, export) for each in shown]
        outcomes = _all(jobs, runs, progress)
        left_out = "interrupted"
        answers = [Answer(claims()[each], reason=left_out) for each in names]
        redrawn = [Redrawn(each, reason=left_out) for each in shown]
        for index, outcome in outcomes.items():
            if isinstance(outcome, Answer):
                answers[index] = outcome
            else:
                redrawn[index - len(names)] = outcome
        return Reproduction(answers, redrawn, runs.quick, complete=len(outcomes) == len(jobs))


def pictures_of(name: str | None) -> list[Picture]:
    """Return the figures and tables that belong to what :func:`reproduce` is asked for.

    Parameters
    ----------
    name
        Nothing, ``PAPER`` or ``PAPER.CLAIM``.
    """
    if name is None or name in PAPERS:
        return pictures(name)
    claim = claims()[name]
    return [each for each in pictures(claim.paper) if _place(each.where) & _place(claim.where)]


def _place(where: str) -> set[str]:
    """Return the figures and tables that a place names, without their parts: ``Figure 8(a)`` is in ``Figure 8``."""
    return set(re.findall(r"(?:Figure|Table) [\dIVX]+", where))


def _all(
    jobs: Sequence[Callable[[], Answer | Redrawn]],
    study: Study,
    progress: Callable[[int, int], object] | None,
) -> dict[int, Answer | Redrawn]:
    """Do the jobs in threads; return the outcomes, those so far after Ctrl-C, by the places of the jobs."""
    done: dict[int, Answer | Redrawn] = {}

    def work(numbered: tuple[int, Callable[[], Answer | Redrawn]]) -> None:
        # Here, so that Ctrl-C loses nothing that is finished.
        index, job = numbered
        done[index] = job()

    try:
        for _, outcome in in_threads(work, enumerate(jobs), THREADS):
            outcome.result()
            if progress:
                progress(len(done), len(jobs))
    except KeyboardInterrupt:
        # Now, as those who wait for runs are about to hear that there are none.
        finished = dict(done)
        study.stop()
        return finished
    return done


def _answer(claim: Claim, experiment: Experiment | None, study: Study, asked: Asked) -> Answer:
    """Do the experiment of a claim."""
    if experiment is None:
        return Answer(claim, reason="no experiment yet")
    try:
        answer, seconds = study.seconds(lambda: _done(claim, experiment, study, asked))
        return replace(answer, seconds=seconds)
    except MissingTraceError as error:
        return Answer(claim, reason=str(error))
    except Exception as error:
        own = error if isinstance(error, SledsimError) else None
        return Answer(claim, reason=_said(error), failed=True, error=own)


def _done(claim: Claim, experiment: Experiment, study: Study, asked: Asked) -> Answer:
    """Return what comes of a claim, and of what else is asked of it."""
    tallied = study.tallied()
    finding = experiment(tallied)
    verdict = claim.verdict(finding)
    # Beside the verdict figures are enough.
    bare = study.unprobed()
    by_seed = _by_seed(claim, experiment, bare, asked.seeds) if finding.simulates and asked.seeds > 1 else ()
    perturbation = perturbations().get(claim.name) if asked.perturb else None
    return Answer(
        claim,
        finding,
        verdict,
        seeds=tallied.tally.least(of_probes=False),
        probe_seeds=tallied.tally.least(of_probes=True),
        # The verdict is that under the paper's model, whatever comes of this one.
        time_optimal=_time_optimal(experiment, bare) if asked.time_optimal else None,
        by_seed=by_seed,
        perturbed=_perturbed(claim, experiment, bare, perturbation) if perturbation else None,
    )


def _by_seed(claim: Claim, experiment: Experiment, study: Study, seeds: int) -> tuple[Verdict, ...]:
    """Return the verdict with each seed by itself; none where runs on whole machines were made with one."""
    try:
        return tuple(claim.verdict(experiment(study.seeded(seed))) for seed in range(1, seeds + 1))
    except MissingRunsError:
        return ()


def _time_optimal(experiment: Experiment, study: Study) -> Ours | None:
    """Return what is found with the other motion; nothing where its runs on whole machines were not made."""
    try:
        return experiment(study.under(TIME_OPTIMAL)).ours
    except MissingRunsError:
        return None


def _perturbed(claim: Claim, experiment: Experiment, study: Study, perturbation: Perturbation) -> Perturbed:
    """Do the experiment of a claim with the change that contradicts it; what can't be done then is noticed too."""
    try:
        finding = experiment(study.perturbed(perturbation))
    except (SledsimError, ArithmeticError, LookupError, ValueError) as error:
        return Perturbed(perturbation, None, "not done", _said(error))
    return Perturbed(perturbation, finding.ours, claim.verdict(finding))


def _redraw(picture: Picture, study: Study, export: Callable[[Picture, Drawn], object] | None) -> Redrawn:
    """Draw a figure or a table."""
    draw = picture.draw
    if draw is None:
        return Redrawn(picture, reason=picture.reason)
    try:
        tallied = study.tallied()
        drawn, seconds = study.seconds(lambda: draw(tallied))
        if export:
            export(picture, drawn)
        return Redrawn(picture, drawn, seconds=seconds, seeds=tallied.tally.least(of_probes=False))
    except MissingTraceError as error:
        return Redrawn(picture, reason=str(error))
    except Exception as error:
        return Redrawn(picture, reason=_said(error), failed=True)


def _said(error: Exception) -> str:
    """Write an error: ours says all, of another the kind and the place matter."""
    if isinstance(error, SledsimError):
        return f"error: {error}"
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" ({trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno})" if trace else ""
    return f"error: {type(error).__name__}: {error}{place}"
