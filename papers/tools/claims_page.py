"""Write the pages of the papers' claims.

    python papers/tools/claims_page.py             check every claim (minutes), record the outcomes in
                                                   papers/records/quick.json and refresh docs/papers
    python papers/tools/claims_page.py NAME ...    check these papers and claims, replace their outcomes in the record
                                                   and refresh docs/papers; with --mode full in full.json
    python papers/tools/claims_page.py --full FILE record the outcomes of a full run from its verdicts.json
    python papers/tools/claims_page.py --site DIR  check and perturb every claim (minutes), and write the pages of
                                                   docs/papers with all tables and pictures; ``make docs`` does this
    python papers/tools/claims_page.py --seeds N NAME ...
                                                   check these papers and claims with each of N seeds, record the
                                                   verdicts in papers/records/seeds.json and refresh docs/papers

Traces are read from the folder named by SLEDSIM_REFERENCE.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import recorded
from claims_notes import NOTES, Found, NotDoneError
from recorded import Record
from sledsim.report import write_chart
from sledsim.show import ProgressBar
from sledsim_papers.harness.averaging import SEEDS, SEEDS_SAID
from sledsim_papers.harness.claim import PAPERS, VERDICTS, claims, figures_of, motion, title
from sledsim_papers.harness.claim_charts import claim_chart
from sledsim_papers.harness.reproduction import Answer, Reproduction, reproduce
from sledsim_papers.harness.study import Study
from sledsim_papers.harness.verdicts import verdicts
from sledsim_papers.harness.wording import (
    command_text,
    other_text,
    ours_text,
    published_text,
    rests_text,
    time_optimal_text,
)
from sledsim_papers.schlosser2000.application_claims import checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from recorded import Outcome
    from sledsim_papers.harness.claim import Verdict

PAGES = Path(__file__).parents[2] / "docs" / "papers"
#: The page that has all tables on the site.
ALL = PAGES / "claims.md"
#: Relative difference from which the figures of a quick and a full run are listed.
FAR = 0.1
#: Verdicts on figures that do not agree with the claim.
DISAGREES = ("paper inconsistent", "shape only", "differs")
#: A figure that is a mean over fewer seeds is listed.
ENOUGH_SEEDS = len(SEEDS)
#: Where a page has a table from the record, and where the site has a block that is computed.
FROM_RECORD = re.compile(
    r"(?P<open><!-- (?P<kind>verdicts|claims|others|seeds): (?P<names>[^>]+) -->\n).*?(?P<close><!-- end -->)",
    re.DOTALL,
)
COMPUTED = re.compile(r"<!-- computed: (?P<name>\w+) -->\n")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    header = list(header)
    lines = [header, ["---"] * len(header), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def with_record(text: str, run: Record) -> str:
    """Return a page with its tables from a record.

    Parameters
    ----------
    text
        The page. ``<!-- verdicts: PAPER ... -->`` has the counts of verdicts of these papers,
        ``<!-- claims: PAPER.CLAIM ... -->`` the outcomes of these claims, ``<!-- others: PAPER -->`` those of the
        paper's other claims that do not agree, and ``<!-- seeds: PAPER ... -->`` the verdicts that depend on the seed.
    run
        The outcomes.
    """
    listed = {
        name for match in FROM_RECORD.finditer(text) if match["kind"] == "claims" for name in match["names"].split()
    }

    def filled(match: re.Match[str]) -> str:
        names = match["names"].split()
        if match["kind"] == "others":
            found = [each for paper in names for each in run.of(paper)]
            names = [each.name for each in found if each.verdict in DISAGREES and each.name not in listed]
        if match["kind"] == "seeds":
            return f"{match['open']}{by_seed(names)}\n{match['close']}"
        made = verdict_counts(run, names) if match["kind"] == "verdicts" else outcomes(run, names)
        return f"{match['open']}{made}\n{match['close']}"

    return FROM_RECORD.sub(filled, text)


def verdict_counts(run: Record, papers: list[str]) -> str:
    """Return how many claims of papers have which verdict."""
    rows = [count_row(f"[{paper}]({paper}.md)", run.of(paper)) for paper in papers]
    if len(papers) > 1:
        rows.append(count_row("total", run.claims))
    return table(["paper", *VERDICTS, "claims"], rows)


def count_row(label: str, found: tuple[Outcome, ...]) -> list[str]:
    """Return a label, how many outcomes have each verdict, and their number."""
    count = Counter(each.verdict for each in found)
    return [label, *(str(count[each]) for each in VERDICTS), str(len(found))]


def outcomes(run: Record, names: list[str]) -> str:
    """Return what the paper says, what was found for claims, and why it differs."""
    found, seeds = {each.name: each for each in run.claims}, recorded.read_seeds()
    rows = []
    for claim, each in ((claims()[name], found[name]) for name in names):
        why = [claim.why if each.verdict in DISAGREES else "", seed_text(seeds.get(claim.name, ()))]
        what = f"{sentence(claim.what)} ({claim.where})"
        rows.append([what, published_text(claim), each.text, each.verdict, " ".join(filter(None, why))])
    return table(["claim", "paper", "Sledsim", "verdict", "why it differs"], rows)


def seed_text(verdicts: Sequence[Verdict]) -> str:
    """Return how often each verdict occurs with single seeds; empty if it is the same with all."""
    counts = Counter(verdicts)
    said = ", ".join(f"{each} with {counts[each]}" for each in VERDICTS if counts[each])
    return f"By seed: {said}." if len(counts) > 1 else ""


def by_seed(papers: Sequence[str]) -> str:
    """Return how many claims were checked with several seeds, and those whose verdict depends on the seed."""
    found = {name: verdicts for name, verdicts in recorded.read_seeds().items() if name.partition(".")[0] in papers}
    rows = [[name, ", ".join(verdicts)] for name, verdicts in found.items() if len({*verdicts}) > 1]
    most = max(map(len, found.values()), default=0)
    said = f"{len(found)} claims with each of {most} seeds: the verdict of {len(rows)} depends on the seed."
    return f"{said}\n\n{table(['claim', 'verdict, seed by seed'], rows)}" if rows else said


def sentence(what: str) -> str:
    """Return what a claim says with a capital and without a full stop."""
    return f"{what[:1].upper()}{what[1:].rstrip('.')}"


def reasons(answer: Answer) -> Iterator[str]:
    """Yield sentences on how a claim was checked and why it differs, or why it was not done."""
    finding = answer.finding
    if finding is None:
        yield answer.reason
        return
    yield finding.how
    if finding.assumes:
        yield f"*Assumed, with the sign of the claim:* {finding.assumes}"
    if answer.verdict == "paper inconsistent":
        yield f"*The paper contradicts itself:* {answer.claim.contradicts}"
    if answer.verdict == "shape only":
        yield f"Shape: {answer.claim.shape}"
    if answer.verdict in DISAGREES and (answer.claim.why or finding.cause):
        yield f"*Why it differs:* {' '.join(filter(None, (answer.claim.why, finding.cause)))}"
    yield seed_text(recorded.read_seeds().get(answer.claim.name, ()))
    if finding.probes:
        probes = [f"{probe.change}: {ours_text(probe.ours, finding, intervals=False)}" for probe in finding.probes]
        yield f"*Probes:* {'; '.join(probes)}"


def row(answer: Answer) -> list[str]:
    """Return the row of a claim."""
    claim, finding = answer.claim, answer.finding
    ours = ours_text(finding.ours, finding) if finding else "–"
    texts = [text if text.endswith((".", "?")) else f"{text}." for text in reasons(answer) if text]
    how = " ".join([*texts, f"*Again:* `{command_text(claim)}`"])
    beside = time_optimal_text(answer.time_optimal, finding)
    what = f"{sentence(claim.what)} ({claim.where})."
    return [claim.id, what, published_text(claim), ours, beside, answer.verdict, rests_text(claim), how]


def claims_table(found: Reproduction, paper: str) -> str:
    """Return the claims of a paper, with its title above."""
    answers = [answer for answer in found.answers if answer.claim.paper == paper]
    header = ["claim", "what", "paper", "Sledsim", "time-optimal", "verdict", "rests on", "how, or why it differs"]
    return f"{title(paper)}. Sleds move by the model *{motion(paper)}*.\n\n{table(header, map(row, answers))}"


def not_done(found: Reproduction) -> str:
    """Return the names of the claims that are not done, by paper and reason."""
    waiting: dict[tuple[str, str], list[str]] = {}
    for each in found.answers:
        if each.verdict == "not done":
            waiting.setdefault((each.claim.paper, each.reason), []).append(f"`{each.claim.id}`")
    lines = [f"- {paper}, {reason} ({len(ids)}): {', '.join(ids)}" for (paper, reason), ids in waiting.items()]
    return "\n".join(lines) or "Every claim is done."


def perturbed(found: Reproduction) -> str:
    """Return the outcomes of claims with their perturbations, those that keep their verdict first."""
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
    kept = sum(answer.insensitive for answer in done)
    header = ["claim", "with", "Sledsim", "perturbed", "verdict"]
    return f"{len(done)} claims, of which {kept} keep their verdict.\n\n{table(header, rows)}"


def contradicting() -> str:
    """Return the claims that contradict another statement of their paper."""
    rows = [
        [name, published_text(claim), other_text(claim), claim.contradicts]
        for name, claim in claims().items()
        if claim.contradicts
    ]
    return table(["claim", "judged", "other statement", "contradiction"], rows)


def replay_checks() -> str:
    """Return run times of applications on whole machines beside those of replays."""
    with Study() as study:
        return table(["run", "device", "machine, ms", "replay, ms", "difference"], checks(study))


def seeds(found: Reproduction) -> str:
    """Return how many claims rest on runs with several seeds, and a table of the others."""
    random = [answer for answer in found.answers if answer.seeds or answer.probe_seeds]
    fewer = [
        each for each in random if min(each.seeds or ENOUGH_SEEDS, each.probe_seeds or ENOUGH_SEEDS) < ENOUGH_SEEDS
    ]
    said = f"Of {len(found.answers)} claims {len(random)} rest on random numbers, {len(random) - len(fewer)} of them on"
    said += f" runs with {SEEDS_SAID} or more."
    if not fewer:
        return said
    rows = [[each.claim.name, *(str(count or "–") for count in (each.seeds, each.probe_seeds))] for each in fewer]
    return f"{said}\n\n{table(['claim', 'seeds of its figure', 'seeds of its probes alone'], rows)}"


def full(quick: Record, other: Record) -> str:
    """Return how the outcomes of a full run differ from those of a quick one."""
    pairs = list(zip(quick.claims, other.claims, strict=True))
    counts = [count_row(each.mode, each.claims) for each in (quick, other)]
    changed = [pair for pair in pairs if pair[0].verdict != pair[1].verdict]
    moved = [pair for pair in pairs if pair not in changed and far_apart(*pair)]
    parts = [
        f"Sledsim {other.sledsim}, {len(pairs)} claims: the verdict of {len(pairs) - len(changed)} is the same.",
        table(["run", *VERDICTS, "claims"], counts),
    ]
    header = ["claim", "paper", "quick", "verdict", "full", "verdict"]
    for heading, listed in (("", changed), (f"{len(moved)} other figures move by over {100 * FAR:g} %:", moved)):
        if listed:
            rows = [[a.name, published_text(claims()[a.name]), a.text, a.verdict, b.text, b.verdict] for a, b in listed]
            parts += [*([heading] if heading else []), table(header, rows)]
    return "\n\n".join(parts)


def far_apart(quick: Outcome, other: Outcome) -> bool:
    """Return true if a figure of a full run is far from that of a quick one."""
    before, after = figures_of(quick.ours), figures_of(other.ours)
    if before is None or after is None:
        return False
    return any(abs(a - b) > FAR * max(abs(a), abs(b)) for a, b in zip(before, after, strict=True))


def notes(found: Reproduction) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs beside the tables; those of claims that are not done say why."""
    with Study() as study:
        data = Found(found, study)
        for name, make in NOTES.items():
            try:
                yield name, make(data)
            except NotDoneError as error:
                yield name, f"*Not done:* {error}"


#: Folder of the pictures beside the pages of the site.
PICTURES = "pictures"


def headlines(text: str) -> list[str]:
    """Return the names of the claims of a page that have a picture each."""
    listed = [match["names"].split() for match in FROM_RECORD.finditer(text) if match["kind"] == "claims"]
    return [name for names in listed for name in names]


def pictures(found: Reproduction, names: Iterable[str], folder: Path) -> str:
    """Write the charts of claims as files; return the Markdown that shows them.

    Parameters
    ----------
    found
        The outcomes of all claims.
    names
        Names of claims.
    folder
        The folder of the page; the charts lie in a folder of it.
    """
    answers = {answer.claim.name: answer for answer in found.answers}
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    shown = []
    for name in names:
        chart = claim_chart(answers[name])
        if chart is not None:
            stem = name.replace(".", "-")
            write_chart(chart, folder / PICTURES / stem)
            what = sentence(answers[name].claim.what)
            shown.append(f"**{what}** ({answers[name].verdict}):\n\n![{what}]({PICTURES}/{stem}.svg)")
    return "\n\n".join(shown)


def site(found: Reproduction, folder: Path) -> None:
    """Write the pages with every table and picture.

    Parameters
    ----------
    found
        The outcomes of all claims, with perturbations and time-optimal motion.
    folder
        Gets the pages and a folder with the pictures.
    """
    blocks = {
        "not_done": not_done(found),
        "contradictions": contradicting(),
        "perturbed": perturbed(found),
        "full": full(record_of(found), recorded.read("full")),
        "replay_checks": replay_checks(),
        "seeds": seeds(found),
        **{paper: claims_table(found, paper) for paper in PAPERS},
        **dict(notes(found)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(PAGES.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        own = {**blocks, "pictures": pictures(found, headlines(text), folder)}
        (folder / path.name).write_text(filled(text, own), encoding="utf-8")


def filled(text: str, blocks: Mapping[str, str]) -> str:
    """Return a page with its computed blocks.

    Parameters
    ----------
    text
        The page.
    blocks
        Texts by the name in ``<!-- computed: NAME -->``.
    """
    return COMPUTED.sub(lambda match: f"{blocks[match['name']]}\n", text)


def record_of(found: Reproduction) -> Record:
    """Return the record of what was found."""
    return Record.model_validate(verdicts(found))


def check_all() -> Reproduction:
    """Check and perturb every claim with small samples; this takes minutes."""
    with ProgressBar("reproducing", "claims") as progress:
        return reproduce(time_optimal=True, perturb=True, progress=progress)


def refresh(names: Sequence[str] = (), mode: recorded.Mode = "quick") -> None:
    """Check claims, write the record and refresh the pages.

    Parameters
    ----------
    names
        Papers and claims whose outcomes are replaced; all if not given.
    mode
        The record to write.
    """
    chosen: Sequence[str | None] = names or [None]
    with Study(quick=mode == "quick") as study, ProgressBar("reproducing", "claims") as progress:
        for name in chosen:
            # A record has no probes.
            found = reproduce(name, study=study.unprobed(), progress=progress)
            missing = [each.reason for each in found.answers if each.failed or "SLEDSIM_REFERENCE" in each.reason]
            if missing or not found.complete:
                raise SystemExit("\n".join(["not every claim could be checked:", *missing]))
            (recorded.update if name else recorded.write)(record_of(found))
    if mode == "quick":
        refresh_pages()


def refresh_pages() -> None:
    """Write the tables from the records into docs/papers."""
    for path in sorted(PAGES.glob("*.md")):
        path.write_text(with_record(path.read_text(encoding="utf-8"), recorded.read("quick")), encoding="utf-8")


def record_seeds(names: Sequence[str], count: int) -> None:
    """Check claims with each of several seeds, record their verdicts and refresh the pages.

    Parameters
    ----------
    names
        Papers and claims.
    count
        Number of seeds.
    """
    with Study() as study, ProgressBar("reproducing", "claims") as progress:
        for name in names:
            found = reproduce(name, seeds=count, study=study.unprobed(), progress=progress)
            recorded.update_seeds({each.claim.name: each.by_seed for each in found.answers if each.by_seed})
    refresh_pages()


def main() -> int:
    """Write what is asked for."""
    parser = argparse.ArgumentParser(description="Record the outcomes of the papers' claims and refresh their pages.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="PAPER or PAPER.CLAIM to check; all if not given")
    parser.add_argument("--mode", choices=["quick", "full"], default="quick", help="sample sizes, and the record")
    parser.add_argument("--full", type=Path, metavar="FILE", help="record a full run from its verdicts.json")
    parser.add_argument("--site", type=Path, metavar="DIR", help="write the pages with all tables and pictures")
    parser.add_argument("--seeds", type=int, metavar="N", help="record the verdicts with each of N seeds")
    given = parser.parse_args()
    if given.full:
        recorded.write(recorded.read("full", given.full))
    elif given.site:
        site(check_all(), given.site)
    elif given.seeds:
        record_seeds(given.names or PAPERS, given.seeds)
    else:
        refresh(given.names, given.mode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
