"""Sensitivities of a design: changes of its figures with each value of the drawing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from sledsim.scenario.drawings.drawing import Drawing
from sledsim.scenario.tables import Table as Keys
from sledsim.show.shown import OneTable, Shown
from sledsim.show.tables import Table, number
from sledsim.studies.sled_design.figures import Figure, figures_of

if TYPE_CHECKING:
    import altair


__all__ = ["Sensitivity", "sensitivity"]

#: A figure that changes by less than this share of the step counts as unchanged.
STILL = 5e-3
#: Minimum step; rounding errors dominate below it.
LEAST_STEP = 1e-6
#: Values that are not quantities, or are integers.
NO_QUANTITY = ("drawing", "material", "bidirectional", "sleds", "active_tips")


class Step(Keys):
    """The relative change of the values."""

    step: Annotated[float, Field(strict=True, ge=LEAST_STEP, lt=1)] = 0.1
    """Fraction of a value."""


@dataclass(frozen=True)
class Sensitivity(OneTable, Shown):
    """Sensitivities of figures to the values of a drawing.

    Parameters
    ----------
    name
        The name in headings: the drawing with its changed values.
    step
        Relative change of the values, up and down.
    labels
        Labels of the figures by name.
    moves
        For each value of the drawing, the change of each figure when the value rises by the step, in percent. It is
        half the difference between the raised and the lowered value, so that a proportional figure changes by the step.
    """

    name: str
    step: float
    labels: Mapping[str, str]
    moves: Mapping[str, Mapping[str, float]]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each value and each figure that changes with it."""
        return [
            {"value": value, "figure": figure, "percent": percent}
            for value, moved in self.moves.items()
            for figure, percent in moved.items()
            if self._moves(percent)
        ]

    def _moves(self, percent: float) -> bool:
        return abs(percent) >= STILL * 100 * self.step

    def table(self) -> Table:
        """Return a table with a row for each value of the drawing and a column for each figure."""
        digits = max(1, 1 - math.floor(math.log10(100 * self.step)))
        rows = [
            [value, *(f"{of:+.{digits}f}" if self._moves(of) else "" for of in moved.values())]
            for value, moved in self.moves.items()
            if any(map(self._moves, moved.values()))
        ]
        moving = {row[0] for row in rows}
        still = [value for value in self.moves if value not in moving]
        title = f"{self.name}: change of each figure, in %, when a value is {number(100 * self.step)} % larger"
        note = f"No effect: {', '.join(still)}. They are zero, or change the error-correcting code only in steps."
        return Table(["value", *self.labels.values()], rows, title=title, notes=[note] if still else [])

    def plot(self) -> "altair.TopLevelMixin":
        """Draw a heat map with values in rows and figures in columns."""
        from sledsim.studies.sled_design.chart import sensitivity_map

        return sensitivity_map(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the sensitivities as plain dictionaries and numbers."""
        return {"drawing": self.name, "step": self.step, "percent": {key: dict(of) for key, of in self.moves.items()}}


def sensitivity(drawing: Drawing, step: float) -> Sensitivity:
    """Return the sensitivities of the figures to the values of a drawing.

    Parameters
    ----------
    drawing
        The drawing.
    step
        Relative change of a value, up and down.
    """
    Step(step=step)
    original = figures_of(drawing)

    def at(key: str, factor: float) -> Mapping[str, Figure]:
        return figures_of(drawing.model_copy(update={key: getattr(drawing, key) * factor}))

    moves = {}
    for key in _quantities():
        above, below = at(key, 1 + step), at(key, 1 - step)
        moves[key] = {
            name: 50.0 * (above[name].value - below[name].value) / each.value if each.value else 0.0
            for name, each in original.items()
        }
    return Sensitivity(drawing.label, step, {name: each.label for name, each in original.items()}, moves)


def _quantities() -> Sequence[str]:
    return [key for key in Drawing.model_fields if key not in NO_QUANTITY]
