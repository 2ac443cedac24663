"""What a cache of a disk is worth: NVRAM or MEMS for the same money (hong2006, section 4.4)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.runs.confidence import Interval, mean_interval
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run_resolved
from sledsim.scenario import documents
from sledsim.scenario.documents import BasedOnScenario, Wrong, made, raised, read_varying
from sledsim.scenario.explanation import bytes_text, explain
from sledsim.scenario.reading import ScenarioLike, Sets, Written, resolve
from sledsim.show.faults import told_as, wrong
from sledsim.show.naming import label_of
from sledsim.show.shown import Shown
from sledsim.show.tables import Table, number
from sledsim.studies.cost.cached_disk import GB, CachedDisk, CacheDesign

if TYPE_CHECKING:
    import altair

__all__ = ["RATIOS", "CostComparison", "CostFile", "cost", "cost_file"]

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


def cost_file(source: Mapping[str, Any] | Path | str, *, set: Sets = ()) -> dict[str, Any]:  # noqa: A002
    """Read a comparison of caches from a file: what :func:`cost` is to be called with.

    Parameters
    ----------
    source
        A file (TOML, YAML or JSON) with a key ``scenario``, or a dictionary with its keys.
    set
        Values that replace those of the scenario; and of the file's own keys, with ``cost.`` in front.

    Raises
    ------
    ScenarioError
        Where the file is wrong: all that is, with file, line, key, value and what is allowed.

    Examples
    --------
    >>> keys = {"scenario": "disk.toml", "mems_bytes": "16 MiB", "ratios": [1, 8]}
    >>> found = cost_file(keys, set=["cost.replications=3"])
    >>> found["mems_bytes"], found["replications"]
    (16777216, 3)
    """
    found, settings = read_varying(CostFile, source, set)
    keys = {key: getattr(found.table, key) for key in found.table.model_fields_set & {*CostKeys.model_fields}}
    return {**keys, "scenario": found.scenario(), "set": settings}


class CostComparison(Shown):
    """A MEMS cache beside NVRAM caches that cost the same.

    Parameters
    ----------
    mems
        The disk with a MEMS cache.
    nvram
        The disk with each NVRAM cache, by rising price per GB.
    subject
        Of what.
    stand_in
        The stand-in that made the requests, if one did.
    notes
        What to know of them.
    """

    title = "NVRAM or MEMS as a disk cache, for the same money"

    def __init__(
        self,
        mems: CachedDisk,
        nvram: Sequence[CachedDisk],
        subject: str = "",
        stand_in: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.mems = mems
        self.nvram = list(nvram)
        self.subject = subject
        self.stand_in = stand_in
        self.notes = list(notes)

    @property
    def ratios(self) -> list[float]:
        """What NVRAM costs per GB over what MEMS costs, for each NVRAM cache."""
        return [each.price_per_gb / self.mems.price_per_gb for each in self.nvram]

    @property
    def crossover(self) -> float | None:
        """The ratio of prices above which MEMS is faster, interpolated; ``None`` where there is none."""
        return _crossing(self.ratios, [each.mean_ms for each in self.nvram], self.mems.mean_ms)

    @property
    def crossover_interval(self) -> Interval | None:
        """Where that ratio lies with a confidence of 95 %, by those of the seeds; ``None`` for a single seed."""
        found = [
            _crossing(self.ratios, [each.means_ms[seed] for each in self.nvram], mean)
            for seed, mean in enumerate(self.mems.means_ms)
        ]
        known = [each for each in found if each is not None]
        return mean_interval(known) if len(known) == len(found) > 1 else None

    @property
    def conclusion(self) -> str:
        """Which of the two is faster for the money, in a sentence."""
        if self.crossover is not None:
            between = self.crossover_interval
            where = f" ({number(between.low, 3)} to {number(between.high, 3)})" if between else ""
            return (
                f"MEMS is faster for the money where NVRAM costs more than {number(self.crossover, 3)} times as much "
                f"per GB{where}"
            )
        low, high = number(self.ratios[0], 3), number(self.ratios[-1], 3)
        said = f"at {low} times the price per GB" if len(self.ratios) == 1 else f"at every ratio from {low} to {high}"
        slower = {each.mean_ms > self.mems.mean_ms for each in self.nvram}
        if len(slower) > 1:
            return "neither is faster throughout: run more requests or replications"
        return f"{'MEMS' if slower == {True} else 'NVRAM'} is faster for the money {said}"

    def rows(self) -> list[dict[str, Any]]:
        """List the NVRAM caches: as for :meth:`CachedDisk.to_dict`, with ``ratio`` and ``over_mems``.

        ``ratio`` is that of the prices per GB, ``over_mems`` that of the response times.
        """
        return [
            {"ratio": ratio, **each.to_dict(), "over_mems": each.mean_ms / self.mems.mean_ms}
            for ratio, each in zip(self.ratios, self.nvram, strict=True)
        ]

    def tables(self) -> list[Table]:
        """Return caches and conclusion as tables."""
        cells = [["MEMS", "–", *_cells(self.mems), "1"]]
        cells += [
            ["NVRAM", number(row["ratio"]), *_cells(each), number(row["over_mems"], 3)]
            for row, each in zip(self.rows(), self.nvram, strict=True)
        ]
        headers = ["cache", "price per GB, × MEMS", "price per GB", "size", "hits", "response (ms)", "95 %", "× MEMS"]
        said = [[self.conclusion], *([note] for note in self.notes)]
        title = f"{self.title} ({number(self.mems.price)}) · {self.subject}"
        return [Table(headers, cells, title=title), Table(["found"], said)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        between = self.crossover_interval
        return {
            "title": self.title,
            "subject": self.subject,
            "stand_in": self.stand_in,
            "money": self.mems.price,
            "mems": self.mems.to_dict(),
            "nvram": self.rows(),
            "crossover": self.crossover,
            "crossover_ci95": [between.low, between.high] if between else None,
            "conclusion": self.conclusion,
            "notes": self.notes,
        }

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the response times over that of the MEMS cache against the ratio of prices, as in Figure 9."""
        from sledsim.studies.cost.chart import cache_cost_lines

        return cache_cost_lines(self)

    def __repr__(self) -> str:
        return f"<CostComparison: {self.conclusion}>"


def cost(
    scenario: ScenarioLike | Written,
    *,
    mems: str = "hong2006",
    mems_bytes: int | str | None = None,
    segment_bytes: int | str = "64 KiB",
    controller_bytes: int | str | None = "4 MiB",
    mems_price_per_gb: float = 1.0,
    nvram_prices_per_gb: Iterable[float] | None = None,
    ratios: Iterable[float] | None = None,
    budget: float | None = None,
    replications: int = 1,
    set: Sets = (),  # noqa: A002  the name it has on the command line
    progress: ProgressCallback | bool | None = None,
) -> CostComparison:
    """Compare a MEMS cache of a disk with NVRAM caches that cost the same.

    Parameters
    ----------
    scenario
        As for :func:`sledsim.run`; its ``system`` is what is cached: a disk, or whatever stands in its place.
    mems
        The MEMS device.
    mems_bytes
        Size of the MEMS cache: a number, or a text such as ``"256 MiB"``, which it is where no budget is given.
    segment_bytes
        What moves between disk and MEMS at once.
    controller_bytes
        Volatile cache of the controller above either cache; ``None`` for none.
    mems_price_per_gb
        What a GB (10⁹ bytes) of MEMS costs, in any currency.
    nvram_prices_per_gb
        What a GB of NVRAM may cost.
    ratios
        The same in multiples of what MEMS costs; 1 to 10 if neither is given.
    budget
        What may be spent on a cache, in place of the size of the MEMS cache.
    replications
        How many runs of each design, with seeds from the scenario's on.
    set
        Values that replace those of the scenario.
    progress
        As for :func:`sledsim.run`.

    Raises
    ------
    SledsimError
        Where the scenario, a price or a size is wrong, or a cache would be larger than what it caches.
    KeyboardInterrupt
        Where a run was interrupted: what was found until then tells nothing.

    Examples
    --------
    >>> scenario = {"workload": "tpcc-like", "system": "atlas10k-50mb", "run": {"requests": 3000}}
    >>> found = cost(scenario, mems_bytes="16 MiB", segment_bytes="8 KiB", ratios=[1, 8])
    >>> [row["bytes"] for row in found.rows()]
    [16777216, 2097152]
    """
    given: dict[str, Any] = {
        "mems": mems,
        "mems_bytes": mems_bytes,
        "segment_bytes": segment_bytes,
        "controller_bytes": controller_bytes,
        "mems_price_per_gb": mems_price_per_gb,
        "nvram_prices_per_gb": None if nvram_prices_per_gb is None else list(nvram_prices_per_gb),
        "ratios": None if ratios is None else list(ratios),
        "budget": budget,
        "replications": replications,
    }
    with raised():
        keys = made(CostKeys, given)
    base = resolve(scenario, set)
    price = keys.mems_price_per_gb
    prices = _nvram_prices(keys)
    _require_chance(replications, base.values)
    design = CacheDesign(
        base.values["system"], mems, segment_bytes, None if controller_bytes == "none" else controller_bytes
    )
    size = _mems_bytes(base.values, design, keys)
    sizes = [_whole_lines(size * price / each, f"NVRAM at {each:g} per GB") for each in prices]
    systems = [design.mems_system(size), *(design.nvram_system(each) for each in sizes)]
    for what, system in zip(["MEMS", *(f"NVRAM at {each:g} per GB" for each in prices)], systems, strict=True):
        _require_sound(base.values, system, what)
    runs = [_replicated(base.values, system, replications, progress) for system in systems]
    caches = [CachedDisk.of("MEMS", size, price, runs[0], design.cache_path)]
    for each, bought, results in zip(prices, sizes, runs[1:], strict=True):
        caches.append(CachedDisk.of("NVRAM", bought, each, results, design.cache_path))
    first = runs[0][0]
    subject = _subject(base.values, first, design, replications)
    return CostComparison(caches[0], caches[1:], subject, first["stand_in"], _notes(first))


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


def _require_sound(values: Mapping[str, Any], system: Mapping[str, Any], what: str) -> None:
    """Refuse a system that can't be put together, such as a cache larger than its disk."""
    with _saying(what):
        explain({**values, "system": system})


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Have errors in a scenario say which cache it is about."""
    try:
        yield
    except ScenarioError as error:
        raise told_as(type(error), error, f"disk with a cache of {what}") from None


def _replicated(values: Mapping[str, Any], system: Mapping[str, Any], replications: int, progress: Any) -> list[Result]:
    """Run a system with each seed."""
    results = []
    for seed in range(replications):
        result = run_resolved(resolve({**values, "system": system, "seed": values["seed"] + seed}), progress=progress)
        if not result.complete:
            raise KeyboardInterrupt
        results.append(result)
    return results


def _crossing(ratios: Sequence[float], nvram_ms: Sequence[float], mems_ms: float) -> float | None:
    """Return the ratio from which on NVRAM is slower at all that were tried, on straight lines between them."""
    slower = [each > mems_ms for each in nvram_ms]
    if not slower[-1] or all(slower):
        return None
    last = max(place for place, each in enumerate(slower) if not each)
    share = (mems_ms - nvram_ms[last]) / (nvram_ms[last + 1] - nvram_ms[last])
    return ratios[last] + share * (ratios[last + 1] - ratios[last])


def _cells(cached: CachedDisk) -> list[str]:
    between = cached.interval
    return [
        number(cached.price_per_gb),
        bytes_text(cached.bytes),
        number(cached.hit_ratio, 3),
        number(cached.mean_ms),
        f"{number(between.low)} to {number(between.high)}" if between else "–",
    ]


def _subject(values: Mapping[str, Any], result: Result, design: CacheDesign, replications: int) -> str:
    """Say what was run: title, workload where it has a name, disk, MEMS device, controller, requests."""
    controller, path, system = design.controller_bytes, values["workload"].get("path"), values["system"]
    parts = [
        result["title"],
        f"{label_of(result['stand_in'])} (stand-in)" if result["stand_in"] else None,
        Path(path).name if path else None,
        label_of(system["device"]["name"]) if system["kind"] == "drive" else system["kind"],
        f"MEMS {label_of(design.mems)}, segments of {_size_said(design.segment_bytes)}",
        f"controller with {_size_said(controller)}" if controller else None,
        f"{result['requests']['measured']:,} requests" + (f", {replications} seeds" if replications > 1 else ""),
    ]
    return " · ".join(part for part in parts if part)


def _size_said(size: int | str) -> str:
    return size if isinstance(size, str) else bytes_text(size)


def _notes(result: Result) -> list[str]:
    warm = result["requests"]["warmup"]
    left_out = f"the first {warm:,} requests are left out" if warm else "none is left out"
    return [f"caches begin empty; {left_out} (run.warmup_requests)"]
