"""Griffin et al. 1999, Table 1 and section 4.1: what the default device holds, and how it goes from track to track."""

from typing import Any

from sledsim.devices import MemsStorage
from sledsim_papers.griffin1999.workload import DEVICE
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

__all__: list[str] = []


@experiment("griffin1999.capacity")
def capacity(study: Study) -> Finding:
    """Bits under all tips."""
    how = "Bits under all tips, encoded bits over 10, servo bits counted as data."
    return Finding(study.sled(DEVICE).raw_capacity_bytes * 1e-9, how)


@experiment("griffin1999.tip-rate")
def tip_rate(study: Study) -> Finding:
    """Speed over width."""
    sled = study.sled(DEVICE)
    # m/s over nm are bits per ns.
    rate_kbit_s = sled.access_speed_m_s / sled.parameters["bit_nm"] * 1e6
    how = "Access velocity over the width of a bit."
    return Finding(rate_kbit_s, how, decimals=1)


def _switch_ms(sled: MemsStorage, blocks: int) -> float:
    """Return the time between two passes, of which the first ends after so many blocks in the order of LBNs."""
    row = sled.blocks_per_row
    served = sled.serve([blocks - row], [2 * row])
    return float(served["turnaround_ns"][0]) * 1e-6


def _reversal_ms(sled: MemsStorage) -> float:
    return float(sled.seek_y_ms(0.0, 0.0, 1, -1).item())


def _per_track(sled: MemsStorage) -> int:
    return sled.rows * sled.blocks_per_row


ENTERS = (
    "A row is entered before its servo burst: when the sled has turned round it passes once more over the burst that "
    "it has left, and only then are the tips of the next track at its own."
)


@experiment("griffin1999.track-switch")
def track_switch(study: Study) -> Finding:
    """From the last row of a track to the first of the next."""
    sled = study.sled(DEVICE)
    return Finding(
        _switch_ms(sled, _per_track(sled)),
        "A request for the last row of a track and the first of the next one: time between its two passes.",
        cause=ENTERS,
        probes=(Probe("the reversal alone", _reversal_ms(sled)), _without_bursts(study)),
    )


def _without_bursts(study: Study) -> Probe:
    bare = study.sled(DEVICE, servo_bits=0)
    return Probe("a device without servo bursts", _switch_ms(bare, _per_track(bare)))


@experiment("griffin1999.cylinder-switch")
def cylinder_switch(study: Study) -> Finding:
    """From the last row of a cylinder to the first of the next."""

    def switch_ms(**changes: Any) -> float:
        sled = study.sled(DEVICE, **changes)
        return _switch_ms(sled, sled.tracks * _per_track(sled))

    return Finding(
        switch_ms(),
        "A request for the last row of a cylinder and the first of the next one: time between its two passes.",
        cause="Runs take the paper's other switch, a seek of one cylinder that settles: tips do not bend here.",
        probes=(
            Probe("no settling, as where tips bend to the next column", switch_ms(settle_constants=0.0)),
            Probe("nor servo bursts, over which a row is entered", switch_ms(settle_constants=0.0, servo_bits=0)),
        ),
    )


@experiment("griffin1999.tip-switch-hidden")
def tip_switch_hidden(study: Study) -> Finding:
    """Find a track switch less a reversal within the track."""
    sled = study.sled(DEVICE)
    within_ms = _switch_ms(sled, sled.blocks_per_row * (sled.rows // 2))
    there_ms = _switch_ms(sled, _per_track(sled))
    bare = study.sled(DEVICE, servo_bits=0)
    how = (
        "The track switch of a device without servo bursts, which takes other tips, less a reversal with the same "
        f"tips. With servo bursts the switch takes {there_ms:.3f} ms, going on to the next row of a track "
        f"{within_ms:.3f} ms."
    )
    added_ms = _switch_ms(bare, _per_track(bare)) - _reversal_ms(bare)
    # Services are whole nanoseconds, closed forms are not.
    return Finding(abs(round(added_ms, 6)), how, decimals=4)
