"""Checking claims and redrawing figures, in parallel."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from sledsim import SledsimError
from sledsim.runs import in_threads
from sledsim_papers.harness.claim import PAPERS, VERDICTS, Claim, Verdict, claims
from sledsim_papers.harness.finding import Finding, Ours
from sledsim_papers.harness.motion import TIME_OPTIMAL
from sledsim_papers.harness.perturbations import Perturbation, perturbations
from sledsim_papers.harness.registry import Drawn, Experiment, Picture, experiments, pictures, select
from sledsim_papers.harness.study import MissingTraceError, Study

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
    """The outcome of a claim.

    Parameters
    ----------
    claim
        The claim.
    finding
        The finding; ``None`` if it is not done.
    verdict
        The verdict on the finding.
    reason
        Why it is not done.
    failed
        True if it is not done because its experiment failed.
    error
        The error of Sledsim that made it fail, if any.
    seconds
        Processor time, s, including time-optimal motion, other seeds and the perturbation.
    seeds, probe_seeds
        Smallest number of seeds of a run for the figure, and for the probes alone; ``None`` if nothing is random.
    time_optimal
        The figures with time-optimal motion; ``None`` if not requested or not done.
    by_seed
        The verdict with each seed; empty if not requested or nothing is random.
    perturbed
        The outcome with the perturbation; ``None`` if not requested or there is none.
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
        """True if the verdict depends on the seed."""
        return len(set(self.by_seed)) > 1

    @property
    def insensitive(self) -> bool:
        """True if the perturbation does not change the verdict."""
        return self.perturbed is not None and self.perturbed.verdict == self.verdict


@dataclass(frozen=True)
class Redrawn:
    """The outcome of redrawing a figure or a table.

    Parameters
    ----------
    picture
        The figure or table.
    drawn
        The chart or the table; ``None`` if it is missing.
    reason
        Why it is missing.
    failed
        True if it is missing because drawing failed.
    seconds
        Processor time, s.
    seeds
        Smallest number of seeds of a run for it; ``None`` if nothing is random.
    """

    picture: Picture
    drawn: Drawn | None = None
    reason: str = ""
    failed: bool = False
    seconds: float = 0.0
    seeds: int | None = None


@dataclass(frozen=True)
class Reproduction:
    """The outcomes of the selected claims and figures.

    Parameters
    ----------
    answers
        One for each claim, in the order of the papers.
    redrawn
        One for each figure and table.
    quick
        True if samples are smaller than the papers'.
    complete
        False after Ctrl-C.
    """

    answers: Sequence[Answer]
    redrawn: Sequence[Redrawn]
    quick: bool
    complete: bool = True

    @property
    def failures(self) -> list[Answer | Redrawn]:
        """The outcomes that failed."""
        return [*(each for each in self.answers if each.failed), *(each for each in self.redrawn if each.failed)]

    def papers(self) -> list[str]:
        """Return the names of the papers of these outcomes."""
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
    """Options of :func:`reproduce` for each claim."""

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
    """Check claims.

    A failed experiment is reported in its answer. After Ctrl-C the finished answers are returned.

    Parameters
    ----------
    name
        ``None`` for all claims, ``PAPER`` for those of one paper, or ``PAPER.CLAIM``.
    draw
        True to redraw figures and tables too: all of a paper, or those that contain the claim.
    time_optimal
        True to compute each figure with time-optimal motion too.
    seeds
        Number of seeds for each experiment that simulates a workload; at least 1.
    perturb
        True to run experiments with the perturbation of their claim too.
    study
        Makes the runs; a quick study if not given. It stays open, except after Ctrl-C.
    export
        Called with each chart and table when it is drawn, in the thread that drew it.
    progress
        Called with the number of finished claims and figures and with their total.

    Raises
    ------
    SledsimError
        If there is no such paper or claim.
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
    """Return the figures and tables that :func:`reproduce` redraws for a name.

    Parameters
    ----------
    name
        ``None``, ``PAPER`` or ``PAPER.CLAIM``.
    """
    if name is None or name in PAPERS:
        return pictures(name)
    claim = claims()[name]
    return [each for each in pictures(claim.paper) if _place(each.where) & _place(claim.where)]


def _place(where: str) -> set[str]:
    """Return the figures and tables in the name of a place, without their parts: ``Figure 8(a)`` is in ``Figure 8``."""
    return set(re.findall(r"(?:Figure|Table) [\dIVX]+", where))


def _all(
    jobs: Sequence[Callable[[], Answer | Redrawn]],
    study: Study,
    progress: Callable[[int, int], object] | None,
) -> dict[int, Answer | Redrawn]:
    """Run jobs in threads; return the outcomes by the index of the job, after Ctrl-C those finished."""
    done: dict[int, Answer | Redrawn] = {}

    def work(numbered: tuple[int, Callable[[], Answer | Redrawn]]) -> None:
        # Stored here so that Ctrl-C loses no finished outcome.
        index, job = numbered
        done[index] = job()

    try:
        for _, outcome in in_threads(work, enumerate(jobs), THREADS):
            outcome.result()
            if progress:
                progress(len(done), len(jobs))
    except KeyboardInterrupt:
        # Copied before stopping the study makes the other jobs fail.
        finished = dict(done)
        study.stop()
        return finished
    return done


def _answer(claim: Claim, experiment: Experiment | None, study: Study, asked: Asked) -> Answer:
    """Run the experiment of a claim."""
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
    """Return the outcome of a claim, with the requested variants."""
    tallied = study.tallied()
    finding = experiment(tallied)
    verdict = claim.verdict(finding)
    # The variants need no probes.
    bare = study.unprobed()
    by_seed = _by_seed(claim, experiment, bare, asked.seeds) if finding.simulates and asked.seeds > 1 else ()
    perturbation = perturbations().get(claim.name) if asked.perturb else None
    return Answer(
        claim,
        finding,
        verdict,
        seeds=tallied.tally.least(of_probes=False),
        probe_seeds=tallied.tally.least(of_probes=True),
        # The verdict uses the paper's own model of motion.
        time_optimal=experiment(bare.under(TIME_OPTIMAL)).ours if asked.time_optimal else None,
        by_seed=by_seed,
        perturbed=_perturbed(claim, experiment, bare, perturbation) if perturbation else None,
    )


def _by_seed(claim: Claim, experiment: Experiment, study: Study, seeds: int) -> tuple[Verdict, ...]:
    """Return the verdict with each seed."""
    return tuple(claim.verdict(experiment(study.seeded(seed))) for seed in range(1, seeds + 1))


def _perturbed(claim: Claim, experiment: Experiment, study: Study, perturbation: Perturbation) -> Perturbed:
    """Run the experiment of a claim with its perturbation; failing to run changes the verdict, too."""
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
    """Return the text of an error; of errors other than Sledsim's with type and place."""
    if isinstance(error, SledsimError):
        return f"error: {error}"
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" ({trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno})" if trace else ""
    return f"error: {type(error).__name__}: {error}{place}"
