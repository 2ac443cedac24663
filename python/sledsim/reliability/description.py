"""The description of an enclosure: devices, rebuild, repair and prices, with units and checks.

The tables are those of the TOML file::

    [enclosure]
    data = 19              # devices' worth of data, N
    parity = 1             # any so many losses are survived: RAID-5 has 1, RAID-6 has 2
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

    [cost]                 # may be left out
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

#: Costs of this size still add up, over all devices and visits, to numbers that mean something.
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
    """Devices that hold data together, and the spares beside them.

    Any ``parity`` of the ``data + parity`` devices may fail without loss of data: an m-of-n code with
    m = ``data`` and n = ``data + parity``. One more loses data.
    """

    model_config = ConfigDict(json_schema_extra=_or_devices)

    data: CountFromOne
    """Devices' worth of data. ``devices``, the sum of ``data`` and ``parity``, may be given in its place."""
    parity: Count
    """Devices' worth of redundancy: 0 none, 1 RAID-5 or a mirror, 2 RAID-6."""
    spares: Count = 0
    """On-line spares, k: whole devices, or space of as many spread over all devices."""
    sparing: Literal["dedicated", "distributed"] = "dedicated"
    """Dedicated spares stand idle; distributed sparing spreads data, parity and spare space over all devices."""
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
            says = ": devices' worth of data; or give devices, with those of parity"
            raise KeysError(Fault("missing", says, path="data"))
        devices, parity = keys["devices"], keys.get("parity")
        if "data" in rest:
            raise KeysError(Fault("conflict", ": give data or devices, not both", path="devices", value=devices))
        if not isinstance(devices, int) or not isinstance(parity, int):
            return rest | {"data": devices}
        if parity >= devices:
            says = f" of {devices} devices leave none for data"
            raise KeysError(Fault("conflict", says, path="parity", value=parity))
        return rest | {"data": devices - parity}

    @property
    def devices(self) -> int:
        """Devices that are needed: ``data + parity``, without spares."""
        return self.data + self.parity


class EnclosureDevice(Table):
    """A device of the enclosure, and how long it lives."""

    mttf: Duration
    """Mean time to failure, 1/λ."""
    name: str | None = None
    """Name in the catalogue, or a device file: where capacity and bandwidth are taken from."""
    lifetime: Lifetime | None = None
    """Distribution of the lifetime; exponential where it is left out."""
    infant_mortality: InfantMortality | None = None
    """Devices that are weak from birth; ``mttf`` is that of the others."""
    batches: Batches | None = None
    """Batches that are good or bad together; ``mttf`` is that of devices of good ones."""
    latent_errors: LatentErrors | None = None
    """Sectors that become unreadable unnoticed."""
    tips: Tips | None = None
    """Tips that fail one by one, beside the device as a whole."""


class Rebuild(Table):
    """Recovery of a failed device's data onto a spare: one of the three keys that give its duration."""

    time: Duration | None = None
    """Mean time to rebuild a whole device onto one spare, 1/μ."""
    bandwidth_share: Share | None = None
    """Share of the device's bandwidth that rebuilding takes; ``device.name`` gives bandwidth and capacity."""
    load: str | None = None
    """Scenario file whose load on the device leaves the rest of the bandwidth."""
    at_once: CountFromOne = 1
    """Devices rebuilt at the same time, each onto its own spare; 1 where the survivors' bandwidth is what limits."""
    spread: Switch = True
    """Under distributed sparing, whether less data on each device, read and written by all, shortens the rebuild."""
    distribution: DelayKind = "exponential"
    """Distribution of the time of a rebuild."""

    @field_validator("load")
    @classmethod
    def _one_source(cls, load: str | None, info: ValidationInfo) -> str | None:
        if {"time", "bandwidth_share"} <= info.data.keys():
            sources = {"time": info.data["time"], "bandwidth_share": info.data["bandwidth_share"], "load": load}
            given = [key for key, value in sources.items() if value is not None]
            if len(given) != 1:
                says = f": give one of time, bandwidth_share and load (given: {', '.join(given) or 'none'})"
                path = given[0] if given else "time"
                raise KeysError(Fault("conflict" if given else "missing", says, path=path), beside=True)
        return load


class Repair(Table):
    """Maintenance: when all failed devices are replaced and the number of spares is restored.

    A time needs a strategy beside it. Under ``"none"`` it has no effect, so that the strategy can be changed by itself.
    """

    strategy: Literal["none", "preventive", "mandatory"] = "none"
    """``preventive`` repairs once no spare is left, ``mandatory`` only once a device has failed after that."""
    preventive: Duration | None = None
    """Mean time until a repair is done where no spare is left and no device has failed, 1/ρ1."""
    mandatory: Duration | None = None
    """Mean time until a repair is done where a device has failed and no spare is left, 1/ρ0; else ``preventive``."""
    distribution: DelayKind = "exponential"
    """How the times of repairs lie about their mean. Of two fixed ones under way the one that is due first counts."""

    @field_validator("mandatory")
    @classmethod
    def _strategy_has_its_time(cls, mandatory: Duration | None, info: ValidationInfo) -> Duration | None:
        strategy = info.data.get("strategy", "none")
        times = {"none": True, "preventive": info.data.get("preventive", True), "mandatory": mandatory}
        if times[strategy] is None:
            says = f': the strategy "{strategy}" needs the mean time to a repair, such as "1 week"'
            raise KeysError(Fault("missing", says, path=strategy), beside=True)
        return mandatory

    @model_validator(mode="after")
    def _require_strategy(self) -> Self:
        """Raise for a time that would have no effect because no strategy is given."""
        given = [key for key in ("preventive", "mandatory") if getattr(self, key) is not None]
        if given and "strategy" not in self.model_fields_set:
            says = f': {given[0]} has no effect without it; add strategy = "{given[0]}"'
            raise KeysError(Fault("missing", says, path="strategy"))
        return self

    @property
    def preventive_rate_per_h(self) -> float:
        """ρ1: repairs an hour where no spare is left and no device has failed; 0 for none."""
        return 1 / self.preventive.h if self.strategy == "preventive" and self.preventive else 0.0

    @property
    def mandatory_rate_per_h(self) -> float:
        """ρ0: repairs an hour where a device has failed and no spare is left; 0 for none."""
        if self.strategy == "none":
            return 0.0
        time = self.mandatory or self.preventive
        return 1 / time.h if time else 0.0


class Cost(Table):
    """Prices of an enclosure over its economic lifetime."""

    device: Amount
    """Price of a device."""
    spare: Amount | None = None
    """Price of a spare; else that of a device."""
    visit: Amount = 0.0
    """Price of a service visit, which is one repair, without the devices put in."""
    loss: Amount = 0.0
    """Price of a loss of data."""
    currency: str = "USD"
    """The currency."""
    lifetime: Duration = Duration("5 years")
    """Economic lifetime."""


class Description(Document, Table):
    """An enclosure with its maintenance: what every model of its reliability starts from.

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
    """A device, and how long it lives."""
    rebuild: Rebuild
    """How long rebuilds take."""
    repair: Repair = Field(default_factory=Repair)
    """Maintenance; none where it is left out."""
    cost: Cost | None = None
    """Prices."""

    @field_validator("rebuild")
    @classmethod
    def _bandwidth_is_known(cls, rebuild: Rebuild, info: ValidationInfo) -> Rebuild:
        if rebuild.time is None and "device" in info.data and info.data["device"].name is None:
            says = ': the time of a rebuild is to come from the device: name one, such as "g2", or give rebuild.time'
            raise KeysError(Fault("missing", says, path="device.name"), beside=True)
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
        """Return the same with other values, given by table.

        Parameters
        ----------
        **tables
            For each table, the keys that change; ``None`` takes the whole table out.
        """
        mine = self.to_dict()
        for table, keys in tables.items():
            if keys is None:
                mine.pop(table, None)
            else:
                mine[table] = mine.get(table, {}) | dict(keys)
        return type(self).load(mine)
