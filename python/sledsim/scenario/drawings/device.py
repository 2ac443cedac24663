"""The device of a drawing as a table of a scenario."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sledsim._core import Fault, ScenarioError, error_of
from sledsim.scenario.drawings.drawing import DRAWINGS, PLAUSIBLE, Drawing, drawing_named, read_drawing, unknown_drawing
from sledsim.scenario.drawings.relations import TIPS_PER_BLOCK, Relations
from sledsim.scenario.plausible import questions
from sledsim.scenario.texts import is_document
from sledsim.show.faults import missing_file, with_facts

__all__ = ["device_of", "device_values", "drawing_questions", "require_device", "tips_of"]

#: Limits of a device on its springs and its code.
MOST_SPRING, MOST_BITS_PER_BYTE = 0.99, 64
LEAST_ACCELERATION_M_S2, MOST_ACCELERATION_M_S2 = 0.1, 1e6
LEAST_BIT_NM, MOST_BIT_NM = 1.0, 10_000.0
#: Keys that determine the acceleration.
CAUSES = ("sled_density_kg_m3", "sled_thickness_um", "die_area_mm2", "actuator_mn")
#: Keys that determine the number of bits along Y.
Y_CAUSES = ("access_mm_s", "travel_um", "tip_pitch_um", "bit_nm", *CAUSES)
#: Smaller values other than 0 are rejected: a product of a few of them would be 0.
LEAST = 1e-60


def device_of(written: Any, folder: Path) -> dict[str, Any]:
    """Return the device of a drawing in a scenario.

    Parameters
    ----------
    written
        Its name in the catalogue, its file, or a table with one of these as ``drawing``, and changed values.
    folder
        The folder from which relative paths start.

    Returns
    -------
    dict
        The name of the catalogue's device that the drawing is based on, the values that it determines, and at ``label``
        the name in headings.

    Raises
    ------
    ScenarioError
        If the drawing is wrong, or gives no device; the faults have the paths of its keys.
    """
    keys = _keys_of(written, folder)
    try:
        drawing = read_drawing(keys)
        of = Relations(drawing)
        with drawing.locating():
            require_device(of)
    except ScenarioError as error:
        # Faults without a file are located in the scenario.
        faults = [with_facts(each, file=None) if each.file == Drawing.what else each for each in error.faults]
        raise error_of(ScenarioError, faults) from None
    return {"name": drawing_named(drawing.drawing)[0], "label": drawing.label, **device_values(of)}


def drawing_questions(written: Any, folder: Path) -> list[str]:
    """Return a note for each value of a drawing that no known device has.

    Parameters
    ----------
    written, folder
        As for :func:`device_of`.
    """
    drawing = read_drawing(_keys_of(written, folder))
    return questions({key: getattr(drawing, key) for key in Drawing.model_fields}, PLAUSIBLE)


def _keys_of(written: Any, folder: Path) -> dict[str, Any]:
    """Return the keys of a drawing in a scenario; those of its file are those of its base."""
    if not isinstance(written, Mapping | str):
        message = "a drawing of the catalogue, the path of its file, or a table"
        raise error_of(ScenarioError, [Fault("wrong-type", value=written, allowed=message)])
    keys = {"drawing": written} if isinstance(written, str) else dict(written)
    name = keys.get("drawing")
    if isinstance(name, str) and is_document(name):
        # The values of the file are the base, as for any document.
        del keys["drawing"]
        file = Path(folder) / name
        if not file.is_file():
            raise missing_file(ScenarioError, file)
        keys["base"] = str(file)
    elif isinstance(name, str) and name not in DRAWINGS:
        raise unknown_drawing(name, path=None if isinstance(written, str) else "drawing")
    return keys


def device_values(of: Relations) -> dict[str, Any]:
    """Return the parameters of the device that a drawing determines, as in a scenario.

    Parameters
    ----------
    of
        The quantities that follow from the drawing.
    """
    drawing = of.drawing
    tips, active, _ = tips_of(of)
    return {
        "x_range_um": _short(of.x_range_m * 1e6),
        "y_range_um": _short(of.y_range_m * 1e6),
        "bit_nm": drawing.bit_nm,
        "tips": tips,
        "active_tips": active,
        "encoded_bits_per_byte": of.encoded_bits_per_byte,
        "bidirectional": drawing.bidirectional,
        "acceleration_x_m_s2": _short(of.acceleration_m_s2),
        "acceleration_y_m_s2": _short(of.acceleration_m_s2),
        "spring_factor": _short(of.spring_factor),
        "resonance_hz": _short(of.resonance_hz),
        "settle_constants": _short(of.settle_constants),
        "bit_rate_kbit_s": _short(of.bit_rate_hz * 1e-3),
        "sled_mw": _short(of.sled_w * 1e3),
        "tip_mw": _short(of.tip_w * 1e3),
        "sleds": drawing.sleds,
    }


def tips_of(of: Relations) -> tuple[int, int, int]:
    """Return tips, active tips and spare tips of a sled: the number of whole blocks on a track is nearest to the limit.

    Parameters
    ----------
    of
        The quantities that follow from the drawing.
    """
    whole = round(of.tips, 3)
    limit = of.drawing.active_tips // of.drawing.sleds // TIPS_PER_BLOCK * TIPS_PER_BLOCK
    tracks = max(1, round(whole / max(limit, 1)))
    active = min(limit, int(whole / tracks) // TIPS_PER_BLOCK * TIPS_PER_BLOCK)
    return tracks * active, active, int(whole) - tracks * active


def require_device(of: Relations) -> None:
    """Raise for a drawing that gives no device.

    Parameters
    ----------
    of
        The quantities that follow from the drawing.
    """
    drawing = of.drawing
    for key, value in drawing.model_dump().items():
        if isinstance(value, float) and 0 < abs(value) < LEAST:
            raise error_of(ScenarioError, [Fault("misfit", f" = {value} is next to nothing", path=key)])
    if not LEAST_BIT_NM <= drawing.bit_nm <= MOST_BIT_NM:
        message = f" = {drawing.bit_nm:g} is out of range: a device has bits of {LEAST_BIT_NM:g} to {MOST_BIT_NM:,g} nm"
        raise error_of(ScenarioError, [Fault("out-of-range", message, path="bit_nm")])
    if of.sled_side_m <= 0:
        widest = of.sled_side_m * 500 + drawing.frame_mm
        sleds = f"{drawing.sleds} sled{'s' if drawing.sleds > 1 else ''} on {drawing.die_area_mm2:g} mm²"
        message = f" = {drawing.frame_mm} leaves no sled: expected below {widest:.4g} mm ({sleds})"
        raise error_of(ScenarioError, [Fault("conflict", message, path="frame_mm")])
    if not LEAST_ACCELERATION_M_S2 <= of.acceleration_m_s2 <= MOST_ACCELERATION_M_S2:
        key = _likely_cause(drawing, CAUSES, "actuator_mn")
        bounds = f"{LEAST_ACCELERATION_M_S2:g} to {MOST_ACCELERATION_M_S2:,.0f} m/s²"
        message = (
            f" = {getattr(drawing, key):g} gives an acceleration of {of.acceleration_m_s2:,.4g} m/s²: expected {bounds}"
        )
        raise error_of(ScenarioError, [Fault("conflict", message, path=key)])
    if of.spring_factor > MOST_SPRING:
        most = MOST_SPRING * drawing.spring_n_m / of.spring_factor
        springs = f" ({drawing.material} springs)" if drawing.material and "spring_n_m" not in drawing.given else ""
        message = (
            f" = {drawing.spring_n_m:.6g}{springs} is more than the actuator can hold: expected at most {most:.4g} N/m"
        )
        raise error_of(ScenarioError, [Fault("conflict", message, path="spring_n_m")])
    if of.resonance_hz == 0:
        message = " = 0 leaves a sled that does not settle: expected springs, or a control that stiffens it"
        raise error_of(ScenarioError, [Fault("conflict", message, path="servo_stiffness_n_m")])
    if of.encoded_bits_per_byte > MOST_BITS_PER_BYTE:
        message = f" = {drawing.bit_error_rate} is more than a code of a tip sector corrects"
        raise error_of(ScenarioError, [Fault("conflict", message, path="bit_error_rate")])
    if of.y_range_m * 1e9 / drawing.bit_nm < of.sector_bits + 10:
        key = _likely_cause(drawing, Y_CAUSES, "access_mm_s")
        sector_um = (of.sector_bits + 10) * drawing.bit_nm * 1e-3
        message = (
            f" = {getattr(drawing, key):g} leaves no room for a tip sector along Y: of {of.x_range_m * 1e6:.4g} µm, "
            f"stopping takes {of.run_out_m * 1e6:.4g} µm at each end, a tip sector {sector_um:.4g} µm"
        )
        raise error_of(ScenarioError, [Fault("conflict", message, path=key)])
    if drawing.active_tips < drawing.sleds * TIPS_PER_BLOCK:
        least = drawing.sleds * TIPS_PER_BLOCK
        message = f" = {drawing.active_tips} is too few: a block takes {TIPS_PER_BLOCK} of each sled, {least} in all"
        raise error_of(ScenarioError, [Fault("conflict", message, path="active_tips")])
    if tips_of(of)[1] < TIPS_PER_BLOCK:
        message = f" = {drawing.tip_pitch_um} leaves a sled {int(of.tips)} tips: a block takes {TIPS_PER_BLOCK}"
        raise error_of(ScenarioError, [Fault("conflict", message, path="tip_pitch_um")])


def _likely_cause(drawing: Drawing, keys: Sequence[str], default: str) -> str:
    """Return a key with a value outside the plausible range, otherwise a key that the user gave."""
    implausible = [key for key in keys if questions(dict(drawing), {key: PLAUSIBLE[key]})]
    given = [key for key in keys if key in drawing.given]
    return next(iter([*(key for key in implausible if key in given), *implausible, *given]), default)


def _short(value: float) -> float:
    """Return a value with six digits, as a device file has it."""
    return float(f"{value:.6g}")
