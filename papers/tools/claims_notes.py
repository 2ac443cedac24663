"""The paragraphs beside the tables of claims on the site: every figure in them is computed.

Most figures are those of claims and their probes. The others are computed from what a paper prints, or from a few
short runs.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from sledsim_papers.griffin1999.workload import DEVICE
from sledsim_papers.harness.claim import motion
from sledsim_papers.hong2006.hierarchies import GROWS, TWICE
from sledsim_papers.hong2006.systems import LABELS, LOADS, responses, systems
from sledsim_papers.lin2002.experiments import table_1
from sledsim_papers.lin2002.figures import PUBLISHED_J
from sledsim_papers.lin2002.snake import COLUMN, DAY_S, FASTER, LASTS_S, REQUESTS
from sledsim_papers.lin2002.workload import MOVING_W, START_S, STOPPED_W, TENFOLD, day, joules
from sledsim_papers.schlosser2000.energy import ACCESS_W, APPLICATIONS, INACTIVE_W, SLED_W, run_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sledsim_papers.harness.finding import Finding
    from sledsim_papers.harness.reproduction import Reproduction
    from sledsim_papers.harness.study import Study

__all__ = ["NOTES", "Found", "NotDoneError"]

WIDTH = 120


class NotDoneError(Exception):
    """A claim that a paragraph needs is not done."""


class Found:
    """Findings for claims, by their names.

    Parameters
    ----------
    reproduction
        The outcomes of the claims.
    study
        Makes further runs.
    """

    def __init__(self, reproduction: Reproduction, study: Study) -> None:
        self._answers = {answer.claim.name: answer for answer in reproduction.answers}
        self.study = study

    def of(self, name: str) -> Finding:
        """Return the finding for a claim."""
        finding = self._answers[name].finding
        if finding is None:
            raise NotDoneError(f"{name}: {self._answers[name].reason}")
        return finding

    def ours(self, name: str) -> float:
        """Return the figure of a claim."""
        return float(self.of(name).ours)  # type: ignore[arg-type]

    def probe(self, name: str, begins: str) -> Any:
        """Return the figure of the probe whose change begins with these words."""
        [probe] = [each for each in self.of(name).probes if each.change.startswith(begins)]
        return probe.ours

    def row(self, name: str, key: str, value: str) -> Mapping[str, Any]:
        """Return the row of a claim's curve that has this value."""
        [row] = [each for each in self.of(name).curve if each[key] == value]
        return row


def paragraph(text: str) -> str:
    """Return a paragraph in lines."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def items(*texts: str) -> str:
    """Return a list."""
    wrapped = (
        textwrap.fill(each, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
        for each in (" ".join(text.split()) for text in texts)
    )
    return "\n".join(wrapped)


def griffin1999(found: Found) -> str:
    """Return the paragraph on the measurements of Table 2."""
    paper = "griffin1999"
    sled = found.study.under(motion(paper)).sled(DEVICE)
    half_um = sled.parameters["x_range_um"] / 2
    slower = [found.probe(f"{paper}.seek-{figure}", "100 m/s²") for figure in ("max", "mean", "std")]
    transfers = [
        found.probe(f"{paper}.transfer-mean", "bits at the rate of 880"),
        found.probe(f"{paper}.transfer-std", "bits at the rate of 640 tips, half"),
    ]
    services = [found.probe(f"{paper}.service-{figure}", "100 m/s²") for figure in ("mean", "std")]
    optimum = found.of(f"{paper}.velocity-optimum")
    by_track, without_rows, *_ = (probe.ours for probe in optimum.probes)
    return paragraph(f"""
        *Parameters behind Table 2.* With the values of Table 1 the longest seek takes
        {sled.seek_x_ms(-half_um, half_um).item():.3f} ms, but the paper prints 2.72 ms. With an acceleration along X of
        100 m/s² instead of 114.8 m/s², the longest seek, the mean and the standard deviation are {slower[0]:.3f},
        {slower[1]:.3f} and {slower[2]:.3f} ms; the paper prints 2.72, 1.81 and 0.42 ms. The reversals along Y take
        {found.ours(f"{paper}.turnaround-time"):.3f} ms, which agrees with 114.8 m/s². The printed mean transfer of
        0.16 ms agrees with data that pass without rows at the rate of 880 tips ({transfers[0]:.3f} ms), and the printed
        standard deviation of 0.21 ms with 640 tips ({transfers[1]:.3f} ms). With 640 tips and 100 m/s² the service time
        has a mean of {services[0]:.3f} ms and a standard deviation of {services[1]:.3f} ms; the paper prints 1.96 and
        0.46 ms. The best velocity is {optimum.ours:.0f} mm/s if a sled enters a row from the side that it reaches
        sooner, {by_track:.0f} mm/s if each track has a fixed direction, and {without_rows:.0f} mm/s if data also pass
        without rows. Claims use Table 1; figures with other parameters are probes.
    """)


def cache_of_disks(found: Found) -> str:
    """Return a table of the arrangements of section 4.2 of schlosser2000."""
    rows = {row["arrangement"]: row for row in found.of("schlosser2000.mems-cache").curve}

    def ms(name: str, key: str = "ours, ms", digits: int = 2) -> str:
        return f"{rows[name][key]:.{digits}f}" if name in rows else ""

    small = ", 8 KiB segments"
    labels = {
        "disk": "eight disks",
        "disk with cache": "eight disks, each with its own cache",
        "one cache for all": "a disk of eight times the surfaces, one cache of 2.5 GB",
        "one large disk": "the same disk without a cache",
        "MEMS alone": "a MEMS device in place of each disk (`g2-paper` with three times the tips)",
    }
    lines = ["| arrangement | paper | 64 KiB | 8 KiB |", "| --- | --- | --- | --- |"]
    for name, label in labels.items():
        paper = rows[name]["paper, ms"]
        cells = [label, "" if paper is None else f"{paper:.2f}", ms(name), ms(f"{name}{small}")]
        lines.append(f"| {' | '.join(cells)} |")
    above = paragraph("""
        *A MEMS cache of disks.* The paper gives only the size of the cache. The table has mean responses over three
        days in ms, with the default segments of the caching disk (64 KiB) and with segments of 8 KiB, the size of most
        requests:
    """)
    alone = rows["MEMS alone"]
    below = paragraph(f"""
        Writes gain from the cache, as the paper says: with segments of 64 KiB their mean response changes from
        {ms("disk", "writes, ms", 1)} to {ms("disk with cache", "writes, ms", 1)} ms. That of reads changes from
        {ms("disk", "reads, ms", 1)} to {ms("disk with cache", "reads, ms", 1)} ms, and with segments of 8 KiB to
        {ms(f"disk with cache{small}", "reads, ms", 1)} ms. A read that misses waits for its whole segment, but a large
        segment also holds data that are read next. If one disk with one cache replaces the eight, the mean of all
        requests changes from {ms("disk with cache")} to {ms("one cache for all")} ms with segments of 64 KiB, because
        one disk transfers all of them, and from {ms(f"disk with cache{small}")} to {ms(f"one cache for all{small}")} ms
        with segments of 8 KiB. The paper's response of MEMS storage alone is
        {alone["paper, ms"] / alone["ours, ms"]:.1f} times that with the stand-in. Most of it is waiting, because the
        requests of the paper's bursts arrive closer together.
    """)
    return f"{above}\n\n{chr(10).join(lines)}\n\n{below}"


def table_4(_: Found) -> str:
    """Return the method and the checks of Table 4 of schlosser2000."""
    andrew, postmark = APPLICATIONS["andrew"], APPLICATIONS["postmark"]

    def modes_s(name: str, startup_w: float = ACCESS_W) -> float:
        each = APPLICATIONS[name]
        return each.mems_active_j / ACCESS_W + each.mems_startup_j / startup_w + each.mems_inactive_j / INACTIVE_W

    starts = postmark.mems_startup_j / (SLED_W * START_S)
    above = paragraph("""
        *Table 4.* The requests of our runs on whole machines are replayed on `travelstar` and on `g2-paper`. Probes and
        the redrawn table also use times computed from the paper's energies: an energy divided by the power of its mode
        is the time in that mode. The disk has the powers of `travelstar` (half of the accesses are reads), and its
        times add up to the length of the run. The MEMS device accesses data for the time in the table, has as many
        start-ups as in the table, and is inactive for the rest of the run. The energies of start-ups and of inactive
        time are those of a run of `g2-paper` with the same number of idle periods.
    """)
    listed = items(
        "Figures that are computed from the table's own energies agree by construction, if they agree.",
        f"""For Andrew and PostMark the times in all modes of the MEMS device add up to {modes_s("andrew"):.1f} and
        {modes_s("postmark"):.0f} s. This is a little less than the disk's {run_s(andrew):.1f} and
        {run_s(postmark):,.0f} s, as expected for the same work on a faster device.""",
        f"""The table's start-ups must take the full {ACCESS_W:g} W of sled and 1,000 tips. At the sled's
        {1e3 * SLED_W:.0f} mW, PostMark's {postmark.mems_startup_j:g} J would be {starts * 1e-6:.1f} million start-ups,
        which take {starts * START_S:.0f} s. Access, start-up and standby would then take
        {modes_s("postmark", SLED_W):,.0f} s together, longer than the run on the disk. The devices of the catalogue
        start at 100 mW, as in Lin et al. and in DiskSim.""",
        "The paper's active power of 1.1 W includes positioning; here seeks take only the 100 mW of the sled.",
    )
    return f"{above}\n\n{listed}"


def lin2002(found: Found) -> str:
    """Return the paragraphs on the energies of lin2002."""
    parts = (_starting, _break_even, _idle, _column, _merging, _all)
    return "\n\n".join(paragraph(part(found)) for part in parts)


def _starting(found: Found) -> str:
    return f"""
        *Start-up energy.* 100 mW for 0.5 ms is {MOVING_W * START_S:.0e} J, which Table 1 prints for the one start-up of
        the Seagate run. The 1e-5 J of section 5.1 is the next row of the table, inactive energy: 50 mW for the command
        processing before the first request. Our run has {found.ours("lin2002.seagate-inactive"):.0e} J.
    """


def _break_even(found: Found) -> str:
    first, *_, last = found.of("lin2002.timeout-energy").curve
    saved = 1 - found.ours("lin2002.timeout-energy")
    start_j = MOVING_W * START_S
    return f"""
        *Break-even time.* The paper gives 50 ms and calls this the time of a start-up, which is 0.5 ms. Start-up energy
        divided by the power saved is {start_j:.0e} J / ({1e3 * MOVING_W:.0f} − {1e3 * STOPPED_W:.0f}) mW =
        {1e3 * start_j / (MOVING_W - STOPPED_W):g} ms. It is
        {found.probe("lin2002.break-even", "within a fixed span"):.1f} ms if the length of the run is fixed, because the
        device would otherwise be inactive during the start-up. The paper's formula for its disk is spin-up energy
        divided by idle power (6 J / 1 W = {found.ours("lin2002.disk-break-even"):g} s); for the MEMS device it gives
        {start_j:.0e} J / {1e3 * MOVING_W:.0f} mW = {1e3 * start_j / MOVING_W:g} ms. The Seagate trace contradicts 50
        ms: with a timeout of {last["timeout, ms"]} ms only {last["start-ups"]:,} of {first["start-ups"]:,} start-ups
        remain, so hardly any idle period is longer. Stopping would then hardly ever pay, but stopping at once saves
        {100 * saved:.0f} % of the energy.
    """


def _idle(found: Found) -> str:
    run = table_1(found.study.under(motion("lin2002")))
    idle_s = float(run["state_time"]["idle_s"])
    printed_w = PUBLISHED_J["idle"][0] / idle_s
    return f"""
        *Idle power.* The table's {PUBLISHED_J["idle"][0]} J divided by the {idle_s:.1f} s of idle time of our run are
        {1e3 * printed_w:.0f} mW: {1e3 * MOVING_W:.0f} mW of the sled and {1e3 * (printed_w - MOVING_W):.0f} mW of tips.
        If the tips of the last pass read 10 of every 90 bits while the sled is idle, sled and tips together take
        {1e3 * joules(run, "idle") / idle_s:.0f} mW on average.
    """


#: Power of an idle sled that keeps the tips of an 8 KB request on: 16 blocks of 64 tips, 10 of every 90 bits, W.
IDLE_8_KB_W = MOVING_W + 16 * 64 * 1e-3 * 10 / 90


def _column(found: Found) -> str:
    inactive_j, idle_j, startup_j = (PUBLISHED_J[part][1] for part in ("inactive", "idle", "startup"))
    run, faster = found.study.under(motion("lin2002")).runs([COLUMN, FASTER])
    shares = {name: f"{joules(faster, name) / joules(faster):.3f}" for name in ("inactive", "idle")}
    inactive_s, idle_s, serving_s = inactive_j / STOPPED_W, idle_j / MOVING_W, PUBLISHED_J["servicing"][1] / MOVING_W
    read_j, ours_j = PUBLISHED_J["servo"][1] + PUBLISHED_J["data"][1], joules(run, "servo") + joules(run, "data")
    starts = startup_j / (MOVING_W * START_S)
    return f"""
        *Snake column of Table 1.* A day replayed in a tenth of the time takes {DAY_S:,} s. The column describes a
        shorter run. {inactive_j} J at 50 mW are {inactive_s:,.0f} s of inactive time. {idle_j} J of idle energy are
        {idle_s:,.0f} s at most (100 mW), and {idle_j / IDLE_8_KB_W:,.0f} s with the tips of an 8 KB request on.
        Servicing takes {serving_s:,.0f} s at most. At least {DAY_S - inactive_s - idle_s - serving_s:,.0f} s are
        missing. DiskSim leaves out the idle time before each stop; for {starts:.0f} stops ({startup_j} J of start-ups)
        this explains {starts:.0f} s. The energy of servo and data, {read_j:.2f} J for {REQUESTS:,} requests, agrees
        with requests of 5.5 KB on average; the stand-in has 8 KB and takes {ours_j:.1f} J. If the day is replayed in
        {LASTS_S:,} s, {10 * DAY_S / LASTS_S:.0f} times as fast as recorded, {shares["inactive"]} of the energy of the
        stand-in is inactive and {shares["idle"]} idle.
    """


def _merging(found: Found) -> str:
    run = found.study.under(motion("lin2002")).run(day(TENFOLD))
    each_j = joules(run, "servicing") / run["requests"]["completed"]
    energy, response = (found.probe(f"lin2002.merge-{what}", "95 %") for what in ("energy", "response"))
    return f"""
        *Limit of merging.* Merging two requests saves the second request's seek back to its row and one pass of the
        sled, a small part of the {1e6 * each_j:.0f} µJ that a request of the stand-in takes on `g3` on average. The
        energy of the tips remains. 43 % of the requests are reads, of which a quarter continue the previous one, so
        {43 / 4:.0f} % of the requests can be the second of a pair. Even if 95 % of the reads continue the previous one,
        merging saves at most {energy:.3f} of the servicing energy and {response:.3f} of the response. Pairs of 8 KB
        reads cannot give the 18 % of the paper.
    """


def _all(_: Found) -> str:
    total_j, idle_j, servicing_j = (PUBLISHED_J[part][1] for part in ("total", "idle", "servicing"))
    share = idle_j / total_j
    least, most = (100 * (1 - STOPPED_W / power_w) for power_w in (MOVING_W, IDLE_8_KB_W))
    return f"""
        *Limit of all strategies.* In Table 1 idle energy is {100 * share:.1f} % of the total, so the 54 % of section
        6.4 would be all of it. But the device then spends this time inactive, at 50 mW. Of {idle_j} J at
        {1e3 * MOVING_W:.0f} to {1e3 * IDLE_8_KB_W:.0f} mW, stopping saves {least:.0f} to {most:.0f} %, which is
        {least * share:.0f} to {most * share:.0f} % of the total. The other strategies save a part of the
        {100 * servicing_j / total_j:.1f} % of servicing.
    """


def tpcd_by_seed(found: Found) -> str:
    """Return the paragraph on the ratio that decides hong2006.tpcd-order."""
    load = LOADS["tpcd"]
    chosen = {name: systems(load)[name] for name in ("disk_ram", "disk")}
    responded = responses(found.study.under(motion("hong2006")), load, chosen)
    ratios = ", ".join(f"{ratio:.4f}" for ratio in responded["disk_ram"].over(responded["disk"]))
    return paragraph(f"""
        The verdict on `hong2006.tpcd-order` depends on a small difference: with seeds 1 to 5 the mean response of
        DISK-RAM, divided by that of the plain disk, is {ratios}.
    """)


def hong2006(found: Found) -> str:
    """Return the paragraphs on the assumptions that decide section 4 of hong2006."""
    through = found.probe("hong2006.cello-mwb-gain", "controller that writes through")
    growth = found.row("hong2006.tpcc-order", "architecture", LABELS["mwb"])[TWICE]
    controller = paragraph(f"""
        *Cache of the controller.* A write that evicts a dirty line waits for the component below; any other write
        completes at once. With a controller that writes through, the write buffer is {through:.1f} times as fast as the
        disk under cello; the paper has 14.
    """)
    buffer = paragraph(f"""
        *Write buffer under TPC-C.* A system counts as saturated if its mean response is at least {GROWS:g} times as
        long in a run with twice as many requests. For the write buffer the factor is {growth:.2f}. The paper states
        neither the rate of the requests nor the popularity of their addresses. Those of the stand-in were set before
        any claim was computed and are not changed.
    """)
    return f"{controller}\n\n{buffer}"


#: The paragraphs by the names of their places on the page.
NOTES: Mapping[str, Callable[[Found], str]] = {
    "note_griffin1999": griffin1999,
    "note_cache": cache_of_disks,
    "note_table_4": table_4,
    "note_lin2002": lin2002,
    "note_hong2006": hong2006,
    "note_tpcd": tpcd_by_seed,
}
