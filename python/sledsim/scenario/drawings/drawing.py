"""The drawing of a MEMS device: what a designer chooses, with units and ranges."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import ConfigDict, Field

from sledsim._core import ScenarioError
from sledsim.scenario.documents import Document
from sledsim.scenario.reading import Sets
from sledsim.scenario.texts import is_document
from sledsim.show.faults import is_there, make_error

__all__ = ["DRAWINGS", "Drawing", "drawing_named", "read_drawing", "unknown_drawing"]

#: The catalogue's drawings.
Name = Literal["g1", "g2", "g3"]
DRAWINGS: tuple[Name, ...] = get_args(Name)

#: What stands in the place of a value that is not given: that of the catalogue's drawing is taken.
_LEFT_OUT: Any = None

Fraction = Annotated[float, Field(strict=True, ge=0, lt=1)]


def _length(unit: str) -> Any:
    return Field(strict=True, gt=0, le=1e6, json_schema_extra={"x-unit": unit})


_POSITIVE: Any = Field(strict=True, gt=0, le=1e6)
_POWER: Any = Field(strict=True, ge=0, le=1e6, json_schema_extra={"x-unit": "mW"})


class Drawing(Document):
    """A drawing, as a file has it: what is left out is that of the catalogue's drawing that it names."""

    model_config = ConfigDict(validate_default=False)

    what: ClassVar[str] = "drawing"
    example: ClassVar[str] = "a value that differs from the catalogue's drawing: bit_nm = 30"

    drawing: Name = "g2"
    """Drawing of the catalogue whose values stand where this one gives none."""
    die_area_mm2: Annotated[float, _POSITIVE] = _LEFT_OUT
    """Area of the die, in mm²: sleds, and what surrounds them."""
    frame_mm: Annotated[float, Field(strict=True, ge=0, le=1e3, json_schema_extra={"x-unit": "mm"})] = _LEFT_OUT
    """Width of the actuators and the suspension on each side of a sled."""
    sleds: Annotated[int, Field(strict=True, ge=1, le=1024)] = _LEFT_OUT
    """Sleds that share the die, each with actuators of its own."""
    sled_thickness_um: Annotated[float, _length("um")] = _LEFT_OUT
    """Thickness of a sled."""
    sled_density_kg_m3: Annotated[float, _POSITIVE] = _LEFT_OUT
    """Mass of a sled over its volume, in kg/m³; a hollow one has less."""
    actuator_mn: Annotated[float, _POSITIVE] = _LEFT_OUT
    """Force of a sled's actuator along an axis, in mN."""
    spring_n_m: Annotated[float, Field(strict=True, ge=0, le=1e9)] = _LEFT_OUT
    """Stiffness of a sled's suspension along an axis, in N/m."""
    servo_stiffness_n_m: Annotated[float, Field(strict=True, ge=0, le=1e9)] = _LEFT_OUT
    """Stiffness that the control adds while the sled settles, in N/m."""
    travel_um: Annotated[float, _length("um")] = _LEFT_OUT
    """Full range of motion along an axis; turning round takes its part of it along Y."""
    finger_gap_um: Annotated[float, Field(strict=True, ge=0, le=1e6, json_schema_extra={"x-unit": "um"})] = _LEFT_OUT
    """Way beyond the end of travel until the fingers of an actuator touch."""
    tip_pitch_um: Annotated[float, _length("um")] = _LEFT_OUT
    """Distance between tips."""
    active_tips: Annotated[int, Field(strict=True, ge=64, le=10_000_000)] = _LEFT_OUT
    """Tips of the die that power and heat allow to work at once."""
    failed_tips_fraction: Fraction = _LEFT_OUT
    """Share of the tips that don't work, whose regions hold nothing."""
    bit_nm: Annotated[float, _length("nm")] = _LEFT_OUT
    """Width of a (square) bit."""
    access_mm_s: Annotated[float, _POSITIVE] = _LEFT_OUT
    """Velocity of the sled while it reads or writes, in mm/s."""
    bidirectional: bool = _LEFT_OUT
    """True if data can be accessed with the sled moving downward too."""
    bit_error_rate: Fraction = _LEFT_OUT
    """Probability that a bit is read wrong."""
    uncorrected_rate: Annotated[float, Field(strict=True, gt=0, lt=1)] = _LEFT_OUT
    """Probability allowed of a tip sector that its code can't correct."""
    ring_nm: Annotated[float, _length("nm")] = _LEFT_OUT
    """Amplitude of the sled's oscillation when a move along X ends."""
    settled_fraction: Annotated[float, Field(strict=True, gt=0, le=1)] = _LEFT_OUT
    """Share of a bit's width below which the oscillation has to fall."""
    active_damping: Annotated[float, Field(strict=True, ge=0, le=100)] = _LEFT_OUT
    """Share of the actuator's force that damps an oscillation which moves at 20 mm/s."""
    standing_mw: Annotated[float, _POWER] = _LEFT_OUT
    """Power of a sled's positioning without what turning round takes."""
    driver_efficiency: Annotated[float, Field(strict=True, gt=0, le=1)] = _LEFT_OUT
    """Share of a driver's energy that moves the sled."""
    channel_mw: Annotated[float, _POWER] = _LEFT_OUT
    """Power of an active tip and its signal processing on bits of 50 nm."""
    channel_exponent: Annotated[float, Field(strict=True, ge=0, le=10)] = _LEFT_OUT
    """How the power of a tip goes with the width of bits: as 50 nm over it, to this power."""


#: What a catalogue's drawing says of itself.
Content = Mapping[str, Any]


@cache
def _content(name: str) -> Content:
    path = files("sledsim") / "catalog" / "drawings" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def drawing_named(name: str) -> tuple[str, Mapping[str, Any]]:
    """Return the device that a drawing of the catalogue draws, and its values.

    Parameters
    ----------
    name
        One of :data:`DRAWINGS`.
    """
    said = _content(name)
    return said["device"], {key: of["value"] for key, of in said["values"].items()}


def unknown_drawing(name: str, path: str | None = None) -> ScenarioError:
    """Make the error of a name that no drawing has.

    Parameters
    ----------
    name
        The name.
    path
        The key that has it, if it is one.
    """
    listed = f"drawings are {', '.join(DRAWINGS)}"
    says = f"there is no drawing {name}"
    return make_error(ScenarioError, "unknown-name", says, path=path, value=name, known=DRAWINGS, listed=listed)


def read_drawing(source: Mapping[str, Any] | Path | str, sets: Sets = ()) -> Drawing:
    """Read a drawing and fill in the values that it leaves out.

    Parameters
    ----------
    source
        A drawing of the catalogue by name, a file (TOML, YAML or JSON) or a dictionary.
    sets
        Values that replace those of the drawing.

    Raises
    ------
    ScenarioError
        Where it is wrong: all that is, with key, value, what is allowed, file and line.
    """
    named = isinstance(source, str) and source != "-" and "\n" not in source and not is_document(source)
    if named and source not in DRAWINGS and not is_there(Path(str(source))):
        raise unknown_drawing(str(source), "source")
    given = {"drawing": source} if isinstance(source, str) and source in DRAWINGS else source
    found = Drawing.load(given, overrides=sets)
    known = drawing_named(found.drawing)[1]
    return found.model_copy(update={key: known[key] for key in known.keys() - found.model_fields_set})
