"""Every claim has its recorded verdict, and every difference has a cause and evidence."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from typer.testing import CliRunner

import claims_page
import recorded
from conftest import REFERENCE, reference
from documented_claims import documented
from sledsim.cli.app import app
from sledsim.scenario import resolve
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.claim import HARDLY_MOVES, PAPERS, claims, motion
from sledsim_papers.harness.registry import experiments, pictures
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.stand_ins import stand_ins
from test_motion import sleds_of
from test_readme import COMMANDS
from test_report import WIDTHS, check_drawn, check_page

if TYPE_CHECKING:
    from pathlib import Path

    from sledsim_papers.harness.claim import Claim
    from sledsim_papers.harness.finding import Ours
    from sledsim_papers.harness.reproduction import Reproduction


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reproduction, Path]:
    """Return the result of a quick run of every claim, and the folder with its report (takes minutes)."""
    reference("ledger-3")
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        return readme_report(folder, patch), folder


def readme_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Reproduction:
    """Write the report of every claim like the command of README, and return the result (takes minutes)."""
    [words] = [shlex.split(each) for each in COMMANDS if each.startswith("sledsim reproduce")]
    assert words[:3] == ["sledsim", "reproduce", "--report"]
    found: list[Reproduction] = []

    def kept(*arguments: Any, **settings: Any) -> Reproduction:
        found.append(reproduce(*arguments, **settings))
        return found[-1]

    monkeypatch.setenv("SLEDSIM_REFERENCE", str(REFERENCE))
    monkeypatch.setattr(reproduction, "reproduce", kept)
    done = CliRunner().invoke(app, [*words[1:3], str(folder), *words[4:]])
    assert done.exit_code == 0, done.output
    return found[0]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_has_an_experiment_and_a_recorded_outcome(paper: str) -> None:
    assert {name for name in experiments() if name.startswith(f"{paper}.")} == set(claims(paper))
    assert {f"{paper}.{row.claim}" for row in documented(paper)} == set(claims(paper))
    assert not [row.claim for row in documented(paper) if row.verdict == "not done"]


def test_exactly_the_claims_that_disagree_have_a_reason() -> None:
    records = [recorded.read(mode) for mode in get_args(recorded.Mode)]
    disagree = {each.name for run in records for each in run.claims if each.verdict in claims_page.DISAGREES}
    assert {name for name, claim in claims().items() if claim.why} == disagree


@pytest.mark.slow
def test_every_claim_has_a_verdict(quick_run: tuple[Reproduction, Path]) -> None:
    found = quick_run[0]
    assert found.complete
    assert not [(str(each), each.reason) for each in found.failures]
    asked = [name for name, claim in claims().items() if claim.paper in found.papers()]
    assert [answer.claim.name for answer in found.answers] == asked
    assert not [answer.claim.name for answer in found.answers if answer.verdict == "not done"]


@pytest.mark.slow
def test_every_figure_is_redrawn(quick_run: tuple[Reproduction, Path]) -> None:
    missing = [each for each in quick_run[0].redrawn if each.drawn is None and each.picture.draw]
    assert not [each.picture.stem for each in missing]
    assert len(quick_run[0].redrawn) == sum(len(pictures(paper)) for paper in quick_run[0].papers())


def moved(claim: Claim, ours: Ours, probed: Ours) -> bool:
    """Return true if a probe changes a name or sign, or moves a figure by 5 % or by the tolerance of the claim."""
    before, after = (each if isinstance(each, tuple) else (each,) for each in (ours, probed))
    if any(isinstance(each, str) for each in (*before, *after)):
        return before != after
    least = min(claim.hardly_moves, HARDLY_MOVES)

    def apart(here: float | str, there: float | str) -> bool:
        return abs(float(there) - float(here)) > least * abs(float(here))

    if len(before) == len(after):
        return any(map(apart, before, after))
    # A probe of some of the figures, which does not say of which.
    return any(all(apart(here, there) for here in before) for there in after)


@pytest.mark.slow
def test_a_difference_has_a_cause_and_a_probe_that_moves_it(quick_run: tuple[Reproduction, Path]) -> None:
    for answer in quick_run[0].answers:
        finding = answer.finding
        if finding is None:
            continue
        assert finding.how, answer.claim.name
        if answer.verdict == "differs":
            assert finding.cause, answer.claim.name
            assert any(moved(answer.claim, finding.ours, probe.ours) for probe in finding.probes), answer.claim.name
        elif answer.verdict == "shape only":
            assert answer.claim.shape, answer.claim.name
            assert finding.cause, answer.claim.name
        elif answer.verdict == "paper inconsistent":
            assert answer.claim.contradicts, answer.claim.name
        elif answer.verdict == "by construction":
            assert answer.claim.inputs_from or finding.assumes, answer.claim.name


#: Claims whose cause accounts for all of the difference: with one of the probes alone they agree.
ACCOUNTED = [
    *(f"griffin1999.{name}" for name in ("service-mean", "velocity-optimum")),
    *(f"lin2002.snake-{name}" for name in ("idle", "startup")),
    *(f"lin2002.{name}" for name in ("subsector-last-block", "timeout-throughput", "combined-energy")),
    "schlosser2000.cache-mems-alone",
    "hong2006.shortcut-workloads",
    *(f"hong2006.tpcc-{name}" for name in ("mcd-all", "mcd-none", "techniques-gain")),
    *(f"hong2006.{name}" for name in ("cello-mwb-gain", "cello-mcd-over-mwb", "lru-lfuda")),
]


@pytest.mark.slow
def test_without_its_cause_a_claim_agrees(quick_run: tuple[Reproduction, Path]) -> None:
    found = {answer.claim.name: answer for answer in quick_run[0].answers}
    for name in ACCOUNTED:
        claim, finding = found[name].claim, found[name].finding
        assert finding, name
        assert found[name].verdict in {"differs", "shape only"}, name
        moved = [claim.verdict(replace(finding, ours=probe.ours, intervals=())) for probe in finding.probes]
        assert {*moved} & {"reproduced", "by construction"}, (name, moved)


@pytest.mark.slow
def test_every_figure_has_one_under_time_optimal_motion(quick_run: tuple[Reproduction, Path]) -> None:
    for answer in quick_run[0].answers:
        assert (answer.time_optimal is None) == (answer.finding is None), answer.claim.name


@pytest.mark.slow
def test_intervals_hold_their_figures(quick_run: tuple[Reproduction, Path]) -> None:
    for answer in quick_run[0].answers:
        finding = answer.finding
        if finding and finding.intervals:
            figures = finding.ours if isinstance(finding.ours, tuple) else (finding.ours,)
            for figure, (low, high) in zip(figures, finding.intervals, strict=True):
                assert low <= float(figure) <= high, answer.claim.name


@pytest.mark.slow
def test_stand_ins_are_marked(quick_run: tuple[Reproduction, Path]) -> None:
    pages = {paper: (quick_run[1] / f"{paper}.html").read_text(encoding="utf-8") for paper in quick_run[0].papers()}
    for claim in (answer.claim for answer in quick_run[0].answers):
        heading = pages[claim.paper].partition(f'<h3 id="{claim.name}-title">')[2].partition("</h3>")[0]
        assert ("stand-in" in heading) == claim.stand_in, claim.name


@pytest.mark.slow
def test_replays_of_hplajw_mention_the_other_selection(quick_run: tuple[Reproduction, Path]) -> None:
    remarks = [answer.finding.how for answer in quick_run[0].answers if answer.finding]
    remarks += [each.drawn.how for each in quick_run[0].redrawn if each.drawn]
    replaying = [how for how in remarks if "hplajw" in how]
    assert len(replaying) > 10
    assert not [how for how in replaying if "not the paper's selection" not in how]


@pytest.mark.slow
def test_stand_ins_of_claims_are_listed(quick_run: tuple[Reproduction, Path]) -> None:
    for paper in quick_run[0].papers():
        page = (quick_run[1] / f"{paper}.html").read_text(encoding="utf-8")
        for each in stand_ins(quick_run[0], paper):
            assert f"<code>{each.name}</code>: {each.matched} of " in page
            assert f"definition <code>{each.definition}</code>" in page
    assert "snake-like" in {each.name for each in stand_ins(quick_run[0], "lin2002")}


@pytest.mark.slow
def test_scenarios_of_the_report_can_be_run(quick_run: tuple[Reproduction, Path]) -> None:
    paths = list((quick_run[1] / "scenarios").iterdir())
    assert paths
    for path in paths:
        if "workload" in json.loads(path.read_text(encoding="utf-8")):
            # Each sled moves by the model of its paper.
            assert {*sleds_of(resolve(path).values)} <= {motion(path.name.partition(".")[0].partition("-")[0])}


@pytest.mark.slow
def test_the_outcomes_are_those_recorded(quick_run: tuple[Reproduction, Path]) -> None:
    found = claims_page.record_of(quick_run[0])
    assert [(each.name, each.verdict, each.text) for each in found.claims] == [
        (each.name, each.verdict, each.text) for each in recorded.read("quick").claims
    ], "run `make claims`"


@pytest.mark.slow
def test_the_pages_of_the_site_have_all_tables_and_pictures(
    quick_run: tuple[Reproduction, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The notes make further runs.
    monkeypatch.setenv("SLEDSIM_REFERENCE", str(REFERENCE))
    claims_page.site(quick_run[0], tmp_path)
    page = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert "<!-- computed" not in page
    assert "*Not done:*" not in page
    for paper in quick_run[0].papers():
        assert claims_page.claims_table(quick_run[0], paper) in page
        own = (tmp_path / f"{paper}.md").read_text(encoding="utf-8")
        assert "<!-- computed" not in own
        assert len(claims_page.headlines(own)) == 10
        for name in claims_page.headlines(own):
            stem = name.replace(".", "-")
            assert f"({claims_page.PICTURES}/{stem}.svg)" in own
            assert (tmp_path / claims_page.PICTURES / f"{stem}.svg").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_draws_every_figure_of_the_papers(
    quick_run: tuple[Reproduction, Path], chromium: str, tmp_path: Path, width: int
) -> None:
    for name in ("index", *quick_run[0].papers()):
        page = quick_run[1] / f"{name}.html"
        check_page(page)
        check_drawn(chromium, page, width, tmp_path / name)
