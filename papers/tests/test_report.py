"""The pages of the report, also in a browser without a network."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conftest import SCENARIO, size
from html_outline import Outline
from sledsim import SledsimError
from sledsim.scenario import resolve
from sledsim.show.style import altair_library, apply_style, values
from sledsim.show.tables import Table
from sledsim.workloads import workload_entry
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.claim import VERDICTS
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.pages import Pages
from sledsim_papers.harness.registry import Drawn, Picture
from sledsim_papers.harness.reproduction import reproduce
from sledsim_papers.harness.stand_ins import StandIn

if TYPE_CHECKING:
    from pathlib import Path

    from sledsim_papers.harness.reproduction import Reproduction
    from sledsim_papers.harness.study import Study

WIDTHS = (1280, 390)


def found_slow(_: Study) -> Finding:
    return Finding(
        3.0,
        "first <come> first served",
        intervals=((2.9, 3.1),),
        scenarios=(SCENARIO, SCENARIO),
        curve=({"rate (1/s)": 100.0, "mean (ms)": 1.25}, {"rate (1/s)": 200.0, "name": "busy"}),
        cause="springs & settling",
        probes=(Probe("no springs", 1.8),),
    )


def found_order(_: Study) -> Finding:
    return Finding(("sptf", "sstf_lbn", "clook", "fcfs"), "a generator")


def found_made(_: Study) -> Finding:
    return Finding("~", "an equation")


def line(*, wide: bool = False) -> Any:
    alt = altair_library()
    rows = [{"rate": x, "mean": x * x, "policy": name} for x in range(5) for name in ("FCFS", "SPTF")]
    panel = alt.Chart(values(rows)).mark_line(point=True).encode(x="rate:Q", y="mean:Q", color="policy:N")
    panel = panel.properties(width=360, height=200)
    whole = alt.hconcat(*[panel] * 4) if wide else panel
    return apply_style(whole, "Mean </script> response", "random <workload>")


def failing(_: Study) -> Drawn:
    raise ZeroDivisionError("by nought")


def draw_line(_: Study) -> Drawn:
    return Drawn(line(), "Poisson arrivals.", stand_in=True, scenarios=(SCENARIO,))


def draw_panels(_: Study) -> Drawn:
    return Drawn(line(wide=True), "Four panels.")


def draw_table(_: Study) -> Drawn:
    return Drawn(Table(["quantity <>", "ours"], [["seek", "1.74"]], "Times"), "From the run.")


PICTURES = [
    Picture("griffin1999", "Figure 1", "a sled", None, "a drawing of `g1`"),
    Picture("griffin1999", "Figure 6", "response by rate", draw_line),
    Picture("griffin1999", "Figure 7", "four panels", draw_panels),
    Picture("griffin1999", "Figure 8", "what can't be drawn", failing),
    Picture("griffin1999", "Table 2", "times", draw_table),
]
EXPERIMENTS = {
    "griffin1999.seek-max": found_slow,
    "griffin1999.cello-schedulers": found_order,
    "griffin1999.bit-width": found_made,
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reproduction, Path]:
    """Return made-up findings, and the folder with their report."""
    folder = tmp_path_factory.mktemp("made-up") / "new" / "report"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "experiments", lambda: EXPERIMENTS)
        patch.setattr(reproduction, "pictures", lambda _: PICTURES)
        pages = Pages(folder)
        found = reproduce("griffin1999", draw=True, export=pages.export)
    pages.write(found)
    return found, folder


def outline(page: Path) -> Outline:
    return Outline(page.read_text(encoding="utf-8"))


def check_page(path: Path) -> None:
    """Assert the rules for every page: links have targets, nothing is loaded from elsewhere, labels are accessible."""
    page = outline(path)
    assert len(set(page.identities)) == len(page.identities)
    for link in page.links:
        place, _, anchor = link.partition("#")
        if link.startswith("data:"):
            continue
        assert "://" not in link
        target = path.parent / place.partition("?")[0] if place else path
        assert target.is_file(), link
        assert not anchor or anchor in outline(target).identities, link
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    kinds = [tag for tag, _ in page.attributes]
    assert dict(page.attributes[0][1])["lang"] == "en"
    assert page.attributes[0][0] == "html"
    assert kinds.count("table") == sum(given.get("class") == "scroll" for _, given in page.attributes)
    for tag, given in page.attributes:
        if tag == "img":
            assert given["alt"]
        if given.get("class") == "scroll":
            assert given["aria-label"]


def test_claims_can_be_filtered(report: tuple[Reproduction, Path]) -> None:
    for name in PAGES:
        page = outline(report[1] / name)
        bars = [given["data-of"] for _, given in page.attributes if given.get("class") == "filter"]
        assert bars == ["verdict", "data", "work"]
        shown = [given for tag, given in page.attributes if "data-work" in given and tag in {"tr", "article"}]
        assert len(shown) == 47
        for of in bars:
            wanted = {
                given[f"data-{of}"] for tag, given in page.attributes if tag == "button" and f"data-{of}" in given
            }
            assert {each[f"data-{of}"] for each in shown} | {""} == wanted | {""}
    assert "simulated 1 computed 2" in words_of(report[1] / "index.html")


def test_the_states_of_a_claim_are_explained(report: tuple[Reproduction, Path]) -> None:
    text = words_of(report[1] / "index.html")
    assert "Of the 1 reproduced claims 0 simulate a workload" in text
    states = text.partition("of these states")[2].partition("Figures and tables")[0]
    places = [states.index(state) for state in (*VERDICTS, "Failed")]
    assert places == sorted(places)


def test_a_contradiction_of_a_paper_is_shown(report: tuple[Reproduction, Path]) -> None:
    text = words_of(report[1] / "griffin1999.html")
    assert "The paper contradicts itself: Table 2 prints a maximum seek of 2.72 ms." in text
    assert "The other statement: 2.59 ms ± 1 %." in text
    claims = {each["name"]: each for each in json.loads((report[1] / "verdicts.json").read_text())["claims"]}
    assert claims["griffin1999.seek-max"].items() >= {"other": 2.59, "other_tol": 0.01, "other_low": None}.items()
    assert claims["griffin1999.settle-time"]["contradicts"] == ""


def test_each_claim_has_the_command_that_checks_it_again(report: tuple[Reproduction, Path]) -> None:
    text = words_of(report[1] / "griffin1999.html")
    assert text.count("Check it again: sledsim reproduce griffin1999.") == 47
    assert "sledsim reproduce griffin1999.settle-time copy" in text


PAGES = ("index.html", "griffin1999.html")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed(report: tuple[Reproduction, Path], name: str) -> None:
    check_page(report[1] / name)


def words_of(page: Path) -> str:
    return " ".join(outline(page).text.split())


def test_the_overview_holds_every_claim(report: tuple[Reproduction, Path]) -> None:
    text = words_of(report[1] / "index.html")
    for words in (
        "paper by construction reproduced of them simulated paper inconsistent shape only differs not done claims",
        "in total 1 1 0 0 0 1 44 47",
        "all 47 by construction 1 reproduced 1 differs 1 not done 44",
        "seek-max differs 2.72 ms ± 1 % 3.000 (2.900 to 3.100)",
    ):
        assert words in text, words


def test_the_page_of_a_paper_has_its_findings(report: tuple[Reproduction, Path]) -> None:
    text = words_of(report[1] / "griffin1999.html")
    for words in (
        "griffin1999.seek-max differs",
        "Published 2.72 ms ± 1 % Ours 3.000 (2.900 to 3.100) Time-optimal – Rests on model",
        "How: first <come> first served",
        "Why it differs: By equation 2 with Table 1 no seek is longer than 2.59 ms. springs & settling",
        "change to the model figure then (ms) no springs 1.800",
        "rate (1/s) mean (ms) name 100 1.25 200 busy",
        "griffin1999.cello-schedulers reproduced stand-in",
        "griffin1999.bit-width by construction",
        "Rests on model; from the paper's own results: equations 1 to 5:",
        "Figure 6: Response by rate stand-in",
        "Random <workload> Poisson arrivals.",
        "quantity <> ours seek 1.74",
        "Not redrawn: Figure 1 (a sled): a drawing of g1 ",
        "Not drawn: error: ZeroDivisionError: by nought (test_report.py:",
    ):
        assert words in text, words


def test_scenarios_can_be_run_again(report: tuple[Reproduction, Path]) -> None:
    names = [path.name for path in sorted((report[1] / "scenarios").iterdir())]
    assert names == ["griffin1999-figure-6.json", "griffin1999.seek-max-1.json", "griffin1999.seek-max-2.json"]
    for name in names:
        assert resolve(report[1] / "scenarios" / name).values == resolve(SCENARIO).values


def test_charts_are_files_too(report: tuple[Reproduction, Path]) -> None:
    folder = report[1]
    names = sorted(path.name for path in (folder / "charts").iterdir())
    assert names == [f"griffin1999-figure-{number}.{kind}" for number in (6, 7) for kind in ("png", "svg")]
    assert (folder / "charts" / "griffin1999-figure-6.png").read_bytes().startswith(b"\x89PNG")
    assert "random &lt;workload&gt;" in (folder / "charts" / "griffin1999-figure-6.svg").read_text()
    # The libraries are in one file, whatever the number of charts.
    assert all(len((folder / name).read_text()) < 100_000 for name in PAGES)
    assert (folder / "vega.js").stat().st_size > 500_000


def test_the_report_has_verdicts_as_json(report: tuple[Reproduction, Path]) -> None:
    found = json.loads((report[1] / "verdicts.json").read_text())
    assert found["totals"] == {
        "by construction": 1,
        "reproduced": 1,
        "paper inconsistent": 0,
        "shape only": 0,
        "differs": 1,
        "not done": 44,
        "simulated": 0,
        "failed": 1,
    }
    figures = {each["name"]: each for each in found["figures"]}
    assert figures["griffin1999-figure-6"]["drawn"]
    assert figures["griffin1999-figure-6"]["stand_in"]
    assert figures["griffin1999-figure-8"]["failed"]
    assert figures["griffin1999-figure-1"]["reason"] == "a drawing of `g1`"


def test_pages_are_the_same_every_time(report: tuple[Reproduction, Path], tmp_path: Path) -> None:
    found, folder = report
    Pages(tmp_path).write(found)
    assert (tmp_path / "verdicts.json").read_bytes() == (folder / "verdicts.json").read_bytes()
    for name in PAGES:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_stand_ins_are_listed_with_what_they_were_fitted_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"name": "sptf"}
    run: tuple[dict[str, Any], ...] = (
        {"workload": "cello-like", "system": {"device": "g2", "scheduler": rule}},
        {"workload": {"name": "tpcc-like", "time_scale": 0.5}, "system": {"device": "g2"}},
        SCENARIO,
    )
    made = {"griffin1999.cello-schedulers": lambda _: Finding(("sptf", "fcfs"), "", scenarios=run)}
    monkeypatch.setattr(reproduction, "experiments", lambda: made)
    pages = Pages(tmp_path)
    pages.write(reproduce("griffin1999.cello-schedulers", export=pages.export))
    for name in PAGES:
        check_page(tmp_path / name)
    page = tmp_path / "griffin1999.html"
    entry = workload_entry("tpcc-like")
    listed = json.loads((tmp_path / "verdicts.json").read_text())["stand_ins"]
    assert [each["name"] for each in listed] == ["cello-like", "tpcc-like"]
    tpcc = listed[1]
    assert (tpcc["matched"], len(tpcc["fitted_to"])) == (9, 10)
    assert f"tpcc-like : 9 of 10 published statistics reached; definition {tpcc['definition']}" in words_of(page)
    assert "writes 0.48 0.479 fraction yes hong2006 section 4.3" in words_of(page)
    # Exactly the values that change the requests make another definition.
    streams = dict(entry.values["streams"])
    other = {**streams, "value": [{**each, "read_fraction": 0.5} for each in streams["value"]]}
    changed = {
        "streams": replace(entry, values={**entry.values, "streams": other}),
        "requests": replace(entry, requests=5),
        "note": replace(entry, title="", values={**entry.values, "streams": {**streams, "note": "other words"}}),
    }
    found = {name: StandIn("tpcc-like", each).definition for name, each in changed.items()}
    assert len({tpcc["definition"], found["streams"], found["requests"]}) == 3
    assert found["note"] == tpcc["definition"]


def test_a_page_without_charts_needs_no_library(tmp_path: Path) -> None:
    pages = Pages(tmp_path)
    pages.write(reproduce("griffin1999.settle-time", export=pages.export))
    assert not (tmp_path / "vega.js").exists()
    for name in PAGES:
        check_page(tmp_path / name)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SledsimError, match="can't be a folder for the report"):
        Pages(tmp_path / "file" / "report")


#: Prints the measures of a page in the console after loading: with its charts, before and after choosing a verdict.
MEASURE = """<script>
const check = setInterval(() => {
  const charts = [...document.querySelectorAll(".chart")], page = document.documentElement;
  if (charts.length && page.dataset.drawn !== "true") return;
  clearInterval(check);
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.getClientRects().length);
  const inside = (each) => each.getBoundingClientRect().right <= page.clientWidth + 1;
  const before = seen("main [data-verdict]").length;
  scrollTo(0, 2000);
  const summary = {
    charts: charts.length, drawn: charts.filter((chart) => chart.querySelector("svg path, svg rect, svg text")).length,
    beyond_box: Math.max(0, ...charts.map((chart) => chart.scrollWidth - chart.clientWidth)),
    beyond_page: page.scrollWidth - page.clientWidth, width: page.clientWidth,
    beside: seen("[data-label]").filter((each) => !inside(each)).length,
    bar: Math.round(document.querySelector(".bar").getBoundingClientRect().top),
    cut: seen(".filter button").filter((each) => !inside(each)).length,
    dark: getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)",
  };
  document.querySelector('.filter [data-verdict="differs"]').click();
  const after = seen("main [data-verdict]");
  summary.filtered = after.length < before && after.every((each) => each.dataset.verdict === "differs");
  summary.counted = document.querySelector(".told").textContent === `${after.length} of ${before} claims`;
  summary.empty = seen("main .claims").filter((each) => !after.some((row) => each.contains(row))).length;
  console.log("MEASURED " + JSON.stringify(summary) + " END");
}, 100);
</script></body>"""


def check_drawn(chromium: str, page: Path, width: int, tmp_path: Path, *, dark: bool = False) -> None:
    """Assert that a browser that finds no host shows a page within its width, and has nothing to complain of."""
    tmp_path.mkdir(exist_ok=True)
    shutil.copytree(page.parent, tmp_path / "report")
    shown_page = tmp_path / "report" / page.name
    text = shown_page.read_text(encoding="utf-8")
    shown_page.write_text(text.replace("</body>", MEASURE), encoding="utf-8")
    # A window can't be as narrow as a telephone, a frame can.
    frame = tmp_path / "frame.html"
    frame.write_text(f'<!DOCTYPE html><iframe src="report/{page.name}" width="{width}" height="900"></iframe>')
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += ["--enable-logging=stderr", "--v=0", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--blink-settings=preferredColorScheme=0"] if dark else []
    command += ["--window-size=1400,1000", "--virtual-time-budget=120000", "--dump-dom", frame.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    said = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    measured = [json.loads(line.partition("MEASURED ")[2].partition(" END")[0]) for line in said if "MEASURED" in line]
    # Warnings are Vega's advice to authors of charts.
    assert not [line for line in said if "MEASURED" not in line and "WARN" not in line]
    assert len(measured) == 1, shown.stderr[-2000:]
    expected = text.count('<div class="chart"')
    # The frame's border takes nothing from its width; a scroll bar does.
    assert width - 20 <= measured[0].pop("width") <= width
    within = {"beyond_box": 0, "beyond_page": 0, "beside": 0, "bar": 0, "cut": 0}
    filtered = {"filtered": True, "counted": True, "empty": 0}
    assert measured[0] == {"charts": expected, "drawn": expected, **within, "dark": dark, **filtered}


@pytest.mark.parametrize(
    ("width", "dark"), size([(1280, False), (390, True)], [*itertools.product(WIDTHS, [False, True])])
)
@pytest.mark.parametrize("name", PAGES)
def test_a_browser_shows_every_page(
    report: tuple[Reproduction, Path], chromium: str, tmp_path: Path, name: str, width: int, dark: bool
) -> None:
    check_drawn(chromium, report[1] / name, width, tmp_path, dark=dark)
