"""Lifetime distributions and failure modes of devices that need Monte Carlo simulation."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from sledsim._core import Fault
from sledsim.reliability.duration import Duration
from sledsim.reliability.table import Count, CountFromOne, Share, Table
from sledsim.scenario.tables import KeysError

__all__ = ["MAX_TIPS", "Batches", "DelayKind", "InfantMortality", "LatentErrors", "Lifetime", "Tips"]

#: Maximum number of tips of a device.
MAX_TIPS = 10_000_000

#: Distribution of a time with a given mean: exponential, as Markov chains assume, or constant.
DelayKind = Literal["exponential", "fixed"]


class Lifetime(Table):
    """Distribution of a device's lifetime; its mean is ``device.mttf``."""

    kind: Literal["exponential", "weibull", "lognormal"]
    """Hazard rate over age: constant for ``exponential``, set by ``shape`` for ``weibull``, and rising, then falling
    for ``lognormal``."""
    shape: Annotated[float, Field(ge=0.1, le=50)] | None = None
    """Shape of ``weibull``: the hazard rate falls with age below 1 and rises above 1."""
    sigma: Annotated[float, Field(ge=0.01, le=10)] | None = None
    """For ``lognormal``: standard deviation of the natural logarithm of the lifetime."""

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
    """Devices that are weak from the start; their lifetimes are exponential."""

    share: Share
    """Share of weak devices, above 0, at most 1."""
    mttf: Duration
    """Mean lifetime of weak devices."""


class Batches(Table):
    """Batches of devices: all devices of a bad batch are weak, with exponential lifetimes.

    The devices and spares of a new enclosure come from consecutive batches; repairs take devices from new batches.
    """

    size: CountFromOne
    """Devices in a batch."""
    share: Share
    """Share of bad batches, above 0, at most 1."""
    mttf: Duration
    """Mean lifetime of devices from bad batches."""


class LatentErrors(Table):
    """Sectors that become unreadable and stay undetected until a scrub finds and repairs them.

    Data is lost if a latent error exists or occurs while as many devices are missing as parity tolerates.
    """

    every: Duration
    """Mean time between errors of one device; the rate is constant."""
    scrub: Duration | None = None
    """Time between scrubs of the whole enclosure; no scrubs by default."""


class Tips(Table):
    """Tips of a device, which fail at a constant rate and are replaced by spare tips."""

    count: Annotated[int, Field(strict=True, ge=1, le=MAX_TIPS)]
    """Tips that hold data."""
    mttf: Duration
    """Mean lifetime of a tip in use."""
    spares: Annotated[int, Field(strict=True, ge=0, le=MAX_TIPS)] = 0
    """Spare tips; they do not fail before they are used."""
    tolerated: Count = 0
    """Missing tips that the error correction of the device tolerates. One more fails the device."""
    remap: Duration | None = None
    """Time from the failure of a tip until a spare tip replaces it; by default 0, without loss of data."""

    @field_validator("tolerated")
    @classmethod
    def _leaves_tips_that_matter(cls, tolerated: int, info: ValidationInfo) -> int:
        count = info.data.get("count")
        if count is not None and tolerated >= count:
            raise KeysError(Fault("conflict", f" of {count} tips: tolerate fewer than all of them", value=tolerated))
        return tolerated

    def to_core(self) -> dict[str, Any]:
        """Return the values in the format of the core, with times in hours."""
        return {
            "count": self.count,
            "mttf_h": self.mttf.h,
            "spares": self.spares,
            "tolerated": self.tolerated,
            "remap_h": self.remap.h if self.remap else 0.0,
        }
