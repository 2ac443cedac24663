"""Lessons: their files, the answers that are simulated, and the faults that teachers make."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from site_build import prepare
from sledsim.explorer import html_page, notebook
from sledsim.explorer.html_page import NO_START
from sledsim.explorer.lesson import LESSONS, Lesson, load_lesson

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

LESSON = """\
title = "Springs"
summary = "Springs push the sled back."

[scenario.workload]
arrival = { kind = "poisson", rate_per_s = 500 }
[scenario.system]
device = "g2"
[scenario.run]
requests = 200

[[steps]]
title = "A step"
text = "Look at the *springs*."
overrides = { scheduler = "sptf" }

[[steps.questions]]
text = "Which is slower?"
metric = "response.mean_ms"
right = "highest"
choices = [
  { text = "g1", overrides = { device = "g1" } },
  { text = "g2" },
]

[[steps.questions]]
text = "How long is the 95th percentile?"
metric = "response.p95_ms"

[[steps.questions]]
text = "How much does settling cost?"
metric = "response.mean_ms"
relative_to = { "device.settle_constants" = 0 }

[[steps.questions]]
text = "Be quicker."
metric = "response.mean_ms"
at_most = 1.1
overrides = { "device.settle_constants" = 0 }
"""


@pytest.fixture
def lesson_file(tmp_path: Path) -> Path:
    path = tmp_path / "springs.toml"
    path.write_text(LESSON)
    return path


def _mean_ms(**system: Any) -> float:
    scenario = {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 500}},
        "system": {"device": {"name": "g2"}, "scheduler": "sptf", **system},
        "run": {"requests": 200},
    }
    mean: float = sledsim.run(scenario).response.mean_ms
    return mean


def test_answers_are_those_of_the_runs(lesson_file: Path) -> None:
    (answers,) = load_lesson(lesson_file).answers()
    choice, number, ratio, goal = answers
    assert choice.text == "g1"
    assert choice.values == (_mean_ms(device="g1"), _mean_ms())
    assert number.text.endswith(" ms")
    quick = _mean_ms(device={"name": "g2", "settle_constants": 0})
    assert ratio.values == (_mean_ms(), quick)
    assert ratio.text == f"{_mean_ms() / quick:.4g}"
    assert goal.values == (quick,)


@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_of_the_package_can_be_answered(name: str) -> None:
    lesson = load_lesson(name)
    answers = lesson.answers()
    assert lesson.minutes == 10
    assert sum(map(len, answers)) >= 6
    for answer in (answer for step in answers for answer in step):
        assert answer.question.hint
        assert answer.question.explanation


def test_the_page_has_every_run_of_a_lesson_but_not_the_settings_of_a_goal(lesson_file: Path) -> None:
    (step,) = load_lesson(lesson_file).for_page()["steps"]
    assert step["scenario"]["system"]["scheduler"] == {"name": "sptf"}
    choice, _, ratio, goal = step["questions"]
    assert [each["scenario"]["system"]["device"]["name"] for each in choice["choices"]] == ["g1", "g2"]
    assert ratio["relative_to"]["system"]["device"] == {"name": "g2", "settle_constants": 0.0}
    assert "scenario" not in goal


def test_answers_are_printed_for_teachers(sledsim_cli: Callable[..., Outcome], lesson_file: Path) -> None:
    outcome = sledsim_cli("explore", "--lesson", lesson_file, "--answers")
    assert outcome.status == 0
    assert "Which is slower?" in outcome.out
    assert "device.settle_constants=0" in outcome.out


def _fault(text: str, tmp_path: Path) -> str:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(sledsim.SledsimError) as caught:
        load_lesson(path).answers()
    return str(caught.value).replace(f"{path}: ", "")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "Springs"', 'titel = "Springs"', 'did you mean "title"?'),
        ('device = "g2"\n', 'device = "g9"\n', "line 7:"),
        ('overrides = { device = "g1" }', 'overrides = { device = "g9" }', "line 21:"),
        ('overrides = { scheduler = "sptf" }', 'overrides = { scheduler = "sptp" }', "line 14:"),
        ('metric = "response.p95_ms"', 'metric = "response.p96_ms"', "metric 'response.p96_ms' is not in the result"),
        ('overrides = { device = "g1" }', "overrides = {}", "differ by less than 2%"),
        ('  { text = "g2" },\n', "", "expected at least two choices"),
        ("at_most = 1.1", "at_most = 9", "the goal is met from the start: response.mean_ms is"),
        ("at_most = 1.1", "at_most = 0.1", "the goal is not met by its overrides"),
        ("at_most = 1.1", "at_most = 1.1\nrelative_to = {}", "neither choices nor relative_to"),
        ('text = "Be quicker."', "text = 7", "steps.0.questions.3.text"),
        ('title = "A step"', 'title = "A step"\nview = "disk"', "device, queue, compare, controls, curves"),
    ],
)
def test_faults_of_a_lesson_name_the_place(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert LESSON.count(old) >= 1
    assert says in _fault(LESSON.replace(old, new, 1), tmp_path)


def test_a_lesson_needs_a_step() -> None:
    keys: dict[str, Any] = {"title": "t", "summary": "s", "scenario": {}, "steps": []}
    with pytest.raises(sledsim.ScenarioError, match="steps"):
        Lesson.load(copy.deepcopy(keys))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--lesson", "schedulin"], "did you mean scheduling?"),
        (["--lesson", "missing.toml"], "no such file"),
        (["--answers"], "add --lesson"),
        (["scenario.toml", "--lesson", "seeking"], "either a scenario or a lesson"),
        (["--set", "seed=2"], "name its file first"),
    ],
)
def test_wrong_options_of_explore_are_explained(
    sledsim_cli: Callable[..., Outcome], arguments: list[str], says: str
) -> None:
    outcome = sledsim_cli("explore", *arguments)
    assert outcome.status == 2
    assert says in " ".join(outcome.err.split())


def test_a_question_without_an_answer_is_found_before_the_page_is_written(
    sledsim_cli: Callable[..., Outcome], lesson_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tmp_path / "built.html"
    built.write_text(NO_START)
    monkeypatch.setattr(html_page, "PAGE", str(built))
    lesson_file.write_text(LESSON.replace("p95_ms", "p96_ms"))
    outcome = sledsim_cli("explore", "--lesson", lesson_file, "--out", tmp_path / "page.html")
    assert outcome.status == 2
    assert "springs.toml: line 27" in outcome.err
    assert not (tmp_path / "page.html").exists()


def test_a_notebook_without_anywidget_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook._widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(sledsim.SledsimError, match=r"needs the package anywidget.*pip install"):
        sledsim.explore()


def test_a_notebook_has_the_scenario_and_the_result_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("anywidget")
    built = tmp_path / "built.html"
    built.write_text(NO_START)
    monkeypatch.setattr(html_page, "PAGE", str(built))
    explorer = sledsim.explore(lesson="seeking", height_px=700)
    assert '"lesson": 0' in explorer.widget.page
    assert explorer.widget.height_px == 700
    assert (explorer.scenario, explorer.report) == (None, None)
    # As the page does after a run.
    explorer.widget.set_state({"scenario": {"seed": 3}, "report": {"response": {"mean_ms": 1.5}}})
    assert explorer.scenario == {"seed": 3}
    assert explorer.report == {"response": {"mean_ms": 1.5}}
    shown = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in (shown[0] if isinstance(shown, tuple) else shown)
    with pytest.raises(sledsim.SledsimError, match="height_px = 100: expected a whole number from 200 up"):
        sledsim.explore(height_px=100)


@pytest.mark.parametrize("is_built", [False, True])
def test_the_site_shows_the_page_if_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_built: bool
) -> None:
    built = tmp_path / "built.html"
    monkeypatch.setattr(html_page, "PAGE", str(built))
    if is_built:
        built.write_text(NO_START)
    prepare(tmp_path / "sources")
    embedded = tmp_path / "sources" / "_static" / "explorer.html"
    assert embedded.exists() == is_built
    guide = (tmp_path / "sources" / "how-to" / "explore.md").read_text()
    assert ('<iframe src="../_static/explorer.html"' in guide) == is_built
    assert "generated:" not in guide
