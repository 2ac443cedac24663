"""What caches of a disk are compared: the keys of a comparison, its file, and the systems that they make."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, WithJsonSchema

from sledsim._core import Fault, ScenarioError, SledsimError, error_of
from sledsim.devices.entries import wrong_device
from sledsim.scenario import documents
from sledsim.scenario.documents import BasedOnScenario, Wrong, made, raised, read_varying
from sledsim.scenario.explanation import explain
from sledsim.scenario.place import Place
from sledsim.scenario.reading import Sets, resolve
from sledsim.show.faults import replaced, told_as, wrong
from sledsim.studies.cache_cost.cached_disk import GB, CacheDesign

__all__ = ["RATIOS", "CostFile", "CostKeys", "Plan", "cost_file"]

#: What NVRAM costs per GB over what MEMS costs: the axis of Figure 9.
RATIOS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
#: Lines of a RAM cache: sizes of caches that a budget buys are whole numbers of them.
LINE_BYTES = 4096
#: Size of the MEMS cache where neither it nor a budget is given.
USUAL_SIZE = "256 MiB"
#: More would not narrow an interval by what they take.
MOST_REPLICATIONS = 1000
#: Prices and ratios between these give caches that can be counted in bytes.
LEAST, MOST = 1e-15, 1e15

#: A size as a program gives it, which may be a text with a unit; of a document the core makes a number.
Size = Annotated[int | str, WithJsonSchema({"type": "integer", "minimum": 1})]
Price = Annotated[float, Field(strict=True, ge=LEAST, le=MOST, allow_inf_nan=False)]


def _prices_are_given_once(ratios: Sequence[float] | None, nvram_prices_per_gb: Sequence[float] | None) -> list[Fault]:
    return _either(ratios=ratios, nvram_prices_per_gb=nvram_prices_per_gb)


def _size_is_given_once(budget: float | None, mems_bytes: int | str | None) -> list[Fault]:
    return _either(budget=budget, mems_bytes=mems_bytes)


def _either(**given: object) -> list[Fault]:
    one, other = given
    if None in given.values():
        return []
    return [Fault("conflict", f": give either {one} or {other}", path=one)]


class CostKeys(documents.Table):
    """What is compared, and what it costs."""

    rules = (_prices_are_given_once, _size_is_given_once)

    mems: str = "hong2006"
    """The MEMS device."""
    mems_bytes: Size | None = None
    """Size of the MEMS cache; 256 MiB where neither it nor a budget is given."""
    segment_bytes: Size = "64 KiB"
    """What moves between disk and MEMS at once."""
    controller_bytes: Literal["none"] | Size | None = "4 MiB"
    """Volatile write-back cache of the controller above either cache, or none."""
    mems_price_per_gb: Price = 1.0
    """What a GB (10⁹ bytes) of MEMS costs, in any currency."""
    nvram_prices_per_gb: Annotated[list[Price], Field(min_length=1)] | None = None
    """What a GB of NVRAM may cost."""
    ratios: Annotated[list[Price], Field(min_length=1)] | None = None
    """The same in multiples of what MEMS costs; 1 to 10 where neither is given."""
    budget: Price | None = None
    """What may be spent on a cache, in place of the size of the MEMS cache."""
    replications: Annotated[int, Field(strict=True, ge=1, le=MOST_REPLICATIONS)] = 1
    """How many runs of each design, with seeds from the scenario's on."""


class CostFile(BasedOnScenario, CostKeys):
    """A comparison of caches as a file has it."""

    what: ClassVar[str] = "comparison of caches"
    example: ClassVar[str] = 'the scenario of the disk: scenario = "disk.toml"'
    own: ClassVar[str] = "cost."

    @classmethod
    def wrongly_named(cls, keys: Mapping[str, Any], place: Place, settings: Sequence[str]) -> list[Fault]:
        """Return what is wrong with the scenario, and with the MEMS device."""
        found = super().wrongly_named(keys, place, settings)
        wrong = wrong_device(place.device(keys["mems"]), "mems") if "mems" in keys else []
        return found + [place.located(each) for each in wrong]


def cost_file(
    source: Mapping[str, Any] | Path | str,
    *,
    overrides: Sets = (),
    **instead: Any,
) -> dict[str, Any]:
    """Read a comparison of caches from a file: what :func:`cost` is to be called with.

    Parameters
    ----------
    source
        A file (TOML, YAML or JSON) with a key ``scenario``, or a dictionary with its keys.
    overrides
        Values that replace those of the scenario; and of the file's own keys, with ``cost.`` in front.
    **instead
        Arguments that take the place of what the file says: a budget that of a size, ratios that of prices.

    Raises
    ------
    ScenarioError
        Where the file is wrong: all that is, with file, line, key, value and what is allowed.

    Examples
    --------
    >>> disk = {"workload": "tpcc-like", "system": "atlas10k"}
    >>> keys = {"scenario": disk, "mems_bytes": "16 MiB", "ratios": [1, 8]}
    >>> found = cost_file(keys, overrides=["cost.replications=3"])
    >>> found["mems_bytes"], found["replications"]
    (16777216, 3)
    """
    for one, other in (("budget", "mems_bytes"), ("ratios", "nvram_prices_per_gb")):
        if one in instead or other in instead:
            instead = {one: None, other: None, **instead}
    found, settings = read_varying(CostFile, source, overrides, instead)
    keys = {key: getattr(found.table, key) for key in found.table.model_fields_set & {*CostKeys.model_fields}}
    keys |= {"mems": found.device(keys["mems"])} if "mems" in keys else {}
    keys |= instead
    scenario = found.scenario()
    try:
        Plan.of(resolve(scenario, settings).values, made(CostKeys, keys))
    except SledsimError as error:
        given = found.values.keys() - instead.keys()
        raise error_of(type(error), [found.located(_of_key(each, given)) for each in error.faults]) from None
    return {**keys, "scenario": scenario, "overrides": settings}


def _of_key(fault: Fault, given: Container[str]) -> Fault:
    """Return a fault of a cache as one of the key that it is made from, where the document has that."""
    steps = (fault.path or "").split(".")
    key = next((step for step in reversed(steps) if step in given and step in CostKeys.model_fields), None)
    if key is None and "controller_bytes" in given and steps == ["system", "bytes"]:
        key = "controller_bytes"
    return fault if key is None else replaced(fault, path=[key], file=None)


@dataclass(frozen=True)
class Plan:
    """The caches that are compared.

    Parameters
    ----------
    design
        How each is put together with the disk.
    mems_bytes
        Size of the MEMS cache.
    prices
        What a GB of NVRAM costs, rising.
    nvram_bytes
        What the money of the MEMS cache buys of it at each price.
    systems
        The disk with the MEMS cache, and with each of the others.
    """

    design: CacheDesign
    mems_bytes: int
    prices: Sequence[float]
    nvram_bytes: Sequence[int]
    systems: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, values: Mapping[str, Any], keys: CostKeys) -> Self:
        """Make the plan for a resolved scenario.

        Parameters
        ----------
        values
            The scenario.
        keys
            What is asked.

        Raises
        ------
        SledsimError
            With each cache that can't be put together with the disk: one that is larger, say.
        """
        _require_chance(keys.replications, values)
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
                with _saying(what):
                    explain({**values, "system": system})
            except ScenarioError as error:
                found += error.faults
        if found:
            raise error_of(ScenarioError, found)
        return cls(design, size, prices, sizes, systems)


def _nvram_prices(keys: CostKeys) -> list[float]:
    """Return what a GB of NVRAM may cost, rising."""
    found = keys.nvram_prices_per_gb or [keys.mems_price_per_gb * each for each in keys.ratios or RATIOS]
    return sorted(dict.fromkeys(found))


def _require_chance(replications: int, values: Mapping[str, Any]) -> None:
    if replications > 1 and values["workload"]["kind"] == "trace":
        says = ": a trace is the same with every seed; leave replications at 1"
        with raised():
            raise Wrong(Fault("conflict", says, path="replications", value=replications))


def _mems_bytes(values: Mapping[str, Any], design: CacheDesign, keys: CostKeys) -> int:
    """Return the size of the MEMS cache: what was given, in bytes, or what the budget buys."""
    if keys.budget is not None:
        return _whole_lines(keys.budget / keys.mems_price_per_gb * GB, "MEMS")
    # The core reads quantities; what stands for the disk here does not matter.
    asked = CacheDesign("g2", design.mems).mems_system(keys.mems_bytes or USUAL_SIZE)
    with _saying("MEMS"):
        system = resolve({**values, "system": asked}).values["system"]
    return int(system["child"]["mems_bytes"])


def _whole_lines(size: float, what: str) -> int:
    """Round what money buys down to whole lines."""
    lines = int(size // LINE_BYTES)
    if lines < 1:
        says = f"{what}: the money buys {size:.0f} bytes, which is no cache: spend more, or pay less per GB"
        raise wrong(SledsimError, "misfit", says, value=size)
    return lines * LINE_BYTES


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Have errors in a scenario say which cache it is about."""
    try:
        yield
    except ScenarioError as error:
        raise told_as(type(error), error, f"disk with a cache of {what}") from None
