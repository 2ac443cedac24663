"""Lin et al. 2002: the day of snake, for which a stand-in runs: where joules go, merging, subsectors."""

from functools import partial
from typing import TYPE_CHECKING, Any

from sledsim_papers.harness.finding import COMPUTED, Finding, Interval, Probe, trend
from sledsim_papers.harness.intervals import over_seeds
from sledsim_papers.harness.ledger import claims
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.lin2002 import snake_column
from sledsim_papers.lin2002.workload import (
    AVERAGED,
    TENFOLD,
    TIME_SCALES,
    day,
    joules,
    mean_ms,
    saved,
)

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = ["MERGE", "METADATA_SHARE", "MIXES_BYTES", "SHARES", "last_block", "last_blocks", "merging", "metadata"]

#: The run behind the right half of Table 1.
SHARES = snake_column.COLUMN

#: Merging as the paper does it, and any 16 requests wherever they wait.
MERGE: dict[str, Any] = {}
BEYOND = {"requests": 16, "anywhere": True, "writes": True, "rows": True}
MIXED = {**BEYOND, "mixed": True}

#: Bytes of a write of metadata on average, where all, half or none update the time of access alone.
MIXES_BYTES = (4, 66, 128)

#: The day without merging, with the paper's, and with more than that.
RULES: dict[str, dict[str, Any]] = {"none": {}, "paper": {"merge": MERGE}, "beyond": {"merge": BEYOND}}


def merging(study: Study, time_scale: float, rule: str = "paper") -> "dict[str, Result]":
    """Return the day on G3 without merging and with it.

    Parameters
    ----------
    study
        Where they are run.
    time_scale
        By what its times are multiplied.
    rule
        How is merged, of :data:`RULES`.
    """
    names = ("none", rule)
    return dict(zip(names, study.runs([day(time_scale, **RULES[name]) for name in names]), strict=True))


def _merging_saves(study: Study, time_scale: float, rule: str = "paper") -> tuple[float, float]:
    """Return the shares of servicing energy and of response that merging saves."""
    return _saving(*merging(study, time_scale, rule).values())


def _savings(study: Study) -> tuple[list[tuple[float, ...]], list[tuple[Interval, ...]]]:
    """Return these shares for every time scale, over seeds, and where they lie."""
    found = [over_seeds(study, partial(_merging_saves, time_scale=each)) for each in TIME_SCALES]
    return [means for means, _ in found], [ends for _, ends in found]


def _queue(study: Study, time_scale: float) -> float:
    """Return how many requests wait without merging."""
    return float(merging(study, time_scale)["none"]["queue"]["mean"])


def _saving(before: "Result", after: "Result") -> tuple[float, float]:
    energy = saved(joules(before, "servicing"), joules(after, "servicing"))
    return energy, saved(mean_ms(before), mean_ms(after))


#: Places of what is saved.
ENERGY, RESPONSE = 0, 1

#: If nearly all reads go on where the one before them ends.
READS_GO_ON = {"continuation": {"reads": 0.95, "writes": 0.1}}


@experiment("lin2002.merge-energy", ENERGY)
@experiment("lin2002.merge-response", RESPONSE)
def merge_finding(study: Study, which: int) -> Finding:
    """Figure 6: what is found for energy or response; of the energy the paper says that longer queues save more."""
    longest = TIME_SCALES[-1]
    ours, ends = _savings(study)
    rows = tuple(
        {
            "scale factor": time_scale,
            "mean queue": _queue(study, time_scale),
            "servicing energy saved": energy,
            "response saved": response,
        }
        for time_scale, (energy, response) in zip(TIME_SCALES, ours, strict=True)
    )
    series = [saving[which] for saving in ours]

    def probes() -> tuple[Probe, ...]:
        go_on = study.runs([day(longest, workload=READS_GO_ON, **rule) for rule in ({}, {"merge": MERGE})])
        beyond = _merging_saves(study, longest, "beyond")
        mixed = _saving(merging(study, longest)["none"], *study.runs([day(longest, merge=MIXED)]))
        return (
            Probe("95 % of the reads go on where the one before them ends", _saving(*go_on)[which]),
            Probe("any 16 requests merged, writes too, wherever they wait", beyond[which]),
            Probe("the same, and reads with writes", mixed[which]),
        )

    return Finding(
        series[-1],
        f"Stand-in `snake-like` on `g3`, replayed 1,000 times faster: {_queue(study, longest):.0f} requests wait on "
        "average; two adjacent reads of the queue are merged where the second goes on where the first ends. "
        f"{AVERAGED}",
        decimals=4,
        intervals=(ends[-1][which],),
        curve=rows,
        scenarios=(day(longest), day(longest, merge=MERGE)),
        cause="A pair that is merged saves the second request's way back to its row and one pass of the sled, a "
        "small part of what an 8 KB request takes on G3; the joules of the tips remain. A quarter of 43 % of the "
        "requests are reads that go on, so a tenth of the requests can be second in a pair. The paper's savings "
        "can't come from pairs of 8 KB reads.",
        probes=study.probes(probes),
        shape_holds=all(saving > 0 for saving in series) and (which == RESPONSE or trend(series) == "+"),
    )


@experiment("lin2002.merge-queue")
def merge_queue(study: Study) -> Finding:
    """Figure 6(a): what longer queues do."""
    savings = [saving[ENERGY] for saving in _savings(study)[0]]
    rows = tuple(
        {
            "scale factor": time_scale,
            "mean queue": _queue(study, time_scale),
            "servicing energy saved": saving,
        }
        for time_scale, saving in zip(TIME_SCALES, savings, strict=True)
    )
    said = ", ".join(f"{saving:.4f}" for saving in savings)
    return Finding(
        trend(savings) if min(savings) > 0 else "?",
        f"The runs of merge-energy, ten to a thousand times faster, queues getting longer: {said} of the servicing "
        "energy.",
        curve=rows,
        scenarios=(day(TIME_SCALES[0], merge=MERGE), day(TIME_SCALES[-1], merge=MERGE)),
        cause="Where hardly a request waits nothing is merged, and nothing saved.",
        probes=(Probe("from a queue of one request on", trend([each for each in savings if each > 1e-6])),),
    )


def last_blocks(study: Study, time_scale: float) -> "list[Result]":
    """Return the day on G3 with whole last blocks, and with as much of them as is needed; no request is metadata."""
    return study.runs([last_block(time_scale, needed) for needed in ("whole", "uniform")])


def last_block(time_scale: float, needed: str) -> dict[str, Any]:
    """Return the day on G3 without metadata, where the whole or a part of each last block is needed."""
    return day(time_scale, workload={"metadata": {"share": 0.0}, "last_block": needed}, subsector=True)


def _last_block_saving(study: Study) -> tuple[float, Interval]:
    """Return the share of servicing energy that parts of last blocks save, over seeds, and where it lies."""
    [ours], [ends] = over_seeds(study, lambda each: (_saving(*last_blocks(each, TENFOLD))[ENERGY],))
    return ours, ends


@experiment("lin2002.subsector-last-block")
def subsector_last_block(study: Study) -> Finding:
    """Figure 7(a)."""
    whole, part = last_blocks(study, TENFOLD)

    def accessing_j(run: "Result") -> float:
        return joules(run, "servo") + joules(run, "data")

    ours, ends = _last_block_saving(study)
    [of_metadata], _ = _metadata_savings(study, 66)
    return Finding(
        ours,
        "Stand-in `snake-like` on `g3`, ten times faster; of the last block of each request 1 to 64 tips are needed. "
        f"{AVERAGED}",
        decimals=4,
        intervals=(ends,),
        scenarios=tuple(last_block(TENFOLD, needed) for needed in ("whole", "uniform")),
        cause="Seeks take a part of the servicing energy, and of it nothing is saved: the paper's reason, half of the "
        "last of 16 blocks, is one of the energy of accessing data alone. The sizes of requests hardly matter.",
        probes=study.probes(
            lambda: (
                Probe("of the energy of servo bursts and data", saved(accessing_j(whole), accessing_j(part))),
                Probe("requests of 8 KB", _last_block_of(study, 8192)),
            )
        ),
        shape_holds=ours < of_metadata,
    )


def _last_block_of(study: Study, size_bytes: int) -> float:
    """Return the share of servicing energy saved where all requests of the day are of one size."""
    days = [last_block(TENFOLD, needed) for needed in ("whole", "uniform")]
    sized = [{**each, "workload": {**each["workload"], "size_bytes": _fixed(size_bytes)}} for each in days]
    return _saving(*study.runs(sized))[ENERGY]


def _fixed(size_bytes: int) -> dict[str, Any]:
    return {"kind": "fixed", "value": size_bytes}


@experiment("lin2002.subsector-response")
def subsector_response(study: Study) -> Finding:
    """Figure 7(b)."""
    times = [mean_ms(run) for run in last_blocks(study, TENFOLD)]
    how = f"The runs of subsector-last-block: {times[0]:.4f} and {times[1]:.4f} ms."
    hardly = claims()["lin2002.subsector-response"].hardly_moves
    scenarios = tuple(last_block(TENFOLD, needed) for needed in ("whole", "uniform"))
    return Finding(trend(times, hardly), how, scenarios=scenarios)


def metadata(study: Study, time_scale: float, write_bytes: int) -> "list[Result]":
    """Return the day on G3 without subsector access, and with it for requests of metadata.

    Parameters
    ----------
    study
        Where they are run.
    time_scale
        By what its times are multiplied.
    write_bytes
        Bytes of a write of metadata.
    """
    return study.runs([_metadata_day(time_scale, write_bytes, subsector=on) for on in (False, True)])


def _metadata_day(time_scale: float, write_bytes: int, *, subsector: bool) -> dict[str, Any]:
    mix = {"metadata": {"share": METADATA_SHARE, "write_bytes": write_bytes}}
    return day(time_scale, workload=mix, subsector=subsector)


METADATA_SHARE = 0.72


@experiment("lin2002.subsector-metadata")
def subsector_metadata(study: Study) -> Finding:
    """Figure 8."""
    means, ends = _metadata_savings(study, *MIXES_BYTES)
    savings, places = dict(zip(MIXES_BYTES, means, strict=True)), dict(zip(MIXES_BYTES, ends, strict=True))
    before, _ = metadata(study, TENFOLD, 66)
    accessing = 1 - joules(before, "seek") / joules(before, "servicing")
    said = ", ".join(f"{write_bytes} B {share:.3f}" for write_bytes, share in savings.items())
    return Finding(
        savings[66],
        intervals=(places[66],),
        how=f"Stand-in `snake-like` on `g3`, ten times faster; reads of metadata 128 B, writes on average: {said}. "
        f"{AVERAGED}",
        curve=tuple(
            {"bytes of a metadata write": key, "servicing energy saved": value} for key, value in savings.items()
        ),
        scenarios=tuple(_metadata_day(TENFOLD, 66, subsector=on) for on in (False, True)),
        cause=f"Servo bursts and data are {accessing:.0%} of servicing, metadata is 72 % of the requests and leaves "
        "out nearly all of their joules. The stand-in's requests of metadata are as long as the others, of which "
        "nothing is published; the paper's savings fit shorter ones.",
        probes=study.probes(
            lambda: tuple(
                Probe(f"requests of metadata of {size // 1024} KB", _short_metadata(study, size))
                for size in (6144, 4096, 2048)
            )
        ),
        shape_holds=savings[66] > _last_block_saving(study)[0],
    )


EXTREMES_BYTES = (MIXES_BYTES[0], MIXES_BYTES[-1])


def _metadata_savings(study: Study, *sizes_bytes: int) -> tuple[tuple[float, ...], tuple[Interval, ...]]:
    """Return what is saved of servicing energy where updates of metadata are so long, over seeds, and where it lies."""

    def shares(each: Study) -> list[float]:
        return [_saving(*metadata(each, TENFOLD, size))[ENERGY] for size in sizes_bytes]

    return over_seeds(study, shares)


@experiment("lin2002.subsector-metadata-extremes")
def subsector_metadata_extremes(study: Study) -> Finding:
    """Figure 8: its ends."""
    ours, intervals = _metadata_savings(study, *EXTREMES_BYTES)
    return Finding(
        ours,
        "The runs of subsector-metadata, all writes of metadata of 4 B, and all of 128 B.",
        decimals=4,
        intervals=intervals,
        scenarios=tuple(_metadata_day(TENFOLD, size, subsector=True) for size in EXTREMES_BYTES),
        cause="See subsector-metadata: the stand-in's requests of metadata are as long as the others.",
        probes=study.probes(
            lambda: tuple(
                Probe(
                    f"requests of metadata of {size // 1024} KB",
                    tuple(_short_metadata(study, size, write_bytes) for write_bytes in EXTREMES_BYTES),
                )
                for size in (4096,)
            )
        ),
        shape_holds=ours[0] > ours[1],
    )


@experiment("lin2002.subsector-update-size")
def subsector_update_size(study: Study) -> Finding:
    """Figure 8: along its axis."""
    savings, _ = _metadata_savings(study, *MIXES_BYTES)
    said = ", ".join(f"{each:.4f}" for each in savings)
    return Finding(
        trend(savings, COMPUTED),
        f"The runs of subsector-metadata, writes of metadata of 4, 66 and 128 B on average: {said}. The requests are "
        "the same in all three, so that any difference counts.",
        curve=tuple({"bytes": size, "saved": each} for size, each in zip(MIXES_BYTES, savings, strict=True)),
        scenarios=tuple(_metadata_day(TENFOLD, size, subsector=True) for size in MIXES_BYTES),
    )


@experiment("lin2002.subsector-update-size-total")
def subsector_update_size_total(study: Study) -> Finding:
    """Section 6.4: what the size of updates makes of all energy."""

    def all_and_servicing(each: Study) -> tuple[float, float]:
        small, large = (metadata(each, TENFOLD, size)[1] for size in EXTREMES_BYTES)
        return abs(saved(joules(large), joules(small))), saved(joules(large, "servicing"), joules(small, "servicing"))

    (ours, of_servicing), _ = over_seeds(study, all_and_servicing)
    return Finding(
        ours,
        "The runs of subsector-metadata-extremes: difference of the energies of both over the larger.",
        decimals=5,
        scenarios=tuple(_metadata_day(TENFOLD, size, subsector=True) for size in EXTREMES_BYTES),
        shape_holds=ours < of_servicing,
    )


def _short_metadata(study: Study, size_bytes: int, write_bytes: int | None = None) -> float:
    """Return the share of servicing energy saved where requests of metadata are short and the others as they are.

    Both kinds come one by one, at the rates that they have in the stand-in ten times faster.

    Parameters
    ----------
    study
        Where it is run.
    size_bytes
        Of requests of metadata.
    write_bytes
        What an update of them needs; as it comes if not given.
    """
    before, _ = metadata(study, TENFOLD, 66)
    known = before["scenario"]["workload"]
    rate_per_s = before["requests"]["completed"] / before["run"]["measured_s"]
    common = {
        "location": known["location"],
        "read_fraction": known["read_fraction"],
        "continuation": known["continuation"],
    }
    others = {**common, "arrival": _poisson((1 - METADATA_SHARE) * rate_per_s), "size_bytes": known["size_bytes"]}
    short = {
        **common,
        "arrival": _poisson(METADATA_SHARE * rate_per_s),
        "size_bytes": {"kind": "fixed", "value": size_bytes},
        "metadata": {"share": 1.0} | ({} if write_bytes is None else {"write_bytes": write_bytes}),
    }
    whole = {"workload": {"streams": [others, short]}, "run": {"requests": before["requests"]["completed"]}}
    runs = study.runs([{**whole, "system": {"device": "g3", "subsector": on}} for on in (False, True)])
    return _saving(*runs)[0]


def _poisson(rate_per_s: float) -> dict[str, Any]:
    return {"kind": "poisson", "rate_per_s": rate_per_s}
