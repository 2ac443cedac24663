"""How devices live beyond their mean, and what fails inside them: what Monte Carlo knows and chains do not."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from sledsim._core import Fault
from sledsim.reliability.duration import Duration
from sledsim.reliability.table import Count, CountFromOne, Share, Table
from sledsim.scenario.tables import KeysError

__all__ = ["MAX_TIPS", "Batches", "DelayKind", "InfantMortality", "LatentErrors", "Lifetime", "Tips"]

#: Most tips of a device.
MAX_TIPS = 10_000_000

#: How a time lies about its mean: as chains assume, or always the same.
DelayKind = Literal["exponential", "fixed"]


class Lifetime(Table):
    """Distribution of a device's lifetime; its mean is ``device.mttf``."""

    kind: Literal["exponential", "weibull", "lognormal"]
    """Exponential devices do not age; Weibull ones do by their shape, lognormal ones first more and later less."""
    shape: Annotated[float, Field(ge=0.1, le=50)] | None = None
    """Of ``weibull``: below 1 the young fail most, above 1 the old."""
    sigma: Annotated[float, Field(ge=0.01, le=10)] | None = None
    """Of ``lognormal``: standard deviation of the lifetime's natural logarithm."""

    @field_validator("shape", "sigma")
    @classmethod
    def _belongs_to_kind(cls, value: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("kind")
        needed = {"shape": "weibull", "sigma": "lognormal"}[str(info.field_name)]
        if kind == needed and value is None:
            raise KeysError(Fault("missing", f': the kind "{kind}" needs it'))
        if kind not in (needed, None) and value is not None:
            raise KeysError(Fault("conflict", f' has no meaning for the kind "{kind}"', value=value))
        return value


class InfantMortality(Table):
    """Devices that are weak from birth; they live exponentially."""

    share: Share
    """Their share of all devices, above 0, at most 1."""
    mttf: Duration
    """Their mean lifetime."""


class Batches(Table):
    """Batches that devices come in: all devices of a bad one are weak, and live exponentially.

    The devices and spares of a new enclosure come from consecutive batches, those that a repair puts in from new ones.
    """

    size: CountFromOne
    """Devices in a batch."""
    share: Share
    """Bad ones among the batches, above 0, at most 1."""
    mttf: Duration
    """Mean lifetime of their devices."""


class LatentErrors(Table):
    """Sectors that become unreadable unnoticed, until a scrub finds them and puts them right.

    Data is lost where one stands, or comes, while as many devices are missing as parity makes good.
    """

    every: Duration
    """Mean time between errors of one device; they come at a constant rate."""
    scrub: Duration | None = None
    """Time from one scrub of the whole enclosure to the next; never where it is left out."""


class Tips(Table):
    """Tips of a device, which fail at a constant rate and are replaced by spare tips."""

    count: Annotated[int, Field(strict=True, ge=1, le=MAX_TIPS)]
    """Tips that hold data."""
    mttf: Duration
    """Mean lifetime of a tip in use."""
    spares: Annotated[int, Field(strict=True, ge=0, le=MAX_TIPS)] = 0
    """Spare tips, which do not fail before they are used."""
    tolerated: Count = 0
    """Tips that may be missing at once: what the device's error correction makes good. One more fails the device."""
    remap: Duration | None = None
    """From a tip's failure until a spare tip has taken its place; at once, without loss, where it is left out."""

    @field_validator("tolerated")
    @classmethod
    def _leaves_tips_that_matter(cls, tolerated: int, info: ValidationInfo) -> int:
        count = info.data.get("count")
        if count is not None and tolerated >= count:
            raise KeysError(Fault("conflict", f" of {count} tips: tolerate fewer than all of them", value=tolerated))
        return tolerated

    def to_core(self) -> dict[str, Any]:
        """Return the values as the core takes them, times in hours."""
        return {
            "count": self.count,
            "mttf_h": self.mttf.h,
            "spares": self.spares,
            "tolerated": self.tolerated,
            "remap_h": self.remap.h if self.remap else 0.0,
        }
