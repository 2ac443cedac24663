"""The keys of a role test."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, WithJsonSchema

from sledsim._core import Fault, ScenarioError
from sledsim.devices.entries import wrong_device
from sledsim.scenario.documents import Document, ScenarioKey, Settings
from sledsim.scenario.source import Source
from sledsim.scenario.tables import KeysError
from sledsim.studies.objective.naming import is_scheduler, wrongly_named
from sledsim.studies.objective.roles import LESS_IS_BETTER, RESPONSE, policy_scenario

__all__ = ["RoleTest"]


def _check_metric(metric: str) -> str:
    if metric not in LESS_IS_BETTER:
        raise KeysError(Fault("unknown-name", value=metric, allowed=[*LESS_IS_BETTER]))
    return metric


class RoleTest(Document):
    """A role or policy with the options of its test. Its fields are the keys of a file.

    Examples
    --------
    >>> RoleTest("sdf", device="g3", replications=3).device
    'g3'
    """

    what: ClassVar[str] = "role"
    example: ClassVar[str] = 'a key role: role = "sdf", or the path of a scenario'
    prefix: ClassVar[str] = "role."

    if TYPE_CHECKING:
        # The role can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    role: ScenarioKey
    """A scheduler or a layout by name, or a scenario: the path of a file, or a table."""
    without: ScenarioKey = None
    """The baseline, in the same form as the role. Default: ``clook`` for a scheduler, the better page layout for a
    layout."""
    device: str | None = None
    """For a policy: the MEMS device. Default: g2."""
    rate_per_s: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = None
    """For a scheduler: arrivals per second. Default: the rate at which fcfs keeps the device 95 % busy."""
    disk: str = "uberdisk"
    """The disk to fit, for the test of specificity."""
    fit_bytes: Annotated[int, Field(strict=True, ge=1)] = 4096
    """Size of the random reads whose mean times the fit equates."""
    replications: Annotated[int, Field(strict=True, ge=2)] = 10
    """Number of runs with different seeds, at least 2 for a confidence interval. A trace is run once, in 30 batches."""
    requests: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Requests of a run. Default: the number of the scenario."""
    seed: Annotated[int, Field(strict=True, ge=0)] = 1
    """Seed of the first run."""
    metric: Annotated[str, AfterValidator(_check_metric), WithJsonSchema({"enum": [*LESS_IS_BETTER]})] = RESPONSE
    """Path of the compared metric in the result; smaller values must be better."""
    overrides: Settings = ()
    """Values that replace those of the scenarios, by path."""

    @classmethod
    def _named(cls, values: dict[str, Any], source: Source) -> dict[str, Any]:
        named = dict[str, Any]()
        for key in ("role", "without"):
            if key not in source.overridden and isinstance(values.get(key), str | dict) and not _is_name(values[key]):
                named[key] = source.scenario(key)
        for key in ("device", "disk"):
            if key not in source.overridden and isinstance(values.get(key), str):
                named[key] = source.device(values[key])
        return values | named

    @classmethod
    def _named_faults(cls, values: Mapping[str, Any], source: Source, settings: Sequence[str]) -> list[Fault]:
        """Return the faults of role and baseline, device and disk."""
        found: list[Fault] = []
        for key in {"role", "without"} - set(source.overridden):
            if isinstance(values.get(key), str | dict) and not _is_name(values[key]):
                found += source.scenario_faults(key, settings)
        names = {key: values[key] for key in ("device", "disk") if isinstance(values.get(key), str)}
        devices = {key: name if key in source.overridden else source.device(name) for key, name in names.items()}
        role, rate_per_s = values.get("role"), values.get("rate_per_s")
        rate_per_s = rate_per_s if isinstance(rate_per_s, int | float) else None
        wrong: list[Fault] = []
        if isinstance(role, str | dict):
            wrong += wrongly_named(role, values.get("without"), device=devices.get("device"), rate_per_s=rate_per_s)
        if is_scheduler(role):
            known = not any(each.path == "device" for each in wrong)
            wrong += _policy_faults(str(role), devices.get("device", "g2") if known else "g2", settings)
        wrong += wrong_device(devices["disk"], "disk") if "disk" in devices else []
        located = [*found, *(source.located(each) for each in wrong)]
        # Overrides of both scenarios are reported once.
        return [each for i, each in enumerate(located) if each not in located[:i]]


def _policy_faults(scheduler: str, device: str, settings: Sequence[str]) -> list[Fault]:
    """Return the faults of overrides in the scenario of a scheduler's test."""
    try:
        policy_scenario(scheduler, device, 1.0, settings)
    except ScenarioError as error:
        return list(error.faults)
    return []


def _is_name(given: object) -> bool:
    """Return true for the name of a policy, false for a scenario."""
    return isinstance(given, str) and not Path(given).suffix
