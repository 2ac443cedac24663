"""Figures and tables of Hong et al. 2006, redrawn from our runs."""

from functools import partial
from typing import TYPE_CHECKING, Any

from sledsim.reliability import failure_counts, mttf_by_maintenance, survival_by_spares
from sledsim.show import COLOURS, Table, altair_library, number, values
from sledsim_papers.harness.charts import Axis, beside, lines, stated
from sledsim_papers.harness.claim import claims, figures_of
from sledsim_papers.harness.registry import Drawn, picture, sketch
from sledsim_papers.harness.study import Study
from sledsim_papers.hong2006.experiments import enclosure, longest_seek_ms, mean_seek_ms
from sledsim_papers.hong2006.hierarchies import SET_UP, all_loads, all_responses, cost_curves, said
from sledsim_papers.hong2006.systems import LABELS, LOADS, Response, scenario, systems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sledsim.studies.cache_cost import CostComparison

__all__: list[str] = []

PAPER = "hong2006"
#: A mean above this is that of a queue which grows as long as the run lasts; its bar is cut.
SATURATED_MS = 1000.0
#: How far up the axis such a bar goes.
CUT_AT = 0.92
#: The claims whose figures the text states beside Figure 8.
STATED = {"tpcc": {"mcd_all": "tpcc-mcd-all", "mcd_none": "tpcc-mcd-none"}}
#: Size of a panel with one bar for each architecture.
BARS_WIDTH, BARS_HEIGHT = 230, 240

sketch(PAPER, "Figure 1", "Data on a MEMS device")
sketch(PAPER, "Figure 2", "The chain of an enclosure with one spare")
sketch(PAPER, "Figure 6", "A MEMS write buffer")
sketch(PAPER, "Figure 7", "A MEMS caching disk")


@picture(PAPER, "Table I", "Parameters of the MEMS device")
def table_1(study: Study) -> Drawn:
    """Compare the catalogue's device with the table."""
    sled = study.sled("hong2006")
    rows = [
        ("capacity of a sled, GB of 2³⁰ bytes", number(sled.capacity_bytes / 2**30), "3.2"),
        ("mean seek, ms", number(mean_seek_ms(sled), 3), "0.55"),
        ("longest seek, ms", number(longest_seek_ms(sled), 3), "0.81"),
        ("tips active at once", number(sled.parameters["active_tips"]), "1,280"),
        ("throughput, servo bits counted as data, MB/s", number(sled.peak_bandwidth_mb_s), "89.6"),
    ]
    how = "The entry `hong2006` of the catalogue; seeks as for the claims avg-seek and max-seek."
    return Drawn(Table(("parameter", "ours", "published"), rows, "MEMS device"), how)


@picture(PAPER, "Figure 3", "Survival of an enclosure without repair, by spares")
def figure_3(study: Study) -> Drawn:
    """Draw the survival over five years, with two disks."""
    del study
    found = survival_by_spares(enclosure(5))
    lost = [("loss-without-spares-1-year", 1), ("loss-disk-3-years", 3), ("loss-5-spares-3-years", 3)]
    points = [_point(name, years, 1 - _published(name)[0]) for name, years in lost]
    points += [_point("disk-survival", *each) for each in zip((1, 3, 5), _published("disk-survival"), strict=True)]
    chart: Any = found.plot()
    chart.hconcat[0] = altair_library().layer(chart.hconcat[0], stated(points, "years", "survival"))
    how = "The chain of Figure 2 without repair, none to five spares; disks with MTTFs of 100,000 and 200,000 h."
    return Drawn(chart, how, scenarios=(enclosure(5),))


def _published(name: str) -> tuple[float, ...]:
    """Return the figures of a claim."""
    return tuple(map(float, figures_of(claims()[f"{PAPER}.{name}"].published) or ()))


def _point(name: str, years: float, survival: float) -> dict[str, Any]:
    """Return a point that the text states."""
    return {"years": years, "survival": survival, "where": claims()[f"{PAPER}.{name}"].where}


@picture(PAPER, "Figure 4", "MTTF by strategy of repair, time of repair and spares")
def figure_4(study: Study) -> Drawn:
    """Draw the MTTF under both strategies."""
    del study
    found = mttf_by_maintenance(enclosure(5))
    how = "The chain of Figure 2, none to five spares, a day to three months to a repair."
    return Drawn(found.plot(), how, scenarios=(enclosure(5, "preventive"), enclosure(5, "mandatory")))


@picture(PAPER, "Figure 5", "Probability that no more than so many devices fail")
def figure_5(study: Study) -> Drawn:
    """Draw equation 1 over five years."""
    del study
    found = failure_counts(enclosure(5))
    said = [("durability-2-spares-1-year", 1), ("durability-5-spares-5-years", 5)]
    points = [
        {"years": years, "probability": _published(name)[0], "where": claims()[f"{PAPER}.{name}"].where}
        for name, years in said
    ]
    chart: Any = found.plot()
    chart.layer.append(stated(points, "years", "probability"))
    how = "Equation 1 for 20 devices. What the text states is of up to three failures in a year, and up to six in five."
    return Drawn(chart, how, scenarios=(enclosure(5),))


def _bars(load: str, study: Study) -> Drawn:
    """Draw the mean response of every architecture under a workload."""
    found = all_responses(study, load)
    shown = {name: _top(each) for name, each in found.items() if each.mean_ms < SATURATED_MS}
    top = 1.15 * max(shown.values())
    rows = [_bar(name, each, top) for name, each in found.items()]
    alt = altair_library()
    x = alt.X("architecture:N", title=None, sort=None, axis=alt.Axis(labelAngle=-40))
    y = alt.Y("shown:Q", title="Mean response time (ms)", scale=alt.Scale(domain=[0, top], nice=False))
    base = alt.Chart(values(rows)).encode(x=x)
    bars = base.mark_bar(size=24, color=COLOURS[0]).encode(y=y, tooltip=["architecture:N", "label:N"])
    errors = base.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    texts = base.mark_text(dy=-9, fontSize=11).encode(y="text:Q", text="label:N")
    layers = [bars, errors, texts]
    if load in STATED:
        points = [
            {"architecture": LABELS[name], "shown": _published(claim)[0], "where": claims()[f"{PAPER}.{claim}"].where}
            for name, claim in STATED[load].items()
        ]
        layers.append(stated(points, "architecture:N", "shown"))
    chart = alt.layer(*layers).properties(width=2 * BARS_WIDTH, height=BARS_HEIGHT)
    cut = " The bar that is cut is that of a queue that grows for as long as the run lasts." if len(shown) < 6 else ""
    title = f"Mean response times under {LOADS[load].label}"
    made = LOADS[load].stand_in
    subtitle = f"{f'stand-in {made}' if made else 'disk 0 of its public week'} · 256 MiB of MEMS or RAM"
    chosen = systems(LOADS[load])
    return Drawn(
        beside([chart], title, subtitle),
        f"{said(study, load)}.{cut}",
        stand_in=True,
        scenarios=tuple(scenario(study, LOADS[load], chosen[name]) for name in ("disk", "mcd_all")),
    )


def _top(found: Response) -> float:
    """Return where a bar with its interval ends."""
    return max(found.mean_ms, found.interval.high) if found.interval else found.mean_ms


def _bar(name: str, found: Response, top: float) -> dict[str, Any]:
    """Return a bar: as high as the axis where it is beyond."""
    high = found.mean_ms >= SATURATED_MS
    between = None if high else found.interval
    return {
        "architecture": LABELS[name],
        "shown": _short(CUT_AT * top if high else found.mean_ms),
        "text": _short(CUT_AT * top if high else _top(found)),
        "label": f"{number(found.mean_ms / 1e3, 2)} s, cut" if high else number(found.mean_ms, 3),
        "low": _short(between.low) if between else None,
        "high": _short(between.high) if between else None,
    }


for _panel, _load, _called in (
    ("a", "tpcd", "TPC-D"),
    ("b", "tpcc", "TPC-C"),
    ("c", "cello", "cello"),
    ("d", "hplajw", "hplajw"),
):
    picture(PAPER, f"Figure 8({_panel})", f"Mean response of the architectures under {_called}")(partial(_bars, _load))


@picture(PAPER, "Figure 9", "Response with NVRAM over that with MEMS for the same money")
def figure_9(study: Study) -> Drawn:
    """Draw response against the ratio of prices, for each workload."""
    found = cost_curves(study)
    panels = [
        lines(
            _cost_rows(found),
            Axis("ratio", "Price of NVRAM over that of MEMS, per byte", 1, 10),
            Axis("over_mems", "Response time over that of MCD", 0),
            "workload",
        )
    ]
    designs = systems(LOADS["tpcc"])
    return Drawn(
        beside(
            panels,
            "DISK-RAM over MCD at equal cost",
            "256 MiB of MEMS; hplajw is its public week, the others are stand-ins",
        ),
        f"MCD with all techniques and 256 MiB of MEMS against as much NVRAM as the same money buys; "
        f"{all_loads(study)}; {SET_UP}.",
        stand_in=True,
        scenarios=tuple(scenario(study, LOADS["tpcc"], designs[name]) for name in ("mcd_all", "disk_ram")),
    )


def _cost_rows(found: "Mapping[str, CostComparison]") -> list[dict[str, Any]]:
    """Return the points of Figure 9, with a line for MCD itself."""
    rows = [
        {"workload": LOADS[name].label, "ratio": _short(row["ratio"]), "over_mems": _short(row["over_mems"])}
        for name, each in found.items()
        for row in each.rows()
    ]
    return rows + [{"workload": "MCD", "ratio": ratio, "over_mems": 1.0} for ratio in (1.0, 10.0)]


def _short(value: float) -> float:
    return float(f"{value:.5g}")
