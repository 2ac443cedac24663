"""A device computed from a drawing: its parameters, and derived figures of the die."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sledsim.devices import MemsStorage
from sledsim.devices.entries import device_entry
from sledsim.scenario.drawings.device import device_values, require_device, tips_of
from sledsim.scenario.drawings.drawing import DRAWINGS, PLAUSIBLE, Drawing, drawing_named, read_drawing
from sledsim.scenario.drawings.relations import GRAVITY_M_S2, Relations
from sledsim.scenario.plausible import questions
from sledsim.scenario.reading import Sets, toml_lines
from sledsim.show.shown import Plain, Tabled
from sledsim.show.tables import Table, number
from sledsim.studies.sled_design.figures import PLAUSIBLE_FIGURES, Figure, figures_of
from sledsim.studies.sled_design.sensitivity import Sensitivity, sensitivity

__all__ = ["DRAWINGS", "Design", "design"]


@dataclass(frozen=True)
class Design(Tabled, Plain):
    """A device computed from a drawing.

    A design can be the device of a scenario: ``{"system": {"device": made}}``.

    Parameters
    ----------
    drawing
        The drawing, with all its values.
    """

    drawing: Drawing

    def __post_init__(self) -> None:
        require_device(self.relations)

    @cached_property
    def relations(self) -> Relations:
        """The derived quantities of the drawing, unrounded, in SI units."""
        return Relations(self.drawing)

    @property
    def base(self) -> str:
        """The device of the catalogue that supplies the parameters not determined by the drawing."""
        return drawing_named(self.drawing.drawing)[0]

    def values(self) -> dict[str, Any]:
        """Return the parameters of the device determined by the drawing, in the form of a scenario."""
        return device_values(self.relations)

    @property
    def label(self) -> str:
        """The name in headings: the drawing with its changed values."""
        return self.drawing.label

    def device(self) -> dict[str, Any]:
        """Return the device in the form of a scenario: by its drawing."""
        return {"drawing": self.drawing.given}

    def _in_scenario(self) -> dict[str, Any]:
        """Return the device, so that a design can be a value in a scenario."""
        return self.device()

    def sled(self) -> MemsStorage:
        """Return the device as :class:`MemsStorage`, with its geometry and motion."""
        return MemsStorage(self.base, **self.values())

    def sensitivity(self, step: float = 0.1) -> Sensitivity:
        """Return the changes of the figures with each value of the drawing.

        Parameters
        ----------
        step
            Relative change of a value, up and down; above 0 and below 1.
        """
        return sensitivity(self.drawing, step)

    def differences(self) -> dict[str, tuple[float, float]]:
        """Return the parameters that differ from those of the base by more than 0.1 %, as pairs (design, base)."""
        base = {key: value.value for key, value in device_entry(self.base).values.items()}
        return {
            key: (float(value), float(base[key]))
            for key, value in self.values().items()
            if key in base and abs(float(value) - float(base[key])) > SAME * abs(float(base[key]))
        }

    def tables(self) -> list[Table]:
        """Return a table of the parameters and those of the base, and one of derived figures."""
        entry = device_entry(self.base).values
        rows = []
        for key, value in self.values().items():
            original = entry.get(key)
            differs = key in self.differences()
            rows.append([key, _plain(value), _plain(original.value) if original else "", "differs" if differs else ""])
        parameters = Table(["parameter", "value", self.base, ""], rows, title=self.label, left=frozenset({3}))
        spare = tips_of(self.relations)[2]
        figures = [[each.label, number(each.value), each.unit] for each in self._figures().values()]
        figures += [["spare tips of each sled", number(spare), ""]]
        notes = ["Capacity and bandwidth are for whole tips, rows and tracks."]
        headers = ["derived figure", "value", "unit"]
        return [parameters, Table(headers, figures, left=frozenset({2}), notes=notes + self.questions())]

    def questions(self) -> list[str]:
        """Return a note for each implausible value or derived figure."""
        values = {key: getattr(self.drawing, key) for key in Drawing.model_fields}
        derived = {
            "acceleration": self.relations.acceleration_m_s2 / GRAVITY_M_S2,
            "resonance": self.relations.resonance_hz,
            "seek over a third of the travel": self.relations.seek_x_s * 1e3,
            "shock": self.relations.shock_g,
        }
        found = questions(values, PLAUSIBLE) + questions(derived, PLAUSIBLE_FIGURES, suggest=False)
        active, tips = self.drawing.active_tips, int(self.relations.tips) * self.drawing.sleds
        if active > tips:
            found.append(f"note: active_tips {active:,} exceeds the {tips:,} working tips; power counts {active:,}")
        return found

    def _figures(self) -> dict[str, Figure]:
        """Return the figures, with capacity and bandwidth of the computed device: whole tips, rows and tracks."""
        sled, sleds = self.sled(), self.drawing.sleds
        capacity = f"capacity of {sleds} sleds" if sleds > 1 else "capacity"
        bandwidth = f"bandwidth of long reads{' of a sled' if sleds > 1 else ''}, bus included"
        return {
            **figures_of(self.drawing),
            "capacity_gb": Figure(capacity, sleds * sled.capacity_bytes * 1e-9, "GB"),
            "bandwidth_mb_s": Figure(bandwidth, sled.streaming_bandwidth_mb_s, "MB/s"),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return drawing, device and figures as plain dictionaries, numbers and texts."""
        return {
            "drawing": {key: getattr(self.drawing, key) for key in Drawing.model_fields},
            "device": {"name": self.base, **self.values()},
            "figures": {key: each.value for key, each in self._figures().items()},
        }

    def to_toml(self) -> str:
        """Return the text of a device file."""
        title = self.label
        lines = [f"base = {json.dumps(self.base)}", f"title = {json.dumps(title, ensure_ascii=False)}", "", "[values]"]
        for key, value in self.values().items():
            lines += toml_lines(key, value)
        return "\n".join([*lines, ""])


#: Relative difference up to which a parameter equals that of the base: tables have four digits.
SAME = 1e-3


def design(source: Mapping[str, Any] | Path | str = "g2", *, overrides: Sets = ()) -> Design:
    """Compute a device from a drawing.

    Parameters
    ----------
    source
        A drawing of the catalogue (``g1``, ``g2``, ``g3``), a file (TOML, YAML or JSON), or a dictionary.
    overrides
        Values that replace those of the drawing.

    Raises
    ------
    ScenarioError
        If the drawing is invalid, or gives no valid device.

    Examples
    --------
    >>> made = design("g2", overrides=["bit_nm=30"])
    >>> made.values()["bit_rate_kbit_s"], made.sled().cylinders
    (933.333, 3333)
    """
    drawing = read_drawing(source, overrides)
    with drawing.locating():
        return Design(drawing)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value)
