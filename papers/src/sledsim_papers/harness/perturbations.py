"""Perturbations: changes of the model that contradict a claim, so that its verdict should change."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sledsim.devices import catalog
from sledsim_papers.harness.claim import PAPERS
from sledsim_papers.harness.motion import with_devices

__all__ = ["Perturbation", "perturbations"]


class Perturbation(BaseModel):
    """A change of the model or of a parameter that contradicts a claim, made in every run of its experiment.

    Parameters
    ----------
    claim
        Full name of the claim.
    change
        The change in words.
    times
        Factors for values of devices, by key; devices without the key stay as they are.
    values
        New values of devices, by key; devices without the key stay as they are.
    device
        Replacements of devices of the catalogue, by the name of the replaced device.
    scheduler
        Replaces every scheduler.
    enclosure
        Settings of every enclosure, by path.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    claim: str
    change: str
    times: Mapping[str, float] = Field(default_factory=dict)
    values: Mapping[str, float | bool | str] = Field(default_factory=dict)
    device: Mapping[str, str] = Field(default_factory=dict)
    scheduler: str = ""
    enclosure: Mapping[str, int | str] = Field(default_factory=dict)

    def of_device(self, device: str | Mapping[str, Any]) -> str | dict[str, Any]:
        """Return a device with the perturbation.

        Parameters
        ----------
        device
            Name of a catalogue entry, or a mapping with ``name`` and values that replace those of the entry.
        """
        given = {"name": device} if isinstance(device, str) else dict(device)
        entry = catalog().get(str(given.get("name")))
        if entry is None:
            return device if isinstance(device, str) else given
        if entry.name in self.device:
            # Values given for one device do not apply to its replacement.
            return self.device[entry.name]
        its = {key: value.value for key, value in entry.values.items()} | given
        # Counts stay integers.
        times = {key: type(its[key])(its[key] * factor) for key, factor in self.times.items() if key in its}
        values = {key: value for key, value in self.values.items() if key in its}
        changed = {**given, **times, **values}
        return device if isinstance(device, str) and changed == given else changed

    def of_scenario(self, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """Return a scenario with the perturbation; other documents, such as enclosures, are returned unchanged.

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
def perturbations() -> Mapping[str, Perturbation]:
    """Return perturbations by the full names of the claims that they contradict, in the order of the papers."""
    found: dict[str, Perturbation] = {}
    for paper in PAPERS:
        text = files(f"sledsim_papers.{paper}").joinpath("perturbations.toml").read_text(encoding="utf-8")
        for name, said in tomllib.loads(text).items():
            found[f"{paper}.{name}"] = Perturbation(claim=f"{paper}.{name}", **said)
    return found
