"""The documentation: links have targets, commands and programs run, and the site works without a network."""

from __future__ import annotations

import doctest
import inspect
import json
import os
import re
import shlex
import subprocess
import tomllib
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
import typer

from conftest import ROOT
from reference_api import api_pages
from reference_commands import command_pages
from reference_pages import MARK, device_pages, filled, scenario_pages
from site_build import build, environment_of_pages
from sledsim import SledsimError
from sledsim.cli.app import app
from sledsim.scenario import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Outcome

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NOTEBOOKS = [path for path in PAGES if "file_format: mystnb" in path.read_text()]
#: Marks the generated list of keys at the top of a scenario.
MARKED = "<!-- generated: scenario -->"


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def targets(path: Path) -> list[str]:
    """Return the pages and files that a page links to."""
    return [each for each in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()) if "://" not in each]


@pytest.mark.parametrize("path", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=name_of)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    for target in targets(path):
        assert (path.parent / target).exists(), target


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set()
    for path in PAGES:
        for tree in re.findall(r"^```\{toctree\}\n(.+?)^```", path.read_text(), flags=re.DOTALL | re.MULTILINE):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(path.parent / f"{name}.md").resolve() for name in names}
    assert {path.resolve() for path in PAGES} - listed == {DOCS / "index.md"}


def test_reference_is_generated() -> None:
    marked = {found for path in PAGES for found in MARK.findall(path.read_text())}
    assert {"scenario", "result", "schedulers", "limits", "trace-formats"} <= marked
    for path in PAGES:
        assert not MARK.search(filled(path.read_text())), name_of(path)


def test_reference_names_every_key_device_and_command() -> None:
    scenario = "\n".join(scenario_pages().values())
    missing = [key for key in scenario_keys() if not re.search(rf"[`.]{key}[`\s]", scenario + filled(MARKED))]
    assert not missing
    anchors = re.findall(r"^\((scenario-\w+)\)=$", scenario, flags=re.MULTILINE)
    assert len(set(anchors)) == len(anchors) > 40
    assert set(re.findall(r"\(#(scenario-\w+)\)", scenario)) <= set(anchors)
    devices = "\n".join(device_pages().values())
    for entry in sorted((ROOT / "python" / "sledsim" / "catalog" / "devices").glob("*.toml")):
        assert f"## {entry.stem}\n" in devices
    commands = "\n".join(command_pages().values())
    for name in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
        assert f"## sledsim {name}\n" in commands


def test_a_public_name_is_described_once() -> None:
    described = re.findall(r"^\.\. auto\w+:: (\S+)$", "\n".join(api_pages().values()), flags=re.MULTILINE)
    assert len(described) > 200
    assert len(set(described)) == len(described)


@cache
def scenario_keys() -> set[str]:
    """Return every key that a scenario can have."""
    from sledsim import _core

    def keys(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from node.get("properties", {})
            for each in node.values():
                yield from keys(each)
        elif isinstance(node, list):
            for each in node:
                yield from keys(each)

    return set(keys(_core.schema()))


def commands_of(path: Path, *kinds: str, of: tuple[str, ...] = ("sledsim ",)) -> list[str]:
    """Return the commands of a page: runnable ones are in blocks of ``sh``, others in ``text``."""
    text = path.read_text()
    found = re.findall(rf"^```(?:{'|'.join(kinds)})\n(.+?)^```", text, flags=re.DOTALL | re.MULTILINE)
    found += re.findall(r"^(?=!)((?:!sledsim .+\n)+)", text, flags=re.MULTILINE) if "text" in kinds else []
    lines = [line.lstrip("!") for block in found for line in block.replace("\\\n", " ").splitlines()]
    return [line.partition("  #")[0].strip() for line in lines if line.startswith(of)]


@pytest.mark.parametrize("path", [path for path in PAGES if commands_of(path, "sh", "text")], ids=name_of)
def test_a_command_of_a_page_has_its_options(path: Path) -> None:
    for line in commands_of(path, "sh", "text"):
        # A deliberate mistake is one of a value, which is looked at when the command runs.
        words = shlex.split(re.split(r"\s[>|]\s", line)[0])[1:]
        command: Any = typer.main.get_command(app)
        context = typer.Context(command, info_name="sledsim")
        while words and hasattr(command, "commands") and not words[0].startswith("-"):
            assert words[0] in command.commands, line
            command = command.commands[words[0]]
            context = typer.Context(command, info_name=words.pop(0), parent=context)
        if not hasattr(command, "commands"):
            command.make_parser(context).parse_args(list(words))


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in PAGES if commands_of(path, "sh")], ids=name_of)
def test_the_commands_of_a_page_run_one_after_the_other(path: Path, tmp_path: Path) -> None:
    for line in commands_of(path, "sh", of=("sledsim ", "mkdir ")):
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment_of_pages(), capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_the_files_that_pages_show_can_be_read() -> None:
    blocks = [
        block
        for path in PAGES
        for block in re.findall(r"^```toml\n(.+?)^```", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    ]
    assert len(blocks) > 20
    for block in blocks:
        if "..." not in block and "…" not in block:
            tomllib.loads(block)


#: The section on documents, with a wrong one.
DOCUMENTS = DOCS / "reference" / "scenario.md"


def blocks_of(path: Path, notation: str) -> list[str]:
    return re.findall(rf"^```{notation}\n(.+?)^```", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def test_errors_of_the_page_match_the_program(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [text], [shown] = blocks_of(DOCUMENTS, "toml"), blocks_of(DOCUMENTS, "text")
    (tmp_path / "rates.toml").write_text(text)
    found = sledsim_cli("sweep", "run", "rates.toml")
    assert found.status == 2
    assert re.fullmatch(".+".join(map(re.escape, shown.split("…"))), found.err)


def test_the_page_on_documents_runs_and_has_every_kind_of_fault_and_attribute() -> None:
    page = DOCUMENTS.read_text()
    [block] = blocks_of(DOCUMENTS, "python")
    example = doctest.DocTestParser().get_doctest(block, {}, "scenario.md", str(DOCUMENTS), 0)
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))
    with pytest.raises(SledsimError) as caught:
        Fault("none")
    rows = re.findall(r"^\| `([a-z_-]+)` \|", page, flags=re.MULTILINE)
    attributes = [name for name, kind in vars(Fault).items() if inspect.isdatadescriptor(kind)]
    kinds = re.findall(r"`([a-z-]+)`", str(caught.value).partition("expected")[2])
    assert sorted(rows) == sorted([*attributes, *kinds])


def run_notebook(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an executed notebook, run in a temporary folder."""
    import jupytext
    import nbclient

    for name, value in environment_of_pages().items():
        monkeypatch.setenv(name, value)
    notebook = jupytext.read(path, fmt="md:myst")
    return nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs_and_needs_no_network(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [cell for cell in run_notebook(path, tmp_path, monkeypatch).cells if cell.cell_type == "code"]
    assert len(cells) >= 3
    shown = [output for cell in cells for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "error"]
    pages = [str(output.get("data", {}).get("text/html", "")) for output in shown]
    assert any("data:image/svg+xml" in page for page in pages)
    assert not [page for page in pages if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)]
    # Altair itself loads Vega from elsewhere.
    assert not [page for page in pages if "cdn." in page]


class Loaded(HTMLParser):
    """The resources and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "img", "iframe"} and given.get("src"):
            self.loads.append(str(given["src"]))
        if tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.loads.append(str(given["href"]))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built from scratch: warnings of Sphinx, such as broken links, are errors."""
    kept = os.environ.get("SLEDSIM_SITE")
    folder = tmp_path_factory.mktemp("site") / "site" if not kept else ROOT / kept
    if not kept:
        build(folder, claims=False)
    return folder


@pytest.mark.slow
def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site: Path) -> None:
    for path in PAGES:
        assert (site / path.relative_to(DOCS)).with_suffix(".html").is_file()
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(PAGES) + 30
    for page in pages:
        for source in Loaded(page.read_text(encoding="utf-8")).loads:
            # A page may name itself, as the index does.
            if not source.startswith(("data:", "#")):
                assert "//" not in source, f"{page}: {source}"
                assert (page.parent / source.partition("?")[0]).is_file(), f"{page}: {source}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:|@import", sheet.read_text(encoding="utf-8")), sheet
    assert (site / "searchindex.js").stat().st_size > 100_000


@pytest.mark.slow
def test_a_downloaded_notebook_has_outputs_and_no_dead_links(site: Path) -> None:
    downloads = sorted(site.glob("_downloads/*/*.ipynb"))
    assert [path.stem for path in sorted(downloads, key=lambda path: path.stem)] == sorted(
        path.stem for path in NOTEBOOKS
    )
    for path in downloads:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert any(cell.get("outputs") for cell in cells), path.name
        text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        assert ".md" not in text, path.name
        assert "{download}" not in text, path.name


#: Prints the measures of a page after loading.
MEASURE = """<script>
const check = setInterval(() => {
  const page = document.documentElement, charts = [...document.querySelectorAll(".chart")];
  if (document.readyState !== "complete" || (charts.length && page.dataset.drawn !== "true")) return;
  clearInterval(check);
  const drawn = charts.filter((chart) => chart.querySelector("svg path, svg rect, svg text")).length;
  const beyond = page.scrollWidth - page.clientWidth;
  const dark = getComputedStyle(document.body).backgroundColor;
  console.log("MEASURED " + [charts.length - drawn, beyond, dark.replaceAll(" ", "")].join(" ") + " END");
}, 100);
</script></body>"""
#: Pages of each kind: with charts, with wide tables, with long names.
LOOKED_AT = (
    *(
        "index",
        "tutorials/scheduling",
        "tutorials/study",
        "explanation/how-a-sled-moves",
        "reference/scenario/workload",
    ),
    *("reference/catalogue/disks", "reference/commands/study", "reference/api/sledsim.runs", "papers/claims"),
)


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_browser_shows_complete_pages_of_the_site(
    site: Path, chromium: str, tmp_path: Path, name: str, width: int, dark: bool
) -> None:
    page = site / f"{name}.html"
    probe = page.with_name(f"{page.stem}-{width}-{dark}.html")
    probe.write_text(page.read_text(encoding="utf-8").replace("</body>", MEASURE), encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(f'<!DOCTYPE html><iframe src="{probe.as_uri()}" width="{width}" height="900"></iframe>')
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += ["--enable-logging=stderr", "--v=0", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--blink-settings=preferredColorScheme=0"] if dark else []
    command += ["--window-size=1400,1000", "--virtual-time-budget=60000", "--dump-dom", frame.as_uri()]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    finally:
        probe.unlink()
    said = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    measured = [line.partition("MEASURED ")[2].partition(" END")[0].split() for line in said if "MEASURED" in line]
    assert not [line for line in said if "MEASURED" not in line and "WARN" not in line]
    [[undrawn, beyond, colour]] = measured
    assert (undrawn, beyond) == ("0", "0")
    brightness = sum(map(int, re.findall(r"\d+", colour)[:3]))
    assert (brightness < 200) == dark


def test_the_documentation_is_built_with_pinned_packages() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pinned = (ROOT / "requirements" / "dev.txt").read_text()
    for requirement in extras["docs"]:
        [name] = re.findall(r"^[\w-]+", requirement)
        assert re.search(rf"^{name}==", pinned, flags=re.MULTILINE), name
    assert not re.search(r"https?://", pinned)
