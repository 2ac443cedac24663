"""Names with quotes, patterns, markup and escapes, in files, SQL, pages and on the terminal."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

import sledsim
from conftest import TOML
from sledsim.show import Table
from sledsim.show.pages import chart_page, notebook_bundle
from sledsim.sweep import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

NAMES = [
    *("it's", "res[1]", "\x1b[31mred", 'the "one"', "a*b?c", "{x,y}", "semi; DROP TABLE runs --", "100 %"),
    *("$HOME `id`", "ä ö 名", "line\nbreak", "<b>&amp;<br>", "back\\slash", "--option", "~", "#1", "a=b,c"),
]
#: For each test: three dangers in one name, and in `make test-all` all names.
ASKED = [" ".join(NAMES[:3]), *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES)]
#: Characters of a name that must not reach a terminal: they move the cursor, change colours or reverse the text.
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

TRACE = "t_ns,device,offset_bytes,bytes,op\n0,0,4096,512,R\n5000000,0,8192,512,W\n"


def check_output(found: Outcome, status: int = 0) -> Outcome:
    """Check the rules for the output of every command."""
    assert found.status == status, found.err
    assert not ACTING.search(found.out + found.err), repr(found.out + found.err)
    return found


@pytest.mark.parametrize("name", ASKED)
def test_files_of_any_name_are_read_and_written(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    if "[1]" in name:
        # A file that would match the name as a pattern.
        decoy = tmp_path / name.replace("[1]", "1")
        decoy.mkdir()
        (decoy / "trace.parquet").write_bytes(b"PAR1, but no more")
    monkeypatch.chdir(folder)
    (folder / f"{name}.toml").write_text(TOML)
    (folder / "trace.csv").write_text(TRACE)
    for ending in ("parquet", "csv", "json"):
        log = folder / f"{name}.{ending}"
        check_output(sledsim_cli("run", folder / f"{name}.toml", "--set", "run.requests=20", "--log", log))
        assert log.stat().st_size > 100
    check_output(sledsim_cli("trace", folder / "trace.csv", "--out", folder / "trace.parquet"))
    check_output(sledsim_cli("trace", folder / "trace.parquet"))
    check_output(sledsim_cli("replay", folder / "trace.parquet"))
    assert not [each for each in folder.iterdir() if each.name.startswith(".")]
    check_output(sledsim_cli("run", folder / f"{name}.tml"), 2)
    check_output(sledsim_cli("trace", folder / f"{name}.srt"), 2)
    check_output(sledsim_cli("trace", folder / "trace.csv", "--out", folder / "gone" / "x.csv"), 2)


@pytest.mark.parametrize("name", ASKED)
def test_a_store_of_any_name_is_filled_and_read(sledsim_cli: Callable[..., Outcome], tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    (folder / "decoy").mkdir(parents=True)
    (folder / "disk.toml").write_text(TOML)
    sweep = folder / f"{name}.toml"
    sweep.write_text(
        'name = "rates"\nscenario = "disk.toml"\noverrides."run.requests" = 20\naxes.scheduler = ["fcfs", "sptf"]\n'
    )
    store = folder / f"{name}.store"
    check_output(sledsim_cli("sweep", "run", sweep, "--store", store, "--threads", "1"))
    check_output(sledsim_cli("sweep", "status", store))
    assert "sptf" in check_output(sledsim_cli("sweep", "show", store)).out
    check_output(sledsim_cli("sweep", "show", store, "-o", folder / f"{name}.csv"))
    assert len((folder / f"{name}.csv").read_text().splitlines()) == 3
    writer = Store(store).writer()
    writer.merge()
    assert len(Store(store).keys()) == 2


MARKUP = '</script><script>alert("1")</script><img src=x onerror=alert(1)> & \x1b[31m\u202e'


def test_titles_are_escaped(sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path) -> None:
    sets = {"title": MARKUP, "run.requests": 50}
    result = sledsim.run(scenario_file, overrides=sets)
    assert result.summary["title"] == MARKUP
    page = "".join(table._repr_html_() for table in (result.brief(), *result.tables()))
    assert "<script" not in page
    assert "<img" not in page
    assert not ACTING.search(str(result.brief()))
    assert "\\x1b[31m\\u202e" in str(result.brief())
    for ending in ("html", "svg"):
        result.save_plot(tmp_path / f"title.{ending}")
        drawn = (tmp_path / f"title.{ending}").read_text()
        assert "<script>alert" not in drawn
        assert "<img src=x" not in drawn
    ET.parse(tmp_path / "title.svg")
    compared = sledsim.compare({MARKUP: scenario_file, "other": scenario_file}, overrides=["run.requests=50"])
    assert "<script" not in "".join(table._repr_html_() for table in compared.tables())


def test_pages_escape_markup() -> None:
    import altair

    table = Table([MARKUP], [[MARKUP]], title=MARKUP, notes=[MARKUP])
    title = altair.TitleParams(MARKUP, subtitle=[MARKUP])
    chart = altair.Chart(altair.InlineData(values=[{"a": MARKUP}]), title=title).mark_point().encode(x="a:N")
    for page in (table._repr_html_(), chart_page(chart), notebook_bundle(chart.to_dict())["text/html"]):
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "onerror=alert(1)" in page


def test_tables_escape_control_sequences() -> None:
    table = Table(["a\x1b[1m", "b"], [["x\x07\ny", "\x9b2J"]], title="t\u202e", notes=["n\x1b]0;title\x07"])
    for width in (None, 20):
        shown = "\n".join(line.text for line in table.lines(width))
        assert not ACTING.search(shown)
        for escape in ("\\x1b[1m", "x\\x07 y", "\\x9b2J", "t\\u202e", "\\x1b]0;title\\x07"):
            assert escape in shown


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb", "title=\udfff"])
def test_lone_surrogates_are_refused(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path, text: str
) -> None:
    found = check_output(sledsim_cli("run", scenario_file, "--set", f"title={text}"), 2)
    # An undecodable byte of a command line is reported as such.
    says = "byte 0xff is not UTF-8 text" if "\udcff" in text else "an unpaired surrogate"
    assert says in found.err
    for command in (["device"], ["list", "workloads"]):
        assert says in check_output(sledsim_cli(*command, text), 2).err
    scenario = sledsim.Scenario.load(scenario_file).to_dict()
    for load in (
        lambda: sledsim.run(scenario_file, overrides={"title": text}),
        lambda: sledsim.run({**scenario, "title": text}),
        lambda: sledsim.run({**scenario, text: 1}),
        lambda: sledsim.run(f"title = '{text}'\n{TOML}"),
        lambda: sledsim.Device(text),
        lambda: sledsim.traces.open_trace(tmp_path / text),
        lambda: sledsim.scenario.import_disksim(tmp_path / text),
    ):
        with pytest.raises(sledsim.SledsimError):
            load()


def test_undecodable_file_names_are_shown_with_escapes(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "no\udcfftext.toml"
    path.write_text(TOML)
    check_output(sledsim_cli("run", path, "--set", "run.requests=20"))
    found = check_output(sledsim_cli("run", path, "--set", "run.requests=0"), 2)
    assert "out of range" in found.err
    path.write_text("[workload\n")
    assert "no\\udcfftext.toml" in check_output(sledsim_cli("run", path), 2).err
    assert "no\\udcfftext.toml" in check_output(sledsim_cli("run", tmp_path / "no\udcfetext.toml"), 2).err
