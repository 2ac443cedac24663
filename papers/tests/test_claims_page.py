"""What docs/reference/claims.md has beside a quick run: a full one, commands, and both sides of what a paper says."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import claims_notes
import claims_page
import full_run
from conftest import SCENARIO
from documented_claims import documented, tables
from sledsim import __version__, machine
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.contradictions import contradictions
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.ledger import PAPERS, VERDICTS, claims
from sledsim_papers.harness.registry import select
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.schlosser2000 import applications

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome
    from sledsim_papers.harness.study import Study

SEEK, SETTLE, FALLS, MEAN = (f"griffin1999.{name}" for name in ("seek-max", "settle-time", "acceleration", "seek-mean"))


def longest_seek(study: Study) -> Finding:
    """Return a figure that agrees in a full run alone."""
    return Finding(2.5 if study.quick else 2.72, "", decimals=2, intervals=((2.4, 2.6 if study.quick else 2.75),))


def settling(study: Study) -> Finding:
    """Return a figure that moves, and agrees in either run."""
    return Finding(0.72 if study.quick else 0.721, "")


def access(study: Study) -> Finding:
    """Return a trend that agrees in a quick run alone."""
    return Finding("-" if study.quick else "?", "")


def mean_seek(study: Study) -> Finding:
    """Return a figure that moves by far, and agrees in neither run."""
    return Finding(3.0 if study.quick else 3.4, "", decimals=1)


@pytest.fixture
def verdicts_file(sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return verdicts.json of a full run in which four claims are done."""
    made_up = {SEEK: longest_seek, SETTLE: settling, FALLS: access, MEAN: mean_seek}
    monkeypatch.setattr(reproduction, "experiments", lambda: made_up)
    path = tmp_path / "verdicts.json"
    path.write_text(sledsim_cli("reproduce", "--full", "--json").out, encoding="utf-8")
    return path


def test_a_full_run_stands_beside_the_quick_one(verdicts_file: Path) -> None:
    assert claims_page.full(reproduce(), full_run.read(verdicts_file)).splitlines() == [
        f"Sledsim {__version__}, 277 claims: the verdict of 275 is the same in a quick run and in a full one.",
        "",
        "| run | by construction | reproduced | shape only | differs | not done | claims |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| quick | 0 | 2 | 0 | 2 | 273 | 277 |",
        "| full | 0 | 2 | 0 | 2 | 273 | 277 |",
        "",
        "| claim | published | quick | verdict | full | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| {SEEK} | 2.72 ms ± 1 % | 2.50 (2.40 to 2.60) | differs | 2.72 (2.40 to 2.75) | reproduced |",
        f"| {FALLS} | falls | falls | reproduced | rises and falls | differs |",
        "",
        "A figure of 1 more moves by over 10 %:",
        "",
        "| claim | published | quick | verdict | full | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| {MEAN} | 1.81 ms ± 2 % | 3.0 | differs | 3.4 | differs |",
    ]


def test_a_claim_that_either_run_lacks_has_no_figure(verdicts_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction, "experiments", lambda: {SEEK: longest_seek, "griffin1999.seek-std": settling})
    rows = claims_page.full(reproduce(), full_run.read(verdicts_file)).splitlines()[-5:]
    assert [row.rpartition(" % | ")[2] for row in rows[:4]] == [
        "– | not done | 0.721 | reproduced |",
        "– | not done | 3.4 | differs |",
        "0.720 | differs | – | not done |",
        "2.50 (2.40 to 2.60) | differs | 2.72 (2.40 to 2.75) | reproduced |",
    ]


def test_what_is_recorded_of_a_full_run_says_the_same(
    verdicts_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(full_run, "RECORD", tmp_path / "full_run.json")
    run = full_run.read(verdicts_file)
    full_run.record(run)
    assert full_run.read(full_run.RECORD) == run


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mode": "quick"}, "mode: Input should be 'full'"),
        ({"complete": False}, "complete: Input should be True"),
        ({"claims": []}, "not about the claims of the ledger"),
        ({"claims": [{"name": SEEK, "verdict": "perhaps"}]}, "claims.0.verdict: Input should be"),
    ],
)
def test_what_is_no_whole_full_run_is_refused(verdicts_file: Path, change: dict[str, Any], said: str) -> None:
    given = json.loads(verdicts_file.read_text(encoding="utf-8"))
    verdicts_file.write_text(json.dumps(given | change), encoding="utf-8")
    with pytest.raises(SystemExit, match=re.escape(said)):
        full_run.read(verdicts_file)


def test_a_file_that_is_missing_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="No such file"):
        full_run.read(tmp_path / "verdicts.json")
    (tmp_path / "verdicts.json").write_text("{")
    with pytest.raises(SystemExit, match="Invalid JSON"):
        full_run.read(tmp_path / "verdicts.json")


def test_the_page_is_not_made_of_runs_made_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(applications, "folder", lambda: tmp_path)
    monkeypatch.setattr(machine, "is_there", lambda: True)
    monkeypatch.setattr("sys.argv", ["claims_page.py", "--full", str(tmp_path / "none.json")])
    # With none there it goes on, to the file that is missing.
    with pytest.raises(SystemExit, match="No such file"):
        claims_page.main()
    (tmp_path / "andrew-g1.json").write_text("{}")
    assert claims_page.main() == 1
    assert f"{tmp_path} has runs made here" in capsys.readouterr().err


def test_the_page_says_of_a_full_run_what_is_recorded_of_one() -> None:
    runs = {
        "quick": {f"{paper}.{row.claim}": row.verdict for paper in PAPERS for row in documented(paper)},
        "full": {each.name: str(each.verdict) for each in full_run.read().claims},
    }
    counts, *listings = tables("full")
    for row, (kind, verdicts) in zip(counts, runs.items(), strict=True):
        count = Counter(verdicts.values())
        assert row == [kind, *(str(count[each]) for each in VERDICTS), "277"]
    rows = [row for listing in listings for row in listing]
    listed = {row[0]: (row[3], row[5]) for row in rows if row[3] != row[5]}
    both = {name: (runs["quick"][name], runs["full"][name]) for name in claims()}
    assert listed == {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def test_the_page_has_both_sides_of_what_papers_say() -> None:
    assert f"<!-- computed: contradictions -->\n{claims_page.both_sides()}\n<!-- end -->" in claims_page.PAGE.read_text(
        "utf-8"
    )
    [rows] = tables("contradictions")
    assert [row[0] for row in rows if row[0]] == [*contradictions()]
    seek = [row[0] for row in rows].index(SEEK)
    assert [row[3] for row in rows[seek : seek + 2]] == ["2.72 ms", "2.59 ms"]


def test_no_measured_figure_of_the_page_is_typed() -> None:
    text = claims_page.PAGE.read_text("utf-8")
    assert {*claims_notes.NOTES, *PAPERS, "seeds"} <= {match["name"] for match in claims_page.BLOCK.finditer(text)}
    names = r"`[^`]*`|\]\([^)]*\)|griffin1999|schlosser20..|lin2002|hong2006"
    typed = re.findall(r"\d[\d,.]*\d|\d", re.sub(names, "", outside(text)))
    # Settings, and what papers and DiskSim print; the mean of sizes in whole blocks is that of a geometric number.
    known = {"5", "95", "0.2", "2", "1", "1e-5", "4096", "4357", "4", "128"}
    assert {each.strip(".,") for each in typed} <= known
    assert round(512 / (1 - math.exp(-512 / 4096))) == 4357


def outside(text: str) -> str:
    """Return what of the page is written by hand."""
    return claims_page.BLOCK.sub("", text)


def test_the_seeds_of_claims_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(study: Study) -> Finding:
        return Finding(study.run({**SCENARIO, "seed": 1}).response.mean_ms, "")

    def many(study: Study) -> Finding:
        return Finding(study.run({key: SCENARIO[key] for key in SCENARIO if key != "seed"}).response.mean_ms, "")

    monkeypatch.setattr(reproduction, "experiments", lambda: {SEEK: few, MEAN: many, SETTLE: settling})
    assert claims_page.seeds(reproduce("griffin1999")).splitlines() == [
        "Of 45 claims 2 rest on runs in which something is drawn at random. Those of 1 are made with seeds 1 to 3 or "
        "more, those of their probes too. The others cost too much:",
        "",
        "| claim | seeds of its figure | seeds of its probes alone |",
        "| --- | --- | --- |",
        f"| {SEEK} | 1 | – |",
    ]


@pytest.mark.parametrize("paper", PAPERS)
def test_each_row_has_the_command_that_checks_its_claim_again(paper: str) -> None:
    for row in documented(paper):
        command = row.how.rpartition("*Again:* ")[2].strip("`")
        name = command.removeprefix("sledsim reproduce ")
        assert select(name) == [f"{paper}.{row.claim}"]


#: A claim of each paper that takes no run, or hardly any.
AGAIN = (
    *("griffin1999.capacity", "schlosser2000.spring-turnaround", "lin2002.break-even"),
    *("schlosser2004.g2-capacity", "hong2006.mttf-no-repair"),
)


@pytest.mark.parametrize("name", AGAIN)
def test_the_command_of_a_row_finds_what_the_row_says(name: str, sledsim_cli: Callable[..., Outcome]) -> None:
    paper, _, claim = name.partition(".")
    [row] = [row for row in documented(paper) if row.claim == claim]
    [command] = re.findall(r"\*Again:\* `sledsim (.+)`$", row.how)
    found = sledsim_cli(*shlex.split(command))
    assert found.status == 0, found.err
    [line] = [line for line in found.out.splitlines() if line.startswith(name)]
    assert row.published in line
    assert re.search(rf" {re.escape(row.ours)}( \S+)? +{row.verdict} ", line), (row, line)
