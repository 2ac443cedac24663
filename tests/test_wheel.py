"""Installation: a wheel in a clean environment outside the checkout, and a source distribution."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT

MATURIN = Path(sys.executable).parent / "maturin"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that SLEDSIM_WHEEL names, or one of the existing build: nothing is compiled again."""
    given = os.environ.get("SLEDSIM_WHEEL")
    if given:
        return Path(given).resolve()
    folder = tmp_path_factory.mktemp("wheel")
    notices = ROOT / "THIRD-PARTY-NOTICES.txt"
    subprocess.run([sys.executable, "tools/third_party_notices.py", str(notices)], cwd=ROOT, check=True)
    environment = {**os.environ, "PYO3_PYTHON": sys.executable, "VIRTUAL_ENV": sys.prefix}
    command = [str(MATURIN), "build", "--release", "--locked", "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    [made] = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_wheels_contain_only_the_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "abi3" in wheel.name
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"sledsim"}
    for needed in ("sledsim/examples/scenario.toml", "sledsim/show/templates/draw.js", "sledsim/py.typed"):
        assert needed in names
    assert any(name.startswith("sledsim/catalog/devices/") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    (notices,) = [name for name in names if name.endswith("licenses/THIRD-PARTY-NOTICES.txt")]
    text = zipfile.ZipFile(wheel).read(notices).decode()
    for term in ("BSD 2-Clause", "BSD 3-Clause", "Apache License", "libbzip2", "UNICODE LICENSE"):
        assert term in text, term
    assert not [name for name in names if "__pycache__" in name or name.endswith(".rs")]


@pytest.mark.slow
def test_a_wheel_works_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    programs = tmp_path / "venv" / "bin"
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}

    def call(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(programs / program), *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert call("pip", "install", "--quiet", str(wheel)).returncode == 0
    assert call("sledsim", "example", "scenario.toml").returncode == 0
    assert "g2" in call("sledsim", "run", "scenario.toml").stdout
    plotted = ("run", "scenario.toml", "--plot", "a.svg")
    refused = call("sledsim", *plotted)
    assert (refused.returncode, "pip install 'altair" in refused.stderr) == (2, True)
    extras = f"{wheel}[plots,frames,reliability,optimise]"
    assert call("pip", "install", "--quiet", extras).returncode == 0
    drawn = call("sledsim", *plotted)
    assert (drawn.returncode, (tmp_path / "a.svg").exists()) == (0, True), drawn.stderr


#: Prints the results of random scenarios, a line each.
RESULTS = """
import json, sys
from random_scenarios import scenario
import sledsim

assert sledsim.__file__.startswith(sys.argv[1]), sledsim.__file__
for number in range(int(sys.argv[2])):
    try:
        print(json.dumps(sledsim.run(scenario(number)).summary))
    except sledsim.SledsimError as error:
        print(error)
"""


@pytest.mark.slow
def test_the_build_for_tests_gives_the_results_of_the_release(wheel: Path, tmp_path: Path) -> None:
    # As the Makefile builds the extension for `make test`.
    levels = [f"--config=profile.dev.package.{crate}.opt-level=2" for crate in ("sledsim", "sledsim-disksim")]
    command = [str(MATURIN), "build", "--profile", "dev", "--locked", "--out", str(tmp_path), *levels]
    environment = {**os.environ, "PYO3_PYTHON": sys.executable, "VIRTUAL_ENV": sys.prefix}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    [tested] = tmp_path.glob("*.whl")
    results = []
    for name, built in (("release", wheel), ("tests", tested)):
        zipfile.ZipFile(built).extractall(tmp_path / name)
        paths = os.pathsep.join([str(tmp_path / name), str(ROOT / "tools")])
        program = [sys.executable, "-c", RESULTS, str(tmp_path / name), "200"]
        done = subprocess.run(
            program, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True
        )
        results.append(done.stdout.splitlines())
    assert len(results[0]) >= 200
    assert results[0] == results[1]


@pytest.mark.slow
def test_a_source_distribution_builds(tmp_path: Path) -> None:
    subprocess.run([str(MATURIN), "sdist", "--out", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = opened.getnames()
    assert any(name.endswith("/Cargo.lock") for name in names)
    assert any(name.endswith("/LICENSE") for name in names)
    # Build tools and compiled dependencies are reused. The speed of the result is not tested.
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    environment["PATH"] = os.pathsep.join([str(MATURIN.parent), environment["PATH"]])
    plain = [f"--config profile.release.package.{crate}.opt-level=0" for crate in ("sledsim", "sledsim-python")]
    environment["MATURIN_PEP517_ARGS"] = " ".join(plain)
    subprocess.run([*command, str(archive)], env=environment, check=True, capture_output=True)
    assert list(tmp_path.glob("*.whl"))
