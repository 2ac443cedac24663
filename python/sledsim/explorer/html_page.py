"""The page of the explorer: one HTML file, with a scenario and lessons."""

import json
from importlib.resources import files
from typing import Any

from sledsim._core import ScenarioError, SledsimError
from sledsim.explorer.lesson import LESSONS, LessonLike, load_lesson
from sledsim.explorer.short import short_scenario
from sledsim.scenario.reading import ScenarioLike, Sets, resolve
from sledsim.show.faults import make_error

__all__ = ["is_built", "page", "scenario_of_page"]

#: The page in the package `sledsim.show`, which `make explorer` builds.
PAGE = "templates/explorer.html"
#: The elements of the page that hold the scenario, the lessons and the lesson that is open.
NO_START = '<script type="application/json" id="start">{}</script>'


def page(scenario: ScenarioLike | None = None, overrides: Sets = (), *, lesson: LessonLike | None = None) -> str:
    """Return the page of the explorer as HTML.

    Parameters
    ----------
    scenario
        The scenario that the page begins with. Default: its own example.
    overrides
        Values that replace those of the scenario, by path.
    lesson
        A lesson that is open at the start: the name of a lesson of the package, a file, or the lesson's keys. The page
        has the lessons of the package, too.

    Raises
    ------
    SledsimError
        If the page is not built, or the scenario or the lesson is wrong.
    """
    if not is_built():
        message = "the page is not built: run `make explorer` in a checkout of Sledsim, which needs Node.js"
        raise make_error(SledsimError, "unsupported", message)
    start: dict[str, Any] = {}
    if scenario is not None:
        start["scenario"] = scenario_of_page(scenario, overrides)
    opened = None if lesson is None else load_lesson(lesson)
    own = [load_lesson(name) for name in LESSONS]
    lessons = own
    if opened is not None and not any(each is opened for each in own):
        # A question without an answer is found here rather than by students.
        opened.answers()
        lessons = [*own, opened]
    start["lessons"] = [each.for_page() for each in lessons]
    start["lesson"] = next((index for index, each in enumerate(lessons) if each is opened), None)
    # A closing tag in a string would end the element.
    text = json.dumps(start).replace("<", "\\u003c")
    return (files("sledsim.show") / PAGE).read_text(encoding="utf-8").replace(NO_START, NO_START.replace("{}", text), 1)


def is_built() -> bool:
    """Return true if the page is there."""
    return (files("sledsim.show") / PAGE).is_file()


def scenario_of_page(scenario: ScenarioLike, overrides: Sets = ()) -> dict[str, Any]:
    """Return the scenario that a page begins with.

    Parameters
    ----------
    scenario
        The scenario.
    overrides
        Values that replace those of the scenario, by path.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, or replays a trace, which a page cannot read.
    """
    resolved = resolve(scenario, overrides)
    if resolved.values["workload"]["kind"] == "trace":
        message = (
            ": is a trace: the page cannot read files; explore a synthetic workload, drop the trace on the page, or "
            "use `sledsim replay --plot`"
        )
        raise make_error(ScenarioError, "unsupported", message, path="workload.kind", value="trace")
    return short_scenario(resolved)
