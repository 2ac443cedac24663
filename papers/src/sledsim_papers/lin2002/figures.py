"""Figures and tables of Lin et al. 2002, redrawn from our runs."""

from typing import TYPE_CHECKING, Any

from sledsim.runs import state_colours
from sledsim.show import Table, altair_library, number, values
from sledsim_papers.harness.charts import HEIGHT, Axis, beside, lines, stated
from sledsim_papers.harness.registry import Drawn, picture, sketch
from sledsim_papers.harness.study import Study
from sledsim_papers.lin2002 import snake as snake_day
from sledsim_papers.lin2002.experiments import TIMEOUTS_MS, table_1, timeouts
from sledsim_papers.lin2002.workload import TENFOLD, TIME_SCALES, TIMEOUT_MS, day, joules, mean_ms, seagate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sledsim.runs import Result

__all__: list[str] = []

PAPER = "lin2002"

sketch(PAPER, "Figure 1", "A sled of media over an array of tips")
sketch(PAPER, "Figure 2", "Power states of the device, and what leads from one to another")
sketch(PAPER, "Figure 4", "Logical blocks on tips and rows: an example")

SNAKE = "Stand-in snake-like"
DAY = f"{SNAKE} on g3"
SCALE = Axis("scale", "Scale factor of the times (0.001: a thousand times faster)", log=True)

#: Energies of the table for the two workloads, J.
PUBLISHED_J = {
    "startup": (5e-5, 0.02),
    "inactive": (1e-5, 153.4),
    "seek": (0.41, 2.06),
    "servo": (0.18, 0.92),
    "data": (1.41, 7.39),
    "servicing": (2.00, 10.37),
    "idle": (21.35, 198.07),
    "total": (23.35, 361.82),
}
LABELS = {
    "startup": "start-up",
    "inactive": "inactive",
    "seek": "  seeking",
    "servo": "  servo",
    "data": "  transferring data",
    "servicing": "servicing",
    "idle": "idle",
    "total": "total",
}
SEAGATE_HOW = (
    "G2, timeout 1 s, the idle sled sweeps and the last tips read servo bursts. Seagate: the paper's own trace"
)


@picture(PAPER, "Table 1", "Energy by state, trace of the disk ST41601N and day of snake")
def energy_table(study: Study) -> Drawn:
    """Compare our runs with the table."""
    runs = (table_1(study), study.run(snake_day.COLUMN))

    def cell(energy_j: float, total_j: float) -> str:
        return f"{number(energy_j)} ({energy_j / total_j:.1%})"

    rows = [
        (LABELS[part], *(cell(*pair) for pair in _pairs(part, published, runs)))
        for part, published in PUBLISHED_J.items()
    ]
    headers = ("energy, J (share)", "Seagate", "published", "snake-like (stand-in)", "published")
    how = (
        f"{SEAGATE_HOW}. Snake: the stand-in, ten times faster; the paper's column is of a shorter time than a tenth "
        "of a day."
    )
    table = Table(headers, rows, "Energy by state")
    return Drawn(table, how, stand_in=True, scenarios=(seagate(study, TIMEOUT_MS), snake_day.COLUMN))


def _pairs(part: str, published: tuple[float, float], runs: "tuple[Result, Result]") -> list[tuple[float, float]]:
    """Return energy and total, ours and the paper's, of both workloads."""
    pairs = []
    for run, energy_j, total_j in zip(runs, published, PUBLISHED_J["total"], strict=True):
        pairs += [(joules(run, part), joules(run)), (energy_j, total_j)]
    return pairs


#: States of Figure 3, and their colours.
STATES = ("startup", "inactive", "servicing", "idle")


@picture(PAPER, "Figure 3", "Shares of the states in the energy of both workloads")
def figure_3(study: Study) -> Drawn:
    """Draw one bar for each workload."""
    alt = altair_library()
    runs = {"Seagate": table_1(study), "snake-like (stand-in)": study.run(snake_day.COLUMN)}
    labels = [LABELS[state] for state in STATES]
    # Servicing has the colour of data.
    colours = state_colours("data" if state == "servicing" else state for state in STATES)
    rows = [
        {"workload": name, "state": LABELS[state], "place": place, "share": round(joules(run, state) / joules(run), 5)}
        for name, run in runs.items()
        for place, state in enumerate(STATES)
    ]
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal", symbolType="square")
    panel = (
        alt.Chart(values(rows))
        .mark_bar(size=70)
        .encode(
            x=alt.X("workload:N", title=None, sort=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="Share of the energy", axis=alt.Axis(format="~%"), scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("state:N", scale=alt.Scale(domain=labels, range=list(colours.values())), legend=legend),
            order=alt.Order("place:Q"),
        )
        .properties(width=300, height=HEIGHT)
    )
    points = [
        {"workload": name, "share": sum(PUBLISHED_J[each][i] for each in STATES[:place]) / PUBLISHED_J["total"][i]}
        for i, name in enumerate(runs)
        for place in range(1, len(STATES))
    ]
    points = [{**each, "where": "Table 1"} for each in points]
    panel = alt.layer(panel, stated(points, "workload:N", "share", mark="tick")).properties(width=300, height=HEIGHT)
    how = f"{SEAGATE_HOW}. Snake: the stand-in, ten times faster. Marks across the bars: the shares of Table 1."
    scenarios = (seagate(study, TIMEOUT_MS), snake_day.COLUMN)
    shown = beside([panel], "Energy by state", "G2, idle timeout 1 s")
    return Drawn(shown, how, stand_in=True, scenarios=scenarios)


@picture(PAPER, "Figure 5", "Energy, response and throughput by idle timeout")
def figure_5(study: Study) -> Drawn:
    """Draw three panels over the timeout."""
    runs = timeouts(study)
    rows = [
        {
            "timeout_ms": timeout_ms,
            "energy_j": joules(run),
            "response_ms": mean_ms(run),
            "rate": run["throughput"]["requests_per_s"],
        }
        for timeout_ms, run in zip(TIMEOUTS_MS, runs, strict=True)
    ]
    x = Axis("timeout_ms", "Idle timeout (ms)", 0, 40)
    shown = {
        "(a) energy": Axis("energy_j", "Energy (J)"),
        "(b) response time": Axis("response_ms", "Mean response time (ms)"),
        "(c) throughput": Axis("rate", "Throughput (requests/s)"),
    }
    panels = [lines(rows, x, y, title=title) for title, y in shown.items()]
    how = "The paper's own trace on G2; the idle sled sweeps and the last tips read servo bursts."
    ends = (seagate(study, TIMEOUTS_MS[0]), seagate(study, TIMEOUTS_MS[-1]))
    return Drawn(
        beside(panels, "Stopping after an idle timeout", "Trace of the disk ST41601N on g2"), how, scenarios=ends
    )


def _servicing_j(run: "Result") -> float:
    return joules(run, "servicing")


def _rows(runs: "Mapping[float, Mapping[str, Result]]") -> list[dict[str, Any]]:
    """Return a row for each time scale and each line."""
    return [
        {
            "scale": time_scale,
            "queue": next(iter(lines_.values()))["queue"]["mean"],
            "servicing_j": _servicing_j(run),
            "total_j": joules(run),
            "response_ms": mean_ms(run),
            "series": name,
        }
        for time_scale, lines_ in runs.items()
        for name, run in lines_.items()
    ]


SERVICING = Axis("servicing_j", "Servicing energy (J)")
RESPONSE = Axis("response_ms", "Mean response time (ms)", log=True)


@picture(PAPER, "Figure 6", "Servicing energy and response with and without merging")
def figure_6(study: Study) -> Drawn:
    """Draw both over the queue."""
    found = {time_scale: snake_day.merging(study, time_scale) for time_scale in TIME_SCALES}
    rows = _rows({scale: {"no merging": each["none"], "merging": each["paper"]} for scale, each in found.items()})
    x = Axis("queue", "Mean queue without merging (requests)", log=True)
    panels = [
        lines(rows, x, SERVICING, "series", title="(a) servicing energy"),
        lines(rows, x, RESPONSE, "series", title="(b) response time"),
    ]
    how = f"{DAY}, at scale factors of the times from 0.1 to 0.001; the queue grows as the day is replayed faster."
    scenarios = (day(TIME_SCALES[-1]), day(TIME_SCALES[-1], merge={}))
    saving = [
        1 - each["paper"]["energy"]["servicing_j"] / each["none"]["energy"]["servicing_j"] for each in found.values()
    ]
    said = f"{DAY}; merging saves at most {max(saving):.1%} of the servicing energy"
    return Drawn(beside(panels, "Merging adjacent reads", said), how, stand_in=True, scenarios=scenarios)


@picture(PAPER, "Figure 7", "Servicing energy and response where the last block is accessed in part")
def figure_7(study: Study) -> Drawn:
    """Draw both over the speed of the replay."""
    names = ("whole blocks", "part of the last block")
    found = {scale: dict(zip(names, snake_day.last_blocks(study, scale), strict=True)) for scale in TIME_SCALES}
    rows = _rows(found)
    panels = [
        lines(rows, SCALE, SERVICING, "series", title="(a) servicing energy"),
        lines(rows, SCALE, RESPONSE, "series", title="(b) response time"),
    ]
    how = f"{DAY}; how much of the last block of a request is needed is uniformly distributed, and none is metadata."
    scenarios = tuple(snake_day.last_block(TENFOLD, needed) for needed in ("whole", "uniform"))
    return Drawn(beside(panels, "Subsector access to the last block", DAY), how, stand_in=True, scenarios=scenarios)


@picture(PAPER, "Figure 8", "Servicing energy where requests of metadata touch only the bytes they need")
def figure_8(study: Study) -> Drawn:
    """Draw it over the speed of the replay, for three mixes of updates."""
    found = {}
    for scale in TIME_SCALES:
        runs = {f"{size} B": snake_day.metadata(study, scale, size) for size in snake_day.MIXES_BYTES}
        found[scale] = {"whole blocks": runs["66 B"][0], **{name: pair[1] for name, pair in runs.items()}}
    panel = lines(_rows(found), SCALE, SERVICING, "series", legend="bytes of a metadata write")
    how = f"{DAY}; 72 % of the requests are metadata, reads of 128 B and writes of 4, 66 or 128 B on average."
    scenarios = (day(TENFOLD), day(TENFOLD, subsector=True))
    return Drawn(beside([panel], "Subsector access to metadata", DAY), how, stand_in=True, scenarios=scenarios)


@picture(PAPER, "Figure 9", "Energy and response with all three strategies")
def figure_9(study: Study) -> Drawn:
    """Draw both over the speed of the replay."""
    names = {"timeout 1 s": "timeout of 1 s", "all": "all strategies"}
    found = {
        scale: {names[name]: run for name, run in snake_day.combined(study, scale).items()} for scale in TIME_SCALES
    }
    rows = _rows(found)
    panels = [
        lines(rows, SCALE, Axis("total_j", "Energy (J)"), "series", title="(a) energy"),
        lines(rows, SCALE, RESPONSE, "series", title="(b) response time"),
    ]
    how = f"{DAY}; stopping at once, merging adjacent reads, and subsector access, against a timeout of 1 s."
    scenarios = tuple(snake_day.strategies(name, TENFOLD) for name in names)
    return Drawn(beside(panels, "All three strategies", DAY), how, stand_in=True, scenarios=scenarios)
