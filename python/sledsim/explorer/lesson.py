"""Lessons for the explorer: texts and questions about a scenario. The answers are computed by simulation."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field, ValidationInfo, field_validator

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.explorer.short import short_scenario
from sledsim.scenario.documents import BasedOnScenario, Settings
from sledsim.scenario.reading import Resolved
from sledsim.scenario.tables import KeysError, Table
from sledsim.show.faults import make_error, with_facts

__all__ = ["LESSONS", "Answer", "Choice", "Column", "Lesson", "LessonLike", "Question", "Step", "load_lesson"]

#: The lessons of the package, in their order.
LESSONS = ("seeking", "scheduling", "stopping", "caching")
#: Views of the page, by the name in a lesson.
View = Literal["device", "queue", "compare", "controls", "curves"]
#: Parts of the scenario that a goal keeps unless the lesson says otherwise: the requests are the same.
SAME_REQUESTS = ("workload", "run", "seed")
#: Two values of a metric that differ by less are equal: students can't tell them apart.
LEAST_DIFFERENCE = 0.02

Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Choice(Table):
    """A choice of a question: the run with its settings is compared with those of the other choices."""

    text: Text
    """The text of the choice."""
    overrides: Settings = ()
    """Values that replace those of the scenario, by path."""
    metric: Text | None = None
    """The metric of this choice. Default: that of the question."""


class Column(Table):
    """A device and a scheduler beside the system of the step, under the same requests."""

    device: Text
    """Name of the device in the catalogue."""
    scheduler: Text = "fcfs"
    """Name of the scheduler."""


class Question(Table):
    """A question. Its kind follows from its keys.

    With ``choices``, the answer is the choice whose run has the lowest or the highest value of the metric. With
    ``at_most`` or ``at_least``, the student sets the controls until the page's run meets the bound. Otherwise the
    answer is the value of the metric.
    """

    text: Text
    """The question."""
    metric: Text
    """The path of a number in the result of a run, such as ``response.mean_ms``."""
    overrides: Settings = ()
    """Values that replace those of the scenario of the step, by path. For a goal: settings that meet it."""
    choices: list[Choice] = Field(default_factory=list)
    """Choices, of which one is right."""
    right: Literal["lowest", "highest"] = "lowest"
    """The right choice has the lowest or the highest value of the metric."""
    relative_to: Settings | None = None
    """If given, the answer is a ratio: the value of the metric divided by its value in the run with these settings."""
    unit: str = ""
    """Unit of the answer. Default: that of the metric."""
    tolerance_percent: Annotated[float, Field(strict=True, gt=0, le=50)] = 5.0
    """Largest difference of a right number from the simulated value."""
    at_most: Number | None = None
    """Goal: largest value of the metric."""
    at_least: Number | None = None
    """Goal: smallest value of the metric."""
    keep: tuple[Text, ...] = SAME_REQUESTS
    """Goal: keys of the scenario that the student may not change. Default: the requests."""
    hint: str = ""
    """Text after a wrong answer."""
    explanation: str = ""
    """Text after a right answer."""

    @field_validator("choices")
    @classmethod
    def _there_are_two_choices(cls, choices: list[Choice]) -> list[Choice]:
        if len(choices) == 1:
            raise KeysError(Fault("out-of-range", ": expected at least two choices", path="0"))
        return choices

    @field_validator("at_least")
    @classmethod
    def _has_one_kind(cls, at_least: float | None, info: ValidationInfo) -> float | None:
        is_goal = at_least is not None or info.data.get("at_most") is not None
        if is_goal and (info.data.get("choices") or info.data.get("relative_to") is not None):
            message = ": at_most and at_least set a goal, which has neither choices nor relative_to"
            raise KeysError(Fault("conflict", message, path="at_most"), beside=True)
        if info.data.get("choices") and info.data.get("relative_to") is not None:
            message = ": relative_to belongs to a question for a number, which has no choices"
            raise KeysError(Fault("conflict", message, path="relative_to"), beside=True)
        return at_least

    @property
    def kind(self) -> Literal["choice", "goal", "number"]:
        """The kind of the question."""
        if self.choices:
            return "choice"
        return "number" if self.at_most is None and self.at_least is None else "goal"

    def is_met(self, value: float) -> bool:
        """Return true if a value of the metric meets the goal.

        Parameters
        ----------
        value
            The value.
        """
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)


class Step(Table):
    """A step of a lesson: a text, the scenario that the page runs, and questions."""

    title: Text
    """The title."""
    text: Text
    """The text: paragraphs, lists with ``-``, ``*emphasis*`` and ```code```."""
    view: View = "device"
    """The view of the page that the step is about."""
    overrides: Settings = ()
    """Values that replace those of the scenario of the lesson, by path."""
    compare: Annotated[list[Column], Field(max_length=3)] = Field(default_factory=list)
    """Devices and schedulers side by side with the system."""
    at_ms: Annotated[float, Field(strict=True, ge=0)] = 0.0
    """Time of the simulation at which the step begins."""
    speed_ms_per_s: Annotated[float, Field(strict=True, gt=0, le=1000)] | None = None
    """Speed of the playback: simulated ms per second. Default: that of the page."""
    questions: list[Question] = Field(default_factory=list)
    """Questions at the end of the step."""


class Answer(NamedTuple):
    """The answer to a question, computed by simulation.

    Parameters
    ----------
    question
        The question.
    text
        The right choice, the number with its unit, or the settings that meet the goal.
    values
        The metric of each choice, of the run (and of the run that it is relative to), or with the settings of the goal.
    """

    question: Question
    text: str
    values: tuple[float, ...]


class Lesson(BasedOnScenario):
    """A lesson of the explorer. Its fields are the keys of a file."""

    what: ClassVar[str] = "lesson"
    example: ClassVar[str] = "[[steps]]"
    prefix: ClassVar[str] = "lesson."

    title: Text
    """The title."""
    summary: Text
    """The aim of the lesson, in a sentence."""
    minutes: Annotated[int, Field(strict=True, ge=1, le=600)] = 10
    """Time that it takes."""
    overrides: Settings = ()
    """Values that replace those of the scenario, by path."""
    steps: Annotated[list[Step], Field(min_length=1)]
    """The steps."""

    def _resolve(self, *layers: tuple[str, Sequence[str]]) -> Resolved:
        """Return the scenario with settings; a fault of a setting is located where the lesson has it."""
        settings = [*self.overrides, *(setting for _, given in layers for setting in given)]
        try:
            return self.base.resolve(settings)
        except ScenarioError as error:
            raise _core.error_of(ScenarioError, [self._located(fault, layers) for fault in error.faults]) from None

    def _located(self, fault: Fault, layers: Sequence[tuple[str, Sequence[str]]]) -> Fault:
        if self._source is None:
            return fault
        for path, given in layers:
            if fault.setting is not None and fault.setting in given:
                key = f"{path}.overrides.{fault.setting.partition('=')[0]}"
                at = self._source.document.located(Fault(fault.kind, path=key))
                return with_facts(fault, setting=None, file=at.file, line=at.line)
        return self._source.located(fault)

    def _wrong(self, kind: str, path: str, message: str, value: object = None) -> SledsimError:
        fault = Fault(kind, f": {message}", path=path, value=value)
        return _core.error_of(ScenarioError, [self._located(fault, ())])

    def _value(self, metric: str, path: str, *layers: tuple[str, Sequence[str]]) -> float:
        numbers = _core.run(self._resolve(*layers)).numbers()
        if metric not in numbers:
            last = metric.rpartition(".")[2]
            known = [name for name in numbers if last in name][:12] or list(numbers)
            message = f"metric {metric!r} is not in the result of the run"
            listed = "`sledsim run SCENARIO --json` prints the result"
            key = f"{path}.metric"
            error = make_error(
                ScenarioError, "unknown-name", message, path=key, value=metric, known=known, listed=listed
            )
            raise _core.error_of(ScenarioError, [self._located(fault, ()) for fault in error.faults])
        return numbers[metric]

    def answers(self) -> list[list[Answer]]:
        """Compute the answers to the questions of each step.

        Returns
        -------
        list of list of Answer
            For each step, the answers to its questions.

        Raises
        ------
        ScenarioError
            If a run of the lesson is wrong, a metric is not in its result, no choice is clearly right, or a goal is
            met from the start or not met by its settings.
        """
        return [
            [self._answer(place, step, number, question) for number, question in enumerate(step.questions)]
            for place, step in enumerate(self.steps)
        ]

    def _answer(self, place: int, step: Step, number: int, question: Question) -> Answer:
        at = f"steps.{place}"
        path = f"{at}.questions.{number}"
        layers = [(at, step.overrides), (path, question.overrides)]
        if question.kind == "choice":
            values = tuple(
                self._value(
                    choice.metric or question.metric,
                    f"{path}.choices.{index}" if choice.metric else path,
                    *layers,
                    (f"{path}.choices.{index}", choice.overrides),
                )
                for index, choice in enumerate(question.choices)
            )
            ranked = sorted(values, reverse=question.right == "highest")
            if abs(ranked[0] - ranked[1]) <= LEAST_DIFFERENCE * max(abs(ranked[0]), abs(ranked[1])):
                message = (
                    f"the two {question.right} values of {question.metric} differ by less than {LEAST_DIFFERENCE:.0%} "
                    f"({ranked[0]:.4g} and {ranked[1]:.4g}): give the choices settings that differ more"
                )
                raise self._wrong("conflict", f"{path}.choices", message)
            return Answer(question, question.choices[values.index(ranked[0])].text, values)
        value = self._value(question.metric, path, *layers)
        if question.kind == "goal":
            start = self._value(question.metric, path, layers[0])
            if question.is_met(start) or not question.is_met(value):
                when = "from the start" if question.is_met(start) else "not met by its overrides"
                message = f"the goal is {'met ' if question.is_met(start) else ''}{when}: {question.metric} is "
                message += f"{start if question.is_met(start) else value:.4g}"
                raise self._wrong(
                    "conflict", f"{path}.{'at_least' if question.at_most is None else 'at_most'}", message
                )
            return Answer(question, ", ".join(question.overrides), (value,))
        if question.relative_to is None:
            return Answer(question, f"{value:.4g} {question.unit or unit_of(question.metric)}".rstrip(), (value,))
        other = self._value(question.metric, path, layers[0], (path, question.relative_to))
        if other == 0:
            raise self._wrong("conflict", f"{path}.relative_to", f"{question.metric} is 0 there, so there is no ratio")
        return Answer(question, f"{value / other:.4g} {question.unit}".rstrip(), (value, other))

    def for_page(self) -> dict[str, Any]:
        """Return the lesson as the page reads it: with the scenario of each run."""
        return {
            "title": self.title,
            "summary": self.summary,
            "minutes": self.minutes,
            "steps": [self._step(place, step) for place, step in enumerate(self.steps)],
        }

    def _step(self, place: int, step: Step) -> dict[str, Any]:
        at = (f"steps.{place}", step.overrides)
        others = [column.model_dump() for column in step.compare]
        for column in step.compare:
            # Faults of names are found before a student opens the page.
            self._resolve(at, (f"steps.{place}.compare", [_drive(column)]))
        return {
            "title": step.title,
            "text": step.text,
            "view": step.view,
            "scenario": short_scenario(self._resolve(at)),
            "others": others,
            "at_ms": step.at_ms,
            "speed_ms_per_s": step.speed_ms_per_s,
            "questions": [
                self._question(at, f"steps.{place}.questions.{number}", question)
                for number, question in enumerate(step.questions)
            ],
        }

    def _question(self, at: tuple[str, Sequence[str]], path: str, question: Question) -> dict[str, Any]:
        own = (path, question.overrides)
        given = {
            "kind": question.kind,
            "text": question.text,
            "metric": question.metric,
            "unit": question.unit or ("" if question.relative_to is not None else unit_of(question.metric)),
            "hint": question.hint,
            "explanation": question.explanation,
        }
        match question.kind:
            case "choice":
                choices = [
                    {
                        "text": choice.text,
                        "metric": choice.metric or question.metric,
                        "unit": question.unit or unit_of(choice.metric or question.metric),
                        "scenario": short_scenario(
                            self._resolve(at, own, (f"{path}.choices.{index}", choice.overrides))
                        ),
                    }
                    for index, choice in enumerate(question.choices)
                ]
                return given | {"right": question.right, "choices": choices}
            case "goal":
                bounds = {"at_most": question.at_most, "at_least": question.at_least}
                # The settings that meet the goal are for teachers.
                return given | bounds | {"keep": list(question.keep)}
            case "number":
                other = question.relative_to
                return given | {
                    "scenario": short_scenario(self._resolve(at, own)),
                    "relative_to": None if other is None else short_scenario(self._resolve(at, (path, other))),
                    "tolerance_percent": question.tolerance_percent,
                }


def _drive(column: Column) -> str:
    return f'system={{device = "{column.device}", scheduler = "{column.scheduler}"}}'


#: Units of metrics by the end of their name.
UNITS = {"ms": "ms", "j": "J", "mj": "mJ", "w": "W", "s": "s", "mb_per_s": "MB/s", "requests_per_s": "requests/s"}


def unit_of(metric: str) -> str:
    """Return the unit in which a metric's name ends; empty if it has none.

    Parameters
    ----------
    metric
        The path of the metric.
    """
    last = metric.rpartition(".")[2]
    return UNITS.get(last) or UNITS.get(last.rpartition("_")[2], "")


#: A lesson, its name, its file or its keys.
LessonLike = str | Path | Mapping[str, Any] | Lesson


@cache
def _load_built_in(name: str) -> Lesson:
    return Lesson.load(Path(str(files("sledsim.explorer") / "lessons" / f"{name}.toml")))


def load_lesson(name: LessonLike) -> Lesson:
    """Read a lesson.

    Parameters
    ----------
    name
        The name of a lesson of the package, the path of a file (TOML, YAML or JSON), or its keys.

    Raises
    ------
    ScenarioError
        If there is no such lesson, or it is wrong.
    """
    if isinstance(name, str) and not Path(name).suffix and "\n" not in name:
        if name not in LESSONS:
            message = f"lesson {name!r}: no such lesson, and not the name of a file"
            raise make_error(ScenarioError, "unknown-name", message, path="lesson", value=name, known=LESSONS)
        return _load_built_in(name)
    return Lesson.load(Path(name) if isinstance(name, str) and "\n" not in name else name)
