"""Figures and tables of Griffin et al. 1999, redrawn from our runs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.devices import MemsStorage
from sledsim.show import Table, altair_library, number
from sledsim_papers.griffin1999 import sensitivity as sensitivity
from sledsim_papers.griffin1999.experiments import TABLE_2, TRANSFER, figure_ms, table_2
from sledsim_papers.griffin1999.scheduling import at_rates, response_rows
from sledsim_papers.griffin1999.traces import SCALE, at_scales, replay
from sledsim_papers.griffin1999.workload import DEVICE, DISK, acceleration, closed, poisson, random, speed
from sledsim_papers.harness.averaging import SEEDS_SAID
from sledsim_papers.harness.charts import Axis, beside, lines, stated
from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.registry import Drawn, picture, sketch
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__: list[str] = []

PAPER = "griffin1999"

sketch(PAPER, "Figure 1", "A tip on a cantilever over fixed media")
sketch(PAPER, "Figure 2", "A sled of media that moves over fixed tips")
sketch(PAPER, "Figure 3", "Data on the media: regions of tips, tip sectors, servo bursts")
sketch(PAPER, "Figure 4", "Cylinders, tracks and sectors")

ALONE = "Random workload, one request at a time"
ACCESS = Axis("time_ms", "Mean access time (ms)")

#: Parameter values of Figures 6 to 10; they include those of the claims.
ACCELERATIONS_M_S2 = (25.0, 50.0, 75.0, 100.0, 114.8, 150.0, 200.0, 300.0, 400.0, 600.0, 800.0, 1000.0)
WIDTHS_NM = (20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
RESONANCES_HZ = (50.0, 75.0, 100.0, 150.0, 220.0, 300.0, 400.0, 600.0, 800.0, 1000.0)
CONSTANTS = (0.0, *sensitivity.CONSTANTS)

#: Accelerations of Figure 7; the middle one is not in the paper.
FIGURE_7_M_S2 = (sensitivity.DEFAULT_M_S2, 200.0, 400.0)

#: Arrival rates and scale factors of Figures 11 to 14, and the ends of their response axes.
DISK_RATES = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 95.0, 100.0, 105.0, 110.0, 115.0, 120.0)
DEVICE_RATES = (*range(50, 451, 50), 475, 500, 525, 550, 575, 600, 650, 700, 750)
CELLO_SCALES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120)
TPCC_SCALES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2)
NO_SETTLING_RATES = (100, 200, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850, 900)
TWICE_SETTLING_RATES = (50, 100, 150, 200, 225, 250, 275, 300, 325, 350, 375, 400, 450)

#: Above this utilisation the queue grows during the whole run, so responses depend on its length.
SATURATED = 0.99


@picture(PAPER, "Table 1", "Parameters of the default device")
def table_1(study: Study) -> Drawn:
    """Compare the catalogue's device with the table."""
    sled = MemsStorage(DEVICE)
    given = sled.parameters
    tips_per_sector = given["block_bytes"] / given["tip_sector_bytes"]
    tip_sector_bits = given["tip_sector_bytes"] * given["encoded_bits_per_byte"]
    rows = [
        ("Y dimension of a tip's region, µm", number(given["y_range_um"]), "100"),
        ("X dimension of a tip's region, µm", number(given["x_range_um"]), "100"),
        ("bit width, nm", number(given["bit_nm"]), "50"),
        ("tips", number(given["tips"]), "6,400"),
        ("tips active at once", number(given["active_tips"]), "1,280"),
        ("tips per sector", number(tips_per_sector), "64"),
        ("encoding: bits for 8 bits of data", number(given["encoded_bits_per_byte"]), "10"),
        (
            "servo: bits of every so many",
            f"{given['servo_bits']} of {given['servo_bits'] + tip_sector_bits}",
            "10 of 90",
        ),
        ("acceleration of the sled, m/s²", number(given["acceleration_y_m_s2"]), "114.8"),
        ("access velocity, mm/s", number(1e3 * sled.access_speed_m_s), "20"),
        ("settling time constants", number(given["settle_constants"]), "1"),
        ("resonance of the sled, Hz", number(given["resonance_hz"]), "220"),
        ("capacity, GB", number(sled.capacity_bytes / 1e9), "–"),
        ("capacity with servo bits counted as data, GB", number(sled.raw_capacity_bytes / 1e9), "2.56"),
    ]
    how = "The entry `griffin1999` of the catalogue. The paper's capacity counts servo bits as data."
    return Drawn(Table(("parameter", "ours", "published"), rows, "Default device"), how)


@picture(PAPER, "Table 2", "Times of the default device under the random workload")
def table_2_table(study: Study) -> Drawn:
    """Compare our run with the table."""
    run = table_2(study)
    transfer_ms = {figure: figure_ms(study, figure, *TRANSFER) for figure in ("mean", "std", "max")}
    sled = MemsStorage(DEVICE)
    reversal_ms = sled.seek_y_ms(0.0, 0.0, 1, -1).item()

    def with_std(mean: float, std: float) -> str:
        return f"{mean:.2f} ({std:.2f})"

    rows = [
        ("mean service", with_std(run["service"]["mean_ms"], run["service"]["std_ms"]), "1.96 (0.46)"),
        ("longest service", f"{run['service']['max_ms']:.2f}", "5.03"),
        ("mean seek", with_std(run["seek"]["mean_ms"], run["seek"]["std_ms"]), "1.81 (0.42)"),
        ("longest seek", f"{run['seek']['max_ms']:.2f}", "2.72"),
        ("mean transfer", with_std(transfer_ms["mean"], transfer_ms["std"]), "0.16 (0.21)"),
        ("longest transfer", f"{transfer_ms['max']:.2f}", "3.73"),
        ("settling", f"{sled.settle_ms:.2f}", "0.72"),
        ("one turnaround", f"{reversal_ms:.2f}", "0.35"),
        ("turnarounds in a request's seek, mean", f"{run['seek_turnaround']['mean_ms']:.2f}", "0.31"),
    ]
    how = (
        f"100,000 requests of the random workload, Poisson 100/s, FCFS, means over {SEEDS_SAID}; standard deviations "
        "in brackets."
    )
    return Drawn(Table(("time, ms", "ours", "published"), rows, "Random workload"), how, scenarios=(TABLE_2,))


@picture(PAPER, "Figure 5", "Seek times along X and Y: by distance, and of the random workload")
def figure_5(study: Study) -> Drawn:
    """Draw closed forms, and the distributions of a run."""
    import numpy as np

    sled, run = MemsStorage(DEVICE), table_2(study)
    mean_reversal_ms = run["seek_turnaround"]["mean_ms"]
    distance_um = np.linspace(0, 100, 51)
    half = distance_um / 2
    x_ms, y_ms = sled.seek_x_ms(-half, half), sled.seek_y_ms(-half, half, 1, 1)
    alone = MemsStorage(DEVICE, settle_constants=0.0).seek_x_ms(-half, half)
    curves = {"X": alone, "X, settling": x_ms, "Y": y_ms, "Y, turnarounds": y_ms + mean_reversal_ms}
    rows = [
        {"distance_um": float(um), "time_ms": float(ms), "axis": axis}
        for axis, times in curves.items()
        for um, ms in zip(distance_um, times, strict=True)
    ]
    edges = np.arange(0, 3.001, 0.1)
    measured = {"X, settling": "seek_x_ns", "Y, turnarounds": "seek_y_ns"}
    counted = {axis: np.histogram(run.log[name].astype(np.float64) / 1e6, edges)[0] for axis, name in measured.items()}
    bins = [
        {"time_ms": float(edge + 0.05), "share": 100 * float(count) / len(run.log["id"]), "axis": axis}
        for axis, counts in counted.items()
        for edge, count in zip(edges, counts, strict=False)
    ]
    panels = [
        lines(
            rows,
            Axis("distance_um", "Distance (µm)", 0, 100),
            Axis("time_ms", "Seek time (ms)", 0, 3),
            "axis",
            title="(a) by distance",
            points=False,
        ),
        lines(
            bins,
            Axis("time_ms", "Seek time (ms), bins of 0.1 ms", 0, 3),
            Axis("share", "Requests (%)"),
            "axis",
            title="(b) of the random workload",
            points=False,
        ),
    ]
    how = (
        "(a) Equations 2 and 4, sled in the middle of the way at the centre; with settling, and with the mean "
        f"turnaround time of a request, {mean_reversal_ms:.2f} ms. (b) The run of Table 2: X with settling, Y with "
        "turnarounds; Y has steps, as a track has few rows."
    )
    return Drawn(beside(panels, "Seek times of the default device"), how, scenarios=(TABLE_2,))


def _sensitivity(
    title: str, x: Axis, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], how: str, **scenario: Any
) -> Drawn:
    """Draw mean access times over a parameter, one line per curve, with the published point of the default."""
    alt = altair_library()
    rows = [
        {x.field: value, "time_ms": time_ms, "series": name}
        for name, (given, times) in curves.items()
        for value, time_ms in zip(given, times, strict=True)
    ]
    panel = lines(rows, x, ACCESS, "series" if len(curves) > 1 else None, points=len(rows) < MANY)
    service = claims()[f"{PAPER}.service-mean"]
    point = {x.field: STATED_AT[x.field], "time_ms": service.published, "where": service.where}
    panel = alt.layer(panel, stated([point], x.field, "time_ms"))
    return Drawn(beside([panel], title, ALONE), how, scenarios=(random(closed(), REQUESTS, **scenario),))


#: The default device on the axes of Figures 6 to 10, with its mean service of Table 2.
STATED_AT = {"acceleration": 114.8, "speed": 20.0, "width": 50.0, "resonance": 220.0, "constants": 1.0}
#: Curves with more points than this have no markers.
MANY = 100
REQUESTS = 20_000


@picture(PAPER, "Figure 6", "Access time by acceleration of the sled")
def figure_6(study: Study) -> Drawn:
    """Draw access times."""
    times = sensitivity.by_acceleration(study, ACCELERATIONS_M_S2)
    axis = Axis("acceleration", "Acceleration (m/s²)", 0, 1000)
    how = f"{ALONE}; both axes accelerate alike."
    curves = {"": (ACCELERATIONS_M_S2, times)}
    return _sensitivity("Access time by acceleration", axis, curves, how, **acceleration(200.0))


@picture(PAPER, "Figure 7", "Access time by access velocity at three accelerations")
def figure_7(study: Study) -> Drawn:
    """Draw access times."""
    curves = {
        f"{value:g} m/s²": (sensitivity.SPEEDS_MM_S, sensitivity.by_speed(study, value)) for value in FIGURE_7_M_S2
    }
    axis = Axis("speed", "Access velocity (mm/s)", 0, 150)
    how = f"{ALONE}, bits of 50 nm. The text names 114.8 and 400 m/s² of the three accelerations; 200 m/s² is ours."
    return _sensitivity("Access time by access velocity", axis, curves, how, **speed(40.0))


@picture(PAPER, "Figure 8", "Access time by bit width")
def figure_8(study: Study) -> Drawn:
    """Draw access times, with either of two things held."""
    curves = {f"{hold} held": (WIDTHS_NM, sensitivity.by_width(study, WIDTHS_NM, hold=hold)) for hold in HELD}
    axis = Axis("width", "Bit width (nm)", 0, 100)
    how = f"{ALONE}; a tip's region keeps its size. The paper does not say what else is held."
    return _sensitivity("Access time by bit width", axis, curves, how, bit_nm=80.0)


HELD = ("bit rate", "access speed")


@picture(PAPER, "Figure 9", "Access time by resonant frequency")
def figure_9(study: Study) -> Drawn:
    """Draw access times."""
    curves = {"": (RESONANCES_HZ, sensitivity.by_resonance(study, RESONANCES_HZ))}
    axis = Axis("resonance", "Resonant frequency (Hz)", 0, 1000)
    return _sensitivity("Access time by resonant frequency", axis, curves, f"{ALONE}.", resonance_hz=400.0)


@picture(PAPER, "Figure 10", "Access time by settling time constants")
def figure_10(study: Study) -> Drawn:
    """Draw access times."""
    curves = {"": (CONSTANTS, sensitivity.by_constants(study, CONSTANTS))}
    axis = Axis("constants", "Settling time constants", 0, 4)
    return _sensitivity("Access time by settling time constants", axis, curves, f"{ALONE}.", settle_constants=2.0)


RESPONSE = "mean response, ms"
SCV = "squared coefficient of variation"


def _responses(runs: "Mapping[tuple[str, float], Result]", x: Axis, limit_ms: float, title: str) -> Any:
    return lines(
        response_rows(runs, x.field),
        x,
        Axis(RESPONSE, "Mean response time (ms)", 0, limit_ms),
        "scheduler",
        title=title,
    )


def _schedulers(study: Study, device: str, rates: Sequence[float], limit_ms: float) -> Drawn:
    """Draw mean response and its variation over the arrival rate."""
    runs = at_rates(study, list(map(float, rates)), device=device, quick=REQUESTS)
    x = Axis("requests/s", "Arrival rate (requests/s)", 0, rates[-1])
    steady = [row for row in response_rows(runs) if row["utilisation"] < SATURATED]
    variation = lines(
        steady, x, Axis(SCV, "Squared coefficient of variation"), "scheduler", title="(b) variation of response times"
    )
    panels = [_responses(runs, x, limit_ms, "(a) mean response time"), variation]
    how = (
        f"Random workload on `{device}`, Poisson arrivals. (b) leaves out loads under which the queue grows without "
        "end."
    )
    scenario = random(poisson(float(rates[-2])), REQUESTS, "sptf", device=device)
    return Drawn(beside(panels, f"Schedulers on {device}", "Random workload"), how, scenarios=(scenario,))


@picture(PAPER, "Figure 11", "Schedulers on the disk Cheetah 4LP, random workload")
def figure_11(study: Study) -> Drawn:
    """Draw the disk's responses."""
    return _schedulers(study, DISK, DISK_RATES, 160.0)


@picture(PAPER, "Figure 12", "Schedulers on the default device, random workload")
def figure_12(study: Study) -> Drawn:
    """Draw the device's responses."""
    return _schedulers(study, DEVICE, DEVICE_RATES, 20.0)


@picture(PAPER, "Figure 13", "Schedulers on the default device, cello and TPC-C")
def figure_13(study: Study) -> Drawn:
    """Draw responses with stand-ins."""
    cases = (("cello-like", CELLO_SCALES, 160.0), ("tpcc-like", TPCC_SCALES, 30.0))
    panels = []
    for letter, (workload, scales, limit_ms) in zip("ab", cases, strict=True):
        runs = at_scales(study, workload, list(map(float, scales)), requests=study.requests(300_000, 2 * REQUESTS))
        axis = Axis(SCALE, "Scale factor", 0, scales[-1])
        panels.append(_responses(runs, axis, limit_ms, f"({letter}) {workload} (stand-in)"))
    how = (
        "Stand-ins of the catalogue in place of the traces; times between requests divided by the scale factor. The "
        "stand-ins arrive at rates of their own, so scale factors are not the paper's."
    )
    shown = beside(panels, f"Schedulers on {DEVICE}", "Stand-ins for the traces of cello and TPC-C")
    return Drawn(shown, how, stand_in=True, scenarios=(replay("tpcc-like", 1.8, REQUESTS, "sptf"),))


@picture(PAPER, "Figure 14", "Schedulers on the default device with 0 and 2 settling time constants")
def figure_14(study: Study) -> Drawn:
    """Draw responses with other settling."""
    panels = []
    for letter, constants, rates in (("a", 0.0, NO_SETTLING_RATES), ("b", 2.0, TWICE_SETTLING_RATES)):
        runs = at_rates(study, list(map(float, rates)), quick=REQUESTS, settle_constants=constants)
        axis = Axis("requests/s", "Arrival rate (requests/s)", 0, rates[-1])
        panels.append(_responses(runs, axis, 20.0, f"({letter}) {constants:.0f} settling time constants"))
    how = "Random workload, Poisson arrivals."
    scenario = random(poisson(500.0), REQUESTS, "sptf", settle_constants=0.0)
    return Drawn(beside(panels, f"Schedulers on {DEVICE}", how[:-1]), how, scenarios=(scenario,))
