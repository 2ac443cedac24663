"""Schlosser et al. 2000, sections 2.3 and 2.4 and Table 1: what rises and what falls as a drawing of a G2 changes."""

from collections.abc import Sequence
from typing import NamedTuple

from sledsim.studies.sled_design import figures_of
from sledsim_papers.harness.finding import COMPUTED, Finding, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

__all__ = ["DRAWING", "TRENDS"]

DRAWING = "g2"


class Trend(NamedTuple):
    """A figure of a drawing, by the values of one of its keys, and what the relation between them rests on."""

    figure: str
    key: str
    values: Sequence[float]
    rests_on: str
    assumes: str = ""


FORCES_MN = (30.0, 36.0, 50.0, 72.0)
WIDTHS_NM = (50.0, 40.0, 30.0, 20.0)
VELOCITIES_MM_S = (10.0, 20.0, 40.0, 80.0)
ERROR_RATES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)

RUN_OUT = "the sled stops within a run-out of v²/2a at either end of its travel; far less than a row of bits as drawn"
CODE = "a code that corrects as many bits of a tip sector as leave one in 10^10 wrong"
DAMPED = "the actuator damps the oscillation with 5 % of its force"
PROCESSED = "a tip's power goes with 50 nm over the width of bits"
HELD = "a steady shock against which actuator and springs keep the fingers apart"

#: What the drawing decides, by claim.
TRENDS = {
    "force-settle": Trend("settle_ms", "actuator_mn", FORCES_MN, "the oscillation decays faster", DAMPED),
    "bit-size-settle": Trend("settle_ms", "bit_nm", WIDTHS_NM, "the oscillation decays to a tenth of a bit"),
    "force-capacity": Trend("capacity_gb", "actuator_mn", FORCES_MN, RUN_OUT),
    "velocity-capacity": Trend("capacity_gb", "access_mm_s", VELOCITIES_MM_S, RUN_OUT),
    "sleds-capacity": Trend("capacity_gb", "sleds", (1, 2, 4), "actuators of a given width surround each sled"),
    "errors-capacity": Trend("capacity_gb", "bit_error_rate", ERROR_RATES, CODE),
    "bit-size-power": Trend("power_mw", "bit_nm", WIDTHS_NM, "1,280 tips at work", PROCESSED),
    "velocity-power": Trend("power_mw", "access_mm_s", VELOCITIES_MM_S, "each reversal costs its kinetic energy"),
    "errors-power": Trend("energy_nj_per_byte", "bit_error_rate", ERROR_RATES, CODE),
    "force-shock": Trend("shock_g", "actuator_mn", FORCES_MN, HELD),
    "spring-shock": Trend("shock_g", "spring_n_m", (0.0, 200.0, 400.0, 600.0), HELD),
}


def drawn(study: Study, claim: str) -> Finding:
    """Return how a figure goes with a value of the drawing.

    Parameters
    ----------
    study
        Makes the drawings.
    claim
        One of :data:`TRENDS`.
    """
    figure, key, values, rests_on, assumes = TRENDS[claim]
    found = [figures_of(study.drawing(DRAWING, {key: value}))[figure].value for value in values]
    how = (
        f"Drawing `{DRAWING}`, {key} of {values[0]:g} to {values[-1]:g}: {rests_on}; {found[0]:.6g} to {found[-1]:.6g}."
    )
    curve = tuple({key: value, figure: each} for value, each in zip(values, found, strict=True))
    return Finding(trend(found, COMPUTED), how, curve=curve, assumes=assumes)


for _claim in TRENDS:
    experiment(f"schlosser2000.{_claim}", _claim)(drawn)
