"""Additional devices and workloads: a base and a few keys, a folder, another package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import sledsim
from sledsim import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

DEVICES = sorted(sledsim.devices.catalog())
STILL = 'base = "g2"\nsettle_constants = 0\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a device and a workload, and reset the search path afterwards."""
    monkeypatch.setenv("SLEDSIM_CATALOG", "")
    own = tmp_path / "own"
    for kind, name, text in (
        ("devices", "still", STILL),
        ("workloads", "slow", 'base = "snake-like"\nrequests = 200\n[values]\nread_fraction = 1.0\n'),
    ):
        own.joinpath(kind).mkdir(parents=True)
        own.joinpath(kind, f"{name}.toml").write_text(text)
    return own


def device(path: Path, text: str) -> sledsim.Device:
    path.write_text(text)
    return sledsim.Device(str(path))


def test_a_base_and_a_few_keys_make_a_device(tmp_path: Path) -> None:
    mine, g2 = device(tmp_path / "mine.toml", STILL), sledsim.Device("g2")
    assert mine.parameters == {**g2.parameters, "name": str(tmp_path / "mine.toml"), "settle_constants": 0.0}
    assert mine.capacity_bytes == g2.capacity_bytes
    # In a table, with a source, and over a file that has a base itself.
    upper = tmp_path / "upper.toml"
    above = device(upper, 'base = "mine.toml"\ntitle = "U"\n[values]\nbit_nm = { value = 30.0, unit = "nm" }\n')
    assert (above.parameters["settle_constants"], above.parameters["bit_nm"]) == (0.0, 30.0)
    assert above.capacity_bytes > g2.capacity_bytes
    entry = sledsim.devices.device_entry(str(upper))
    assert (entry.title, entry.values["bit_nm"].value, entry.values["tips"].source) == ("U", 30.0, "disksim4")
    assert entry.values["settle_constants"].source == ""
    result = sledsim.run({"system": {"device": str(upper)}, "run": {"requests": 50}, "workload": "tpcc-like"})
    assert "disksim4" in result["citations"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('base = "g22"\n', ["base", "g22", "g2"]),
        ('base = "no.toml"\n', ["no.toml"]),
        ("base = 2\n", ["base", "a device"]),
        ('base = "mine.toml"\n', ["base", "itself"]),
        ('base = "g2"\nsettle_constant = 0\n', ["settle_constant", "settle_constants"]),
        ('base = "g2"\nmechanism = "disk"\n', ["mechanism", "base", "mems"]),
        ('base = "g2"\nvalues = 3\n', ["values"]),
        ('base = "g2"\n[values]\nbit_nm = { value = 30.0, unit = "um" }\n', ["unit", '"nm"']),
        ('base = "g2"\nbit_nm = -1\n', ["bit_nm", "-1"]),
    ],
)
def test_device_errors_name_file_and_remedy(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, text: str, words: list[str]
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    refused = sledsim_cli("device", tmp_path / "mine.toml")
    assert (refused.status, refused.out) == (2, "")
    message = " ".join(refused.err.split())
    assert message.startswith("error: ")
    assert all(word in message for word in [*words, "mine.toml"]), message


def test_missing_device_files_and_device_files_given_to_run_are_refused(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text('base = "g2"\n')
    refused = sledsim_cli("run", tmp_path / "mine.toml")
    assert (refused.status, refused.out) == (2, "")
    assert "give it as a scenario's device" in " ".join(refused.err.split())
    refused = sledsim_cli("run", scenario_file, "--set", f"device={tmp_path / 'none.toml'}")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.rstrip().endswith("none.toml: no such file")


@pytest.mark.parametrize("name", DEVICES)
def test_exported_device_equals_its_base(sledsim_cli: Callable[..., Outcome], tmp_path: Path, name: str) -> None:
    written = sledsim_cli("device", name, "--toml").out
    path = tmp_path / "mine.toml"
    base = sledsim.Device(name).parameters
    assert device(path, written).parameters == {**base, "name": str(path)}
    # With every comment uncommented, all values are in the file itself and unchanged.
    opened = re.sub(r"^# (?!A new device)", "", written, flags=re.MULTILINE)
    assert device(path, opened).parameters == {**base, "name": str(path)}
    assert set(base) >= set(re.findall(r"^(\w+) = ", opened.partition("[values]")[2], flags=re.MULTILINE))


TITLED = 'title = "T"\nmechanism = "simpledisk-constant"\ntitel = 1\n'
VALUED = "[values]\nblock_bytes = 512\ncapacity_blocks = 9\naccess_ms = {value = 1, unit = 'ms', sorce = 'x'}\n"


@pytest.mark.parametrize("use", [sledsim.Device, lambda path: sledsim.run({"system": path, "workload": "tpcc-like"})])
def test_every_fault_of_a_device_file_has_its_line(use: Callable[[str], object], tmp_path: Path) -> None:
    path = tmp_path / "dev.toml"
    path.write_text(TITLED + VALUED + "[notes]\na = 1\n")
    with pytest.raises(ScenarioError) as raised:
        use(str(path))
    found = {(fault.path, fault.line, fault.suggestion) for fault in raised.value.faults}
    assert found == {("titel", 3, "title"), ("values.access_ms.sorce", 7, "source"), ("notes", 8, None)}
    assert {fault.file for fault in raised.value.faults} == {str(path)}
    # An error of a value has the line of the value, also above a base.
    path.write_text('base = "g2"\nsettle_constants = 0\n[values]\nbit_nm = {value = -5}\n')
    with pytest.raises(ScenarioError) as raised:
        use(str(path))
    assert (raised.value.path, raised.value.line, raised.value.file, raised.value.value) == (
        "values.bit_nm",
        4,
        str(path),
        -5,
    )
    path.write_text('base = "g2"\nbit_nm = -5\n')
    with pytest.raises(ScenarioError) as raised:
        use(str(path))
    assert (raised.value.path, raised.value.line) == ("bit_nm", 2)


def test_faults_of_workload_files_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "load.toml"
    path.write_text('base = "snake-like"\nrequests = 0\n[values]\nread_fraction = 7\n')
    with pytest.raises(ScenarioError) as raised:
        sledsim.run({"system": "g2", "workload": str(path)})
    assert (raised.value.path, raised.value.line, raised.value.file) == ("requests", 2, str(path))
    path.write_text('base = "snake-like"\n[values]\nread_fraction = 7\n')
    with pytest.raises(ScenarioError) as raised:
        sledsim.run({"system": "g2", "workload": str(path)})
    assert (raised.value.path, raised.value.line, raised.value.file) == ("values.read_fraction", 3, str(path))


def test_device_files_may_be_toml_yaml_or_json(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = device(tmp_path / "mine.toml", STILL).parameters
    for name, text in (
        ("mine.json", '{"base": "g2", "settle_constants": 0}'),
        ("mine.yaml", 'base: g2\nvalues:\n  settle_constants: {value: 0, note: "none"}\n'),
    ):
        path = tmp_path / name
        assert device(path, text).parameters == {**expected, "name": str(path)}
        assert sledsim.devices.device_entry(str(path)).values["settle_constants"].value == 0
    upper = tmp_path / "upper.toml"
    assert device(upper, 'base = "mine.yaml"\n').parameters == {**expected, "name": str(upper)}
    (folder / "devices" / "odd.yml").write_text("base: g2\n")
    monkeypatch.setenv("SLEDSIM_CATALOG", str(folder))
    assert sledsim.devices.catalog()["odd"].title == "based on g2"


def test_only_one_device_is_written(sledsim_cli: Callable[..., Outcome]) -> None:
    for option in ("--json", "--seeks"):
        refused = sledsim_cli("device", "g2", "--toml", option)
        assert refused.status == 2
        assert option in refused.err


def test_typed_paths_are_relative_to_the_working_folder(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "mine.toml").write_text(STILL)
    asked = ("run", scenario_file, "--set", "device=mine.toml", "--set", "run.requests=100")
    result = sledsim_cli(*asked, "--json")
    assert json.loads(result.out)["scenario"]["system"]["device"]["settle_constants"] == 0.0
    found = sledsim.run(scenario_file, overrides={"device": "mine.toml", "run.requests": 100})
    assert found["device"]["name"] == str(here / "mine.toml")
    # A file that is not here is looked up in the folder of the scenario.
    (here / "mine.toml").rename(tmp_path / "mine.toml")
    assert sledsim_cli(*asked).status == 0
    (tmp_path / "mine.toml").unlink()
    refused = sledsim_cli(*asked)
    assert refused.status == 2
    assert "mine.toml" in refused.err


def test_custom_folders_extend_the_catalogue(
    sledsim_command: Callable[..., Outcome], folder: Path, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("run", scenario_file, "--set", "device=still", "--set", "run.requests=100", "--json")
    refused = sledsim_command(*asked)
    assert refused.status == 2
    assert "still" in refused.err
    given = sledsim_command("--catalog", folder, *asked)
    assert json.loads(given.out)["scenario"]["system"]["device"]["settle_constants"] == 0.0
    monkeypatch.setenv("SLEDSIM_CATALOG", str(folder))
    assert sledsim_command(*asked).out == given.out
    listed = json.loads(sledsim_command("list", "devices", "--json").out)
    assert sorted(listed) == sorted([*DEVICES, "still"])
    assert "slow" in json.loads(sledsim_command("list", "workloads", "--json").out)
    assert sledsim_command("run", "-", given='workload = "slow"\nsystem = "still"').status == 0
    assert sledsim.workloads.catalog()["slow"].requests == 200
    assert sledsim.Device("still").parameters["settle_constants"] == 0.0


def test_custom_workload_has_a_catalogue_base(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEDSIM_CATALOG", str(folder))
    result = sledsim.run({"workload": "slow", "system": "g2"})
    assert (result.requests.completed, result["writes"]) == (200, None)
    assert sledsim.workloads.workload_entry("slow").values["read_fraction"]["value"] == 1.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda own: own / "nowhere", ["nowhere (--catalog or SLEDSIM_CATALOG): no such folder"]),
        (
            lambda own: own / "devices" / "still.toml",
            ["still.toml (--catalog or SLEDSIM_CATALOG): a file, not a folder"],
        ),
        (lambda own: own / "devices", ["nothing in it", "devices/*.toml", "workloads/*.toml", "move them"]),
    ],
)
def test_invalid_catalogue_folders_are_refused(
    sledsim_command: Callable[..., Outcome], folder: Path, make: Callable[[Path], Path], words: list[str]
) -> None:
    for command in (["list", "devices"], ["device", "g2", "--seeks"]):
        refused = sledsim_command("--catalog", make(folder), *command)
        assert (refused.status, refused.out) == (2, "")
        message = " ".join(refused.err.split())
        assert all(word in message for word in words), message


def test_duplicate_catalogue_names_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "devices" / "g2.toml").write_text(STILL)
    monkeypatch.setenv("SLEDSIM_CATALOG", str(folder))
    with pytest.raises(ScenarioError, match=r"g2\.toml: the catalogue has a device g2 already.*another name"):
        sledsim.Device("g2")


def test_packages_can_provide_catalogues(folder: Path, tmp_path: Path) -> None:
    package, metadata = tmp_path / "site" / "moving_parts", tmp_path / "site" / "moving_parts-1.0.dist-info"
    package.parent.mkdir()
    folder.rename(package)
    (package / "__init__.py").write_text("")
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: moving-parts\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[sledsim.catalogs]\nmine = moving_parts\n")
    code = "import sledsim; print(sledsim.Device('still').parameters['settle_constants'])"
    path = os.pathsep.join([str(package.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0.0\n"
    (metadata / "entry_points.txt").write_text("[sledsim.catalogs]\nmine = moving_part\n")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "entry point mine of sledsim.catalogs: moving_part" in done.stderr
