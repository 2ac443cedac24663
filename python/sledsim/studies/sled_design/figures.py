"""Derived figures of a drawing."""

from collections.abc import Mapping
from typing import NamedTuple

from sledsim.scenario.drawings.drawing import Drawing
from sledsim.scenario.drawings.relations import Relations
from sledsim.scenario.plausible import Plausible

__all__ = ["PLAUSIBLE_FIGURES", "Figure", "figures_of"]


class Figure(NamedTuple):
    """A figure of the die: label, value and unit."""

    label: str
    value: float
    unit: str


#: Plausible ranges of figures; a note questions figures outside.
PLAUSIBLE_FIGURES: Mapping[str, Plausible] = {
    "acceleration": Plausible(0.1, 1_000, "g", "published devices: 12 to 105 g"),
    "resonance": Plausible(20, 20_000, "Hz", "published devices: 220 to 1,108 Hz"),
    "seek over a third of the travel": Plausible(0.02, 50, "ms", "published devices: 0.5 to 2 ms"),
    "shock": Plausible(1, 20_000, "g", "micromachined sensors survive 10,000 g"),
}


def figures_of(drawing: Drawing) -> dict[str, Figure]:
    """Return the derived figures of a drawing by name, before tips, rows and tracks are rounded.

    Parameters
    ----------
    drawing
        The drawing, with all its values.
    """
    of = Relations(drawing)
    return {
        "acceleration_m_s2": Figure("acceleration", of.acceleration_m_s2, "m/s2"),
        "settle_ms": Figure("settling", of.settle_s * 1e3, "ms"),
        "seek_third_ms": Figure("seek over a third of the travel", of.seek_x_s * 1e3, "ms"),
        "turnaround_ms": Figure("turnaround", of.turnaround_s * 1e3, "ms"),
        "run_out_um": Figure("run-out", of.run_out_m * 1e6, "um"),
        "capacity_gb": Figure("capacity", of.capacity_bytes * 1e-9, "GB"),
        "bandwidth_mb_s": Figure("bandwidth", of.bandwidth_bytes_s * 1e-6, "MB/s"),
        "power_mw": Figure("power during access", of.power_w * 1e3, "mW"),
        "energy_nj_per_byte": Figure("energy of the tips", of.byte_j * 1e9, "nJ/B"),
        "shock_g": Figure("shock", of.shock_g, "g"),
    }
