"""A disk with a MEMS or NVRAM cache: its system, price and response time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sledsim._core import SledsimError
from sledsim.runs.confidence import Interval, mean_interval
from sledsim.runs.result import Result
from sledsim.show.faults import make_error

__all__ = ["GB", "CacheDesign", "CachedDisk", "mean_response"]

#: Bytes of a GB in prices.
GB = 1_000_000_000


@dataclass(frozen=True)
class CacheDesign:
    """A disk with a MEMS or NVRAM cache below a controller.

    Parameters
    ----------
    disk
        The cached component.
    mems
        The MEMS device.
    segment_bytes
        Unit of transfer between disk and MEMS; a number of bytes or a text with a unit.
    controller_bytes
        Size of the controller's volatile write-back cache above either cache; ``None`` for none.
    """

    disk: Any
    mems: str = "hong2006"
    segment_bytes: int | str = "64 KiB"
    controller_bytes: int | str | None = "4 MiB"

    @property
    def cache_path(self) -> str:
        """Path of the cache component in the system."""
        return "system" if self.controller_bytes is None else "system.child"

    def mems_system(self, mems_bytes: int | str) -> dict[str, Any]:
        """Return the disk with a MEMS cache (MCD, with all three techniques of section 4.1.2).

        Parameters
        ----------
        mems_bytes
            Size of the cache.
        """
        sizes = {"mems_bytes": mems_bytes, "segment_bytes": self.segment_bytes}
        return self._below_controller({"kind": "mcd", "mems": self.mems, "disk": self.disk, **sizes})

    def nvram_system(self, nvram_bytes: int | str) -> dict[str, Any]:
        """Return the disk with an NVRAM cache (DISK-RAM of section 4.3).

        Parameters
        ----------
        nvram_bytes
            Size of the cache.
        """
        return self._below_controller(
            {"kind": "ram-cache", "bytes": nvram_bytes, "volatile": False, "child": self.disk}
        )

    def _below_controller(self, system: dict[str, Any]) -> dict[str, Any]:
        if self.controller_bytes is None:
            return system
        return {"kind": "ram-cache", "bytes": self.controller_bytes, "child": system}


@dataclass(frozen=True)
class CachedDisk:
    """A disk with one of the caches, and its response times.

    Parameters
    ----------
    kind
        ``"MEMS"`` or ``"NVRAM"``.
    bytes
        Size of the cache.
    price_per_gb
        Price of a GB (10⁹ bytes).
    means_ms
        Mean response time for each seed.
    interval
        The mean of these with its 95 % confidence interval: over the seeds if there are several, otherwise that of the
        run; ``None`` if there is none.
    hit_ratio
        Share of lines or segments found in the cache, mean over the seeds.
    """

    kind: str
    bytes: int
    price_per_gb: float
    means_ms: tuple[float, ...]
    interval: Interval | None
    hit_ratio: float | None

    @property
    def mean_ms(self) -> float:
        """Mean response time."""
        return sum(self.means_ms) / len(self.means_ms)

    @property
    def price(self) -> float:
        """The price of the cache."""
        return self.bytes / GB * self.price_per_gb

    @classmethod
    def of(
        cls, kind: str, size: int, price_per_gb: float, results: Sequence[Result], path: str = "system.child"
    ) -> "CachedDisk":
        """Create it from its runs.

        Parameters
        ----------
        kind, size, price_per_gb
            As for the class.
        results
            A run for each seed.
        path
            Path of the cache in the system.

        Raises
        ------
        SledsimError
            If a run has no response times.
        """
        means, interval = mean_response(results)
        hits = [_count(result, path, "hit_ratio") for result in results]
        known = [each for each in hits if each is not None]
        ratio = sum(known) / len(known) if known else None
        return cls(kind, size, price_per_gb, means, interval, ratio)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return {
            "kind": self.kind,
            "bytes": self.bytes,
            "price_per_gb": self.price_per_gb,
            "price": self.price,
            "mean_ms": self.mean_ms,
            "ci95_low_ms": low,
            "ci95_high_ms": high,
            "means_ms": list(self.means_ms),
            "hit_ratio": self.hit_ratio,
        }


def mean_response(results: Sequence[Result]) -> tuple[tuple[float, ...], Interval | None]:
    """Return the mean response time of each run in ms, and the 95 % confidence interval of their mean.

    Parameters
    ----------
    results
        A run for each seed. The interval is over the seeds if there are several, otherwise that of the run. There is
        none if the system cannot keep up with the load.

    Raises
    ------
    SledsimError
        If a run has no response times.
    """
    if any(result.response is None for result in results):
        where = "run.warmup_s, run.warmup_requests"
        message = (
            f"no request that arrived after the warm-up ({where}) was served by the end of the run: shorten the "
            "warm-up or lengthen the run"
        )
        raise make_error(SledsimError, "conflict", message, path="run.requests")
    means = tuple(float(result.response["mean_ms"]) for result in results)
    if any(result["overload"] for result in results):
        return means, None
    if len(means) > 1:
        return means, mean_interval(means)
    low, high = results[0].response["ci95_low_ms"], results[0].response["ci95_high_ms"]
    return means, None if low is None or high is None else Interval(means[0], low, high)


def _count(result: Result, path: str, name: str) -> float | None:
    """Return a count of a component of a run; ``None`` if it has none."""
    counts: list[dict[str, Any]] = next(
        (each["counts"] for each in result.summary["components"] if each["path"] == path), []
    )
    return next((each["value"] for each in counts if each["name"] == name), None)
