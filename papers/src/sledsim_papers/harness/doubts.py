"""Changes that contradict claims: where the verdict stays all the same, the claim is weakly held."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sledsim.devices import catalog
from sledsim_papers.harness.ledger import PAPERS
from sledsim_papers.harness.motion import with_devices

__all__ = ["Doubt", "doubts"]


class Doubt(BaseModel):
    """A change of the model or a parameter that contradicts a claim, made in every run and device of its experiment.

    Parameters
    ----------
    claim
        Full name of the claim.
    says
        The change, in our words.
    times
        Factors of values of devices; of devices that have such a value.
    values
        Values of devices that take the place of theirs; of devices that have such a value.
    device
        Devices of the catalogue that take the place of others, by the names of those.
    scheduler
        Takes the place of every scheduler.
    enclosure
        Settings of every enclosure of devices, by path.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    claim: str
    says: str
    times: Mapping[str, float] = Field(default_factory=dict)
    values: Mapping[str, float | bool | str] = Field(default_factory=dict)
    device: Mapping[str, str] = Field(default_factory=dict)
    scheduler: str = ""
    enclosure: Mapping[str, int | str] = Field(default_factory=dict)

    def of_device(self, device: str | Mapping[str, Any]) -> str | dict[str, Any]:
        """Return a device with the change.

        Parameters
        ----------
        device
            Entry of the catalogue, or one with values that replace its own.
        """
        given = {"name": device} if isinstance(device, str) else dict(device)
        entry = catalog().get(str(given.get("name")))
        if entry is None:
            return device if isinstance(device, str) else given
        if entry.name in self.device:
            # Values of one device say nothing of another.
            return self.device[entry.name]
        its = {key: value.value for key, value in entry.values.items()} | given
        # A count stays one.
        times = {key: type(its[key])(its[key] * factor) for key, factor in self.times.items() if key in its}
        values = {key: value for key, value in self.values.items() if key in its}
        changed = {**given, **times, **values}
        return device if isinstance(device, str) and changed == given else changed

    def of_scenario(self, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """Return a scenario with the change; what is no scenario, such as an enclosure, comes back as it is.

        Parameters
        ----------
        scenario
            Nested keys.
        """
        made = with_devices(scenario, self.of_device)
        for key in ("system", "components"):
            if self.scheduler and key in made:
                made[key] = self._scheduled(made[key])
        return made

    def _scheduled(self, part: Any) -> Any:
        if isinstance(part, Mapping):
            return {
                key: self.scheduler if key == "scheduler" else self._scheduled(value) for key, value in part.items()
            }
        return [self._scheduled(each) for each in part] if isinstance(part, list | tuple) else part


@cache
def doubts() -> Mapping[str, Doubt]:
    """Return the changes by the full names of the claims that they contradict, in the order of the papers."""
    found: dict[str, Doubt] = {}
    for paper in PAPERS:
        text = files(f"sledsim_papers.{paper}").joinpath("doubts.toml").read_text(encoding="utf-8")
        for name, said in tomllib.loads(text).items():
            found[f"{paper}.{name}"] = Doubt(claim=f"{paper}.{name}", **said)
    return found
