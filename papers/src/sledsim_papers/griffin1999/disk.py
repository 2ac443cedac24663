"""Griffin et al. 1999, section 3: the disk Cheetah 4LP, measured and beside the default device."""

from typing import TYPE_CHECKING, Any

from sledsim.studies.validation import DriveValidation, validate_drive
from sledsim_papers.griffin1999.workload import DEVICE, DISK, closed, mean_ms, random
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.intervals import of_mean, of_ratio
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = ["validation"]

#: What switches the drive's buffer off.
NO_BUFFER: dict[str, Any] = {"buffer_caching": False, "read_ahead": "none", "fast_write": "none"}

ALONE = "Random workload, one request at a time"


def _alone(study: Study, device: str, **changes: Any) -> dict[str, Any]:
    return random(closed(), study.requests(100_000, 20_000), device=device, **changes)


def _rows(study: Study) -> "dict[str, Result]":
    """Return runs of the disk, its buffer off and on, and of the device."""
    cases = {"off": _alone(study, DISK, **NO_BUFFER), "on": _alone(study, DISK), "device": _alone(study, DEVICE)}
    return dict(zip(cases, study.runs(cases.values()), strict=True))


@experiment("griffin1999.cheetah-access")
def cheetah_access(study: Study) -> Finding:
    """Mean access of the disk."""
    runs = _rows(study)
    off, parts = runs["off"], ("seek", "rotation", "transfer")
    said = ", ".join(f"{part} {off[part]['mean_ms']:.2f}" for part in parts)
    return Finding(
        mean_ms(off),
        f"{ALONE} on `{DISK}`, its buffer off: {said} ms.",
        decimals=2,
        intervals=of_mean(off["response"]),
        scenarios=(_alone(study, DISK, **NO_BUFFER),),
        cause="DiskSim's parameters of this drive give seeks of "
        f"{study.disk(DISK).mean_seek_ms:.1f} ms on average over its whole stroke, to which half a turn, the transfer "
        "and the controller are added. The paper does not say what its 12.2 ms are measured with.",
        probes=(
            Probe("without the controller's overheads: seek, rotation and transfer alone", _mechanical_ms(off)),
            Probe("the drive's buffer on", mean_ms(runs["on"])),
        ),
    )


def _mechanical_ms(run: "Result") -> float:
    return float(sum(run[part]["mean_ms"] for part in ("seek", "rotation", "transfer")))


@experiment("griffin1999.factor-of-five")
def factor_of_five(study: Study) -> Finding:
    """Mean access of the disk over that of the device."""
    runs = _rows(study)
    disk, device = runs["off"]["response"], runs["device"]["response"]
    return Finding(
        disk["mean_ms"] / device["mean_ms"],
        f"{ALONE}: {disk['mean_ms']:.2f} ms on `{DISK}`, its buffer off, {device['mean_ms']:.2f} ms on `{DEVICE}`.",
        decimals=2,
        intervals=of_ratio(disk, device),
        scenarios=(_alone(study, DISK, **NO_BUFFER), _alone(study, DEVICE)),
        cause="Both means differ: see cheetah-access and service-mean.",
        probes=(Probe("the drive's buffer on", mean_ms(runs["on"]) / device["mean_ms"]),),
    )


def validation(study: Study) -> DriveValidation:
    """Return the disk's model beside what was measured on the drive; DiskSim's parameters and trace of it."""
    folder = study.trace("cheetah4LP")
    return study.once(
        "griffin1999 validation", lambda _: validate_drive(folder / "cheetah4LP.parv", folder / "cheetah4LP.trace")
    )


@experiment("griffin1999.cheetah-demerit", "demerit_ms")
@experiment("griffin1999.cheetah-demerit-share", "demerit_percent", 0.01)
def demerit_of(study: Study, figure: str, scale: float = 1.0) -> Finding:
    """Return a figure of all service times, with those of reads and of writes alone beside it."""
    found = validation(study)
    figures = {name: scale * float(getattr(group, figure)) for name, group in found.groups.items()}
    measured = {name: group.measured_mean_ms for name, group in found.groups.items()}
    apart_ms = found.groups["reads"].modelled_mean_ms - measured["reads"]
    rows = tuple({"service times": name, **vars(group)} for name, group in found.groups.items())
    return Finding(
        figures["all"],
        f"{found.agreement.requests:,} requests measured on the drive, replayed one after the other on the model made "
        "from DiskSim's parameters of the drive; root mean square horizontal distance of the distributions of service "
        "times. The paper's own measurement of its drive is not at hand, only this one of DiskSim's.",
        decimals=4,
        curve=rows,
        cause=f"It is another measurement: a mean of {measured['all']:.1f} ms in place of 12.2 ms, and writes that end "
        f"in the drive's cache after {measured['writes']:.1f} ms. The model's reads are off by {apart_ms:+.1f} ms on "
        "average, and the shortest of them, hits of the buffer, weigh as much as those that the head moves for.",
        probes=(
            Probe("reads alone", figures["reads"]),
            Probe("writes alone, nearly all of which the cache takes", figures["writes"]),
        ),
    )
