"""Griffin et al. 1999: Table 2, and the demerit of the disk beside the device."""

from typing import TYPE_CHECKING

from sledsim.devices import MemsStorage
from sledsim.studies.validation import DriveValidation, validate_drive
from sledsim_papers.griffin1999 import scheduling, sensitivity, traces
from sledsim_papers.griffin1999.workload import DEVICE, poisson, random
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.intervals import batched, of_mean
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sledsim.runs import Result

__all__ = [
    "scheduling",
    "sensitivity",
    "table_2",
    "traces",
    "validation",
]

#: As many as the paper's.
REQUESTS = 100_000
TABLE_2 = random(poisson(100.0), REQUESTS)
RUN = "100,000 requests of the random workload, Poisson 100/s, first come first served"

#: What Table 2 prints, ms.
PUBLISHED_TRANSFER_MS = 0.16


def table_2(study: Study) -> "Result":
    """Return the run behind Table 2 and Figure 5(b), with its log."""
    return study.run(TABLE_2, log=True)


def _column_ms(study: Study, *names: str) -> "NDArray[np.float64]":
    """Return a time of every request of that run, the sum of the phases named, ms."""
    import numpy as np

    log = table_2(study).log
    total: NDArray[np.float64] = sum((log[name].astype(np.float64) for name in names), np.zeros(REQUESTS))
    return total / 1e6


def _mean_of(study: Study, how: str, *names: str) -> Finding:
    sample = _column_ms(study, *names)
    return Finding(float(sample.mean()), how, intervals=(batched(sample),), scenarios=(TABLE_2,))


@experiment("griffin1999.settle-time")
def settle_time(study: Study) -> Finding:
    """Settling constants over 2 pi times the resonance."""
    return Finding(MemsStorage(DEVICE).settle_ms, "The formula (equation 3) with the values of Table 1.")


@experiment("griffin1999.turnaround-time")
def turnaround_time(study: Study) -> Finding:
    """Reverse at the same place."""
    reversal_ms = float(MemsStorage(DEVICE).seek_y_ms(0.0, 0.0, 1, -1).item())
    return Finding(reversal_ms, "A first-order seek along Y back to the place it started from, the other way.")


@experiment("griffin1999.seek-mean")
def seek_mean(study: Study) -> Finding:
    """Mean positioning before the first pass."""
    return _mean_of(study, f"{RUN}; positioning before the first pass.", "seek_ns")


@experiment("griffin1999.seek-std")
def seek_std(study: Study) -> Finding:
    """Spread of the same."""
    interval = batched(_column_ms(study, "seek_ns"), lambda sample: float(sample.std()))
    how = f"{RUN}; the same seeks."
    return Finding(table_2(study)["seek"]["std_ms"], how, intervals=(interval,), scenarios=(TABLE_2,))


@experiment("griffin1999.seek-max")
def seek_max(study: Study) -> Finding:
    """Longest of the same."""
    return Finding(table_2(study)["seek"]["max_ms"], f"{RUN}; the same seeks.", scenarios=(TABLE_2,))


@experiment("griffin1999.transfer-mean")
def transfer_mean(study: Study) -> Finding:
    """Everything after the first positioning: servo bursts, data, and the ways from pass to pass."""
    ours = _mean_of(
        study, f"{RUN}; servo bursts, data and positioning between passes.", "servo_ns", "transfer_ns", "turnaround_ns"
    )
    run = table_2(study)
    data_ms, servo_ms = run["transfer"]["mean_ms"], run["servo"]["mean_ms"]
    sled = MemsStorage(DEVICE)
    # Table 1's bits are gross: eight data bits in ten, and ten of each ninety are servo.
    tip_sector_ms = 90 / sled.parameters["bit_rate_kbit_s"]
    net_ms = 8 * sled.parameters["tip_sector_bytes"] / sled.parameters["bit_rate_kbit_s"]
    bare = study.run(random(poisson(100.0), REQUESTS, servo_bits=0, encoded_bits_per_byte=8))
    fluid_ms = 4096 / (640 / sled.parameters["active_tips"] * sled.peak_bandwidth_mb_s * 1e3)
    between_ms = run["turnaround"]["mean_ms"]
    return Finding(
        ours.ours,
        ours.how,
        intervals=ours.intervals,
        scenarios=ours.scenarios,
        cause=f"A single tip sector takes {tip_sector_ms:.3f} ms, so no accounting by whole tip sectors gives less. "
        f"Ours: data {data_ms:.3f} ms, servo {servo_ms:.3f} ms, positioning between passes {between_ms:.3f} ms. The "
        "figure printed is the time of the bits of data of one tip sector, without encoding and servo bits, and also "
        "that of a mean request over the bandwidth of 640 tips; the paper does not say which it is, or whether "
        "either.",
        probes=(
            Probe("no positioning between passes", servo_ms + data_ms),
            Probe("data bits alone", data_ms),
            Probe("a device without servo bits and encoding", _transfer_ms(bare)),
            Probe("the 64 bits of data of a single tip sector", net_ms),
            Probe("4096 B at the bandwidth of 640 tips, half of those active in Table 1", fluid_ms),
            Probe("4096 B at the bandwidth of the 1280 tips of Table 1", fluid_ms / 2),
        ),
    )


def _transfer_ms(run: "Result") -> float:
    """Return the mean transfer time of a run, ways between passes included, ms."""
    return float(sum(run[phase]["mean_ms"] for phase in ("servo", "transfer", "turnaround")))


@experiment("griffin1999.service-mean")
def service_mean(study: Study) -> Finding:
    """Seek and transfer together."""
    run = table_2(study)
    ours_ms = run["service"]["mean_ms"]
    transfer_ms = _transfer_ms(run)
    return Finding(
        ours_ms,
        f"{RUN}; services.",
        intervals=of_mean(run["service"]),
        scenarios=(TABLE_2,),
        cause="A service is a seek and a transfer, and the transfer differs (see transfer-mean); the seek does not.",
        probes=(
            Probe(
                "the printed mean transfer of 0.16 ms in place of ours", ours_ms - transfer_ms + PUBLISHED_TRANSFER_MS
            ),
        ),
    )


@experiment("griffin1999.turnaround-mean-per-request")
def turnaround_mean(study: Study) -> Finding:
    """Reversals within seeks."""
    how = f"{RUN}; reversals in the seek before the first pass, whether or not the seek along X hides them."
    return _mean_of(study, how, "seek_turnaround_ns")


@experiment("griffin1999.x-dominates-y")
def x_dominates_y(study: Study) -> Finding:
    """Seeks whose way along X takes longer."""
    longer = _column_ms(study, "seek_x_ns") > _column_ms(study, "seek_y_ns")
    share = longer.astype(float)
    return Finding(float(share.mean()), f"{RUN}; by request.", intervals=(batched(share),), scenarios=(TABLE_2,))


def validation(study: Study) -> DriveValidation:
    """Return the disk's model beside what was measured on the drive; DiskSim's parameters and trace of it."""
    folder = study.trace("cheetah4LP")
    return study.once(
        "griffin1999 validation", lambda: validate_drive(folder / "cheetah4LP.parv", folder / "cheetah4LP.trace")
    )


@experiment("griffin1999.cheetah-demerit")
def cheetah_demerit(study: Study) -> Finding:
    """How far apart measured and modelled service times of the disk lie."""
    found = validation(study)
    rows = tuple({"service times": name, **vars(group)} for name, group in found.groups.items())
    how = (
        f"{found.agreement.requests:,} requests measured on the drive, replayed one after the other on the model made "
        "from DiskSim's parameters of the drive; root mean square horizontal distance of the distributions of "
        "service times. The paper's own trace of its drive is not at hand, only this one of DiskSim's."
    )
    return Finding(found.demerit_ms, how, curve=rows)
