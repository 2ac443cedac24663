"""Figures and tables of schlosser2000, redrawn from our runs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sledsim.devices import MemsStorage
from sledsim.runs import Result
from sledsim.show import COLOURS, Table, altair_library, number, values
from sledsim_papers.harness.charts import beside, stated
from sledsim_papers.harness.claim import claims, figures_of
from sledsim_papers.harness.registry import Drawn, picture, sketch
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.application_claims import METHOD, OURS, times_on_each
from sledsim_papers.schlosser2000.applications import Times, origin_of_runs
from sledsim_papers.schlosser2000.devices import DISKS, NO_BUFFER
from sledsim_papers.schlosser2000.energy import APPLICATIONS, energies
from sledsim_papers.schlosser2000.experiments import GENERATIONS, reversals_ms, settling
from sledsim_papers.schlosser2000.microbenchmark import SLEDS, microbenchmark, variation

__all__: list[str] = []

PAPER = "schlosser2000"

sketch(PAPER, "Figure 1", "Cost and latency foreseen for 2005", "estimates of others, of which nothing is simulated")
sketch(PAPER, "Figure 2", "A probe tip and its positioning")
sketch(PAPER, "Figure 3", "A tip on a cantilever over fixed media")
sketch(PAPER, "Figure 4", "A sled of moving media")
sketch(PAPER, "Figure 5", "Regions of tips, tip sectors, servo bursts")
sketch(PAPER, "Figure 6", "Cylinders, tracks, sectors")


#: The devices of Figures 7 to 11, and what the paper calls them.
DEVICES = {"atlas10k": "Atlas 10K", "superdisk": "SuperDisk", "g1": "G1", "g2": "G2", "g3": "G3"}


def _stated_run(application: str, times: Mapping[str, Times]) -> list[dict[str, Any]]:
    """Return what the text states of run times, drawn about ours."""
    if application == "tpcd-q4":
        return [{"device": DEVICES["superdisk"], "time": times["g1"].run_ms, "where": "Section 4.2"}]
    if application == "tpcd-q6":
        said = claims()[f"{PAPER}.tpcd-q6-cpu-bound"]
        [share] = figures_of(said.published) or ()
        time = (1 - share) * times["atlas10k"].run_ms
        return [{"device": DEVICES["atlas10k"], "time": time, "where": said.where}]
    return []


#: Published points of a figure, and the mark that draws them.
STATED = {
    "tpcd-q4": "The text has the SuperDisk about level with G1: the mark is at our G1.",
    "tpcd-q6": "By the text the run is 8 % shorter without waiting: the mark is where the processor's part would end.",
}


def _run_times(title: str, application: str, study: Study) -> Drawn:
    """Run time of an application on each device: processor, and waiting for storage."""
    alt = altair_library()
    parts = {"processor": "processor_ms", "waiting for storage": "waiting_ms"}
    times = times_on_each(study, application)
    rows = [
        {"device": label, "part": part, "place": place, "time": round(getattr(times[device], key), 3)}
        for device, label in DEVICES.items()
        for place, (part, key) in enumerate(parts.items())
    ]
    x = alt.X("device:N", title=None, sort=None, axis=alt.Axis(labelAngle=0))
    colours = alt.Scale(domain=list(parts), range=list(COLOURS[:2]))
    bars = (
        alt.Chart(values(rows))
        .mark_bar(size=42)
        .encode(
            x=x,
            y=alt.Y("time:Q", title="Run time (ms)"),
            color=alt.Color("part:N", title=None, scale=colours, legend=alt.Legend(orient="bottom")),
            order=alt.Order("place:Q"),
            tooltip=["device:N", "part:N", alt.Tooltip("time:Q", title="ms")],
        )
    )
    whole = [{"device": label, "time": times[device].run_ms} for device, label in DEVICES.items()]
    told = alt.Chart(values(whole)).mark_text(dy=-7, fontSize=11).encode(x=x, y="time:Q")
    shown = bars + told.encode(text=alt.Text("time:Q", format=",.0f"))
    if said := _stated_run(application, times):
        shown += stated(said, "device:N", "time", mark="tick")
    panel = shown.properties(width=420, height=280)
    how = " ".join(filter(None, [f"{OURS[application]}. {METHOD}. {origin_of_runs()}.", STATED.get(application)]))
    return Drawn(beside([panel], f"Run time of {title}", OURS[application]), how, stand_in=True)


for _where, _title, _application in (
    ("Figure 8", "the Andrew benchmark", "andrew"),
    ("Figure 9", "PostMark", "postmark"),
    ("Figure 10", "query 4 of TPC-D", "tpcd-q4"),
    ("Figure 11", "query 6 of TPC-D", "tpcd-q6"),
):
    picture(PAPER, _where, f"Run time of {_title}")(partial(_run_times, _title, _application))

#: By how much a parameter is changed to see which way the characteristics go.
STEP = 0.1


def _changed(device: MemsStorage) -> dict[str, dict[str, Any]]:
    """Return the values to change for each row of Table 1: by a tenth, in the direction of the row."""
    given, more, less = device.parameters, 1 + STEP, 1 - STEP
    accelerations = ("acceleration_x_m_s2", "acceleration_y_m_s2")
    return {
        # The sled as fast as before, so that more bits pass a tip.
        "bit size, smaller": {"bit_nm": less * given["bit_nm"], "bit_rate_kbit_s": given["bit_rate_kbit_s"] / less},
        "access velocity, higher": {"bit_rate_kbit_s": more * given["bit_rate_kbit_s"]},
        # The springs as stiff as before are a smaller part of the actuator's force.
        "acceleration, actuator force, higher": {
            **{axis: more * given[axis] for axis in accelerations},
            "spring_factor": given["spring_factor"] / more,
        },
        # Actuator and springs as before move less.
        "sled mass, smaller": {
            **{axis: given[axis] / less for axis in accelerations},
            "resonance_hz": given["resonance_hz"] / less**0.5,
        },
        "spring force, higher": {"spring_factor": more * given["spring_factor"]},
    }


def _characteristics(device: MemsStorage) -> list[float]:
    """Return what the columns of Table 1 are about: times in ms, bandwidth in MB/s, capacity in GB."""
    import numpy as np

    edges_um = [device.parameters[f"{axis}_range_um"] / 2 - 1 for axis in "xy"]
    from_um, to_um = (grid.ravel() for grid in np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-1, 1, 21)))
    x_ms = device.seek_x_ms(edges_um[0] * from_um, edges_um[0] * to_um)
    y_ms = device.seek_y_ms(edges_um[1] * from_um, edges_um[1] * to_um)
    turns_ms = np.concatenate(list(reversals_ms(device, servo=False).values()))
    # Moves to the same cylinder are left out: hardly a seek is one.
    times_ms = [x_ms[from_um != to_um].mean(), y_ms.mean(), device.settle_ms, turns_ms.mean()]
    return [*map(float, times_ms), device.streaming_bandwidth_mb_s, device.capacity_bytes * 1e-9]


@picture(PAPER, "Table 1", "What each parameter does to a device")
def table_1(study: Study) -> Drawn:
    """Change each parameter of g2 by a tenth."""
    device = study.sled("g2")
    as_it_is = _characteristics(device)
    rows = [["g2 as it is", *(number(each) for each in as_it_is)]]
    for name, values_ in _changed(device).items():
        after = _characteristics(study.sled("g2", **values_))
        rows.append([name, *(_percent(new / old - 1) for new, old in zip(after, as_it_is, strict=True))])
    headers = [
        "parameter",
        "seek along X (ms)",
        "along Y (ms)",
        "settling (ms)",
        "turnaround (ms)",
        "streaming (MB/s)",
        "capacity (GB)",
    ]
    how = (
        "g2, each parameter changed by a tenth: change of the mean seeks along each axis, of which the longer "
        "counts, of the settling in those along X, the mean reversal, the sustained bandwidth and the capacity. For "
        "more sleds see four-sleds. The paper prints signs of better or worse, which the copy at hand does not "
        "show legibly. Not modelled: that smaller bits settle longer, rates of errors, power and reliability as "
        "functions of these parameters."
    )
    return Drawn(Table(headers, rows), how)


def _percent(share: float) -> str:
    return "0" if abs(share) < 5e-4 else f"{100 * share:+.1f} %"


#: Rows of Table 2: label with unit, key of the parameters, how much of the unit it is, what is printed.
TABLE_2 = (
    ("bit width (nm)", "bit_nm", 1.0, (50, 40, 30)),
    ("sled acceleration (g)", "acceleration_x_m_s2", 1 / 9.80665, (70, 82, 105)),
    ("access speed (kbit/s)", "bit_rate_kbit_s", 1.0, (400, 700, "1,000")),
    ("resonant frequency (Hz)", "resonance_hz", 1.0, (729, 729, "1,008")),
    ("settling constants", "settle_constants", 1.0, (2.0, 1.0, 1.0)),
    ("active tips", "active_tips", 1.0, (640, "1,280", "3,200")),
    ("sleds", "sleds", 1.0, (1, 1, 1)),
    ("accessed both ways", "bidirectional", 1.0, ("no", "yes", "yes")),
)


@picture(PAPER, "Table 2", "The three generations")
def table_2(study: Study) -> Drawn:
    """Set the catalogue's values beside those printed."""
    devices = [MemsStorage(f"{name}-paper") for name in GENERATIONS]
    computed = {
        "access speed (mm/s)": ([1e3 * each.access_speed_m_s for each in devices], (20, 35, 50)),
        "settling along X (ms)": ([settling(study, name) for name in GENERATIONS], (0.431, 0.215, 0.158)),
        "maximum throughput (MB/s)": ([each.peak_bandwidth_mb_s for each in devices], (25.6, 89.6, 320)),
        "capacity of a sled (GB)": ([each.raw_capacity_bytes * 1e-9 for each in devices], (2.56, 4.00, 7.11)),
    }
    rows = [
        [label, *_pairs([_scaled(each.parameters[key], unit) for each in devices], printed)]
        for label, key, unit, printed in TABLE_2
    ]
    rows += [[label, *_pairs([f"{each:.4g}" for each in ours], printed)] for label, (ours, printed) in computed.items()]
    how = (
        "g1-paper, g2-paper, g3-paper; servo bits count as data. The printed settling times of G1 and G2 fit 739 Hz. "
        "The printed access speeds in mm/s are those of 50 nm wide bits throughout."
    )
    return Drawn(Table(["", *(f"{name} ({who})" for name in GENERATIONS for who in ("ours", "paper"))], rows), how)


def _scaled(value: Any, unit: float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{float(value) * unit:,.4g}"


def _pairs(ours: Sequence[str], printed: Sequence[Any]) -> list[str]:
    return [cell for mine, theirs in zip(ours, printed, strict=True) for cell in (mine, str(theirs))]


@picture(PAPER, "Table 3", "The Atlas 10K and the SuperDisk")
def table_3(study: Study) -> Drawn:
    """Set the catalogue's disks beside what is printed of them."""
    names = ("atlas10k", "superdisk")
    disks = [study.disk(**DISKS[name]) for name in names]
    scenarios = [microbenchmark(name, **changes) for changes in ({}, NO_BUFFER) for name in names]
    runs = study.runs(scenarios)
    on, off = runs[:2], runs[2:]
    writes_ms = [float(disk.parameters["write_settle_ms"]) for disk in disks]
    both = list(zip(disks, writes_ms, strict=True))
    rows = {
        "speed (rpm)": ([number(disk.parameters["rotation_rpm"], 5) for disk in disks], ("10,025", "20,000")),
        "fastest track (MB/s)": ([number(float(disk.zones()["media_mb_s"].max())) for disk in disks], ("25", "125")),
        "data surfaces": ([number(disk.surfaces) for disk in disks], ("6", "12")),
        "half a revolution (ms)": ([number(disk.rotation_ms / 2) for disk in disks], ("2.21", "1.36")),
        "rotational latency, buffer on (ms)": ([number(run.rotation.mean_ms) for run in on], ("2.21", "1.36")),
        "rotational latency, buffer off (ms)": ([number(run.rotation.mean_ms) for run in off], ("2.21", "1.36")),
        "mean seek, read/write (ms)": (
            [f"{disk.mean_seek_ms:.2f}/{disk.mean_seek_ms + write:.2f}" for disk, write in both],
            ("5.7/6.19", "3.12/3.58"),
        ),
        "longest seek, read/write (ms)": (
            [f"{disk.longest_seek_ms:.2f}/{disk.longest_seek_ms + write:.2f}" for disk, write in both],
            ("10.83/11.32", "8.50/8.96"),
        ),
    }
    cells = [[label, *_pairs(ours, printed)] for label, (ours, printed) in rows.items()]
    how = (
        "atlas10k and superdisk; rotational latencies are means of the microbenchmark. The paper's lie below "
        "half a revolution, as they do where some requests end in the buffer."
    )
    return Drawn(
        Table(["", *(f"{name} ({who})" for name in names for who in ("ours", "paper"))], cells),
        how,
        scenarios=tuple(scenarios),
    )


#: Modes of the mobile disk in Table 4.
IDLE_MODES = ("performance idle", "fast idle", "low-power idle", "standby")


def _by_mode(disk: Result) -> tuple[float, ...]:
    """Return the energies of the disk by the rows of Table 4 without their total, J."""
    states = {each["state"]: each["energy_j"] for each in disk.summary["energy"]["states"]}
    idle_j = [float(states.get(mode, 0.0)) for mode in IDLE_MODES]
    return (float(disk.energy.servicing_j), *idle_j, float(disk.energy.startup_j))


@picture(PAPER, "Table 4", "Energy of a mobile disk and of a MEMS device, J")
def table_4(study: Study) -> Drawn:
    """Replay the recorded requests on both devices."""
    headers, hows = ["mode"], []
    scenarios: list[Mapping[str, Any]] = []
    columns: list[tuple[float, ...]] = []
    for key, table in APPLICATIONS.items():
        of = energies(study, key)
        headers += [f"{table.name}: {name}" for name in ("disk", "disk (paper)", "MEMS", "MEMS (paper)")]
        mems_idle_j = of.mems_j - float(of.mems.energy.servicing_j) - float(of.mems.energy.startup_j)
        columns += [
            _by_mode(of.disk),
            (table.disk_active_j, *table.disk_idle_j, sum(table.disk_return_j)),
            (float(of.mems.energy.servicing_j), 0.0, 0.0, 0.0, mems_idle_j, float(of.mems.energy.startup_j)),
            (table.mems_active_j, 0.0, 0.0, 0.0, table.mems_inactive_j, table.mems_startup_j),
        ]
        scenarios += of.scenarios
        hows.append(of.how)
    labels = ("active", *IDLE_MODES[:-1], "standby, inactive", "returning, starting up")
    rows = [[label, *(f"{column[at]:,.3f}" for column in columns)] for at, label in enumerate(labels)]
    rows.append(["total", *(f"{sum(column):,.3f}" for column in columns)])
    return Drawn(Table(headers, rows), " ".join(hows), stand_in=True, scenarios=tuple(scenarios))


def _stated_spread(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return where the coefficients of variation that the text states put a standard deviation about our means."""
    sleds = claims()[f"{PAPER}.mems-cov"]
    shares: dict[str, tuple[str, Sequence[float]]] = {
        DEVICES[name]: (sleds.where, (0.18, 0.20)) for name in ("g1", "g2", "g3")
    }
    for name, claim in (("atlas10k", "atlas-cov"), ("superdisk", "superdisk-cov")):
        said = claims()[f"{PAPER}.{claim}"]
        shares[DEVICES[name]] = said.where, tuple(map(float, figures_of(said.published) or ()))
    return [
        {"device": row["device"], "mean": row["mean"] * (1 + sign * share), "where": where}
        for row in rows
        for where, given in [shares[row["device"]]]
        for share in given
        for sign in (-1, 1)
    ]


@picture(PAPER, "Figure 7", "Responses of each device under the microbenchmark")
def figure_7(study: Study) -> Drawn:
    """Draw mean responses, and the standard deviation about them."""
    alt = altair_library()
    scenarios = [microbenchmark(SLEDS.get(name, name)) for name in DEVICES]
    runs = study.runs(scenarios)
    rows = []
    for label, run in zip(DEVICES.values(), runs, strict=True):
        mean, deviation = float(run.response.mean_ms), variation(run) * float(run.response.mean_ms)
        rows.append(
            {
                "device": label,
                "mean": round(mean, 4),
                "low": round(mean - deviation, 4),
                "high": round(mean + deviation, 4),
            }
        )
    base = alt.Chart(values(rows)).encode(x=alt.X("device:N", title=None, sort=None, axis=alt.Axis(labelAngle=0)))
    bars = base.mark_bar(color=COLOURS[0], size=42).encode(y=alt.Y("mean:Q", title="Response time (ms)"))
    spread = base.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    labels = base.mark_text(dx=28, dy=-7, fontSize=11).encode(y="mean:Q", text=alt.Text("mean:Q", format=".2f"))
    published = stated(_stated_spread(rows), "device:N", "mean", mark="tick")
    panel = (bars + spread + labels + published).properties(width=420, height=280)
    subtitle = "10,000 random requests of 4 KB, two thirds reads, 20 a second; lines: one standard deviation each way"
    how = (
        "The run of mems-cov; the disks as they come, their buffers on; no command overhead for the sleds. The text "
        "states coefficients of variation and no means: they are drawn about our means, 0.18 to 0.20 for the sleds."
    )
    return Drawn(beside([panel], "Mean response under the microbenchmark", subtitle), how, scenarios=tuple(scenarios))
