"""The class of a scenario, with a typed class for each of its tables."""

import json
from typing import TYPE_CHECKING, Any, Self

from sledsim.scenario.models.scenario import ScenarioModel
from sledsim.scenario.reading import resolve

if TYPE_CHECKING:
    from sledsim.scenario.reading import ScenarioLike, Sets

__all__ = ["Scenario"]


class Scenario(ScenarioModel):
    """The one description of a run: workload, system, and what is measured.

    Examples
    --------
    >>> from sledsim.scenario.models import AsptfScheduler, DriveSystem, PoissonArrival, Run, SyntheticWorkload
    >>> scenario = Scenario(
    ...     workload=SyntheticWorkload(arrival=PoissonArrival(rate_per_s=500.0), read_fraction=0.67),
    ...     system=DriveSystem(device="g2", scheduler=AsptfScheduler(weight=0.01)),
    ...     run=Run(requests=10_000),
    ... )
    >>> scenario.resolve()["system"]["device"]["bit_nm"]
    40.0
    """

    @classmethod
    def load(cls, source: "ScenarioLike", *, overrides: "Sets" = ()) -> Self:
        """Read a scenario and fill in every default.

        Parameters
        ----------
        source
            A file (TOML, YAML or JSON), ``"-"`` for standard input, a text of several lines, a dictionary,
            or another scenario.
        overrides
            Values that replace those of the scenario: ``["device.settle_constants=0"]`` or a dictionary.

        Raises
        ------
        ScenarioError
            If the scenario is wrong; the message names file, key, value and allowed values.
        """
        return cls(**resolve(source, overrides).values)

    def resolve(self, *, overrides: "Sets" = ()) -> dict[str, Any]:
        """Return the scenario with every key explicit; running that gives the same result."""
        return resolve(self, overrides).values

    def to_json(self) -> str:
        """Return the keys that were given, as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
