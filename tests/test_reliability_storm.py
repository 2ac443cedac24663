"""The Markov models against an independent model checker, Storm: another model, another solver, the same numbers.

Each enclosure is written in Storm's modelling language from its description, without the package. Mean times, counts
and long-run shares come from Storm in exact rational arithmetic; probabilities at a time from its sound
uniformisation, with a relative precision of 1e-6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
import stormpy
from stormpy import environments

from sledsim.reliability import Description, MarkovModel
from sledsim.reliability.duration import YEAR_H

if TYPE_CHECKING:
    from pathlib import Path

# Tolerance between the rational solution and ours: rounding of a chain of about twenty states.
EXACT = 1e-12
# The precision requested from Storm.
TRANSIENT = 1e-6


@dataclass(frozen=True)
class Case:
    """An enclosure, with times in hours as exact fractions."""

    data: int = 19
    parity: int = 1
    spares: int = 0
    mttf: Fraction = Fraction(200_000)
    rebuild: Fraction = Fraction(1, 4)
    strategy: str = "none"
    preventive: Fraction | None = None
    mandatory: Fraction | None = None
    options: dict[str, Any] = field(default_factory=dict)
    times: tuple[Fraction, ...] = (Fraction(10), Fraction(8760), Fraction(43_800))

    def description(self) -> Description:
        repair = {"strategy": self.strategy}
        repair |= {key: f"{float(getattr(self, key))!r} h" for key in ("preventive", "mandatory") if getattr(self, key)}
        enclosure = {"data": self.data, "parity": self.parity, "spares": self.spares}
        enclosure |= {key: value for key, value in self.options.items() if key not in {"at_once", "spread"}}
        rebuild = {"time": f"{float(self.rebuild)!r} h"}
        rebuild |= {key: value for key, value in self.options.items() if key in {"at_once", "spread"}}
        device = {"mttf": f"{float(self.mttf)!r} h"}
        return Description.load({"enclosure": enclosure, "device": device, "rebuild": rebuild, "repair": repair})

    def prism(self, *, renewed: bool) -> str:
        """Write the enclosure for Storm; where renewed, a new one takes the place of one that loses data."""
        distributed = self.options.get("sparing") == "distributed"
        at_once = self.options.get("at_once", 1)
        needed = self.data + self.parity
        faster = "1"
        if distributed and self.options.get("spread", True):
            faster = f"({needed}+s)*({needed}+s-1)/({needed}*({self.data}+1))"
        late = self.mandatory or self.preventive
        rho0 = f"{1 / late}" if late and self.strategy != "none" else "0"
        rho1 = f"{1 / self.preventive}" if self.preventive and self.strategy == "preventive" and self.spares else "0"
        devices = f"({needed}{'+s' if distributed else ''}-f)"
        lines = [
            f"<> f<{self.parity} -> {devices}/({self.mttf}) : (f'=f+1);",
            f"<> f={self.parity} -> {devices}/({self.mttf}) : "
            + (f"(f'=0) & (s'={self.spares});" if renewed else f"(f'={self.parity + 1});"),
        ]
        if self.spares:
            alive = f"f<={self.parity}"
            lines.append(
                f"<> f>0 & {alive} & s>0 -> min(f,s,{at_once})/({self.rebuild})*{faster} : (f'=f-1) & (s'=s-1);"
            )
            if self.options.get("spares_fail") and not distributed:
                lines.append(f"<> {alive} & s>0 -> s/({self.mttf}) : (s'=s-1);")
        if rho0 != "0" and self.parity:
            lines.append(f"<> f>0 & f<={self.parity} & s=0 -> {rho0} : (f'=0) & (s'={self.spares});")
        if rho1 != "0":
            lines.append(f"<> f=0 & s=0 -> {rho1} : (s'={self.spares});")
        body = "\n  ".join(lines)
        # A variable needs room for two values.
        return f"""ctmc
module enclosure
  f : [0..{self.parity + 1}] init 0;
  s : [0..{self.spares + 1}] init {self.spares};
  {body}
endmodule
label "loss" = f={self.parity + 1};
label "degraded" = f>0;
label "spareless" = s=0;
rewards "repairs"
  f>0 & f<={self.parity} & s=0 : {rho0};
  f=0 & s=0 : {rho1};
endrewards
rewards "replaced"
  f>0 & f<={self.parity} & s=0 : (f+{self.spares})*{rho0};
  f=0 & s=0 : {self.spares}*{rho1};
endrewards
"""


DAY, WEEK, MONTH = Fraction(24), Fraction(168), Fraction(730)
SHORT = (Fraction(1, 2), Fraction(10), Fraction(8760))
CASES = {
    "raid5": Case(),
    "raid5, one spare": Case(spares=1),
    "raid5, two spares": Case(spares=2),
    "raid5, five spares": Case(spares=5),
    "raid5, repaired in a day": Case(strategy="mandatory", mandatory=DAY),
    "raid5, one spare, preventive": Case(spares=1, strategy="preventive", preventive=WEEK),
    "raid5, five spares, preventive": Case(spares=5, strategy="preventive", preventive=WEEK),
    "raid5, five spares, preventive and urgent": Case(
        spares=5, strategy="preventive", preventive=MONTH, mandatory=Fraction(4)
    ),
    "raid5, one spare, mandatory": Case(spares=1, strategy="mandatory", mandatory=DAY),
    "raid5, five spares, mandatory": Case(spares=5, strategy="mandatory", mandatory=MONTH),
    "raid5, spares fail": Case(spares=3, options={"spares_fail": True}),
    "raid5, spares fail, preventive": Case(
        spares=3, strategy="preventive", preventive=DAY, options={"spares_fail": True}
    ),
    "raid5, distributed": Case(spares=3, options={"sparing": "distributed"}),
    "raid5, distributed, preventive": Case(
        spares=5, strategy="preventive", preventive=WEEK, options={"sparing": "distributed"}
    ),
    "raid5, distributed, not spread": Case(
        spares=2, strategy="mandatory", mandatory=WEEK, options={"sparing": "distributed", "spread": False}
    ),
    "raid5, distributed, where spares that fail are no others": Case(
        spares=2, strategy="mandatory", mandatory=WEEK, options={"sparing": "distributed", "spares_fail": True}
    ),
    "raid6": Case(data=8, parity=2),
    "raid6, two spares": Case(data=8, parity=2, spares=2, times=SHORT),
    "raid6, two rebuilds at once": Case(data=8, parity=2, spares=3, rebuild=WEEK, options={"at_once": 2}),
    "raid6, two spares, preventive": Case(
        data=14, parity=2, spares=2, strategy="preventive", preventive=WEEK, times=SHORT
    ),
    "raid6, spares fail, mandatory": Case(
        data=14, parity=2, spares=2, strategy="mandatory", mandatory=MONTH, options={"spares_fail": True}
    ),
    "raid6, distributed": Case(
        data=18, parity=2, spares=4, strategy="mandatory", mandatory=DAY, options={"sparing": "distributed"}
    ),
    "mirror": Case(data=1, parity=1, strategy="mandatory", mandatory=Fraction(12)),
    "three copies, one spare": Case(data=1, parity=2, spares=1, rebuild=Fraction(6), times=SHORT),
    "10 of 14": Case(data=10, parity=4, spares=1, rebuild=DAY, strategy="mandatory", mandatory=WEEK),
    "10 of 14, three rebuilds at once": Case(
        data=10, parity=4, spares=4, mttf=Fraction(5_000), rebuild=WEEK, options={"at_once": 3}
    ),
    "no redundancy": Case(data=4, parity=0),
    "slow rebuild": Case(spares=4, rebuild=Fraction(2_000), strategy="preventive", preventive=DAY),
    "rebuild within a minute": Case(spares=2, rebuild=Fraction(1, 60), times=(Fraction(1), Fraction(8760))),
}


def checked(text: str, folder: Path, question: str, *, exact: bool) -> Any:
    """Have Storm answer a question about a model."""
    path = folder / "enclosure.prism"
    path.write_text(text)
    program = stormpy.parse_prism_program(path)
    properties = stormpy.parse_properties(question, program)
    model = stormpy.build_model[stormpy.Rational if exact else float](program, properties)
    environment = environments.exact() if exact else environments.sound()
    found = stormpy.model_checking(model, properties[0], environment=environment)
    value = found.get_value(model.initial_states[0])
    return Fraction(str(value)) if exact else float(value)


def test_at_least_twenty_configurations_are_compared() -> None:
    assert len(CASES) >= 20


@pytest.mark.parametrize("name", CASES)
def test_mean_times_and_counts_are_those_of_exact_arithmetic(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    model, text = MarkovModel(case.description()), case.prism(renewed=False)
    questions = {
        'T=? [F "loss"]': model.mttf_h,
        'R{"repairs"}=? [F "loss"]': model.repairs_until_loss,
        'R{"replaced"}=? [F "loss"]': model.replaced_until_loss,
    }
    for question, ours in questions.items():
        assert ours == pytest.approx(float(checked(text, tmp_path, question, exact=True)), rel=EXACT, abs=0), question


@pytest.mark.parametrize("name", CASES)
def test_probabilities_at_a_time(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    model, text = MarkovModel(case.description()), case.prism(renewed=False)
    ours = model.loss_probability([float(time) for time in case.times])
    for time, value in zip(case.times, ours, strict=True):
        theirs = checked(text, tmp_path, f'P=? [F<={float(time)!r} "loss"]', exact=False)
        assert value == pytest.approx(theirs, rel=TRANSIENT, abs=0), time


@pytest.mark.parametrize("name", CASES)
def test_long_run_shares(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    if not case.parity:
        # A single state: all of the time is spent in it.
        assert MarkovModel(case.description()).long_run().degraded == 0
        return
    long_run, text = MarkovModel(case.description()).long_run(), case.prism(renewed=True)
    degraded = checked(text, tmp_path, 'LRA=? ["degraded"]', exact=True)
    without_spares = checked(text, tmp_path, 'LRA=? ["spareless"]', exact=True)
    repairs = checked(text, tmp_path, 'R{"repairs"}=? [LRA]', exact=True)
    assert long_run.degraded == pytest.approx(float(degraded), rel=EXACT, abs=0)
    assert long_run.without_spares == pytest.approx(float(without_spares), rel=EXACT, abs=0)
    assert long_run.repairs_per_year == pytest.approx(float(repairs) * YEAR_H, rel=EXACT, abs=0)
