"""Files of roles: what is tested, and how."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from sledsim._core import Fault, ScenarioError
from sledsim.devices.entries import wrong_device
from sledsim.scenario.documents import Document, read_varying
from sledsim.scenario.place import Place, Replaced
from sledsim.scenario.reading import ScenarioLike, Sets, Written
from sledsim.studies.objective.naming import is_scheduler, wrongly_named
from sledsim.studies.objective.roles import Sampling, SamplingKeys, policy_scenario

__all__ = ["RoleFile", "role_file"]


class RoleFile(SamplingKeys, Document):
    """A role, and how it is tested, as a file has it."""

    what: ClassVar[str] = "role"
    example: ClassVar[str] = 'a key role: role = "sdf", or the path of a scenario'
    own: ClassVar[str] = "role."

    role: str | dict[str, Any]
    """A scheduler or a layout by name, or a scenario: the path of a file, or a table."""
    without: str | dict[str, Any] | None = None
    """What there is without it: the same."""
    device: str | None = None
    """For a policy: the MEMS device, g2 where it is left out."""
    rate_per_s: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = None
    """For a scheduler: arrivals in a second; 95 % busy under fcfs where it is left out."""
    disk: str = "uberdisk"
    """The disk that is fitted, for the test of specificity alone."""
    fit_bytes: Annotated[int, Field(strict=True, ge=1)] = 4096
    """Size of the random reads that it is fitted to."""
    overrides: Replaced = Field(default_factory=dict)
    """Values that replace those of the scenarios, by path."""

    @classmethod
    def wrongly_named(cls, keys: Mapping[str, Any], place: Place, settings: Sequence[str]) -> list[Fault]:
        """Return what is wrong with role and rival, device and disk."""
        scenarios = {key: keys[key] for key in ("role", "without") if not _is_name(keys.get(key))}
        found = [each for key, given in scenarios.items() for each in place.resolved(given, key, settings)[1]]
        without, rate_per_s = keys.get("without"), keys.get("rate_per_s")
        device = place.device(keys["device"]) if keys.get("device") else None
        wrong = wrongly_named(keys["role"], without, device=device, rate_per_s=rate_per_s) if "role" in keys else []
        if is_scheduler(keys.get("role")):
            chosen = "g2" if device is None or any(each.path == "device" for each in wrong) else device
            wrong += _unsettled(keys["role"], chosen, settings)
        wrong += wrong_device(place.device(keys["disk"]), "disk") if "disk" in keys else []
        located = [*found, *(place.located(each) for each in wrong)]
        # Settings of both scenarios are wrong once.
        return [each for i, each in enumerate(located) if each not in located[:i]]


def _unsettled(scheduler: str, device: str, settings: Sequence[str]) -> list[Fault]:
    """Return what is wrong with settings of the scenario in which a scheduler is tested."""
    try:
        policy_scenario(scheduler, device, 1.0, settings)
    except ScenarioError as error:
        return list(error.faults)
    return []


def role_file(
    source: Mapping[str, Any] | Path | str,
    *,
    overrides: Sets = (),
    **instead: Any,
) -> dict[str, Any]:
    """Read a role from a file: what ``specificity`` is to be called with; ``merit`` takes no disk and its reads.

    Parameters
    ----------
    source
        A file (TOML, YAML or JSON) with a key ``role``, or a dictionary with its keys.
    overrides
        Values that replace those of the scenarios; and of the file's own keys, with ``role.`` in front.
    **instead
        Arguments that take the place of what the file says.

    Raises
    ------
    ScenarioError
        Where the file is wrong: all that is, with file, line, key, value and what is allowed.

    Examples
    --------
    >>> found = role_file({"role": "sdf", "device": "g3"}, overrides=["role.replications=3"])
    >>> found["role"], found["device"], found["sampling"].replications
    ('sdf', 'g3', 3)
    """
    found, settings = read_varying(RoleFile, source, overrides, instead)
    table = found.table

    def named(key: str) -> "ScenarioLike | Written | None":
        given = getattr(table, key)
        return given if _is_name(given) or key in instead else found.named(given, key)

    asked = {
        **{key: getattr(table, key) for key in ("rate_per_s", "fit_bytes")},
        "device": table.device and found.device(table.device),
        "disk": found.device(table.disk),
        "role": named("role"),
        "without": named("without"),
        "sampling": Sampling(**{key: getattr(table, key) for key in SamplingKeys.model_fields}),
        "overrides": settings,
    }
    return asked | instead


def _is_name(given: object) -> bool:
    """Tell whether it is no scenario: the name of a policy, or nothing."""
    return given is None or (isinstance(given, str) and not Path(given).suffix)
