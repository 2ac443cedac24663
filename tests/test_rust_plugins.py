"""Plugins of a crate in Rust: in scenarios, on the command line and in sweeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT, SCENARIO
from sledsim._loading import CORE

if TYPE_CHECKING:
    from collections.abc import Callable

CRATE = ROOT / "examples" / "rust-plugins"
#: Reuses the build artefacts of the simulator.
BUILDING = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target"), "PYO3_PYTHON": sys.executable}


def test_the_crate_uses_the_locked_dependencies() -> None:
    def packages(folder: Path) -> set[tuple[str, str]]:
        lock = tomllib.loads((folder / "Cargo.lock").read_text())
        return {(package["name"], package["version"]) for package in lock["package"]}

    assert packages(CRATE) - packages(ROOT) == {("rust-plugins", "0.1.0")}


def test_the_crate_reuses_the_build_of_the_simulator() -> None:
    ours, theirs = (tomllib.loads((folder / "Cargo.toml").read_text())["profile"]["dev"] for folder in (ROOT, CRATE))
    locked = {package["name"] for package in tomllib.loads((CRATE / "Cargo.lock").read_text())["package"]}
    packages = {name: each for name, each in ours.pop("package").items() if name in locked}
    # The simulator's tests build none of these.
    own = {name: {"opt-level": 0} for name in ("rust-plugins", "sledsim-python")}
    assert theirs.pop("package") == packages | own
    assert theirs == ours


def features_of(edges: str, *packages: str) -> dict[str, str]:
    """Return the packages that a build of these compiles, with their features."""
    command = ["cargo", "tree", "--locked", f"--edges={edges}", "--prefix=none", "--no-dedupe", "--format={p}\t{f}"]
    command += [f"--package={package}" for package in packages]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)


def test_extension_library_and_tests_use_the_same_build_of_the_core() -> None:
    core = features_of("normal,build", "sledsim")
    tests = [f"sledsim-{name}" for name in ("tests", "c", "plugin", "disksim", "nbd")]
    for edges, packages in (
        ("normal,build", ["sledsim-python"]),
        ("normal,build", ["sledsim-c"]),
        ("normal,build,dev", tests),
    ):
        build = features_of(edges, *packages)
        assert {package: build[package] for package in core} == core, packages


@pytest.mark.parametrize(
    ("core", "says"),
    [
        ("no_such_module", "SLEDSIM_CORE is no_such_module, which can't be imported: No module named"),
        ("colorsys", "SLEDSIM_CORE is colorsys, which is not a Sledsim core"),
    ],
)
def test_invalid_core_paths_are_reported(core: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from sledsim.cli import main; main()", "list", "schedulers"],
        env={**os.environ, CORE: core},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sledsim: {says}")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_cargo_tests_the_crate() -> None:
    command = ["cargo", "test", "--locked"]
    done = subprocess.run(command, cwd=CRATE, env=BUILDING, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test result: ok" in done.stdout


@pytest.fixture(scope="module")
def with_plugins(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return the command line with the plugins of the crate."""
    folder = tmp_path_factory.mktemp("plugins")
    maturin = Path(sys.executable).with_name("maturin")
    command = [str(maturin), "build", "--profile", "dev", "--locked", "--out", str(folder)]
    done = subprocess.run(command, cwd=CRATE, env=BUILDING, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("rust_plugins-*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    program = [sys.executable, "-c", "from sledsim.cli import main; main()"]
    environment = {**os.environ, CORE: "rust_plugins", "PYTHONPATH": str(folder / "site")}

    def run(*arguments: object, status: int = 0) -> str:
        done = subprocess.run(
            [*program, *map(str, arguments)], env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    (folder / "scenario.json").write_text(json.dumps({**SCENARIO, "run": {"requests": 300}}))
    return run


@pytest.mark.slow
def test_the_command_line_knows_the_plugins(with_plugins: Callable[..., str]) -> None:
    listed = {each["name"]: each for each in json.loads(with_plugins("list", "schedulers", "--json"))}
    assert {"fcfs", "sptf", "mine-fcfs", "mine-clook", "mine-sptf"} <= set(listed)
    assert listed["mine-sptf"]["parameters"]["weight"]["minimum"] == 0
    assert "mine-sptf" in with_plugins("list", "schedulers")
    assert "mine-arc" in with_plugins("list", "cache-policies")
    assert "mine-sled" in with_plugins("list", "devices")
    assert json.loads(with_plugins("list", "devices", "--json"))["mine-sled"]["parameters"]
    assert json.loads(with_plugins("plugin-check", "mine-sptf", "--json"))["passed"]
    assert json.loads(with_plugins("plugin-check", "mine-sled", "--json"))["passed"]
    assert json.loads(with_plugins("plugin-check", "mine-arc", "--json"))["passed"]

    def found(scheduler: str, *more: str) -> dict[str, Any]:
        given = ["run", "scenario.json", "--json", "--check", "--set", f"scheduler={scheduler}"]
        return dict(json.loads(with_plugins(*given, *more)))

    own = found("mine-sptf", "--set", "scheduler.weight=0.02")
    assert own["response"] == found("asptf", "--set", "scheduler.weight=0.02")["response"]
    assert own["scheduler"] == "mine-sptf"
    said = own["scenario"]["system"]["scheduler"]
    assert (said["rust"], said["parameters"], len(said["source"])) == ("mine-sptf", {"weight": 0.02}, 64)
    wrong = with_plugins(
        "run", "scenario.json", "--set", "scheduler=mine-sptf", "--set", "scheduler.weight=-1", status=2
    )
    assert "--set scheduler.weight=-1" in wrong
    compared = [
        with_plugins("compare", "scenario.json", "--set", f"scheduler={name}") for name in ("clook", "mine-clook")
    ]
    assert compared[0] == compared[1]


@pytest.mark.slow
def test_a_device_in_rust_gives_the_log_of_the_same_class(with_plugins: Callable[..., str], tmp_path: Path) -> None:
    example = ROOT / "examples" / "custom_mechanism.py"
    (tmp_path / example.name).write_text(example.read_text())
    (tmp_path / "scenario.json").write_text(json.dumps({**SCENARIO, "run": {"requests": 1000}}))
    for scheduler in ("fcfs", "sptf"):
        logs: list[str] = []
        for device in ("mine-sled", "custom_mechanism:Sled"):
            log = tmp_path / f"{scheduler}-{len(logs)}.csv"
            sets = ["--set", f"device={device}", "--set", f"scheduler={scheduler}"]
            with_plugins("run", tmp_path / "scenario.json", *sets, "--log", log)
            logs.append(log.read_text())
        assert len(logs[0].splitlines()) == 1001
        assert logs[0] == logs[1]


@pytest.mark.slow
def test_sweeps_and_hit_ratios_accept_the_plugins(with_plugins: Callable[..., str], tmp_path: Path) -> None:
    axes = {"scheduler": ["sptf", "mine-sptf"], "device": ["g1", "g2"]}
    (tmp_path / "sweep.json").write_text(json.dumps({"scenario": {**SCENARIO, "run": {"requests": 300}}, "axes": axes}))
    for more in ([], ["--cluster", "local"]):
        store = tmp_path / f"{len(more)}.sweep"
        with_plugins("sweep", "run", tmp_path / "sweep.json", "--store", store, *more)
        rows = json.loads(with_plugins("sweep", "show", store, "--json"))["points"]
        means: dict[tuple[str, str], float] = {}
        for row in rows:
            values = row["values"]
            means[values["scheduler"], values["device"]] = row["metrics"]["response.mean_ms"]["mean"]
        assert len(means) == 4
        for device in ("g1", "g2"):
            assert means["sptf", device] == means["mine-sptf", device]
    with_plugins("example", "my-trace.gz")
    asked = ["hit-ratio", "my-trace.gz", "--policy", "lru", "--policy", "mine-lru", "--pages", "300", "--json"]
    listed, own = json.loads(with_plugins(*asked))["caches"]
    assert (own["label"], own["hits"]) == ("mine-lru", listed["hits"])
