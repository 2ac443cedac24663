"""The description of an enclosure: devices, rebuild, repair and prices, with units and checks.

The tables are those of the TOML file::

    [enclosure]
    data = 19              # devices' worth of data, N
    parity = 1             # failed devices tolerated: 1 for RAID-5, 2 for RAID-6
    spares = 5             # k
    sparing = "dedicated"  # or "distributed"
    spares_fail = false

    [device]
    mttf = "200000 h"      # 1/λ

    [rebuild]
    time = "15 min"        # 1/μ; or bandwidth_share = 0.5, or load = "scenario.toml"

    [repair]
    strategy = "preventive"  # or "mandatory", "none"
    preventive = "1 week"    # 1/ρ1
    mandatory = "1 day"      # 1/ρ0

    [cost]                 # optional
    device = 100.0
    visit = 500.0
    loss = 1e6
    lifetime = "5 years"
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from sledsim._core import Fault
from sledsim.reliability.device_life import Batches, DelayKind, InfantMortality, LatentErrors, Lifetime, Tips
from sledsim.reliability.duration import Duration
from sledsim.reliability.table import (
    MAX_DEVICES,
    Count,
    CountFromOne,
    ReliabilityError,
    Share,
    Switch,
    Table,
)
from sledsim.scenario.documents import Document
from sledsim.scenario.reading import Sets
from sledsim.scenario.source import Source
from sledsim.scenario.tables import KeysError

__all__ = [
    "MAX_DEVICES",
    "Cost",
    "Description",
    "Enclosure",
    "EnclosureDevice",
    "Rebuild",
    "ReliabilityError",
    "Repair",
]

#: Largest price: totals over all devices and visits stay exact enough as floats.
LARGEST_COST = 1e15
Amount = Annotated[float, Field(strict=True, ge=0, le=LARGEST_COST, allow_inf_nan=False)]


def _or_devices(schema: dict[str, Any]) -> None:
    """Accept ``devices`` in place of ``data``."""
    schema["required"] = ["parity"]
    schema["properties"]["devices"] = {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_DEVICES,
        "description": "The sum of data and parity, in place of data.",
    }


class Enclosure(Table):
    """Devices that store data redundantly, and their spares.

    Any ``parity`` of the ``data + parity`` devices may fail without loss of data: an m-of-n code with
    m = ``data`` and n = ``data + parity``. One more failure loses data.
    """

    model_config = ConfigDict(json_schema_extra=_or_devices)

    data: CountFromOne
    """Devices' worth of data. ``devices``, the sum of ``data`` and ``parity``, may be given in its place."""
    parity: Count
    """Devices' worth of redundancy: 0 none, 1 RAID-5 or a mirror, 2 RAID-6."""
    spares: Count = 0
    """On-line spares, k: whole devices, or the same space distributed over all devices."""
    sparing: Literal["dedicated", "distributed"] = "dedicated"
    """Dedicated spares are idle; distributed sparing spreads data, parity and spare space over all devices."""
    spares_fail: Switch = False
    """True if dedicated spares fail as often as devices in use. Devices under distributed sparing always do."""

    @model_validator(mode="before")
    @classmethod
    def _count_data(cls, keys: Any) -> Any:
        """Take ``devices`` in place of ``data``."""
        if not isinstance(keys, Mapping) or ("devices" not in keys and "data" in keys):
            return keys
        rest = {key: value for key, value in keys.items() if key != "devices"}
        if "devices" not in keys:
            message = ": devices' worth of data; or give devices, with those of parity"
            raise KeysError(Fault("missing", message, path="data"))
        devices, parity = keys["devices"], keys.get("parity")
        if "data" in rest:
            raise KeysError(Fault("conflict", ": give data or devices, not both", path="devices", value=devices))
        if not isinstance(devices, int) or not isinstance(parity, int):
            return rest | {"data": devices}
        if parity >= devices:
            message = f" of {devices} devices leave none for data"
            raise KeysError(Fault("conflict", message, path="parity", value=parity))
        return rest | {"data": devices - parity}

    @property
    def devices(self) -> int:
        """Number of devices without spares: ``data + parity``."""
        return self.data + self.parity


class EnclosureDevice(Table):
    """A device of the enclosure and its lifetime."""

    mttf: Duration
    """Mean time to failure, 1/λ."""
    name: str | None = None
    """Name in the catalogue, or a device file; it gives capacity and bandwidth."""
    lifetime: Lifetime | None = None
    """Distribution of the lifetime; exponential by default."""
    infant_mortality: InfantMortality | None = None
    """Share of devices that are weak from the start; ``mttf`` is the mean of the others."""
    batches: Batches | None = None
    """Good and bad batches of devices; ``mttf`` is the mean of devices from good batches."""
    latent_errors: LatentErrors | None = None
    """Sectors that become unreadable and are detected only when read or scrubbed."""
    tips: Tips | None = None
    """Tips that fail one by one, in addition to failures of the whole device."""


class Rebuild(Table):
    """Recovery of a failed device's data onto a spare: one of the three keys that give its duration."""

    time: Duration | None = None
    """Mean time to rebuild a whole device onto one spare, 1/μ."""
    bandwidth_share: Share | None = None
    """Share of the device's bandwidth that rebuilding takes; ``device.name`` gives bandwidth and capacity."""
    load: str | None = None
    """Scenario file whose load on the device leaves the rest of the bandwidth."""
    at_once: CountFromOne = 1
    """Devices rebuilt at the same time, each onto its own spare; 1 if the bandwidth of the survivors is the limit."""
    spread: Switch = True
    """True if rebuilds under distributed sparing are faster, as all devices share the reads and writes."""
    distribution: DelayKind = "exponential"
    """Distribution of the rebuild time."""

    @field_validator("load")
    @classmethod
    def _one_source(cls, load: str | None, info: ValidationInfo) -> str | None:
        if {"time", "bandwidth_share"} <= info.data.keys():
            sources = {"time": info.data["time"], "bandwidth_share": info.data["bandwidth_share"], "load": load}
            given = [key for key, value in sources.items() if value is not None]
            if len(given) != 1:
                message = f": give one of time, bandwidth_share and load (given: {', '.join(given) or 'none'})"
                path = given[0] if given else "time"
                raise KeysError(Fault("conflict" if given else "missing", message, path=path), beside=True)
        return load


class Repair(Table):
    """Maintenance: visits that replace all failed devices and restore the number of spares.

    A time requires ``strategy``. Times are accepted but have no effect with ``"none"``, so that the strategy alone can
    be overridden.
    """

    strategy: Literal["none", "preventive", "mandatory"] = "none"
    """``preventive`` schedules a repair when no spare is left, ``mandatory`` when a device fails after that."""
    preventive: Duration | None = None
    """Mean time to a repair while no spare is left and no device has failed, 1/ρ1."""
    mandatory: Duration | None = None
    """Mean time to a repair while a device has failed and no spare is left, 1/ρ0; by default, ``preventive``."""
    distribution: DelayKind = "exponential"
    """Distribution of the times to a repair. If two fixed ones are pending, the earlier one applies."""

    @field_validator("mandatory")
    @classmethod
    def _strategy_has_its_time(cls, mandatory: Duration | None, info: ValidationInfo) -> Duration | None:
        strategy = info.data.get("strategy", "none")
        times = {"none": True, "preventive": info.data.get("preventive", True), "mandatory": mandatory}
        if times[strategy] is None:
            message = f': the strategy "{strategy}" needs the mean time to a repair, such as "1 week"'
            raise KeysError(Fault("missing", message, path=strategy), beside=True)
        return mandatory

    @model_validator(mode="after")
    def _require_strategy(self) -> Self:
        """Raise if a time is given without a strategy."""
        given = [key for key in ("preventive", "mandatory") if getattr(self, key) is not None]
        if given and "strategy" not in self.model_fields_set:
            message = f': {given[0]} has no effect without it; add strategy = "{given[0]}"'
            raise KeysError(Fault("missing", message, path="strategy"))
        return self

    @property
    def preventive_rate_per_h(self) -> float:
        """ρ1: rate of repairs per hour while no spare is left and no device has failed; 0 for none."""
        return 1 / self.preventive.h if self.strategy == "preventive" and self.preventive else 0.0

    @property
    def mandatory_rate_per_h(self) -> float:
        """ρ0: rate of repairs per hour while a device has failed and no spare is left; 0 for none."""
        if self.strategy == "none":
            return 0.0
        time = self.mandatory or self.preventive
        return 1 / time.h if time else 0.0


class Cost(Table):
    """Prices of an enclosure over its economic lifetime."""

    device: Amount
    """Price of a device."""
    spare: Amount | None = None
    """Price of a spare; by default, that of a device."""
    visit: Amount = 0.0
    """Price of a service visit (one repair), without the replaced devices."""
    loss: Amount = 0.0
    """Price of a loss of data."""
    currency: str = "USD"
    """The currency."""
    lifetime: Duration = Duration("5 years")
    """Economic lifetime."""


class Description(Document, Table):
    """An enclosure and its maintenance: the input of all reliability models.

    Examples
    --------
    >>> description = Description.load({
    ...     "enclosure": {"data": 19, "parity": 1, "spares": 5},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ... })
    >>> description.enclosure.devices, description.repair.strategy
    (20, 'none')
    >>> description.replace(repair={"strategy": "preventive", "preventive": "1 week"}).repair.preventive.h
    168.0
    """

    what: ClassVar[str] = "description of an enclosure"
    example: ClassVar[str] = "a table [enclosure]"

    enclosure: Enclosure
    """Devices, redundancy and spares."""
    device: EnclosureDevice
    """The device and its lifetime."""
    rebuild: Rebuild
    """The duration of rebuilds."""
    repair: Repair = Field(default_factory=Repair)
    """Maintenance; none by default."""
    cost: Cost | None = None
    """Prices."""

    @field_validator("rebuild")
    @classmethod
    def _bandwidth_is_known(cls, rebuild: Rebuild, info: ValidationInfo) -> Rebuild:
        if rebuild.time is None and "device" in info.data and info.data["device"].name is None:
            message = ': needed to compute the rebuild time: name a device, such as "g2", or give rebuild.time'
            raise KeysError(Fault("missing", message, path="device.name"), beside=True)
        return rebuild

    @classmethod
    def load(cls, source: Self | Mapping[str, Any] | Path | str, *, overrides: Sets = (), **instead: Any) -> Self:
        """Read a description and check it; arguments as for :func:`sledsim.reliability.load`."""
        if isinstance(source, cls):
            return source if not overrides else super().load(source.to_dict(), overrides=overrides, **instead)
        return super().load(source, overrides=overrides, **instead)

    @classmethod
    def _named(cls, values: dict[str, Any], source: Source) -> dict[str, Any]:
        for table, key in (("rebuild", "load"), ("device", "name")):
            keys = values.get(table)
            if isinstance(keys, dict) and isinstance(name := keys.get(key), str):
                path = Path(name)
                is_relative = path.suffix and not path.is_absolute()
                values = values | {table: {**keys, key: str(source.folder / path) if is_relative else name}}
        return values

    def replace(self, **tables: Mapping[str, Any] | None) -> Self:
        """Return a copy with some values replaced.

        Parameters
        ----------
        **tables
            For each table, the keys to replace; ``None`` removes the whole table.
        """
        values = self.to_dict()
        for table, keys in tables.items():
            if keys is None:
                values.pop(table, None)
            else:
                values[table] = values.get(table, {}) | dict(keys)
        return type(self).load(values)
