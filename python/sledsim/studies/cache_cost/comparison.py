"""NVRAM and MEMS caches of a disk at equal cost (hong2006, section 4.4)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim.devices.headings import device_heading
from sledsim.runs.confidence import Interval, mean_interval
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run_resolved
from sledsim.scenario.explanation import bytes_text
from sledsim.scenario.reading import ScenarioLike, Written, resolve
from sledsim.show.naming import label_of, with_count
from sledsim.show.shown import Shown
from sledsim.show.tables import Table, number
from sledsim.studies.cache_cost.cached_disk import CachedDisk, CacheDesign
from sledsim.studies.cache_cost.plan import CostStudy

if TYPE_CHECKING:
    import altair

__all__ = ["CostComparison", "cost"]


class CostComparison(Shown):
    """A MEMS cache compared with NVRAM caches of equal cost.

    Parameters
    ----------
    mems
        The disk with the MEMS cache.
    nvram
        The disk with each NVRAM cache, by increasing price per GB.
    subject
        Summary of workload and system.
    stand_in
        The stand-in workload, or ``None``.
    notes
        Notes on the runs.
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
        """Price of NVRAM per GB divided by that of MEMS, for each NVRAM cache."""
        return [each.price_per_gb / self.mems.price_per_gb for each in self.nvram]

    @property
    def crossover(self) -> float | None:
        """The ratio of prices above which MEMS is faster, interpolated; ``None`` if there is none."""
        return _crossing(self.ratios, [each.mean_ms for each in self.nvram], self.mems.mean_ms)

    @property
    def crossover_interval(self) -> Interval | None:
        """The 95 % confidence interval of the crossover over the seeds; ``None`` for a single seed."""
        found = [
            _crossing(self.ratios, [each.means_ms[seed] for each in self.nvram], mean)
            for seed, mean in enumerate(self.mems.means_ms)
        ]
        known = [each for each in found if each is not None]
        return mean_interval(known) if len(known) == len(found) > 1 else None

    @property
    def conclusion(self) -> str:
        """The result in one sentence."""
        if self.crossover is not None:
            between = self.crossover_interval
            where = f" ({number(between.low, 3)} to {number(between.high, 3)})" if between else ""
            return (
                f"MEMS is faster for the money where NVRAM costs more than {number(self.crossover, 3)} times as much "
                f"per GB{where}"
            )
        low, high = number(self.ratios[0], 3), number(self.ratios[-1], 3)
        where = f"at {low} times the price per GB" if len(self.ratios) == 1 else f"at every ratio from {low} to {high}"
        slower = {each.mean_ms > self.mems.mean_ms for each in self.nvram}
        if len(slower) > 1:
            return "neither is faster throughout: run more requests or replications"
        return f"{'MEMS' if slower == {True} else 'NVRAM'} is faster for the money {where}"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each NVRAM cache: as for :meth:`CachedDisk.to_dict`, with ``ratio`` and ``over_mems``.

        ``ratio`` is the price per GB relative to MEMS, ``over_mems`` the response time relative to MEMS.
        """
        return [
            {"ratio": ratio, **each.to_dict(), "over_mems": each.mean_ms / self.mems.mean_ms}
            for ratio, each in zip(self.ratios, self.nvram, strict=True)
        ]

    def tables(self) -> list[Table]:
        """Return a table of the caches, and one of the conclusion and notes."""
        cells = [["MEMS", "–", *_cells(self.mems), "1"]]
        cells += [
            ["NVRAM", number(row["ratio"]), *_cells(each), number(row["over_mems"], 3)]
            for row, each in zip(self.rows(), self.nvram, strict=True)
        ]
        headers = ["cache", "price per GB, × MEMS", "price per GB", "size", "hits", "response (ms)", "95 %", "× MEMS"]
        found = [[self.conclusion], *([note] for note in self.notes)]
        title = f"{self.title} ({number(self.mems.price)}) · {self.subject}"
        return [Table(headers, cells, title=title), Table(["found"], found)]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
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
        """Draw the response times relative to the MEMS cache against the ratio of prices, as in Figure 9."""
        from sledsim.studies.cache_cost.chart import cache_cost_lines

        return cache_cost_lines(self)

    def __repr__(self) -> str:
        return f"<CostComparison: {self.conclusion}>"


def cost(
    scenario: ScenarioLike | Written | CostStudy, *, progress: ProgressCallback | bool | None = None, **keys: Any
) -> CostComparison:
    """Compare a MEMS cache of a disk with NVRAM caches of equal cost.

    Parameters
    ----------
    scenario
        As for :func:`sledsim.run`; its ``system`` is the cached component, such as a disk. Or a :class:`CostStudy`,
        such as ``CostStudy.load("comparison.toml")``.
    progress
        As for :func:`sledsim.run`.
    **keys
        The other keys of a :class:`CostStudy`: ``mems``, ``mems_bytes``, ``segment_bytes``, ``controller_bytes``,
        ``mems_price_per_gb``, ``nvram_prices_per_gb``, ``ratios``, ``budget``, ``replications``, ``overrides``.

    Raises
    ------
    SledsimError
        If the scenario, a price or a size is invalid, or a cache is larger than the cached component.
    KeyboardInterrupt
        If a run was interrupted.

    Examples
    --------
    >>> scenario = {"workload": "tpcc-like", "system": "atlas10k-50mb", "run": {"requests": 3000}}
    >>> found = cost(scenario, mems_bytes="16 MiB", segment_bytes="8 KiB", ratios=[1, 8])
    >>> [row["bytes"] for row in found.rows()]
    [16777216, 2097152]
    """
    if isinstance(scenario, CostStudy):
        study = scenario.changed(**keys) if keys else scenario
    else:
        study = CostStudy(scenario=scenario, **keys)
    plan, replications = study.plan, study.replications
    base = resolve(study.base, study.overrides)
    runs = [_replicated(base.values, system, replications, progress) for system in plan.systems]
    path = plan.design.cache_path
    caches = [CachedDisk.of("MEMS", plan.mems_bytes, study.mems_price_per_gb, runs[0], path)]
    for price, bought, results in zip(plan.prices, plan.nvram_bytes, runs[1:], strict=True):
        caches.append(CachedDisk.of("NVRAM", bought, price, results, path))
    first = runs[0][0]
    subject = _subject(base.values, first, plan.design, replications)
    return CostComparison(caches[0], caches[1:], subject, first["stand_in"], _notes(first))


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
    """Return the ratio above which NVRAM is slower at all tried ratios, by linear interpolation."""
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
    """Return a summary of the runs: title, named workload, disk, MEMS device, controller, requests."""
    controller, path, system = design.controller_bytes, values["workload"].get("path"), values["system"]
    parts = [
        result["title"],
        f"{label_of(result['stand_in'])} (stand-in)" if result["stand_in"] else None,
        Path(path).name if path else None,
        device_heading(system["device"]) if system["kind"] == "drive" else system["kind"],
        f"MEMS {label_of(design.mems)}, segments of {_size_text(design.segment_bytes)}",
        f"controller with {_size_text(controller)}" if controller else None,
        with_count(result["requests"]["measured"], "request") + (f", {replications} seeds" if replications > 1 else ""),
    ]
    return " · ".join(part for part in parts if part)


def _size_text(size: int | str) -> str:
    return size if isinstance(size, str) else bytes_text(size)


def _notes(result: Result) -> list[str]:
    warm = result["requests"]["warmup"]
    left_out = f"the first {warm:,} requests are left out" if warm else "none is left out"
    return [f"caches begin empty; {left_out} (run.warmup_requests)"]
