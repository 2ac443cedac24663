"""Write the tables of docs/reference/claims.md: what papers claim, and what a quick run finds.

The page keeps its prose; what stands between ``<!-- computed: NAME -->`` and ``<!-- end -->`` is replaced.

    python tools/claims_page.py            run every claim, write the page; minutes
    python tools/claims_page.py --seeds 5  write the table of verdicts by seed too, else it stays; ten minutes or more
    python tools/claims_page.py --full verdicts.json
                                           take what a full run found from its report, which else stays
    python tools/claims_page.py --check    exit with 1 where the page is out of date

It needs the reference data in the folder that SLEDSIM_REFERENCE names, and takes the application runs that
are recorded, so that the page is the same wherever it is made: where some were made here, it refuses and names them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import full_run
from claims_notes import NOTES, Found
from sledsim.show.progress import ProgressBar
from sledsim_papers.harness.averaging import SEEDS, SEEDS_SAID
from sledsim_papers.harness.contradictions import contradictions
from sledsim_papers.harness.ledger import PAPERS, VERDICTS, figures_of, motion, title
from sledsim_papers.harness.overview import COUNTED, counts_row
from sledsim_papers.harness.reproduction import Answer, Reproduction, reproduce
from sledsim_papers.harness.study import Study
from sledsim_papers.harness.wording import command_text, ours_text, published_text, rests_text, time_optimal_text
from sledsim_papers.schlosser2000 import applications
from sledsim_papers.schlosser2000.application_claims import robust_orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from full_run import FullAnswer, FullRun

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "claims.md"
#: What of a figure's larger value is far.
FAR = 0.1
BLOCK = re.compile(r"(?P<open><!-- computed: (?P<name>\w+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    header = list(header)
    lines = [header, ["---"] * len(header), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def totals(found: Reproduction) -> str:
    """Return how many claims have which verdict."""
    papers: list[tuple[str, str | None]] = [(f"[{paper}](#{paper})", paper) for paper in found.papers()]
    rows = [[label, *counts_row(found, paper)] for label, paper in [*papers, ("in total", None)]]
    return table(["paper", *COUNTED], rows)


def not_done(found: Reproduction) -> str:
    """Return the names of the claims that are not done, by paper and by what they wait for."""
    waiting: dict[tuple[str, str], list[str]] = {}
    for each in found.answers:
        if each.verdict == "not done":
            waiting.setdefault((each.claim.paper, each.reason), []).append(f"`{each.claim.id}`")
    lines = [f"- {paper}, {reason} ({len(ids)}): {', '.join(ids)}" for (paper, reason), ids in waiting.items()]
    return "\n".join(lines) or "None."


def reasons(answer: Answer) -> Iterator[str]:
    """Yield how a claim was checked, or why it differs or was not."""
    finding = answer.finding
    if finding is None:
        yield answer.reason
        return
    yield finding.how
    if finding.assumes:
        yield f"*Assumed, with the sign of the claim:* {finding.assumes}"
    if answer.verdict == "shape only":
        yield f"Shape: {answer.claim.shape}"
    if answer.verdict in {"shape only", "differs"} and finding.cause:
        yield f"*Why it differs:* {finding.cause}"
    if finding.probes:
        probes = [f"{probe.change}: {ours_text(probe.ours, finding, intervals=False)}" for probe in finding.probes]
        yield f"*Probes:* {'; '.join(probes)}"


def sentences(texts: Iterable[str]) -> str:
    """Join texts as sentences."""
    return " ".join(text if text.endswith((".", "?")) else f"{text}." for text in texts if text)


def row(answer: Answer) -> list[str]:
    """Return the row of a claim."""
    claim, finding = answer.claim, answer.finding
    ours = ours_text(finding.ours, finding) if finding else "–"
    how = f"{sentences(reasons(answer))} *Again:* `{command_text(claim)}`"
    what = f"{claim.what[:1].upper()}{claim.what[1:].rstrip('.')} ({claim.where})."
    beside = time_optimal_text(answer.time_optimal, finding)
    return [claim.id, what, published_text(claim), ours, beside, answer.verdict, rests_text(claim), how]


def claims_table(found: Reproduction, paper: str) -> str:
    """Return the claims of a paper, with its title above."""
    answers = [answer for answer in found.answers if answer.claim.paper == paper]
    header = ["claim", "what", "published", "ours", "time-optimal", "verdict", "rests on", "how, or why it differs"]
    return f"{title(paper)}\n\nSleds move by the model *{motion(paper)}*.\n\n{table(header, map(row, answers))}"


def perturbed(found: Reproduction) -> str:
    """Return what becomes of claims under the changes that contradict them, those that keep their verdict first."""
    done = sorted((answer for answer in found.answers if answer.perturbed), key=lambda answer: not answer.insensitive)
    rows = [
        [
            answer.claim.name,
            each.perturbation.change,
            ours_text(answer.finding.ours, answer.finding, intervals=False),
            each.reason if each.ours is None else ours_text(each.ours, answer.finding, intervals=False),
            f"{answer.verdict}: insensitive" if answer.insensitive else f"{answer.verdict}, then {each.verdict}",
        ]
        for answer in done
        if (each := answer.perturbed) and answer.finding
    ]
    insensitive = sum(answer.insensitive for answer in done)
    said = f"{len(done)} claims, of which {insensitive} keep their verdict."
    return f"{said}\n\n{table(['claim', 'with', 'ours', 'ours then', 'verdict'], rows)}"


def both_sides() -> str:
    """Return what papers that are at odds with themselves say in several places, and the arithmetic of each."""
    rows = [
        [name if side is sides[0] else "", side.where, side.arithmetic, side.text]
        for name, sides in contradictions().items()
        for side in sides
    ]
    return table(["claim", "where", "arithmetic", "makes"], rows)


def robust() -> str:
    """Return the orders of applications on other machines than the paper's."""
    return table(["application", "machine", "run time, ms, from the quickest", "against the paper's"], robust_orders())


def by_seed(found: Reproduction) -> str:
    """Return the verdicts that depend on the seed, and how many do not."""
    tried = [answer for answer in found.answers if answer.by_seed]
    seeds = max(len(answer.by_seed) for answer in tried)
    unstable = [answer for answer in tried if answer.unstable]
    rows = [[answer.claim.name, ", ".join(answer.by_seed)] for answer in unstable]
    same = len(tried) - len(unstable)
    said = f"{len(tried)} claims with {seeds} seeds each: the verdict of {same} is the same under all of them."
    return f"{said}\n\n{table(['claim', 'seed by seed'], rows)}" if rows else said


def seeds(found: Reproduction) -> str:
    """Return how many claims rest on runs with several seeds, their probes too, and which do not."""
    random = [answer for answer in found.answers if answer.seeds or answer.probe_seeds]
    fewer = [answer for answer in random if min(answer.seeds or MANY, answer.probe_seeds or MANY) < MANY]
    said = f"Of {len(found.answers)} claims {len(random)} rest on runs in which something is drawn at random"
    if not fewer:
        return f"{said}: these are made with {SEEDS_SAID} or more, those of probes too."
    said += f". Those of {len(random) - len(fewer)} are made with {SEEDS_SAID} or more, those of their probes too."
    rows = [[each.claim.name, *(str(count or "–") for count in (each.seeds, each.probe_seeds))] for each in fewer]
    header = ["claim", "seeds of its figure", "seeds of its probes alone"]
    return f"{said} The others cost too much:\n\n{table(header, rows)}"


#: A figure that is a mean over fewer seeds is told of.
MANY = len(SEEDS)


def full(found: Reproduction, run: FullRun) -> str:
    """Return how many claims have which verdict in a full run, and what differs from a quick one."""
    pairs = list(zip(found.answers, run.claims, strict=True))
    kinds = {
        "quick": Counter(quick.verdict for quick, _ in pairs),
        "full": Counter(other.verdict for _, other in pairs),
    }
    counts = [[kind, *(str(count[each]) for each in VERDICTS), str(len(pairs))] for kind, count in kinds.items()]
    others = [(quick, other) for quick, other in pairs if quick.verdict != other.verdict]
    moved = [(quick, other) for quick, other in pairs if quick.verdict == other.verdict and far_apart(quick, other)]
    parts = [
        f"Sledsim {run.sledsim}, {len(pairs)} claims: "
        f"the verdict of {len(pairs) - len(others)} is the same in a quick run and in a full one.",
        table(["run", *VERDICTS, "claims"], counts),
    ]
    header = ["claim", "published", "quick", "verdict", "full", "verdict"]
    for says, listed in (("", others), (f"A figure of {len(moved)} more moves by over {100 * FAR:g} %:", moved)):
        if listed:
            parts += [*([says] if says else []), table(header, [full_row(*pair) for pair in listed])]
    return "\n\n".join(parts)


def full_row(quick: Answer, other: FullAnswer) -> list[str]:
    """Return what a quick run and a full one find of a claim."""
    ours = ours_text(quick.finding.ours, quick.finding) if quick.finding else "–"
    return [quick.claim.name, published_text(quick.claim), ours, quick.verdict, other.text, other.verdict]


def far_apart(quick: Answer, other: FullAnswer) -> bool:
    """Whether a figure of a full run is far from that of a quick one."""
    before, after = figures_of(quick.finding.ours) if quick.finding else None, figures_of(other.ours)
    if before is None or after is None:
        return False
    return any(abs(a - b) > FAR * max(abs(a), abs(b)) for a, b in zip(before, after, strict=True))


def notes(found: Reproduction) -> dict[str, str]:
    """Return the paragraphs beside the tables, for the papers that were gone through."""
    with Study() as study:
        data = Found(found, study)
        return {name: make(data) for name, (paper, make) in NOTES.items() if paper in found.papers()}


def page(found: Reproduction, run: FullRun | None = None) -> str:
    """Return the page with what was found, and what a full run did: what is recorded of one, if none is given."""
    blocks = {
        "totals": totals(found),
        "not_done": not_done(found),
        "contradictions": both_sides(),
        # Where nothing was contradicted, what became of it before stays.
        **({"perturbed": perturbed(found)} if any(answer.perturbed for answer in found.answers) else {}),
        **({"by_seed": by_seed(found)} if any(answer.by_seed for answer in found.answers) else {}),
        **({"full": full(found, run or full_run.read())} if found.papers() == [*PAPERS] else {}),
        **({"robust": robust()} if "schlosser2000" in found.papers() else {}),
        **({"seeds": seeds(found)} if found.papers() == [*PAPERS] else {}),
        **{paper: claims_table(found, paper) for paper in found.papers()},
        **notes(found),
    }
    text = PAGE.read_text(encoding="utf-8")
    missing = set(blocks) - {match["name"] for match in BLOCK.finditer(text)}
    if missing:
        raise SystemExit(f"{PAGE} has no place for {', '.join(sorted(missing))}")

    def written(match: re.Match[str]) -> str:
        return f"{match['open']}{blocks[name]}\n{match['close']}" if (name := match["name"]) in blocks else match[0]

    return BLOCK.sub(written, text)


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description="Write docs/reference/claims.md from a quick run of all claims.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where it is out of date")
    parser.add_argument("--seeds", type=int, default=1, help="tell which verdicts depend on the seed, of so many")
    parser.add_argument(
        "--full",
        type=Path,
        default=full_run.RECORD,
        metavar="FILE",
        help="record what a full run found, of which this is the verdicts.json",
    )
    given = parser.parse_args()
    check = given.check
    if applications.are_made_here():
        print(f"{applications.folder()} has runs made here, and the page shows those recorded", file=sys.stderr)
        return 1
    run = full_run.read(given.full)
    with ProgressBar("reproducing", "claims") as progress:
        found = reproduce(time_optimal=True, perturb=True, seeds=given.seeds, progress=progress)
    missing = [answer.reason for answer in found.answers if answer.failed or "SLEDSIM_REFERENCE" in answer.reason]
    if missing or not found.complete:
        print("\n".join(["not every claim could be checked:", *missing]), file=sys.stderr)
        return 1
    text = page(found, run)
    if not check:
        full_run.record(run)
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE} is out of date: run make claims", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
