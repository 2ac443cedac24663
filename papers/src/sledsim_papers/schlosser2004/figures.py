"""Figures and tables of schlosser2004, redrawn from our runs."""

from typing import Any

from sledsim.devices import DiskDrive, MemsStorage
from sledsim.show import COLOURS, Table, altair_library, values
from sledsim_papers.harness.charts import Axis, beside, lines
from sledsim_papers.harness.claim import claims, figures_of
from sledsim_papers.harness.registry import Drawn, picture, sketch
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2004.array import DISKS, DISKSIM_OVERHEAD_MS, G2, UBERDISK, alone, moved, moved_to
from sledsim_papers.schlosser2004.contract import MIXED, accesses
from sledsim_papers.schlosser2004.experiments import SCHEDULERS, plane, schedule

__all__: list[str] = []

PAPER = "schlosser2004"

sketch(PAPER, "Figure 1", "Sled, actuators and tips of a device")


@picture(PAPER, "Table 1", "The MEMS device")
def table_1(study: Study) -> Drawn:
    """Set the catalogue's G2 beside what is printed of it."""
    device, run = study.sled("g2"), study.run(accesses(G2, **MIXED))
    over = study.run(accesses({**G2, "overhead_ms": DISKSIM_OVERHEAD_MS}, **MIXED))
    rows = [
        ["capacity (GB)", f"{device.capacity_bytes * 1e-9:.3f}", "3.46"],
        ["mean access time (ms)", f"{run.service.mean_ms:.3f}", "0.88"],
        ["with DiskSim's command overhead (ms)", f"{over.response.mean_ms:.3f}", ""],
        ["streaming bandwidth (MB/s)", f"{device.streaming_bandwidth_mb_s:.1f}", "76"],
    ]
    how = (
        "g2; access times are means of 100,000 random requests of 4 KB, 67 % of them reads, one at a time, the bus "
        "included."
    )
    return Drawn(Table(["G2", "ours", "paper"], rows), how, scenarios=(accesses(G2, **MIXED),))


@picture(PAPER, "Table 2", "The Überdisk")
def table_2(study: Study) -> Drawn:
    """Set the catalogue's Überdisk beside what is printed of it."""
    disk, run = DiskDrive("uberdisk"), study.run(accesses(UBERDISK, **MIXED))
    fastest_mb_s = float(disk.zones()["media_mb_s"].max())
    rows = [
        ["capacity (GB)", f"{disk.capacity_bytes * 1e-9:.1f}", "41.6"],
        ["speed (rpm)", f"{disk.parameters['rotation_rpm']:,.0f}", "55,000"],
        ["seek of one cylinder (ms)", f"{float(disk.seek_ms(1)):.2f}", "0.1"],
        ["longest seek (ms)", f"{disk.longest_seek_ms:.2f}", "2.0"],
        ["head switch (ms)", f"{disk.parameters['head_switch_ms']:.2f}", "0.01"],
        ["cylinders", f"{disk.cylinders:,}", "39,511"],
        ["surfaces", str(disk.surfaces), "2"],
        ["mean access time (ms)", f"{run.service.mean_ms:.3f}", "0.88"],
        ["streaming bandwidth (MB/s)", f"{min(disk.bus_mb_s or fastest_mb_s, fastest_mb_s):.0f}", "100"],
    ]
    how = (
        "uberdisk; the access time is the mean of 100,000 random requests of 4 KB, 67 % of them reads, on its "
        "first 3.46 GB, one at a time. What limits streaming is the bus."
    )
    return Drawn(Table(["Überdisk", "ours", "paper"], rows), how, scenarios=(accesses(UBERDISK, **MIXED),))


#: Places along each axis of a picture of the plane.
PLACES = 41


def _surface(study: Study, settle_constants: float) -> Any:
    """Draw seek times from the centre over the plane."""
    alt = altair_library()
    found = plane(study.sled("g2", settle_constants=settle_constants), PLACES)
    place_um = found["place_um"]
    rows = [
        {"x": round(float(x_um), 2), "y": round(float(y_um), 2), "ms": round(float(found["seek_ms"][j, i]), 4)}
        for j, y_um in enumerate(place_um)
        for i, x_um in enumerate(place_um)
    ]
    half_um = float(place_um[1] - place_um[0]) / 2
    edges = {name: f"datum.{axis} {sign} {half_um}" for name, axis, sign in SIDES}
    scale = alt.Scale(domain=[-50, 50], nice=False)
    # One scale of colours for both figures.
    colours = alt.Scale(scheme="viridis", domain=[0, 0.8], clamp=True)
    chart = alt.Chart(values(rows)).transform_calculate(**edges).mark_rect(clip=True)
    return chart.encode(
        x=alt.X("left:Q", title="X displacement (µm)", scale=scale),
        x2="right:Q",
        y=alt.Y("bottom:Q", title="Y displacement (µm)", scale=scale),
        y2="top:Q",
        color=alt.Color("ms:Q", title="Seek time (ms)", scale=colours, legend=alt.Legend(gradientLength=280)),
    ).properties(width=340, height=340)


SIDES = (("left", "x", "-"), ("right", "x", "+"), ("bottom", "y", "-"), ("top", "y", "+"))


@picture(PAPER, "Figure 2", "Seek times over the plane")
def figure_2(study: Study) -> Drawn:
    """Draw seeks with settling."""
    how = f"g2: seeks from the centre, where the sled moves up, to {PLACES} × {PLACES} places; the longer of X and Y."
    return Drawn(beside([_surface(study, 1.0)], "Seek time of G2", "from the centre, settling along X included"), how)


@picture(PAPER, "Figure 7", "Seek times over the plane without settling")
def figure_7(study: Study) -> Drawn:
    """Draw seeks without settling."""
    how = "The seeks of Figure 2 with 0 settling constants, in the same colours."
    return Drawn(beside([_surface(study, 0.0)], "Seek time of G2 without settling", "from the centre"), how)


#: Bars of Figure 3, in their order.
BARS = ("Cheetah alone", "all, after the move", "what stays on the Cheetah", "the moved volume")


@picture(PAPER, "Figure 3", "The busiest volume of each disk on a faster device")
def figure_3(study: Study) -> Drawn:
    """Draw mean responses of each of eight disks, before and after the move, for both devices."""
    panels = []
    for i, (title, device) in enumerate((("(a) G2", G2), ("(b) Überdisk", UBERDISK))):
        found = moved(study, device)
        series = (found.before_ms, found.after_ms, found.stays_ms, found.volume_ms)
        rows = [
            {"disk": number, "what": what, "ms": round(each[number - 1], 4)}
            for number in range(1, DISKS + 1)
            for what, each in zip(BARS, series, strict=True)
        ]
        after_ms, stays_ms, volume_ms = (_published(name, i) for name in ("array-overall", "array-rest", "array-moved"))
        means = zip(BARS, (_published("array-before", i), after_ms, stays_ms, volume_ms), strict=True)
        panels.append(_bars(rows, title, dict(means)))
    subtitle = "stand-in for the busy disks of a disk array; mean responses of 51,750 requests each"
    how = (
        "Dashed: the means over the disks that section 5.3 states. The runs of array-all-disks: symmetrix-like with "
        "seeds 1 to 8 for the paper's disks 1, 37, 71, 72, 107, 124, 150 and 168, on a cheetah73 each."
    )
    drawn = beside(panels, "The busiest volume of each disk on a faster device", subtitle)
    return Drawn(drawn, how, stand_in=True, scenarios=(alone(1), moved_to(G2, 1), moved_to(UBERDISK, 1)))


def _published(name: str, number: int) -> float:
    """Return the figure of a claim: of G2 or of the Überdisk where there is one for each."""
    figures = figures_of(claims()[f"{PAPER}.{name}"].published) or ()
    return float(figures[min(number, len(figures) - 1)])


def _bars(rows: list[dict[str, Any]], title: str, stated: dict[str, float]) -> Any:
    alt = altair_library()
    dashed = [{"what": what, "ms": ms} for what, ms in stated.items()]
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal", columns=2)
    colour = alt.Scale(domain=list(BARS), range=list(COLOURS[: len(BARS)]))
    axis = alt.Axis(labelAngle=0)
    y = alt.Y("ms:Q", title="Response time (ms)", scale=alt.Scale(domain=[0, 20]))
    ours = (
        alt.Chart(values(rows))
        .mark_bar()
        .encode(
            x=alt.X("disk:O", title="Disk", axis=axis, scale=alt.Scale(paddingInner=0.25)),
            xOffset=alt.XOffset("what:N", sort=list(BARS)),
            y=y,
            color=alt.Color("what:N", scale=colour, legend=legend),
        )
    )
    theirs = (
        alt.Chart(values(dashed))
        .mark_rule(strokeDash=[6, 4], strokeWidth=1.6)
        .encode(y=y, color=alt.Color("what:N", scale=colour, legend=legend), tooltip=["what:N", "ms:Q"])
    )
    return (ours + theirs).properties(width=380, height=260, title=alt.TitleParams(title))


#: Arrival rates of Figures 4 and 8, requests/s: those of the claims among them.
RATES = {
    1.0: (200, 400, 600, 700, 800, 900, 1000, 1050, 1120, 1180, 1250, 1300, 1350, 1400, 1450, 1500, 1600),
    0.0: (200, 400, 600, 800, 1000, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000, 2100),
}
#: End of the response axis, ms; above it queues are unstable.
LONGEST_MS = 20.0


def _schedulers(study: Study, settle_constants: float) -> tuple[Any, tuple[dict[str, Any], ...]]:
    """Draw mean response against arrival rate, a line for each scheduler."""
    rates = RATES[settle_constants]

    def line(name: str) -> list[dict[str, Any]]:
        """Run until off the axis, where the line ends: queues far above it take long to simulate."""
        rows: list[dict[str, Any]] = []
        for rate in rates:
            run = study.run(schedule(name, float(rate), settle_constants), {"run.requests": _requests(study)})
            response_ms = round(float(run.response.mean_ms), 4)
            rows.append({"rate": rate, "response": response_ms, "scheduler": SCHEDULERS[name]})
            if response_ms > LONGEST_MS:
                break
        return rows

    rows = [row for line in study.map(line, SCHEDULERS) for row in line]
    x = Axis("rate", "Mean arrival rate (requests/s)", 0, float(rates[-1]))
    y = Axis("response", "Mean response time (ms)", 0, LONGEST_MS)
    first = tuple(schedule(name, float(rates[0]), settle_constants) for name in SCHEDULERS)
    return lines(rows, x, y, "scheduler"), first


def _requests(study: Study) -> int:
    return study.requests(250_000, 20_000)


@picture(PAPER, "Figure 4", "Schedulers against the arrival rate")
def figure_4(study: Study) -> Drawn:
    """Draw responses with settling."""
    panel, scenarios = _schedulers(study, 1.0)
    how = (
        f"g2, {_requests(study):,} random reads of 8 KB at each rate with each seed, Poisson arrivals; scenarios: "
        "those of the lowest rate."
    )
    return Drawn(beside([panel], "Schedulers on G2", "random reads of 8 KB"), how, scenarios=scenarios)


@picture(PAPER, "Figure 8", "Schedulers against the arrival rate without settling")
def figure_8(study: Study) -> Drawn:
    """Draw responses without settling."""
    panel, scenarios = _schedulers(study, 0.0)
    how = "The runs of Figure 4 with 0 settling constants."
    return Drawn(beside([panel], "Schedulers on G2 without settling", "random reads of 8 KB"), how, scenarios=scenarios)


#: The device of Figure 5: nine tips of which three are active, and three rows of three cylinders under each. A tip of
#: the figure stands for as many as hold a block.
SMALL: dict[str, Any] = {
    "tips": 9 * 64,
    "active_tips": 3 * 64,
    "bit_nm": 333.0,
    "x_range_um": 1.0,
    "y_range_um": 95.0,
}
#: The block whose equivalent ones the figure marks.
MARKED = 33


@picture(PAPER, "Figure 5", "Blocks that can be accessed together")
def figure_5(study: Study) -> Drawn:
    """Draw the layout of a small device and mark the blocks equivalent to one."""
    alt = altair_library()
    device = MemsStorage("g2", **SMALL)
    together = {MARKED, *(int(each) for each in device.equivalent(MARKED))}
    rows = []
    for lbn in range(device.capacity_blocks):
        cylinder, track, row, slot = device.place(lbn)
        rows.append({"lbn": lbn, "x": 4 * slot + cylinder, "y": 4 * track + row, "together": lbn in together})
    base = alt.Chart(values(rows)).encode(
        x=alt.X("x:O", axis=None, scale=alt.Scale(domain=list(range(11)))),
        y=alt.Y("y:O", axis=None, scale=alt.Scale(domain=list(range(11)))),
    )
    colour = alt.Color("together:N", scale=alt.Scale(domain=[True, False], range=[COLOURS[4], "#eeeeee"]), legend=None)
    panel = (base.mark_rect().encode(color=colour) + base.mark_text(fontSize=12).encode(text="lbn:N")).properties(
        width=330, height=330
    )
    subtitle = f"squares: regions of nine tips, rows down, cylinders across; marked: with block {MARKED}"
    how = "A g2 cut down to nine tips, three of them active, and three rows of three cylinders, in serpentine order."
    return Drawn(beside([panel], "Blocks that can be accessed together", subtitle), how)
