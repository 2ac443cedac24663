"""Installation: a wheel in a clean environment outside the checkout, a source distribution, and quick imports."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT
from first_hour import first_answer, the_rest

MATURIN = Path(sys.executable).parent / "maturin"
#: Time limit of `import sledsim`.
IMPORT_S = 0.15


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
def test_first_result_within_a_minute_of_pip_install(wheel: Path, tmp_path: Path) -> None:
    programs, _ = first_answer(wheel, tmp_path)
    code = "import sys, time; a = time.perf_counter(); import sledsim; print(time.perf_counter() - a, len(sys.modules))"
    taken = [
        subprocess.run([programs / "python", "-c", code], capture_output=True, text=True, check=True) for _ in "ab"
    ]
    assert min(float(each.stdout.split()[0]) for each in taken) < IMPORT_S
    refused = subprocess.run(
        [programs / "sledsim", "run", "scenario.toml", "--plot", "a.svg"], cwd=tmp_path, capture_output=True, text=True
    )
    assert refused.returncode == 2
    assert "pip install 'altair" in refused.stderr


@pytest.mark.slow
def test_readme_and_tutorials_work_with_the_wheel(wheel: Path, tmp_path: Path) -> None:
    programs, _ = first_answer(wheel, tmp_path)
    the_rest(programs, tmp_path, everything=False)


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


def test_importing_the_package_is_quick() -> None:
    code = "import time; a = time.perf_counter(); import sledsim; print(time.perf_counter() - a)"
    taken = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(taken) < IMPORT_S
