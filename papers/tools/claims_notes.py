"""The paragraphs beside the tables of claims on the site: every figure in them is computed.

Most are figures and probes of the claims that were checked; the others are arithmetic of what a paper prints, and a
few runs that cost next to nothing.
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
    """Say what Table 2 was measured with."""
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
        *What Table 2 was measured with.* With the values of Table 1 no seek is longer than
        {sled.seek_x_ms(-half_um, half_um).item():.3f} ms, but the paper prints 2.72 ms. With 100 m/s² along X instead
        of 114.8 m/s² the longest seek, the mean and the deviation are {slower[0]:.3f}, {slower[1]:.3f} and
        {slower[2]:.3f} ms; printed are 2.72, 1.81 and 0.42 ms. The reversals along Y, of
        {found.ours(f"{paper}.turnaround-time"):.3f} ms, fit 114.8 m/s². The printed mean transfer of 0.16 ms fits data
        that pass without rows at the rate of 880 tips ({transfers[0]:.3f} ms), and the printed deviation of 0.21 ms
        fits 640 tips ({transfers[1]:.3f} ms). With 640 tips and 100 m/s² services take {services[0]:.3f} ms with a
        deviation of {services[1]:.3f} ms; printed are 1.96 and 0.46 ms. The best velocity is {optimum.ours:.0f} mm/s if
        a sled enters a row from the side that it reaches sooner, {by_track:.0f} mm/s if each track has its own
        direction, and {without_rows:.0f} mm/s if data pass without rows, too. All of these are probes; claims use
        Table 1.
    """)


def cache_of_disks(found: Found) -> str:
    """Set the arrangements of section 4.2 of schlosser2000 side by side."""
    rows = {row["arrangement"]: row for row in found.of("schlosser2000.mems-cache").curve}

    def ms(name: str, key: str = "ours, ms", digits: int = 2) -> str:
        return f"{rows[name][key]:.{digits}f}" if name in rows else ""

    small = ", 8 KiB segments"
    labels = {
        "disk": "eight disks",
        "disk with cache": "each with a cache of its own",
        "one cache for all": "a disk of eight times the surfaces, one cache of 2.5 GB",
        "one large disk": "that disk without a cache",
        "MEMS alone": "MEMS storage alone, one in place of each disk (`g2-paper` with three times the tips)",
    }
    lines = ["| arrangement | paper | 64 KiB | 8 KiB |", "| --- | --- | --- | --- |"]
    for name, label in labels.items():
        paper = rows[name]["paper, ms"]
        cells = [label, "" if paper is None else f"{paper:.2f}", ms(name), ms(f"{name}{small}")]
        lines.append(f"| {' | '.join(cells)} |")
    above = paragraph("""
        *A cache of disks.* The paper gives no more than the cache's size. Means of three days, ms, with the caching
        disk as it comes (segments of 64 KiB) and with segments of 8 KiB, the size of most requests:
    """)
    alone = rows["MEMS alone"]
    below = paragraph(f"""
        It is writes that gain, as the paper says: {ms("disk", "writes, ms", 1)} to
        {ms("disk with cache", "writes, ms", 1)} ms behind a cache of 64 KiB segments, while reads go from
        {ms("disk", "reads, ms", 1)} to {ms("disk with cache", "reads, ms", 1)} ms, as they wait for a whole segment
        from the disk (8 KiB: {ms(f"disk with cache{small}", "reads, ms", 1)} ms). A single cache costs little where
        segments are small and much where its disk has to move eight times the segments. MEMS storage alone takes
        {alone["paper, ms"] / alone["ours, ms"]:.1f} times as long in the paper as with the stand-in, most of it
        waiting: requests of its bursts come closer together.
    """)
    return f"{above}\n\n{chr(10).join(lines)}\n\n{below}"


def table_4(_: Found) -> str:
    """Say how Table 4 of schlosser2000 is gone about."""
    andrew, postmark = APPLICATIONS["andrew"], APPLICATIONS["postmark"]

    def modes_s(name: str, startup_w: float = ACCESS_W) -> float:
        each = APPLICATIONS[name]
        return each.mems_active_j / ACCESS_W + each.mems_startup_j / startup_w + each.mems_inactive_j / INACTIVE_W

    starts = postmark.mems_startup_j / (SLED_W * START_S)
    above = paragraph("""
        *Table 4.* The requests of our runs on whole machines are replayed on `travelstar` and on `g2-paper`. Probes
        and the redrawn table also have arithmetic of the table: an energy over the power of its mode is the time
        spent in it. The powers of the disk are those of `travelstar` (half of the accesses
        reads), and its times add up to the length of the run. The MEMS device accesses data for as long as the table
        says and starts up as often, and is inactive for the rest; the joules of start-ups and inactive time are those
        of a run of `g2-paper` with as many idle periods.
    """)
    listed = items(
        "Figures from the table's own joules that agree do so by construction.",
        f"""For Andrew and PostMark the MEMS device's own modes last {modes_s("andrew"):.1f} and
        {modes_s("postmark"):.0f} s: a little less than the disk's {run_s(andrew):.1f} and {run_s(postmark):,.0f} s, as
        they should where the same work is done faster.""",
        f"""Start-ups must be at the full {ACCESS_W:g} W of sled and 1,000 tips. At the sled's {1e3 * SLED_W:.0f} mW,
        PostMark's {postmark.mems_startup_j:g} J would be {starts * 1e-6:.1f} million start-ups that last
        {starts * START_S:.0f} s, and accessing, starting and standby together {modes_s("postmark", SLED_W):,.0f} s,
        longer than on the disk. The catalogue's devices start at 100 mW, as Lin et al. and DiskSim have it.""",
        "The paper's active power of 1.1 W covers positioning too; here seeks take the sled's 100 mW.",
    )
    return f"{above}\n\n{listed}"


def lin2002(found: Found) -> str:
    """Say what the figures of lin2002 are made of."""
    return "\n\n".join(map(paragraph, (_starting(found), _idle(found), _column(found), _merging(found), _all(found))))


def _starting(found: Found) -> str:
    first, *_, last = found.of("lin2002.timeout-energy").curve
    saved = 1 - found.ours("lin2002.timeout-energy")
    start_j = MOVING_W * START_S
    return f"""
        *Start-up and break-even.* 100 mW for 0.5 ms are {start_j:.0e} J, as Table 1 prints for the one start-up of the
        Seagate run. The 1e-5 J of section 5.1 are the table's next row, inactive: 50 mW for the command processing
        before the first request, of which our run has {found.ours("lin2002.seagate-inactive"):.0e} J. The break-even
        time of 50 ms is explained as the time of a start-up, which is 0.5 ms. From first principles, start-up energy
        over the power saved is {start_j:.0e} J / ({1e3 * MOVING_W:.0f} − {1e3 * STOPPED_W:.0f}) mW =
        {1e3 * start_j / (MOVING_W - STOPPED_W):g} ms, or
        {found.probe("lin2002.break-even", "within a fixed span"):.1f} ms over a fixed span, in which the device would
        be inactive for the time of the start-up otherwise; the paper's way with its disk, spin-up energy over idle
        power (6 J / 1 W = {found.ours("lin2002.disk-break-even"):g} s), gives
        {start_j:.0e} J / {1e3 * MOVING_W:.0f} mW = {1e3 * start_j / MOVING_W:g} ms. The Seagate trace decides between
        them: a timeout of {last["timeout, ms"]} ms leaves {last["start-ups"]:,} of {first["start-ups"]:,} start-ups, so
        with a break-even of 50 ms stopping would hardly ever pay, yet stopping at once saves {100 * saved:.0f} %.
    """


def _idle(found: Found) -> str:
    run = table_1(found.study.under(motion("lin2002")))
    idle_s = float(run["state_time"]["idle_s"])
    printed_w = PUBLISHED_J["idle"][0] / idle_s
    return f"""
        *Idle power.* The table's {PUBLISHED_J["idle"][0]} J over our run's {idle_s:.1f} s of idle time are
        {1e3 * printed_w:.0f} mW: the sled's {1e3 * MOVING_W:.0f} mW and {1e3 * (printed_w - MOVING_W):.0f} mW of tips.
        Tips of the last pass that read 10 of every 90 bits come to {1e3 * joules(run, "idle") / idle_s:.0f} mW on
        average.
    """


#: What an idle sled draws whose tips of an 8 KB request go on: 16 blocks, of 64 tips each, 10 of every 90 bits, W.
IDLE_8_KB_W = MOVING_W + 16 * 64 * 1e-3 * 10 / 90


def _column(found: Found) -> str:
    inactive_j, idle_j, startup_j = (PUBLISHED_J[part][1] for part in ("inactive", "idle", "startup"))
    run, faster = found.study.under(motion("lin2002")).runs([COLUMN, FASTER])
    shares = {name: f"{joules(faster, name) / joules(faster):.3f}" for name in ("inactive", "idle")}
    inactive_s, idle_s, serving_s = inactive_j / STOPPED_W, idle_j / MOVING_W, PUBLISHED_J["servicing"][1] / MOVING_W
    read_j, ours_j = PUBLISHED_J["servo"][1] + PUBLISHED_J["data"][1], joules(run, "servo") + joules(run, "data")
    starts = startup_j / (MOVING_W * START_S)
    return f"""
        *The Snake column of Table 1* does not describe a day replayed in a tenth of the time, {DAY_S:,} s.
        {inactive_j} J at 50 mW are {inactive_s:,.0f} s inactive; {idle_j} J of idle energy are at most
        {idle_s:,.0f} s at 100 mW, and {idle_j / IDLE_8_KB_W:,.0f} s with the tips of an 8 KB request on; servicing
        takes {serving_s:,.0f} s at most. {DAY_S - inactive_s - idle_s - serving_s:,.0f} s are missing at least, of
        which the idle time that DiskSim leaves out before each of the {starts:.0f} stops ({startup_j} J of start-ups)
        would be {starts:.0f} s. Servo and data, {read_j:.2f} J over {REQUESTS:,} requests, fit requests of 5.5 KB
        rather than 8 KB on average: the stand-in with its 8 KB takes {ours_j:.1f} J. Of a day in {LASTS_S:,} s, which
        is {10 * DAY_S / LASTS_S:.0f} times faster, {shares["inactive"]} of the joules of the stand-in are inactive and
        {shares["idle"]} idle.
    """


def _merging(found: Found) -> str:
    run = found.study.under(motion("lin2002")).run(day(TENFOLD))
    each_j = joules(run, "servicing") / run["requests"]["completed"]
    energy, response = (found.probe(f"lin2002.merge-{what}", "95 %") for what in ("energy", "response"))
    return f"""
        *What merging can save.* A pair that is merged saves the second request's way back to its row and one pass of
        the sled, a small part of the {1e6 * each_j:.0f} µJ that a request of the stand-in takes on `g3` on average;
        the joules of the tips remain. A quarter of 43 % of the requests are reads that go on, so {43 / 4:.0f} % of the
        requests can be second in a pair. With 95 % of the reads going on, merging still saves no more than
        {energy:.3f} of servicing energy and {response:.3f} of the response. The paper's 18 % can't come from pairs of
        8 KB reads.
    """


def _all(_: Found) -> str:
    total_j, idle_j, servicing_j = (PUBLISHED_J[part][1] for part in ("total", "idle", "servicing"))
    share = idle_j / total_j
    least, most = (100 * (1 - STOPPED_W / power_w) for power_w in (MOVING_W, IDLE_8_KB_W))
    return f"""
        *What all strategies can save.* By Table 1 idle energy is {100 * share:.1f} % of the total: the 54 % of section
        6.4 are all of it. But the time is then spent inactive, at 50 mW. Of {idle_j} J at {1e3 * MOVING_W:.0f} to
        {1e3 * IDLE_8_KB_W:.0f} mW, {least:.0f} to {most:.0f} % are saved, {least * share:.0f} to {most * share:.0f} %
        of the total, and of the {100 * servicing_j / total_j:.1f} % of servicing a part.
    """


def tpcd_by_seed(found: Found) -> str:
    """Say what decides hong2006.tpcd-order."""
    load = LOADS["tpcd"]
    chosen = {name: systems(load)[name] for name in ("disk_ram", "disk")}
    responded = responses(found.study.under(motion("hong2006")), load, chosen)
    said = ", ".join(f"{ratio:.4f}" for ratio in responded["disk_ram"].over(responded["disk"]))
    return paragraph(f"""
        The verdict on `hong2006.tpcd-order` depends on a small difference between DISK-RAM and the plain disk: their
        mean responses have the ratios {said} with seeds 1 to 5.
    """)


def hong2006(found: Found) -> str:
    """Say what the systems of section 4 of hong2006 hang on."""
    through = found.probe("hong2006.cello-mwb-gain", "controller that writes through")
    growth = found.row("hong2006.tpcc-order", "architecture", LABELS["mwb"])[TWICE]
    controller = paragraph(f"""
        *What the controller's cache hides.* A write that evicts a dirty line waits for the component below; any other
        write is answered at once. Under cello, behind a controller that writes through, the write buffer is
        {through:.1f} times as fast as the disk; the paper has 14.
    """)
    buffer = paragraph(f"""
        *Whether the write buffer can carry TPC-C.* A system counts as saturated if its mean response is at least
        {GROWS:g} times as long in a run with twice as many requests; that of the write buffer is {growth:.2f} times as
        long. The paper states neither the rate of its requests nor how popular their addresses are. The stand-in's were
        set before any claim was computed and are not changed.
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
