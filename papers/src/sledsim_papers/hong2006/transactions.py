"""Experiments for the claims of hong2006 under TPC-C (section 4.3, Figure 8(b))."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sledsim_papers.harness.finding import Finding, Ours, Probe, order
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.hong2006.hierarchies import all_responses, mean, paired, rows_of_means, said, saved, shown
from sledsim_papers.hong2006.latency import AT_ONCE
from sledsim_papers.hong2006.systems import (
    ARCHITECTURES,
    KIB,
    LABELS,
    LOADS,
    PROBED,
    Load,
    controlled,
    responses,
    streams_of,
    systems,
)

__all__ = ["TWICE", "tpcc_streams"]

#: What of a table by how much longer the mean response is with twice the requests.
TWICE = "with twice the requests, times as long"

#: Twice the requests make the mean response so much longer where a load can't be carried.
GROWS = 1.5
#: Intervals that are shorter by a twentieth.
FASTER = 0.95
#: What can fail to carry the load.
SATURABLE = ("mwb", "disk")


def tpcc_streams(tables: Mapping[str, Any], rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the two streams of the stand-in with keys of theirs changed.

    Parameters
    ----------
    tables, rows
        Keys of the location among tables that are read, and among rows that are changed.
    """
    return [
        {**stream, "location": {**stream["location"], **changed}}
        for stream, changed in zip(streams_of("tpcc"), (tables, rows), strict=True)
    ]


def _growth(study: Study, load: Load, chosen: Mapping[str, Mapping[str, Any]], **workload: Any) -> dict[str, float]:
    """Return by how much longer the mean response of systems is with a run twice as long."""
    full, quick = load.requests
    twice = replace(load, requests=(2 * full, 2 * quick))
    short, long = (responses(study, each, chosen, **workload) for each in (load, twice))
    return {name: long[name].mean_ms / short[name].mean_ms for name in chosen}


def _saturated(growth: Mapping[str, float]) -> list[str]:
    return [name for name, ratio in growth.items() if ratio >= GROWS]


def _ordered(
    study: Study, names: Iterable[str], changed: Mapping[str, Mapping[str, Any]] | None = None, **workload: Any
) -> tuple[str, ...]:
    """Order architectures under a changed workload, or with others in their places."""
    load = PROBED["tpcc"]
    chosen = {name: {**systems(load), **(changed or {})}[name] for name in names}
    found = responses(study, load, chosen, **workload)
    saturable = {name: chosen[name] for name in SATURABLE if name in chosen}
    growth = _growth(study, load, saturable, **workload)
    return order({name: each.mean_ms for name, each in found.items()}, saturated=_saturated(growth))


def _order_probes(study: Study) -> tuple[Probe, ...]:
    """Return what takes the write buffer over its limit, and what does not."""
    buffer = dict(systems(PROBED["tpcc"])["mwb"]["child"])
    pair = ("mcd_all", "mwb")
    return (
        Probe("requests 5 % closer together", _ordered(study, ARCHITECTURES, time_scale=FASTER)),
        Probe(
            "tables as skewed as before, rows less (Zipf 0.8)",
            _ordered(study, pair, streams=tpcc_streams({}, {"exponent": 0.8})),
        ),
        Probe("no controller's cache over the write buffer", _ordered(study, pair, {"mwb": buffer})),
        Probe(
            "MEMS that takes no time in the write buffer",
            _ordered(study, pair, {"mwb": controlled(buffer | {"mems": AT_ONCE})}),
        ),
        Probe(
            "logs cleaned one by one",
            _ordered(study, pair, {"mwb": controlled(buffer | {"buffer_bytes": 128 * KIB})}),
        ),
    )


@experiment("hong2006.tpcc-order")
def tpcc_order(study: Study) -> Finding:
    """Order all architectures under TPC-C (Figure 8(b))."""
    found, load = all_responses(study, "tpcc"), LOADS["tpcc"]
    growth = _growth(study, load, {name: systems(load)[name] for name in SATURABLE})
    said_growth = ", ".join(f"{LABELS[name]} {ratio:.2f} times" for name, ratio in growth.items())
    return Finding(
        order({name: each.mean_ms for name, each in found.items()}, saturated=_saturated(growth)),
        f"{said(study, 'tpcc')}. With twice as many requests mean responses are longer: {said_growth}; what takes "
        f"{GROWS} times as long or more can't keep up",
        scenarios=shown(study, "tpcc", "mcd_all", "mwb"),
        curve=tuple({**row, TWICE: growth.get(name)} for name, row in zip(found, rows_of_means(found), strict=True)),
        cause="It is the stand-in, and by little: the write buffer's disk is busy for nearly all of the time, and with "
        "requests a twentieth closer together it can't keep up, while the caching disk hardly takes longer. What "
        "saves it are reads that the controller's cache of 4 MiB holds, and rows that are so popular that their "
        "copies in the log are outdated before they are cleaned. It is neither the MEMS device, of which no time "
        "would make no difference, nor how many logs are cleaned together. The paper says neither at what rate its "
        "requests come nor how popular its places are.",
        probes=study.probes(lambda: _order_probes(study)),
    )


def _mean_probes(study: Study, figure: Callable[[float, float], float]) -> tuple[Probe, ...]:
    """Return a figure of the responses with all and with no techniques where TPC-C or the controller is changed."""
    load = PROBED["tpcc"]

    def found(controller: Mapping[str, Any] | None = None, **workload: Any) -> Ours:
        built = systems(load, **(controller or {}))
        means = responses(study, load, {name: built[name] for name in ("mcd_all", "mcd_none")}, **workload)
        return figure(means["mcd_all"].mean_ms, means["mcd_none"].mean_ms)

    return (
        Probe("tables less skewed (Zipf 0.8)", found(streams=tpcc_streams({"exponent": 0.8}, {}))),
        Probe("rows more skewed (Zipf 1.3)", found(streams=tpcc_streams({}, {"exponent": 1.3}))),
        Probe("controller that writes through", found({"write": "through"})),
    )


CAUSE = (
    "A mean hangs on how many requests miss the cache, and on how many of these wait until a changed segment is "
    "evicted. The skew of places that are read decides the first, that of places that are changed the second, and "
    "nothing is published of either. Besides, the controller's cache answers every write at once, which is half of "
    "the requests; behind one that writes through they count."
)


@experiment("hong2006.tpcc-mcd-all", "mcd_all")
@experiment("hong2006.tpcc-mcd-none", "mcd_none")
def mean_response(study: Study, name: str) -> Finding:
    """Find the caching disk under TPC-C (Figure 8(b))."""
    found = all_responses(study, "tpcc")[name]
    return Finding(
        found.mean_ms,
        said(study, "tpcc"),
        decimals=2,
        intervals=(found.interval.ends,) if found.interval else (),
        scenarios=shown(study, "tpcc", name),
        cause=CAUSE,
        probes=study.probes(
            lambda: _mean_probes(study, lambda with_all, without: with_all if name == "mcd_all" else without)
        ),
    )


@experiment("hong2006.tpcc-techniques-gain")
def techniques_gain(study: Study) -> Finding:
    """Find what all techniques save under TPC-C (Figure 8(b))."""
    found = all_responses(study, "tpcc")
    gains = saved(found["mcd_none"], found["mcd_all"])
    return Finding(
        mean(gains),
        said(study, "tpcc"),
        intervals=paired([gains]),
        scenarios=shown(study, "tpcc", "mcd_none", "mcd_all"),
        curve=rows_of_means(found),
        cause="Most of what the techniques save is what a miss waits for until a changed segment is evicted, of which "
        "immediate report relieves it. Where the rows that are changed are more skewed they stay in the cache, fewer "
        "of those evicted are changed, and the gain is that of the paper.",
        probes=study.probes(lambda: _mean_probes(study, lambda with_all, without: 1 - with_all / without)),
        shape_holds=all(gain > 0 for gain in gains),
    )
