"""The explorer in a notebook: the page as a widget that returns its scenario and results."""

from functools import cache
from typing import Any

from sledsim._core import SledsimError
from sledsim.explorer.html_page import page
from sledsim.explorer.lesson import LessonLike
from sledsim.scenario.reading import ScenarioLike, Sets
from sledsim.show.faults import make_error
from sledsim.show.frames import need

__all__ = ["Explorer", "explore"]

#: Least height of the frame in pixels.
LEAST_HEIGHT_PX = 200
#: The widget's part in the browser: the page in a frame, which reports each run.
MODULE = """
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    const address = URL.createObjectURL(new Blob([model.get("page")], { type: "text/html" }));
    Object.assign(frame, { src: address, title: "Sledsim explorer" });
    frame.style.cssText = `width: 100%; height: ${model.get("height_px")}px; border: 0`;
    const receive = ({ source, data }) => {
      if (source !== frame.contentWindow || data?.from !== "sledsim") return;
      model.set("scenario", data.scenario);
      model.set("report", data.report);
      model.save_changes();
    };
    window.addEventListener("message", receive);
    el.append(frame);
    return () => {
      window.removeEventListener("message", receive);
      URL.revokeObjectURL(address);
    };
  },
};
"""


class Explorer:
    """The explorer in a notebook. A cell that ends with it shows the page.

    Parameters
    ----------
    widget
        The widget.
    """

    def __init__(self, widget: Any) -> None:
        self.widget = widget

    @property
    def scenario(self) -> dict[str, Any] | None:
        """The scenario that the page shows; ``None`` before it is shown."""
        scenario: dict[str, Any] = self.widget.scenario
        return scenario or None

    @property
    def report(self) -> dict[str, Any] | None:
        """The result of the scenario, as of :meth:`sledsim.Result.to_dict`; ``None`` before the page is shown."""
        report: dict[str, Any] = self.widget.report
        return report or None

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.widget._repr_mimebundle_(**options)


@cache
def _widget_class() -> Any:
    """Return the class of widgets; it needs anywidget, which is optional."""
    anywidget, traitlets = need("anywidget", "notebook"), need("traitlets", "notebook")

    class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[misc, name-defined, unused-ignore]
        _esm = MODULE
        page = traitlets.Unicode().tag(sync=True)
        height_px = traitlets.Int().tag(sync=True)
        scenario = traitlets.Dict().tag(sync=True)
        report = traitlets.Dict().tag(sync=True)

    return ExplorerWidget


def explore(
    scenario: ScenarioLike | None = None,
    overrides: Sets = (),
    *,
    lesson: LessonLike | None = None,
    height_px: int = 900,
) -> Explorer:
    """Show the explorer in a notebook; it needs the package anywidget.

    Parameters
    ----------
    scenario
        The scenario that the page begins with. Default: its own example.
    overrides
        Values that replace those of the scenario, by path.
    lesson
        A lesson that is open at the start: the name of a lesson of the package, or a file.
    height_px
        Height of the frame in pixels, at least 200.

    Returns
    -------
    Explorer
        It has the scenario and the results that the page shows.

    Raises
    ------
    SledsimError
        If anywidget is not installed, the page is not built, or the scenario or the lesson is wrong.
    """
    if height_px < LEAST_HEIGHT_PX:
        message = f"height_px = {height_px!r}: expected a whole number from {LEAST_HEIGHT_PX} up"
        raise make_error(SledsimError, "out-of-range", message, path="height_px", value=height_px)
    widget = _widget_class()
    return Explorer(widget(page=page(scenario, overrides, lesson=lesson), height_px=height_px))
