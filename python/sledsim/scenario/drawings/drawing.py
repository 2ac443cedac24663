"""The drawing of a MEMS device: the values that a designer chooses, with units and ranges."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import ConfigDict, Field, PrivateAttr

from sledsim._core import Fault, ScenarioError, error_of
from sledsim.scenario.documents import Document
from sledsim.scenario.drawings.materials import MATERIALS, MaterialName
from sledsim.scenario.plausible import Plausible
from sledsim.scenario.reading import Sets, set_list
from sledsim.scenario.texts import is_document
from sledsim.show.faults import is_there, make_error, with_facts
from sledsim.show.naming import label_of

__all__ = ["DRAWINGS", "PLAUSIBLE", "Drawing", "drawing_named", "read_drawing", "unknown_drawing"]

#: The catalogue's drawings.
Name = Literal["g1", "g2", "g3"]
DRAWINGS: tuple[Name, ...] = get_args(Name)

#: Default of a value that is not given; the value of the material or of the catalogue's drawing replaces it.
_LEFT_OUT: Any = None

Fraction = Annotated[float, Field(strict=True, ge=0, lt=1)]


def _length(unit: str) -> Any:
    return Field(strict=True, gt=0, le=1e6, json_schema_extra={"x-unit": unit})


_POSITIVE: Any = Field(strict=True, gt=0, le=1e6)
_POWER: Any = Field(strict=True, ge=0, le=1e6, json_schema_extra={"x-unit": "mW"})


class Drawing(Document):
    """A drawing of a MEMS device. Values that it leaves out are those of a drawing of the catalogue."""

    model_config = ConfigDict(validate_default=False)

    #: The name in headings: the drawing and its changed values.
    _label: str = PrivateAttr(default="drawing")

    @property
    def label(self) -> str:
        """The name in headings: the drawing, and the values that differ from it."""
        return self._label

    _given: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        """The values that its file, table and settings have."""
        return self._given

    what: ClassVar[str] = "drawing"
    example: ClassVar[str] = "a value that differs from the catalogue's drawing: bit_nm = 30"

    drawing: Name = "g2"
    """Drawing of the catalogue that gives the values left out."""
    die_area_mm2: Annotated[float, _POSITIVE] = _LEFT_OUT
    """Area of the die, in mm²: all sleds and their frames."""
    frame_mm: Annotated[float, Field(strict=True, ge=0, le=1e3, json_schema_extra={"x-unit": "mm"})] = _LEFT_OUT
    """Width of actuators and springs on each side of a sled."""
    sleds: Annotated[int, Field(strict=True, ge=1, le=1024)] = _LEFT_OUT
    """Number of sleds that share the die, each with its own actuators."""
    sled_thickness_um: Annotated[float, _length("um")] = _LEFT_OUT
    """Thickness of a sled."""
    sled_density_kg_m3: Annotated[float, _POSITIVE] = _LEFT_OUT
    """Density of a sled, in kg/m³; that of its material, or less if it is hollow."""
    material: MaterialName | None = None
    """Material of sled and springs. Gives the sled its density, and springs of unchanged shape their stiffness, in
    proportion to Young's modulus, unless the drawing has these values."""
    actuator_mn: Annotated[float, _POSITIVE] = _LEFT_OUT
    """Force of the actuator along each axis, in mN."""
    spring_n_m: Annotated[float, Field(strict=True, ge=0, le=1e9)] = _LEFT_OUT
    """Stiffness of the springs along each axis, in N/m."""
    servo_stiffness_n_m: Annotated[float, Field(strict=True, ge=0, le=1e9)] = _LEFT_OUT
    """Stiffness that the position control adds while the sled settles, in N/m."""
    travel_um: Annotated[float, _length("um")] = _LEFT_OUT
    """Range of motion along each axis; along Y it includes the distance to turn round at each end."""
    finger_gap_um: Annotated[float, Field(strict=True, ge=0, le=1e6, json_schema_extra={"x-unit": "um"})] = _LEFT_OUT
    """Distance from the end of travel to the contact of the actuator's comb fingers; used only for the shock."""
    tip_pitch_um: Annotated[float, _length("um")] = _LEFT_OUT
    """Distance between neighbouring tips."""
    active_tips: Annotated[int, Field(strict=True, ge=64, le=10_000_000)] = _LEFT_OUT
    """Most tips of the die that can be active at once, limited by power and heat."""
    failed_tips_fraction: Fraction = _LEFT_OUT
    """Fraction of the tips that do not work; their fields store no data."""
    bit_nm: Annotated[float, _length("nm")] = _LEFT_OUT
    """Width of a (square) bit."""
    access_mm_s: Annotated[float, _POSITIVE] = _LEFT_OUT
    """Velocity of the sled while it reads or writes (access velocity), in mm/s."""
    bidirectional: bool = _LEFT_OUT
    """True if tips read and write in both directions of Y."""
    bit_error_rate: Fraction = _LEFT_OUT
    """Probability that a bit is read wrong, before error correction."""
    uncorrected_rate: Annotated[float, Field(strict=True, gt=0, lt=1)] = _LEFT_OUT
    """Highest allowed probability that the error-correcting code cannot correct a tip sector (8 bytes of a tip)."""
    ring_nm: Annotated[float, _length("nm")] = _LEFT_OUT
    """Amplitude of the sled's oscillation at the end of a move along X."""
    settled_fraction: Annotated[float, Field(strict=True, gt=0, le=1)] = _LEFT_OUT
    """Settling ends when the oscillation is below this fraction of the bit width."""
    active_damping: Annotated[float, Field(strict=True, ge=0, le=100)] = _LEFT_OUT
    """Fraction of the actuator's force that damps an oscillation of 20 mm/s."""
    standing_mw: Annotated[float, _POWER] = _LEFT_OUT
    """Power to position a sled, turnarounds excluded."""
    driver_efficiency: Annotated[float, Field(strict=True, gt=0, le=1)] = _LEFT_OUT
    """Fraction of the driver's energy that becomes kinetic energy of the sled."""
    channel_mw: Annotated[float, _POWER] = _LEFT_OUT
    """Power of an active tip and its signal processing at a bit width of 50 nm."""
    channel_exponent: Annotated[float, Field(strict=True, ge=0, le=10)] = _LEFT_OUT
    """Exponent of the power of a tip: proportional to (50 nm / bit_nm) to this power."""

    @classmethod
    def file_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of a file. Values of the catalogue's drawing are not defaults of the schema."""
        schema = super().file_schema()
        for key, of in schema["properties"].items():
            if key in cls.model_fields and of.get("default", "") is None:
                del of["default"]
        return schema


#: Most changed values that a heading lists.
MOST_CHANGES = 3

#: Plausible values. A value outside is questioned in a note.
PLAUSIBLE: Mapping[str, Plausible] = {
    "die_area_mm2": Plausible(1, 17_700, "mm²", "at most a wafer of 150 mm"),
    "frame_mm": Plausible(0.01, 50, "mm", "actuators and springs on a die"),
    "sled_thickness_um": Plausible(1, 1_000, "µm", "deposited film to whole wafer"),
    "sled_density_kg_m3": Plausible(500, 22_600, "kg/m³", "hollow silicon to osmium"),
    "actuator_mn": Plausible(0.001, 10_000, "mN", "electrostatic to magnetic microactuators"),
    "spring_n_m": Plausible(0.1, 100_000, "N/m", "micromachined springs"),
    "servo_stiffness_n_m": Plausible(0.1, 100_000, "N/m", "micromachined springs"),
    "travel_um": Plausible(1, 1_000, "µm", "published devices: 100 µm"),
    "finger_gap_um": Plausible(0.1, 500, "µm", "gaps of micromachined actuators"),
    "tip_pitch_um": Plausible(1, 1_000, "µm", "published devices: 100 µm"),
    "active_tips": Plausible(64, 100_000, "tips", "published devices: 640 to 3,200"),
    "bit_nm": Plausible(2, 1_000, "nm", "a few atoms to early optical recording"),
    "access_mm_s": Plausible(0.1, 1_000, "mm/s", "published devices: 20 to 35 mm/s"),
    "bit_error_rate": Plausible(1e-12, 0.01, "", "storage media"),
    "ring_nm": Plausible(0.01, 10_000, "nm", "a fraction of a bit to many bits"),
    "active_damping": Plausible(1e-4, 1, "", "a share of the force of the actuator"),
    "standing_mw": Plausible(0.001, 10_000, "mW", "published devices: 100 mW"),
    "driver_efficiency": Plausible(1e-5, 1, "", "electrostatic drivers lose most energy"),
    "channel_mw": Plausible(1e-4, 100, "mW", "published devices: 1 mW"),
    "channel_exponent": Plausible(0.01, 4, "", "the catalogue assumes 0 to 2"),
}

#: Name and description of a catalogue's drawing.
Content = Mapping[str, Any]


@cache
def _content(name: str) -> Content:
    path = files("sledsim") / "catalog" / "drawings" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def drawing_named(name: str) -> tuple[str, Mapping[str, Any]]:
    """Return the device of a drawing of the catalogue, and its values.

    Parameters
    ----------
    name
        One of :data:`DRAWINGS`.
    """
    said = _content(name)
    return said["device"], {key: of["value"] for key, of in said["values"].items()}


def unknown_drawing(name: str, path: str | None = None) -> ScenarioError:
    """Make the error for the name of an unknown drawing.

    Parameters
    ----------
    name
        The name.
    path
        The key with the name, if it is in a document.
    """
    listed = f"drawings are {', '.join(DRAWINGS)}"
    message = f"there is no drawing {name}"
    return make_error(ScenarioError, "unknown-name", message, path=path, value=name, known=DRAWINGS, listed=listed)


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
        If it is wrong: all faults, with key, value, allowed values, file and line.
    """
    named = isinstance(source, str) and source != "-" and "\n" not in source and not is_document(source)
    if named and source not in DRAWINGS and not is_there(Path(str(source))):
        raise unknown_drawing(str(source), "source")
    _require_own_keys(sets)
    given = {"drawing": source} if isinstance(source, str) and source in DRAWINGS else source
    found = Drawing.load(given, overrides=sets)
    whole = _completed(found)
    file = source.get("base") if isinstance(source, Mapping) else source if _is_file(source) else None
    whole._label, whole._given = _label_of(found, file), found.to_dict()
    return whole


def _require_own_keys(sets: Sets) -> None:
    """Raise for settings such as ``device.drawing.bit_nm=30``, which scenarios have; a drawing has ``bit_nm=30``."""
    faults = []
    for setting in set_list(sets):
        path = setting.partition("=")[0].strip()
        table, _, key = path.rpartition(".")
        if table and key in Drawing.model_fields:
            message = f": unknown key of a drawing: did you mean {key}?"
            faults.append(with_facts(Fault("unknown-key", message, path=path, suggestion=key), setting=setting))
    if faults:
        raise error_of(ScenarioError, faults)


def _is_file(source: Path | str) -> bool:
    return isinstance(source, Path) or ("\n" not in source and is_document(source))


def _completed(drawing: Drawing) -> Drawing:
    """Return a drawing with the values that it leaves out: those of its material, then those of the catalogue."""
    known = dict(drawing_named(drawing.drawing)[1])
    if drawing.material is not None:
        material = MATERIALS[drawing.material]
        known["sled_density_kg_m3"] = material.density_kg_m3
        known["spring_n_m"] *= material.youngs_modulus_gpa / MATERIALS["silicon"].youngs_modulus_gpa
    return drawing.model_copy(update={key: known[key] for key in known.keys() - drawing.model_fields_set})


def _label_of(drawing: Drawing, file: Any) -> str:
    """Return the name of a drawing in headings: that of its file or in the catalogue, and the changed values."""
    if file is not None:
        name, original = label_of(str(file)), Drawing.load(Path(str(file)))
    else:
        name, original = f"drawing {drawing.drawing}", Drawing(drawing=drawing.drawing)
    before = _completed(original)
    given = [key for key in Drawing.model_fields if key in drawing.model_fields_set and key != "drawing"]
    changed = [key for key in given if getattr(drawing, key) != getattr(before, key)]
    if len(changed) > MOST_CHANGES:
        return f"{name} with {len(changed)} changed values"
    return name + (" with " if changed else "") + ", ".join(f"{key} {_short(getattr(drawing, key))}" for key in changed)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value).lower()
