"""The wheel for Python in a browser: results of Pyodide under Node.js against those of the native package."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jupytext
import pytest

import sledsim
from conftest import ROOT
from notebooks_build import notebooks
from sledsim import _core
from sledsim.cli.browser import run_line
from test_explorer import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable

TOOLS = ROOT / "tools" / "pyodide"
#: Options of pip for the wheels of Pyodide 314.
PLATFORM = ["--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14", "--implementation", "cp"]
ABIS = ["--abi", "cp314", "--abi", "abi3", "--abi", "none"]

#: Packages of the Pyodide distribution that tutorials need.
PACKAGES = ["numpy", "duckdb", "pandas", "altair", "jinja2"]


@pytest.fixture(scope="module")
def wheel() -> Path:
    """Return the wheel that SLEDSIM_PYODIDE_WHEEL names, or build it."""
    for tool in ("node", "npm", "cargo"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}: the wheel can't be tried")
    if given := os.environ.get("SLEDSIM_PYODIDE_WHEEL"):
        return Path(given).resolve()
    done = subprocess.run(["make", "-s", "pyodide"], cwd=ROOT, capture_output=True, text=True, check=False)
    if "wasm32-unknown-emscripten" in done.stderr and "target may not be installed" in done.stderr:
        pytest.skip("no standard library for Pyodide: `rustup target add wasm32-unknown-emscripten`")
    assert done.returncode == 0, done.stderr
    [built] = (ROOT / "dist").glob("sledsim-*-pyemscripten_*.whl")
    return built


@pytest.fixture(scope="module")
def in_pyodide(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that runs a program in Pyodide, with the package installed, and returns its output."""
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=TOOLS, check=True)
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    pip += ["--require-hashes", "--requirement", str(ROOT / "requirements" / "pyodide.txt"), "--only-binary", ":all:"]
    subprocess.run([*pip, *PLATFORM, *ABIS, "--dest", str(folder)], check=True)
    wheels = [str(wheel), *map(str, sorted(folder.glob("*.whl")))]

    def run(program: str, *packages: str) -> str:
        command = ["node", str(TOOLS / "run.mjs"), *wheels, *packages]
        done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def with_packages(in_pyodide: Callable[..., str]) -> Callable[[str], str]:
    """Return the same function, with packages of the Pyodide distribution installed."""
    try:
        in_pyodide("import numpy, duckdb, altair, pandas", *PACKAGES)
    except AssertionError as error:
        if "fetch failed" in str(error):
            pytest.skip("the Pyodide distribution can't be reached")
        raise
    return lambda program: in_pyodide(program, *PACKAGES)


@pytest.mark.slow
def test_scenarios_give_the_results_of_the_native_package(in_pyodide: Callable[..., str]) -> None:
    program = f"import json, sledsim\nfor scenario in json.loads({json.dumps(SCENARIOS)!r}):\n"
    lines = in_pyodide(program + "    print(json.dumps(json.loads(sledsim.run(scenario).to_json())))\n").splitlines()
    for scenario, line in zip(SCENARIOS, lines, strict=True):
        assert json.loads(line) == json.loads(sledsim.run(scenario).to_json()), scenario


#: Arguments of the core: RAID 5 with one spare, whose losses are frequent.
ENCLOSURE = {
    "data": 5,
    "parity": 1,
    "spares": 1,
    "sparing": "dedicated",
    "spares_fail": False,
    "device": {"mttf_h": 2000.0, "lifetime": {"kind": "exponential"}},
    "rebuild": {"time": {"mean_h": 0.25, "distribution": "exponential"}, "at_once": 1, "spread": True},
    "repair": {},
}
EXPERIMENT = {
    "confidence": 0.95,
    "seed": 3,
    "threads": 2,
    "horizons_h": [8760.0, 43800.0],
    "lifetimes": 4000,
    "precision": None,
    "forced": False,
    "to_loss": False,
}


@pytest.mark.slow
def test_lifetimes_without_threads_equal_those_on_threads(in_pyodide: Callable[..., str]) -> None:
    arguments = json.dumps([ENCLOSURE, EXPERIMENT])
    program = f"""
import json
from sledsim import _core
enclosure, experiment = json.loads({arguments!r})
print(json.dumps(_core.enclosure_lifetimes(enclosure, experiment)))
"""
    assert json.loads(in_pyodide(program)) == _core.enclosure_lifetimes(ENCLOSURE, EXPERIMENT)


COMMANDS = [
    "sledsim example scenario.toml",
    "cat scenario.toml",
    "sledsim run scenario.toml",
    "sledsim run scenario.toml --set device.settle_constants=0 | grep response",
    "sledsim run scenario.toml --set device.setle_constants=0",
    "sledsim replay requests.csv.gz --device g2",
]
#: The trace of these commands.
TRACE = "time_us,lbn,blocks,op\n" + "".join(f"{900 * i},{(7919 * i) % 4_000_000},8,R\n" for i in range(200))


@pytest.mark.slow
def test_commands_print_what_they_print_natively(in_pyodide: Callable[..., str], tmp_path: Path) -> None:
    environment = {"COLUMNS": "88", "NO_COLOR": "1"}
    program = f"""
import contextlib, gzip, io, json, os
from sledsim.cli.browser import run_line
os.environ |= {environment}
open("requests.csv.gz", "wb").write(gzip.compress({TRACE!r}.encode()))
for line in {COMMANDS}:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        status = run_line(line)
    print(json.dumps([status, out.getvalue()]))
"""
    lines = in_pyodide(program).splitlines()
    (tmp_path / "requests.csv.gz").write_bytes(gzip.compress(TRACE.encode()))
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, line in zip(COMMANDS, lines, strict=True):
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert json.loads(line) == [done.returncode, done.stdout], command


CUSTOM = '''
import sys
from pathlib import Path
import sledsim

Path("newest.py").write_text("""\
from sledsim.schedulers import Policy

class Newest(Policy):
    def pick(self, now_ns, pending):
        return len(pending) - 1
""")
sys.path.insert(0, ".")
scenario = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 900.0}}, "run": {"requests": 2000}}
print(sledsim.run({**scenario, "system": {"device": "g2", "scheduler": "newest:Newest"}}).to_json())
'''


@pytest.mark.slow
def test_custom_policies_run_without_threads(with_packages: Callable[[str], str], tmp_path: Path) -> None:
    native = subprocess.run([sys.executable, "-c", CUSTOM], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(with_packages(CUSTOM)) == json.loads(native.stdout)


@pytest.mark.slow
def test_traces_that_need_a_c_library_are_refused(in_pyodide: Callable[..., str]) -> None:
    program = """
import sledsim
open("trace.csv.zst", "wb").write(bytes.fromhex("28b52ffd") + bytes(20))
try:
    sledsim.replay("trace.csv.zst", device="g2")
except sledsim.SledsimError as error:
    print(error)
"""
    assert "reads only gzip: decompress the trace first" in in_pyodide(program)


def cells_of(tutorial: Path) -> str:
    """Return the code of a tutorial as a program; lines that begin with ``!`` are commands."""
    cells = [cell.source for cell in jupytext.read(tutorial).cells if cell.cell_type == "code"]
    code = re.sub(r"^!(.+)$", lambda line: f"run_line({line[1]!r})", "\n".join(cells), flags=re.MULTILINE)
    return f"from sledsim.cli.browser import run_line\n{code}\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first-answer", "notebook", "scheduling", "study", "your-own-trace", "exercises"])
def test_tutorials_run(with_packages: Callable[[str], str], name: str) -> None:
    with_packages(cells_of(ROOT / "docs" / "tutorials" / f"{name}.md"))


def test_notebooks_for_browsers_install_the_package_first() -> None:
    found = {name: json.loads(text) for name, text in notebooks().items()}
    assert {"first-answer.ipynb", "notebook.ipynb", "scheduling.ipynb"} <= set(found)
    for name, notebook in found.items():
        assert notebook["metadata"]["kernelspec"]["name"] == "python", name
        title, setup = ("".join(cell["source"]) for cell in notebook["cells"][:2])
        assert (title.startswith("# "), "%pip install" in setup) == (True, True), name
        texts = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
        assert not [text for text in texts if ".md)" in text], name


def test_a_line_runs_without_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_line("sledsim example scenario.toml") == 0
    assert run_line("cat scenario.toml | grep device") == 0
    assert capsys.readouterr().out.splitlines()[-1] == 'device = "g2"'
    assert run_line("cat scenario.toml | grep nothing") == 1
    assert run_line("cat missing.toml") == 1
    assert run_line("ls") == 127
    assert "a browser has no shell" in capsys.readouterr().out


def test_tutorials_use_only_commands_that_work_without_a_shell() -> None:
    lines = [
        line.removeprefix("!")
        for text in notebooks().values()
        for cell in json.loads(text)["cells"]
        if cell["cell_type"] == "code"
        for line in "".join(cell["source"]).splitlines()
        if line.startswith("!")
    ]
    assert len(lines) > 20
    for line in lines:
        assert re.fullmatch(r"(sledsim|cat) [^|;&<>]+(\| grep [^|;&<>]+)?", line), line
