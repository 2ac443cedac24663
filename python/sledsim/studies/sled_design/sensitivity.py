"""Sensitivity of a design: its figures as each value of the drawing is raised and lowered."""

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
#: The least step: what moves by less is rounding as much as anything.
LEAST_STEP = 1e-6
#: Values that are no quantity, or that only come whole.
NO_QUANTITY = ("drawing", "material", "bidirectional", "sleds", "active_tips")


class Step(Keys):
    """By how much values are raised and lowered."""

    step: Annotated[float, Field(strict=True, ge=LEAST_STEP, lt=1)] = 0.1
    """Fraction of a value."""


@dataclass(frozen=True)
class Sensitivity(OneTable, Shown):
    """How much figures move.

    Parameters
    ----------
    name
        The name in headings: the drawing, and what was changed.
    step
        By what fraction values are raised and lowered.
    labels
        The figures: label by name.
    moves
        For each value of the drawing what each figure moves by as it is raised by the step, in per cent: half of the
        way between the value raised and lowered, so that a proportional figure moves by the step.
    """

    name: str
    step: float
    labels: Mapping[str, str]
    moves: Mapping[str, Mapping[str, float]]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each value and each figure that it moves."""
        return [
            {"value": value, "figure": figure, "percent": percent}
            for value, moved in self.moves.items()
            for figure, percent in moved.items()
            if self._moves(percent)
        ]

    def _moves(self, percent: float) -> bool:
        return abs(percent) >= STILL * 100 * self.step

    def table(self) -> Table:
        """Return a row for each value of the drawing and a column for each figure."""
        digits = max(1, 1 - math.floor(math.log10(100 * self.step)))
        rows = [
            [value, *(f"{of:+.{digits}f}" if self._moves(of) else "" for of in moved.values())]
            for value, moved in self.moves.items()
            if any(map(self._moves, moved.values()))
        ]
        moving = {row[0] for row in rows}
        still = [value for value in self.moves if value not in moving]
        title = f"{self.name}: change of each figure, in %, when a value is {number(100 * self.step)} % larger"
        said = f"No effect: {', '.join(still)}. They are zero, or change the error-correcting code only in steps."
        return Table(["value", *self.labels.values()], rows, title=title, notes=[said] if still else [])

    def plot(self) -> "altair.TopLevelMixin":
        """Draw it: values down, figures across."""
        from sledsim.studies.sled_design.chart import sensitivity_map

        return sensitivity_map(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain dictionaries and numbers."""
        return {"drawing": self.name, "step": self.step, "percent": {key: dict(of) for key, of in self.moves.items()}}


def sensitivity(drawing: Drawing, step: float) -> Sensitivity:
    """Return how much figures move with the values of a drawing.

    Parameters
    ----------
    drawing
        The drawing.
    step
        By what fraction a value is raised and lowered.
    """
    Step(step=step)
    here = figures_of(drawing)

    def at(key: str, factor: float) -> Mapping[str, Figure]:
        return figures_of(drawing.model_copy(update={key: getattr(drawing, key) * factor}))

    moves = {}
    for key in _quantities():
        above, below = at(key, 1 + step), at(key, 1 - step)
        moves[key] = {
            name: 50.0 * (above[name].value - below[name].value) / each.value if each.value else 0.0
            for name, each in here.items()
        }
    return Sensitivity(drawing.label, step, {name: each.label for name, each in here.items()}, moves)


def _quantities() -> Sequence[str]:
    return [key for key in Drawing.model_fields if key not in NO_QUANTITY]
