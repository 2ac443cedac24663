"""The comparison of caches of a disk: its keys and the compared systems."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from sledsim._core import Fault, ScenarioError, SledsimError, error_of, quantity
from sledsim.devices.entries import wrong_device
from sledsim.scenario.documents import BasedOnScenario, Settings
from sledsim.scenario.explanation import explain
from sledsim.scenario.reading import Sets, resolve
from sledsim.scenario.source import Source
from sledsim.scenario.tables import KeysError
from sledsim.show.faults import convert_error, make_error, with_facts
from sledsim.studies.cache_cost.cached_disk import GB, CacheDesign

__all__ = ["RATIOS", "CostStudy", "Plan"]

#: Default ratios of the prices per GB of NVRAM and MEMS: the axis of Figure 9.
RATIOS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
#: Line size of a RAM cache; sizes bought by a budget are multiples of it.
LINE_BYTES = 4096
#: Default size of the MEMS cache without a budget.
USUAL_SIZE = "256 MiB"
#: Maximum number of replications.
MOST_REPLICATIONS = 1000
#: Range of prices and ratios.
LEAST, MOST = 1e-15, 1e15


def _check_size(size: int | str) -> int | str:
    if (quantity(size, "B") if isinstance(size, str) else size) < 1:
        raise ValueError("a size has at least 1 B")
    return size


#: A size in bytes, or in Python a string with a unit. The core converts those of documents.
Size = Annotated[int | str, AfterValidator(_check_size), WithJsonSchema({"type": "integer", "minimum": 1})]
Price = Annotated[float, Field(strict=True, ge=LEAST, le=MOST, allow_inf_nan=False)]


def _listed(values: Any) -> Any:
    """Return an iterable of numbers as a list, including arrays and Series."""
    if hasattr(values, "tolist"):
        return values.tolist()
    is_several = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    return list(values) if is_several else values


Prices = Annotated[list[Price], Field(min_length=1), BeforeValidator(_listed)]


class CostStudy(BasedOnScenario):
    """A comparison of a MEMS cache with NVRAM caches of equal cost. Its fields are the keys of a file.

    Examples
    --------
    >>> disk = {"workload": "tpcc-like", "system": "atlas10k"}
    >>> CostStudy(disk, mems_bytes="16 MiB", ratios=[1, 8]).plan.nvram_bytes
    [16777216, 2097152]
    """

    what: ClassVar[str] = "comparison of caches"
    example: ClassVar[str] = 'the scenario of the disk: scenario = "disk.toml"'
    prefix: ClassVar[str] = "cost."

    if TYPE_CHECKING:
        # The scenario can be positional.
        def __init__(self, *values: Any, **keys: Any) -> None: ...

    mems: str = "hong2006"
    """The MEMS device."""
    mems_bytes: Size | None = None
    """Size of the MEMS cache. Default: 256 MiB, unless there is a budget."""
    segment_bytes: Size = "64 KiB"
    """Unit of transfer between disk and MEMS."""
    controller_bytes: Literal["none"] | Size | None = "4 MiB"
    """Size of the controller's volatile write-back cache above either cache, or none."""
    mems_price_per_gb: Price = 1.0
    """Price of a GB (10⁹ bytes) of MEMS, in any currency."""
    nvram_prices_per_gb: Prices | None = None
    """Prices of a GB of NVRAM."""
    ratios: Prices | None = None
    """Prices of a GB of NVRAM in multiples of the price of MEMS. Default: 1 to 10."""
    budget: Price | None = None
    """Price of a cache, instead of the size of the MEMS cache."""
    replications: Annotated[int, Field(strict=True, ge=1, le=MOST_REPLICATIONS)] = 1
    """Runs of each design, with consecutive seeds from that of the scenario."""
    overrides: Settings = ()
    """Values that replace those of the scenario, by path."""

    @field_validator("ratios", "budget")
    @classmethod
    def _given_once(cls, value: Any, info: ValidationInfo) -> Any:
        other = EITHER[str(info.field_name)]
        if value is not None and info.data.get(other) is not None:
            raise KeysError(Fault("conflict", f": give either {info.field_name} or {other}"))
        return value

    @classmethod
    def load(cls, source: Self | Mapping[str, Any] | Path | str, *, overrides: Sets = (), **instead: Any) -> Self:
        """Read a comparison and validate it, including its caches.

        Parameters
        ----------
        source
            A file (TOML, YAML or JSON) with a key ``scenario``, or a dictionary with its keys.
        overrides
            Values that replace those of the scenario, and keys of the file with the prefix ``cost.``.
        **instead
            Keys that replace those of the file; a budget also replaces a size, and ratios replace prices.

        Raises
        ------
        ScenarioError
            If the comparison is invalid. The error lists all faults, with file, line, key, value and allowed values.
        """
        for one, other in EITHER.items():
            if one in instead or other in instead:
                instead = {one: None, other: None, **instead}
        loaded = super().load(source, overrides=overrides, **instead)
        loaded.plan  # noqa: B018  raises the faults of its caches
        return loaded

    @cached_property
    def plan(self) -> "Plan":
        """The caches, combined with the disk."""
        if found := wrong_device(self.mems, "mems"):
            raise error_of(ScenarioError, found)
        try:
            return Plan.of(resolve(self.base, self.overrides).values, self)
        except SledsimError as error:
            if self._source is None:
                raise
            faults = [self._source.located(_of_key(each, self._source)) for each in error.faults]
            raise error_of(type(error), faults) from None

    @classmethod
    def _named(cls, values: dict[str, Any], source: Source) -> dict[str, Any]:
        values = super()._named(values, source)
        if isinstance(values.get("mems"), str) and "mems" not in source.overridden:
            return values | {"mems": source.device(values["mems"])}
        return values

    @classmethod
    def _named_faults(cls, values: Mapping[str, Any], source: Source, settings: Sequence[str]) -> list[Fault]:
        found = super()._named_faults(values, source, settings)
        if isinstance(mems := values.get("mems"), str):
            found += [source.located(each) for each in wrong_device(source.device(mems), "mems")]
        return found


#: Pairs of mutually exclusive keys.
EITHER = {"ratios": "nvram_prices_per_gb", "budget": "mems_bytes"}


def _of_key(fault: Fault, source: Source) -> Fault:
    """Return a fault of a cache, located at the key of the document that causes it if there is one."""
    given = source.values.keys() - source.overridden
    steps = (fault.path or "").split(".")
    key = next((step for step in reversed(steps) if step in given and step in CostStudy.model_fields), None)
    if key is None and "controller_bytes" in given and steps == ["system", "bytes"]:
        key = "controller_bytes"
    return fault if key is None else with_facts(fault, path=[key], file=None)


@dataclass(frozen=True)
class Plan:
    """The compared caches.

    Parameters
    ----------
    design
        The combination of cache, disk and controller.
    mems_bytes
        Size of the MEMS cache.
    prices
        Prices of a GB of NVRAM, increasing.
    nvram_bytes
        Size of the NVRAM cache that costs as much as the MEMS cache, for each price.
    systems
        The disk with the MEMS cache, followed by the disk with each NVRAM cache.
    """

    design: CacheDesign
    mems_bytes: int
    prices: Sequence[float]
    nvram_bytes: Sequence[int]
    systems: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, values: Mapping[str, Any], keys: CostStudy) -> Self:
        """Create the plan for a resolved scenario.

        Parameters
        ----------
        values
            The scenario.
        keys
            The keys of the comparison.

        Raises
        ------
        SledsimError
            If a cache does not fit the disk, for example because it is larger. There is a fault for each cache.
        """
        _require_random(keys.replications, values)
        controller = None if keys.controller_bytes == "none" else keys.controller_bytes
        design = CacheDesign(values["system"], keys.mems, keys.segment_bytes, controller)
        size, prices = _mems_bytes(values, design, keys), _nvram_prices(keys)
        names = [f"NVRAM at {each:g} per GB" for each in prices]
        sizes = [
            _whole_lines(size * keys.mems_price_per_gb / each, name) for each, name in zip(prices, names, strict=True)
        ]
        systems = [design.mems_system(size), *(design.nvram_system(each) for each in sizes)]
        found: list[Fault] = []
        for what, system in zip(["MEMS", *names], systems, strict=True):
            try:
                with _name_cache(what):
                    explain({**values, "system": system})
            except ScenarioError as error:
                found += error.faults
        if found:
            raise error_of(ScenarioError, found)
        return cls(design, size, prices, sizes, systems)


def _nvram_prices(keys: CostStudy) -> list[float]:
    """Return the prices of a GB of NVRAM, increasing."""
    found = keys.nvram_prices_per_gb or [keys.mems_price_per_gb * each for each in keys.ratios or RATIOS]
    return sorted(dict.fromkeys(found))


def _require_random(replications: int, values: Mapping[str, Any]) -> None:
    if replications > 1 and values["workload"]["kind"] == "trace":
        message = ": a trace is the same with every seed; leave replications at 1"
        raise make_error(ScenarioError, "conflict", message, path="replications", value=replications)


def _mems_bytes(values: Mapping[str, Any], design: CacheDesign, keys: CostStudy) -> int:
    """Return the size of the MEMS cache in bytes: the given one, or that bought by the budget."""
    if keys.budget is not None:
        return _whole_lines(keys.budget / keys.mems_price_per_gb * GB, "MEMS")
    # The core converts quantities with units; any disk serves for this.
    probe = CacheDesign("g2", design.mems).mems_system(keys.mems_bytes or USUAL_SIZE)
    with _name_cache("MEMS"):
        system = resolve({**values, "system": probe}).values["system"]
    return int(system["child"]["mems_bytes"])


def _whole_lines(size: float, what: str) -> int:
    """Round a size down to whole lines, and raise if there are none."""
    lines = int(size // LINE_BYTES)
    if lines < 1:
        message = f"{what}: the budget buys only {size:.0f} bytes: raise the budget, or lower the price per GB"
        raise make_error(SledsimError, "misfit", message, value=size)
    return lines * LINE_BYTES


@contextmanager
def _name_cache(what: str) -> Iterator[None]:
    """Add the name of the cache to errors of its scenario."""
    try:
        yield
    except ScenarioError as error:
        raise convert_error(type(error), error, f"disk with a cache of {what}") from None
