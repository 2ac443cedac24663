"""The explorer: the page's core against the package, and the page in a browser without a network."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from browser import Browser
from conftest import ROOT, SCENARIO, TOML
from sledsim import _core
from sledsim.explorer.html_page import NO_START
from sledsim.explorer.lesson import LESSONS, load_lesson
from sledsim.explorer.notebook import MODULE
from sledsim.scenario.reading import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Outcome

PAGE = ROOT / "python" / "sledsim" / "show" / "templates" / "explorer.html"
CORE = ROOT / "target" / "wasm32-unknown-unknown" / "page" / "sledsim_wasm.wasm"
#: Compressed size of the page, bytes.
MOST_BYTES = 2_000_000
WIDTHS = [390, 1280, 2560]


def _scenario(device: str, scheduler: str, rate: float, requests: int = 2000, **workload: Any) -> dict[str, Any]:
    return {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": rate}, "read_fraction": 0.7, **workload},
        "system": {"device": {"name": device}, "scheduler": {"name": scheduler}},
        "run": {"requests": requests},
    }


def _of_system(system: dict[str, Any]) -> dict[str, Any]:
    return {**_scenario("g2", "fcfs", 200), "system": system}


WALK = {"kind": "local-walk", "scale_bytes": 1_000_000}
TIMEOUT = {"name": "timeout", "after_ms": 5}
#: Scenarios of all kinds of arithmetic: sleds, disks, arrays, caches, distributions and energy.
SCENARIOS: list[dict[str, Any]] = [
    *[_scenario("g2", scheduler, 900) for scheduler in ("fcfs", "sptf", "asptf", "sdf", "vscan")],
    *[_scenario(device, "sptf", 600) for device in ("g1", "g3", "g2-points", "griffin1999", "superdisk")],
    *[_scenario(device, "look", 90) for device in ("atlas10k", "cheetah9LP", "travelstar")],
    _scenario("g2", "clook", 500, location=WALK),
    _scenario("g2", "fcfs", 50, size_bytes={"kind": "lognormal", "mean": 8192, "scv": 2}),
    {**_scenario("g1", "sptf", 500), "system": {"device": {"name": "g1", "seek_model": "decomposed"}}},
    {**_scenario("g2", "fcfs", 20), "system": {"device": "g2", "spin_down": TIMEOUT}},
    _of_system({"kind": "mirror", "members": [{"device": "g2"}, {"device": "g2"}]}),
    _of_system({"kind": "raid5", "members": [{"count": 5, "device": "g3"}]}),
    {"workload": "tpcc-like", "system": {"device": "g2"}, "run": {"requests": 1000}},
]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a page of no content."""
    built = tmp_path / "built.html"
    built.write_text(f"<p>{NO_START}</p>")
    monkeypatch.setattr(sys.modules["sledsim.explorer.html_page"], "PAGE", str(built))
    return built


def _start_of(page: Path) -> dict[str, Any]:
    """Return what a page begins with."""
    begin, _, end = NO_START.partition("{}")
    start: dict[str, Any] = json.loads(page.read_text().removeprefix(f"<p>{begin}").removesuffix(f"{end}</p>"))
    return start


def test_explore_writes_the_page_with_the_complete_scenario(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path, page: Path
) -> None:
    written = tmp_path / "out.html"
    outcome = sledsim_cli("explore", scenario_file, "--set", "device=g3", "--out", written)
    assert outcome.status == 0
    document = _start_of(written)["scenario"]
    # Without the values of the catalogue, another device can be chosen in the page.
    assert document["system"]["device"] == {"name": "g3"}
    results = [
        sledsim.run(given).to_dict()
        for given in (document, {**SCENARIO, "system": {**SCENARIO["system"], "device": "g3"}})
    ]
    assert results[0] == results[1]


def test_explore_without_the_page_says_how_to_build_it(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, page: Path
) -> None:
    page.unlink()
    outcome = sledsim_cli("explore", "--out", tmp_path / "out.html")
    assert outcome.status == 2
    assert "`make explorer`" in outcome.err


def test_a_scenario_cannot_end_its_element_of_the_page(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, page: Path
) -> None:
    (tmp_path / "small.toml").write_text(f'title = "</script><b>"\n{TOML}')
    sledsim_cli("explore", tmp_path / "small.toml", "--out", tmp_path / "out.html")
    assert "<b>" not in (tmp_path / "out.html").read_text()


@pytest.fixture(scope="session")
def built() -> Path:
    """Build the page and return it."""
    for tool in ("node", "npm", "cargo"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}: the page can't be built")
    done = subprocess.run(["make", "-s", "explorer"], cwd=ROOT, capture_output=True, text=True, check=False)
    if "can't find crate for `std`" in done.stderr or "rust-src" in done.stderr:
        pytest.skip("no standard library for wasm32-unknown-unknown: `rustup target add wasm32-unknown-unknown`")
    assert done.returncode == 0, done.stderr
    return PAGE


@pytest.mark.slow
def test_the_page_is_small(built: Path) -> None:
    compressed = len(gzip.compress(built.read_bytes(), 9))
    print(f"page: {built.stat().st_size / 1e6:.2f} MB, {compressed / 1e6:.2f} MB compressed")
    assert compressed < MOST_BYTES


@pytest.mark.slow
def test_the_core_of_the_page_gives_the_results_of_the_package(built: Path) -> None:
    commands = "".join(json.dumps({"command": "run", "scenario": scenario}) + "\n" for scenario in SCENARIOS)
    script = ROOT / "explorer" / "run-commands.mjs"
    done = subprocess.run(["node", script, CORE], input=commands, capture_output=True, text=True, check=True)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(SCENARIOS) == len(reports) == 20
    for scenario, report in zip(SCENARIOS, reports, strict=True):
        assert report == json.loads(sledsim.run(scenario).to_json()), scenario


@pytest.fixture(scope="module")
def browser(built: Path, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(chromium, tmp_path_factory.mktemp("profile")) as browser:
        browser.resize(1280, 900)
        browser.prefer(prefers_reduced_motion="reduce")
        yield browser


@pytest.fixture
def opened(browser: Browser, built: Path) -> Iterator[Browser]:
    """Open the page; at the end of the test there are no errors."""
    browser.errors.clear()
    browser.open("about:blank")
    browser.open(built.as_uri())
    browser.wait_for("window.explorer && explorer.playbacks.length")
    yield browser
    assert browser.errors == []


def _set(browser: Browser, control: str, value: object) -> None:
    """Set a control as a user does."""
    browser.value(
        f"(() => {{ const box = document.getElementById('control-{control}'); box.value = {json.dumps(str(value))};"
        " box.dispatchEvent(new Event('change')); })()"
    )


def _scenario_of(browser: Browser) -> dict[str, Any]:
    scenario: dict[str, Any] = browser.value("explorer.scenario")
    return scenario


def _run(browser: Browser, scenario: dict[str, Any]) -> None:
    """Run a scenario without others beside it."""
    browser.value(f"Object.assign(explorer, {{ scenario: {json.dumps(scenario)}, others: [] }})")
    browser.value("explorer.run()")


def _click(browser: Browser, selector: str) -> None:
    browser.value(f"document.querySelector({json.dumps(selector)}).click()")


@pytest.mark.slow
def test_every_control_sets_its_key(opened: Browser) -> None:
    for control, value, keys in [
        ("workload-arrival-rate_per_s", 800, ("workload", "arrival", "rate_per_s")),
        ("workload-location-kind", "local-walk", ("workload", "location", "kind")),
        ("workload-location-scale_bytes", 50000, ("workload", "location", "scale_bytes")),
        ("workload-size_bytes-value", 8192, ("workload", "size_bytes", "value")),
        ("workload-read_fraction", 0.5, ("workload", "read_fraction")),
        ("run-requests", 1500, ("run", "requests")),
        ("seed", 7, ("seed",)),
        ("system-scheduler-name", "asptf", ("system", "scheduler", "name")),
        ("system-spin_down-name", "timeout", ("system", "spin_down", "name")),
        ("system-spin_down-after_ms", 3, ("system", "spin_down", "after_ms")),
        ("system-device-spring_factor", 0.5, ("system", "device", "spring_factor")),
        ("system-device-settle_constants", 2, ("system", "device", "settle_constants")),
        ("system-device-active_tips", 640, ("system", "device", "active_tips")),
        ("system-device-seek_model", "decomposed", ("system", "device", "seek_model")),
        ("system-device-name", "cheetah9LP", ("system", "device", "name")),
        ("system-device-rotation_rpm", 7200, ("system", "device", "rotation_rpm")),
    ]:
        if value == "cheetah9LP":
            # Disks without known powers have no spin-down.
            _set(opened, "system-spin_down-name", "")
        _set(opened, control, value)
        assert opened.value("document.getElementById('fault').hidden"), opened.value(
            "document.getElementById('fault').textContent"
        )
        found: Any = _scenario_of(opened)
        for key in keys:
            found = found[key]
        assert found == value
        assert opened.value(f"document.getElementById('control-{control}-hint').textContent")


@pytest.mark.slow
def test_a_wrong_value_is_explained_and_the_last_run_stays(opened: Browser) -> None:
    _set(opened, "system-device-active_tips", 1_000_000)
    assert "exceeds system.device.tips = 6400" in opened.value("document.getElementById('fault').textContent")
    assert opened.value("document.getElementById('control-system-device-active_tips').value") == "1000000"
    assert opened.value("explorer.playbacks.length") == 2
    _set(opened, "system-device-active_tips", 1280)
    assert opened.value("document.getElementById('fault').hidden")


@pytest.mark.slow
def test_what_is_drawn_is_the_position_of_the_core_at_1000_instants(opened: Browser) -> None:
    """Each view reads an instant from the core. The picture of an instant does not depend on the way to it."""
    worst = opened.value(
        """(() => {
          const playback = explorer.playbacks[0];
          const seen = [];
          for (let index = 0; index < 1000; index++) {
            const at = (playback.endMs * (index + 0.41)) / 1000;
            explorer.seek(at);
            seen.push([at, explorer.shownInstant.x, explorer.shownInstant.y]);
          }
          let worst = 0;
          for (const [at, x, y] of seen.reverse()) {
            const numbers = playback.numbers(at);
            worst = Math.max(worst, Math.abs(numbers[0] - x), Math.abs(numbers[1] - y));
          }
          return worst;
        })()"""
    )
    assert worst == 0


@pytest.mark.slow
@pytest.mark.parametrize("device", ["g2", "g3", "griffin1999"])
def test_the_sled_is_over_the_blocks_of_the_log_at_1000_instants(opened: Browser, device: str) -> None:
    """Log and addresses come from the package. Half-way through the transfer of a block, the sled is in its row."""
    scenario = _scenario(device, "sptf", 900, 1000, size_bytes={"kind": "fixed", "value": 512})
    _run(opened, scenario)
    sled: Any = sledsim.Device(device)
    log = sledsim.run(scenario, log=True).relation().order("start_ns, id").fetchnumpy()
    passing_ns = log["servo_ns"] + log["transfer_ns"]
    at_ms = (log["start_ns"] + log["startup_ns"] + log["seek_ns"] + passing_ns / 2) * 1e-6
    drawn = opened.value(f"{json.dumps(at_ms.tolist())}.map((at) => [...explorer.playbacks[0].numbers(at)])")
    values = sled.to_dict()
    bit_um = values["bit_nm"] * 1e-3
    row_um = (values["tip_sector_bytes"] * values["encoded_bits_per_byte"] + values["servo_bits"]) * bit_um
    activities = opened.value("explorer.playbacks[0].activities")
    assert len(drawn) == 1000
    for index, (x_m, y_m, *_) in enumerate(drawn):
        cylinder, _, row, _ = sled.place(int(log["lbn"][index]))
        assert activities[int(drawn[index][8])] == "transferring"
        assert int(drawn[index][7]) == index
        assert x_m * 1e6 == pytest.approx(cylinder * bit_um - 50, abs=1e-6)
        assert 0 < (y_m * 1e6 + 50) / row_um - row < 1


@pytest.mark.slow
def test_stepping_and_scrubbing_go_to_instants_of_the_log(opened: Browser) -> None:
    starts = opened.value("explorer.playbacks[0].requests.slice(0, 3).map((request) => request.startMs)")
    _click(opened, "#step")
    opened.press("ArrowRight")
    assert opened.value("explorer.atMs") in starts
    _click(opened, "#back")
    _click(opened, "#back")
    assert opened.value("explorer.atMs") <= starts[0]
    opened.value("document.getElementById('scrub').value = 500")
    opened.value("document.getElementById('scrub').dispatchEvent(new Event('input'))")
    assert opened.value("explorer.atMs") == 500
    assert "500.000 ms" in opened.value("document.getElementById('clock').textContent")
    opened.press(" ")
    opened.wait_for("explorer.atMs > 500.1")
    opened.press(" ")
    assert opened.value("document.getElementById('play').textContent") == "Play"


@pytest.mark.slow
def test_copied_texts_give_the_report_of_the_page(opened: Browser, tmp_path: Path) -> None:
    _set(opened, "system-device-spring_factor", 0.5)
    opened.value("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    texts = {}
    for kind in ("toml", "python", "command", "link"):
        _click(opened, f"[data-copy={kind}]")
        opened.wait_for("document.getElementById('copied').textContent")
        texts[kind] = opened.value("window.copied")
    expected = opened.value("explorer.playbacks[0].report")["response"]
    assert sledsim.run(tomllib.loads(texts["toml"])).to_dict()["response"] == expected
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = texts["command"].replace("sledsim run -", "sledsim run - --json", 1)
    for arguments in (
        ["sh", "-c", command],
        [sys.executable, "-c", texts["python"].replace("print(result)", "print(result.to_json())")],
    ):
        done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)
        assert json.loads(done.stdout)["response"] == expected, shlex.join(arguments)
    opened.open("about:blank")
    opened.open(texts["link"])
    opened.wait_for("window.explorer && explorer.playbacks.length")
    assert opened.value("explorer.playbacks[0].report")["response"] == expected


def _drop(browser: Browser, name: str, head: str, rows: str = "", repeat: int = 0) -> None:
    """Drop a file on the page: a head, then rows that are repeated."""
    browser.value(
        f"""(() => {{
          const transfer = new DataTransfer();
          const parts = [{json.dumps(head)}, ...Array({repeat}).fill({json.dumps(rows)})];
          transfer.items.add(new File(parts, {json.dumps(name)}));
          document.dispatchEvent(new DragEvent("drop", {{ dataTransfer: transfer, cancelable: true }}));
        }})()"""
    )


@pytest.mark.slow
def test_a_dropped_trace_is_replayed_as_by_the_package(opened: Browser, trace_file: Path) -> None:
    _drop(opened, trace_file.name, trace_file.read_text())
    opened.wait_for("explorer.playbacks[0].requests.length === 50")
    of_page = opened.value("explorer.playbacks[0].report")["response"]
    scenario = {**_scenario_of(opened), "workload": {"kind": "trace", "path": str(trace_file), "fit": "wrap"}}
    assert sledsim.run(scenario).to_dict()["response"] == of_page


@pytest.mark.slow
def test_of_a_large_trace_only_the_start_is_read(opened: Browser) -> None:
    row = "1000000,0,4096,512,R\n"
    # 40 MB.
    _drop(opened, "large.csv", "t_ns,device,offset_bytes,bytes,op\n", row * 1000, repeat=2000)
    opened.wait_for("explorer.playbacks[0].requests.length === 5000")


@pytest.mark.slow
def test_of_a_file_of_10_gb_only_the_start_is_read(opened: Browser) -> None:
    row = "1000000,0,4096,512,R\n"
    opened.value(
        f"""(() => {{
          const part = new Blob([{json.dumps(row)}.repeat(50_000)]);
          const parts = ["t_ns,device,offset_bytes,bytes,op\\n", ...Array(10_000).fill(part)];
          const transfer = new DataTransfer();
          const file = new File(parts, "huge.csv");
          window.droppedBytes = file.size;
          transfer.items.add(file);
          document.dispatchEvent(new DragEvent("drop", {{ dataTransfer: transfer, cancelable: true }}));
        }})()"""
    )
    assert opened.value("window.droppedBytes") > 10e9
    opened.wait_for("explorer.playbacks[0].requests.length === 5000")


@pytest.mark.slow
def test_a_cut_trace_is_explained_and_the_run_stays(opened: Browser, trace_file: Path) -> None:
    before = _scenario_of(opened)
    text = trace_file.read_text()
    _drop(opened, "cut.csv", text[: text.rindex(",")])
    opened.wait_for("!document.getElementById('fault').hidden")
    assert "cut.csv" in opened.value("document.getElementById('fault').textContent")
    assert _scenario_of(opened) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "says"),
    [("no trace at all\n" * 20, "format"), ("", "empty"), ("BZh91AY", "unpack it first")],
)
def test_a_file_that_is_no_trace_is_explained_and_the_run_stays(opened: Browser, text: str, says: str) -> None:
    before = _scenario_of(opened)
    _drop(opened, "notes.txt", text)
    opened.wait_for("!document.getElementById('fault').hidden")
    assert says in opened.value("document.getElementById('fault').textContent")
    assert _scenario_of(opened) == before


@pytest.mark.slow
@pytest.mark.parametrize("link", ["#not-a-link", "#e30", "#" + "A" * 4000])
def test_a_damaged_link_is_explained_and_the_page_works(browser: Browser, built: Path, link: str) -> None:
    browser.open("about:blank")
    browser.open(built.as_uri() + link)
    browser.wait_for("window.explorer && explorer.playbacks.length")
    assert "copy it again" in browser.value("document.getElementById('fault').textContent")


def _link(**state: Any) -> str:
    text = json.dumps({"scenario": _scenario("g2", "sptf", 900, 100), "others": [], "atMs": 0} | state)
    return "#" + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"scenario": _scenario("g2", "sptf", -5)}, "rate_per_s"),
        ({"scenario": _scenario("g9", "sptf", 900)}, "g9"),
        ({"scenario": _scenario("g2", "sptf", 900, 10**15)}, "lower run.requests"),
        ({"scenario": {"workload": {"workload": [1]}}}, "unknown key"),
        ({"scenario": {**_scenario("g2", "sptf", 900), "workload": {"kind": "trace", "path": "memory:x"}}}, "memory:x"),
        ({"others": [{"device": "g9", "scheduler": "sptf"}]}, "g9"),
    ],
)
def test_a_link_with_impossible_values_is_explained_and_kept_as_text(
    browser: Browser, built: Path, state: dict[str, Any], says: str
) -> None:
    browser.errors.clear()
    browser.open("about:blank")
    browser.open(built.as_uri() + _link(**state))
    browser.wait_for("window.explorer && explorer.playbacks.length")
    assert says in browser.value("document.getElementById('fault').textContent")
    # The page works, and nothing that the link sets is lost.
    kept = tomllib.loads(browser.value("document.getElementById('copy-text').value"))
    assert kept == state.get("scenario", _scenario("g2", "sptf", 900, 100))
    assert not browser.value("document.getElementById('copy-text-label').hidden")
    assert browser.errors == []


@pytest.mark.slow
def test_a_link_with_another_instant_or_lesson_is_brought_into_range(browser: Browser, built: Path) -> None:
    browser.errors.clear()
    browser.open("about:blank")
    browser.open(built.as_uri() + _link(atMs=1e99, place={"lesson": 99, "step": -4}))
    browser.wait_for("window.explorer && explorer.playbacks.length")
    assert browser.value("document.getElementById('fault').hidden")
    assert browser.value("explorer.atMs === explorer.playbacks[0].endMs")
    assert browser.errors == []


@pytest.mark.slow
def test_a_browser_without_webassembly_gets_an_explanation(built: Path, chromium: str, tmp_path: Path) -> None:
    with Browser(chromium, tmp_path) as browser:
        browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.WebAssembly")
        browser.open(built.as_uri())
        browser.wait_for("!document.getElementById('fault').hidden")
        assert "`sledsim run` on the command line" in browser.value("document.getElementById('fault').textContent")


@pytest.mark.slow
def test_the_page_plays_at_once_unless_less_motion_is_preferred(opened: Browser, built: Path) -> None:
    assert opened.value("document.getElementById('play').textContent") == "Play"
    opened.prefer(prefers_reduced_motion="no-preference")
    opened.open("about:blank")
    opened.open(built.as_uri())
    opened.wait_for("window.explorer && explorer.atMs > 0")
    opened.prefer(prefers_reduced_motion="reduce")


@pytest.mark.slow
def test_side_by_side_takes_up_to_four_columns(opened: Browser) -> None:
    for count in (3, 4):
        _click(opened, "#add-column")
        assert opened.value("document.querySelectorAll('.column').length") == count
    assert opened.value("document.getElementById('add-column').hidden")
    opened.value("explorer.seek(1000)")
    completed = opened.value("[...document.querySelectorAll('.column dl')].map((list) => list.children[1].textContent)")
    assert all(int(number.replace(",", "")) > 500 for number in completed)
    _click(opened, ".column button")
    assert opened.value("document.querySelectorAll('.column').length") == 3


def _open_lesson(browser: Browser, built: Path, folder: Path, name: str) -> None:
    """Open the page at the first step of a lesson."""
    target = folder / "lesson.html"
    target.write_text(sledsim.explorer.page(lesson=load_lesson(name)))
    browser.errors.clear()
    browser.open("about:blank")
    browser.open(target.as_uri())
    browser.wait_for("window.explorer && document.querySelector('.in-lesson')")


def _answer(browser: Browser, place: int, number: int, given: object) -> str:
    """Answer a question as a student does, and return what the page says."""
    said: str = browser.value(
        f"""(() => {{
          const form = document.querySelectorAll("#lesson-view form")[{number}];
          const given = {json.dumps(given)};
          const radio = form.querySelector(`input[type=radio][value="${{given}}"]`);
          if (radio) radio.checked = true;
          else if (form.querySelector("input")) form.querySelector("input").value = String(given);
          form.requestSubmit();
          return form.querySelector("[role=status]").textContent;
        }})()"""
    )
    return said


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_lessons_tell_right_answers_from_wrong_ones(browser: Browser, built: Path, tmp_path: Path, name: str) -> None:
    """The right answers are those that the package computes."""
    _open_lesson(browser, built, tmp_path, name)
    lesson = load_lesson(name)
    for place, answers in enumerate(lesson.answers()):
        for number, answer in enumerate(answers):
            question = answer.question
            if question.kind == "choice":
                right: Any = [choice.text for choice in question.choices].index(answer.text)
                wrong: Any = (right + 1) % len(question.choices)
            elif question.kind == "number":
                right = answer.values[0] / (1 if question.relative_to is None else answer.values[1])
                wrong = right * (1 + 1.5 * question.tolerance_percent / 100)
            else:
                right, wrong = None, None
            said = _answer(browser, place, number, wrong)
            assert said.startswith("Not yet."), (question.text, said)
            assert question.hint in said
            if question.kind == "goal":
                for setting in question.overrides:
                    path, _, value = setting.partition("=")
                    full = path if path.partition(".")[0] in ("workload", "run", "seed") else f"system.{path}"
                    control = full.replace(".", "-") if "=" not in value else full
                    _set(browser, control if full != "system.scheduler" else "system-scheduler-name", json.loads(value))
            said = _answer(browser, place, number, right)
            assert said.startswith("Right."), (question.text, said)
            assert question.explanation in said
        _click(browser, "#lesson-view .primary")
    assert browser.value("document.getElementById('lesson-view').hidden")
    assert browser.errors == []


@pytest.mark.slow
def test_the_runs_of_lessons_equal_those_of_the_package(opened: Browser) -> None:
    for name in LESSONS:
        for step in load_lesson(name).for_page()["steps"]:
            for question in step["questions"]:
                for run in [question, *question.get("choices", ())]:
                    if "scenario" in run:
                        numbers = opened.value(
                            f"explorer.core.command({{ command: 'numbers', scenario: {json.dumps(run['scenario'])} }})"
                        )
                        assert numbers[run["metric"]] == _core.run(resolve(run["scenario"])).numbers()[run["metric"]]


@pytest.mark.slow
def test_the_right_answer_is_offered_after_two_wrong_ones(browser: Browser, built: Path, tmp_path: Path) -> None:
    _open_lesson(browser, built, tmp_path, "seeking")
    reveal = "[...document.querySelectorAll('#lesson-view form button')].find((each) => each.type === 'button')"
    assert "Choose one" in _answer(browser, 0, 0, None)
    for hidden in (True, False):
        assert "Not yet" in _answer(browser, 0, 0, 1)
        assert browser.value(f"{reveal}.hidden") == hidden
    browser.value(f"{reveal}.click()")
    assert "The answer: the seek" in browser.value("document.querySelector('#lesson-view [role=status]').textContent")


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_step_of_a_lesson_fits_the_width_and_names_its_inputs(
    browser: Browser, built: Path, tmp_path: Path, width: int
) -> None:
    browser.resize(width, 900)
    for name in LESSONS:
        _open_lesson(browser, built, tmp_path, name)
        for _ in load_lesson(name).steps:
            assert browser.value("document.documentElement.scrollWidth") <= width
            assert browser.value("window.scrollY") == 0
            nameless = "[...document.querySelectorAll('#lesson-view input')].filter((input) => !input.labels.length)"
            assert browser.value(f"{nameless}.length") == 0
            # Screen readers and keyboards continue at the title of the step.
            _click(browser, "#lesson-view .primary")
            focused = "document.activeElement.id === 'lesson-title'"
            assert browser.value(f"document.getElementById('lesson-view').hidden || {focused}")
    browser.resize(1280, 900)


@pytest.mark.slow
def test_a_goal_keeps_the_requests(browser: Browser, built: Path, tmp_path: Path) -> None:
    _open_lesson(browser, built, tmp_path, "seeking")
    for _ in range(3):
        _click(browser, "#lesson-view .primary")
    _set(browser, "workload-arrival-rate_per_s", 10)
    assert "Leave workload as in this step" in _answer(browser, 3, 1, None)


@pytest.mark.slow
def test_a_link_opens_the_step_of_a_lesson(browser: Browser, built: Path, tmp_path: Path) -> None:
    _open_lesson(browser, built, tmp_path, "scheduling")
    _click(browser, "#lesson-view .primary")
    _set(browser, "system-scheduler-name", "look")
    link = browser.value("location.href")
    title = browser.value("document.getElementById('lesson-title').textContent")
    browser.open("about:blank")
    browser.open(link)
    browser.wait_for("window.explorer && document.querySelector('.in-lesson')")
    assert browser.value("document.getElementById('lesson-title').textContent") == title
    assert _scenario_of(browser)["system"]["scheduler"]["name"] == "look"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mcd", "mwb", "mirror", "raid5"])
def test_systems_are_drawn_as_boxes_with_the_numbers_of_the_run(opened: Browser, kind: str) -> None:
    _set(opened, "system-kind", kind)
    assert opened.value("document.getElementById('fault').hidden")
    assert opened.value("document.getElementById('queue-view').hidden")
    said = opened.value("document.getElementById('status').textContent")
    scenario = _scenario_of(opened)
    parts = sledsim.run(scenario).to_dict()["components"]
    for part in parts:
        assert f"{part['requests']:,} requests" in said
    ends = opened.value("(explorer.seek(explorer.playbacks[0].endMs), explorer.shownInstant.completed)")
    assert ends == scenario["run"]["requests"]
    _set(opened, "system-kind", "drive")
    assert not opened.value("document.getElementById('queue-view').hidden")


@pytest.mark.slow
def test_a_notebook_gets_the_scenario_and_the_result_of_each_run(opened: Browser) -> None:
    """The widget's module runs without Jupyter; its model is a table of values."""
    text = sledsim.explorer.page(_scenario("g3", "fcfs", 500, 300))
    opened.value(
        f"""(async () => {{
          const blob = new Blob([{json.dumps(MODULE)}], {{ type: "text/javascript" }});
          const module = await import(URL.createObjectURL(blob));
          window.held = {{ page: {json.dumps(text)}, height_px: 500, scenario: {{}}, report: {{}} }};
          window.saved = 0;
          const model = {{
            get: (key) => held[key],
            set: (key, value) => (held[key] = value),
            save_changes: () => saved++,
          }};
          const el = document.createElement("div");
          document.body.append(el);
          window.end = module.default.render({{ model, el }});
        }})()"""
    )
    opened.wait_for("saved === 1")
    scenario: Any = opened.value("held.scenario")
    assert scenario["system"]["device"] == {"name": "g3"}
    expected = sledsim.run(scenario).to_dict()
    assert opened.value("held.report")["response"] == expected["response"]
    opened.value("end()")


#: Tries of each measurement; the medians are printed.
TRIES = 5


def _median(browser: Browser, promise: str) -> float:
    """Return the median of several evaluations of a promise or value."""
    return float(statistics.median(float(browser.value(promise)) for _ in range(TRIES)))


@pytest.mark.slow
def test_the_page_is_fast_enough(opened: Browser, built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The figures depend on the machine and on what else it does, so that they are printed and not compared."""
    scenario = _scenario("g2", "fcfs", 900, 1_000_000)
    before_s = opened.cpu_s()
    rate = _median(
        opened,
        f"""(() => {{
          const command = {{ command: "run", scenario: {json.dumps(scenario)} }};
          const begin = performance.now();
          explorer.core.command(command);
          return 1e6 / ((performance.now() - begin) / 1000);
        }})()""",
    )
    cpu_s = (opened.cpu_s() - before_s) / TRIES
    _run(opened, _scenario("g2", "sptf", 100_000, 600))
    pending = opened.value("(explorer.seek(7), explorer.playbacks[0].at(7).pending)")
    assert pending >= 500
    before_s = opened.cpu_s()
    frames = opened.value(
        """new Promise((done) => {
          explorer.seek(7);
          explorer.drawingMs.length = 0;
          const times = [];
          document.getElementById("speed").value = -1;
          explorer.play(true);
          const next = (now) => {
            times.push(now);
            if (times.length < 240) requestAnimationFrame(next);
            else done([times, explorer.drawingMs]);
          };
          requestAnimationFrame(next);
        })"""
    )
    frame_cpu_ms = (opened.cpu_s() - before_s) / len(frames[0]) * 1e3
    opened.value("explorer.play(false)")
    assert opened.value("explorer.playbacks[0].at(explorer.atMs).pending") >= 500
    intervals = [later - now for now, later in zip(frames[0], frames[0][1:], strict=False)]
    _run(opened, SCENARIO)
    opened.wait_for("explorer.curves.tookMs > 0")
    curve = _median(
        opened,
        """new Promise((done) => {
          explorer.run();
          const wait = () => (explorer.curves.tookMs > 0 ? done(explorer.curves.loadMs) : setTimeout(wait, 5));
          wait();
        })""",
    )
    first = []
    for _ in range(TRIES):
        opened.open("about:blank")
        opened.open(built.as_uri())
        opened.wait_for("window.explorer && explorer.firstPictureMs > 0")
        first.append(opened.value("explorer.firstPictureMs"))
    frame, drawing = statistics.median(intervals), statistics.median(frames[1])
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    with capsys.disabled():
        print(f"\nmedians of {TRIES}, on a machine with a load of {load:.1f} per processor:")
        print(
            f"  {rate / 1e6:.2f} million requests/s under FCFS ({1 / cpu_s:.2f} million in a second of processor time)"
        )
        print(f"  20 points of a curve in {curve / 1e3:.2f} s")
        print(f"  first picture after {statistics.median(first) / 1e3:.2f} s")
        print(f"  {pending:.0f} pending: {frame:.1f} ms from frame to frame; {drawing:.1f} ms are the script's drawing")
        print(
            f"  {frame_cpu_ms:.1f} ms of processor time of all the browser's processes a frame, without a graphics card"
        )


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_the_width(opened: Browser, width: int, dark: bool) -> None:
    opened.prefer(prefers_reduced_motion="reduce", prefers_color_scheme="dark" if dark else "light")
    opened.resize(width, 900)
    for device in ("g2", "atlas10k"):
        _set(opened, "system-device-name", device)
        opened.value("explorer.seek(explorer.playbacks[0].endMs / 2)")
        opened.wait_for("explorer.curves.tookMs > 0")
        assert opened.value("document.documentElement.scrollWidth") <= width
        folder = os.environ.get("SLEDSIM_SCREENSHOTS")
        if folder:
            opened.screenshot(Path(folder) / f"{device}-{width}-{'dark' if dark else 'light'}.png")
    opened.resize(1280, 900)


@pytest.mark.slow
def test_controls_and_pictures_have_names(opened: Browser) -> None:
    nameless = opened.value(
        """[...document.querySelectorAll("button, input, select, canvas, textarea")]
          .filter((element) => !element.getAttribute("aria-label") && !element.labels?.length)
          .filter((element) => !element.textContent.trim())
          .map((element) => element.outerHTML)"""
    )
    assert nameless == []
