"""The pages of claims: their tables, and the records that these are made from."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

import claims_page
import recorded
from claims_notes import NOTES
from conftest import SCENARIO
from documented_claims import documented
from sledsim import __version__
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.claim import PAPERS, claims
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.registry import select
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.study import Study
from sledsim_papers.harness.wording import command_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome
    from sledsim_papers.harness.claim import Verdict

SEEK, SETTLE, FALLS, MEAN = (f"griffin1999.{name}" for name in ("seek-max", "settle-time", "acceleration", "seek-mean"))


def longest_seek(study: Study) -> Finding:
    """Return a figure that agrees in a full run only."""
    return Finding(2.5 if study.quick else 2.72, "", decimals=2, intervals=((2.4, 2.6 if study.quick else 2.75),))


def settling(study: Study) -> Finding:
    """Return a figure that moves a little and agrees in both runs."""
    return Finding(0.72 if study.quick else 0.721, "")


def access(study: Study) -> Finding:
    """Return a trend that agrees in a quick run only."""
    return Finding("-" if study.quick else "?", "")


def mean_seek(study: Study) -> Finding:
    """Return a figure that moves far and agrees in neither run."""
    return Finding(3.0 if study.quick else 3.4, "", decimals=1)


@pytest.fixture
def verdicts_file(sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the verdicts.json of a full run in which four claims are done."""
    made_up = {SEEK: longest_seek, SETTLE: settling, FALLS: access, MEAN: mean_seek}
    monkeypatch.setattr(reproduction, "experiments", lambda: made_up)
    path = tmp_path / "verdicts.json"
    path.write_text(sledsim_cli("reproduce", "--full", "--json").out, encoding="utf-8")
    return path


def test_differences_between_a_quick_and_a_full_run_are_listed(verdicts_file: Path) -> None:
    quick = claims_page.record_of(reproduce())
    assert claims_page.full(quick, recorded.read("full", verdicts_file)).splitlines() == [
        f"Sledsim {__version__}, 292 claims: the verdict of 290 is the same.",
        "",
        "| run | by construction | reproduced | paper inconsistent | shape only | differs | not done | claims |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| quick | 0 | 2 | 0 | 0 | 2 | 288 | 292 |",
        "| full | 0 | 2 | 0 | 0 | 2 | 288 | 292 |",
        "",
        "| claim | paper | quick | verdict | full | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| {SEEK} | 2.72 ms ± 1 % | 2.50 (2.40 to 2.60) | differs | 2.72 (2.40 to 2.75) | reproduced |",
        f"| {FALLS} | falls | falls | reproduced | rises and falls | differs |",
        "",
        "1 other figures move by over 10 %:",
        "",
        "| claim | paper | quick | verdict | full | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| {MEAN} | 1.81 ms ± 2 % | 3.0 | differs | 3.4 | differs |",
    ]


def test_verdicts_that_depend_on_the_seed_are_counted() -> None:
    assert claims_page.seed_text(()) == claims_page.seed_text(("differs",) * 5) == ""
    several: list[Verdict] = ["differs", "shape only", "shape only", "differs", "shape only"]
    assert claims_page.seed_text(several) == "By seed: shape only with 3, differs with 2."


def test_rows_say_which_verdicts_depend_on_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = claims_page.record_of(reproduce(SETTLE))
    for verdicts, ends in ((("reproduced",) * 2, "reproduced |  |"), (("reproduced", "differs"), "differs with 1. |")):
        monkeypatch.setattr(recorded, "read_seeds", lambda verdicts=verdicts: {SETTLE: verdicts})
        assert claims_page.outcomes(quick, [SETTLE]).endswith(ends)


def test_a_record_that_is_written_is_read_back(
    verdicts_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(recorded, "RECORDS", tmp_path)
    run = recorded.read("full", verdicts_file)
    recorded.write(run)
    assert recorded.read("full") == run


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"mode": "quick"}, "from a quick run, not from a full one"),
        ({"complete": False}, "complete: Input should be True"),
        ({"claims": []}, "does not list every claim once"),
        ({"claims": [{"name": SEEK, "verdict": "perhaps"}]}, "claims.0.verdict: Input should be"),
    ],
)
def test_a_file_that_is_not_a_complete_full_run_is_refused(
    verdicts_file: Path, change: dict[str, Any], error: str
) -> None:
    given = json.loads(verdicts_file.read_text(encoding="utf-8"))
    verdicts_file.write_text(json.dumps(given | change), encoding="utf-8")
    with pytest.raises(SystemExit, match=re.escape(error)):
        recorded.read("full", verdicts_file)


def test_a_file_that_is_missing_or_not_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    with pytest.raises(SystemExit, match="No such file"):
        recorded.read("full", path)
    path.write_text("{")
    with pytest.raises(SystemExit, match="Invalid JSON"):
        recorded.read("full", path)


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_a_record_has_every_claim(mode: recorded.Mode) -> None:
    assert [each.name for each in recorded.read(mode).claims] == [*claims()]


def test_the_pages_have_the_recorded_outcomes() -> None:
    quick = recorded.read("quick")
    pages = {path.stem: path.read_text(encoding="utf-8") for path in claims_page.PAGES.glob("*.md")}
    assert pages.keys() == {*PAPERS, "claims"}
    for text in pages.values():
        assert claims_page.FROM_RECORD.search(text)
        assert claims_page.with_record(text, quick) == text, "run `make claims`"


def test_every_place_of_the_page_of_claims_is_filled() -> None:
    with Study() as study:
        found = reproduce("lin2002.access-power", time_optimal=True, perturb=True, study=study)
    names = claims_page.COMPUTED.findall(claims_page.ALL.read_text(encoding="utf-8"))
    assert {*PAPERS, *NOTES, "perturbed", "contradictions", "full"} <= {*names}
    assert "lin2002" in claims_page.claims_table(found, "lin2002") + claims_page.perturbed(found)
    assert "| access-power |" in claims_page.claims_table(found, "lin2002")


def test_claims_with_few_seeds_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(study: Study) -> Finding:
        return Finding(study.run({**SCENARIO, "seed": 1}).response.mean_ms, "")

    def many(study: Study) -> Finding:
        return Finding(study.run({key: SCENARIO[key] for key in SCENARIO if key != "seed"}).response.mean_ms, "")

    monkeypatch.setattr(reproduction, "experiments", lambda: {SEEK: few, MEAN: many, SETTLE: settling})
    assert claims_page.seeds(reproduce("griffin1999")).splitlines() == [
        "Of 47 claims 2 rest on random numbers, 1 of them on runs with seeds 1 to 3 or more.",
        "",
        "| claim | seeds of its figure | seeds of its probes alone |",
        "| --- | --- | --- |",
        f"| {SEEK} | 1 | – |",
    ]


def test_the_command_of_a_claim_selects_it() -> None:
    for claim in claims().values():
        assert select(command_text(claim).removeprefix("sledsim reproduce ")) == [claim.name]


#: A claim of each paper that takes no run, or hardly any.
QUICK = (
    *("griffin1999.capacity", "schlosser2000.spring-turnaround", "lin2002.break-even"),
    *("schlosser2004.g2-capacity", "hong2006.mttf-no-repair"),
)


@pytest.mark.parametrize("name", QUICK)
def test_the_command_of_a_claim_gives_the_recorded_outcome(name: str, sledsim_cli: Callable[..., Outcome]) -> None:
    paper, _, claim = name.partition(".")
    [row] = [row for row in documented(paper) if row.claim == claim]
    found = sledsim_cli(*shlex.split(command_text(claims()[name]))[1:])
    assert found.status == 0, found.err
    [line] = [line for line in found.out.splitlines() if line.startswith(name)]
    assert re.search(rf" {re.escape(row.ours)}( \S+)? +{row.verdict} ", line), (row, line)


def test_outcomes_of_some_claims_replace_those_of_a_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = recorded.read("quick")
    monkeypatch.setattr(recorded, "RECORDS", tmp_path)
    dropped = before.model_copy(update={"claims": tuple(each for each in before.claims if each.name != MEAN)})
    recorded.write(dropped)
    monkeypatch.setattr(reproduction, "experiments", lambda: {SETTLE: settling, MEAN: mean_seek})
    for name in (SETTLE, MEAN):
        recorded.update(claims_page.record_of(reproduce(name)))
    found = {each.name: each for each in recorded.read("quick").claims}
    assert (found[MEAN].text, found[SETTLE].text) == ("3.0", "0.720")
    assert all(found[each.name] == each for each in before.claims if each.name not in {SETTLE, MEAN})


def test_claims_whose_verdict_depends_on_the_seed_are_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recorded, "RECORDS", tmp_path)
    recorded.update_seeds({SEEK: ("differs", "differs"), MEAN: ("differs", "differs")})
    recorded.update_seeds({SEEK: ("differs", "reproduced")})
    assert claims_page.by_seed(["griffin1999"]).splitlines() == [
        "2 claims with each of 2 seeds: the verdict of 1 depends on the seed.",
        "",
        "| claim | verdict, seed by seed |",
        "| --- | --- |",
        f"| {SEEK} | differs, reproduced |",
    ]
    assert claims_page.by_seed(["lin2002"]) == "0 claims with each of 0 seeds: the verdict of 0 depends on the seed."
