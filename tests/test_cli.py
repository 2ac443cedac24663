"""The command line: output, files and exit status of each command."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import jsonschema
import pytest
import typer

import sledsim
from conftest import TOML
from sledsim import _core
from sledsim.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

COMMANDS = [name for name in typer.main.get_command(app).commands if name != "sweep"]  # type: ignore[attr-defined]


def test_help_lists_every_command(sledsim_cli: Callable[..., Outcome]) -> None:
    found = sledsim_cli("--help")
    assert found.status == 0
    for command in [*COMMANDS, "sweep"]:
        assert f"\n  {command} " in found.out
    assert sledsim_cli("help").out == sledsim_cli().out == found.out


@pytest.mark.parametrize(
    "command", [*([name] for name in COMMANDS), *(["sweep", name] for name in ("run", "status", "show", "compare"))]
)
def test_every_command_has_help_with_examples(sledsim_cli: Callable[..., Outcome], command: list[str]) -> None:
    found = sledsim_cli(*command, "--help")
    assert found.status == 0
    assert "Examples:" in found.out
    assert f"sledsim {' '.join(command)}" in found.out
    assert sledsim_cli("help", *command).out == found.out


def test_version(sledsim_command: Callable[..., Outcome]) -> None:
    assert sledsim_command("--version").out == f"sledsim {sledsim.__version__}\n"


def test_completion_can_be_shown() -> None:
    environment = {
        "_SLEDSIM_COMPLETE": "complete_bash",
        "COMP_WORDS": "sledsim replay x --device griffin",
        "COMP_CWORD": "4",
    }
    code = "from sledsim.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, "PATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["griffin1999"]


def test_run_prints_plain_tables_when_piped(sledsim_command: Callable[..., Outcome], scenario_file: Path) -> None:
    found = sledsim_command("run", scenario_file)
    assert found.status == 0
    assert found.err == ""
    result = sledsim.run(scenario_file)
    assert found.out == f"{result.brief()}\n"
    assert len(found.out.splitlines()) <= 20
    whole = sledsim_command("run", scenario_file, "--full").out
    assert whole == f"{result}\n"
    assert "\x1b" not in found.out + whole
    assert max(map(len, (found.out + whole).splitlines())) <= 80


def test_run_json_is_the_result_and_nothing_else(sledsim_command: Callable[..., Outcome], scenario_file: Path) -> None:
    first = sledsim_command("run", scenario_file, "--json")
    assert first.status == 0
    assert first.err == ""
    assert first.out == sledsim.run(scenario_file).to_json() + "\n"
    assert sledsim_command("run", scenario_file, "--json").out == first.out
    jsonschema.Draft202012Validator(_core.result_schema()).validate(json.loads(first.out))


@pytest.mark.parametrize(
    "text",
    [TOML, json.dumps({"workload": {"arrival": {"kind": "closed", "outstanding": 2}}, "system": {"device": "g2"}})],
)
def test_run_takes_standard_input(sledsim_cli: Callable[..., Outcome], text: str) -> None:
    found = sledsim_cli("run", "-", "--set", "run.requests=50", "--json", given=text)
    assert json.loads(found.out)["requests"]["completed"] == 50


def test_the_resolved_scenario_reruns_to_the_same_bytes(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path
) -> None:
    sets = ["--set", "device.settle_constants=0", "-s", "scheduler=look"]
    full = sledsim_cli("check", scenario_file, *sets, "--resolved").out
    assert sledsim_cli("check", "-", "--resolved", given=full).out == full
    again = sledsim_cli("run", "-", "--json", given=full).out
    assert again == sledsim_cli("run", scenario_file, *sets, "--json").out
    assert json.loads(again)["scenario"] == json.loads(full)


def test_log_and_plot_are_written(sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path) -> None:
    log, plot = tmp_path / "log.parquet", tmp_path / "plot.svg"
    assert sledsim_cli("run", scenario_file, "--log", log, "--plot", plot).status == 0
    [(count,)] = duckdb.execute(f"SELECT count(*) FROM '{log}'").fetchall()
    assert count == 3000
    assert "<svg" in plot.read_text()


def test_replay_equals_the_scenario_of_its_options(sledsim_cli: Callable[..., Outcome], trace_file: Path) -> None:
    found = sledsim_cli(
        *("replay", trace_file, "--device", "g3", "--scheduler", "sptf", "--set", "device.seek_model=decomposed"),
        *("--time-scale", "0.5", "--set", "device.overhead_ms=0", "--records", "40", "--json"),
    )
    workload = {"kind": "trace", "path": str(trace_file), "time_scale": 0.5, "records": 40}
    device = {"name": "g3", "seek_model": "decomposed", "overhead_ms": 0.0}
    result = sledsim.run({"workload": workload, "system": {"device": device, "scheduler": "sptf"}})
    assert found.out == result.to_json() + "\n"
    assert result.requests.completed == 40


def test_options_of_several_values_may_be_repeated(sledsim_cli: Callable[..., Outcome], trace_file: Path) -> None:
    repeated = ["--pages", "1", "--pages", "2", "--policy", "lru", "--policy", "arc", "--json", "--json"]
    assert len(json.loads(sledsim_cli("hit-ratio", trace_file, *repeated).out)["caches"]) == 4


@pytest.mark.parametrize(
    ("options", "completed"),
    [
        (["--mode", "outstanding", "--outstanding", "4"], 50),
        (["--set", "workload.start_s=0.01", "--set", "workload.end_s=0.02"], 10),
        (["--set", "workload.first_record=45"], 5),
        (["--set", "workload.repeat=3"], 150),
        (["--devices", "0"], 50),
        (["--fit", "wrap"], 50),
        (["--format", "csv"], 50),
        (
            [
                "--column",
                "time=t_ns",
                "--column",
                "offset=offset_bytes",
                "--column",
                "bytes=bytes",
                "--column",
                "op=op",
            ],
            50,
        ),
    ],
)
def test_replay_options(
    sledsim_cli: Callable[..., Outcome], trace_file: Path, options: list[str], completed: int
) -> None:
    found = sledsim_cli("replay", trace_file, "--device", "g2", *options, "--json")
    assert found.status == 0, found.err
    assert json.loads(found.out)["requests"]["completed"] == completed


def test_compare_prints_ratios_to_the_first(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "slower.toml"
    other.write_text(TOML.replace("g2", "g1"))
    plot = tmp_path / "bars.svg"
    found = sledsim_cli("compare", scenario_file, other, "--set", "run.requests=500", "--plot", plot)
    assert found.status == 0
    assert "small" in found.out.splitlines()[0]
    assert "slower" in found.out.splitlines()[0]
    assert "×" in found.out
    assert plot.exists()
    answer = json.loads(sledsim_cli("compare", scenario_file, other, "--set", "run.requests=500", "--json").out)
    assert [run["name"] for run in answer["runs"]] == ["small", "slower"]
    assert answer["metrics"][0]["key"] == "response.mean_ms"
    assert answer["metrics"][0]["ratios"][1] > 1


def test_check_prints_the_errors_of_every_file(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path
) -> None:
    wrong = []
    for name, line in (("one.toml", "sead = 1"), ("two.toml", "seed = -1")):
        wrong.append(tmp_path / name)
        wrong[-1].write_text(scenario_file.read_text().replace("seed = 3", line))
    found = sledsim_cli("check", wrong[0], scenario_file, wrong[1], tmp_path / "none.toml")
    assert found.status == 2
    assert found.out.startswith(f"{scenario_file}: ok\n")
    errors = found.err.splitlines()
    assert len(errors) == 3
    assert errors[0].startswith(f"error: {wrong[0]}: line 1: unknown key sead: did you mean")
    assert errors[1].startswith(f"{wrong[1]}: line 1: seed = -1 is out of range")
    assert errors[2].startswith(f"{tmp_path / 'none.toml'}: no such file")
    found = sledsim_cli("check", scenario_file, scenario_file, "--set", "sead=1")
    assert found.err.startswith("error: --set sead=1: unknown key")
    assert found.err.count("\n") == 1


def test_check_prints_the_components(sledsim_cli: Callable[..., Outcome], scenario_file: Path) -> None:
    found = sledsim_cli("check", scenario_file, "--set", "device=g3")
    assert found.out.startswith(f"{scenario_file}: ok\n")
    assert "device g3" in found.out
    tree = json.loads(sledsim_cli("check", scenario_file, "--json").out)
    assert tree == sledsim.scenario.explain(scenario_file).tree


def test_schema_prints_both_schemas(sledsim_cli: Callable[..., Outcome]) -> None:
    for arguments in ([], ["result"]):
        schema = json.loads(sledsim_cli("schema", *arguments).out)
        jsonschema.Draft202012Validator.check_schema(schema)
    assert "response" in schema["properties"]


def test_devices_are_listed_and_shown(sledsim_cli: Callable[..., Outcome]) -> None:
    listing = sledsim_cli("list", "devices").out
    for name in sledsim.devices.catalog():
        assert f"\n{name} " in listing
    shown = sledsim_cli("device", "g2").out
    for words in ("resonance_hz", "739.0", "Hz", "published", "schlosser2000", "capacity", "3.456"):
        assert words in shown
    values: Any = json.loads(sledsim_cli("device", "g2", "--json").out)["values"]
    assert values["bit_nm"] == {**values["bit_nm"], "value": 40.0, "unit": "nm", "kind": "published"}
    assert set(json.loads(sledsim_cli("list", "devices", "--json").out)) == set(sledsim.devices.catalog())


def test_schedulers_are_listed(sledsim_cli: Callable[..., Outcome]) -> None:
    listing = sledsim_cli("list", "schedulers").out
    for name in sledsim.schedulers.catalog():
        assert f"\n{name} " in listing
    assert json.loads(sledsim_cli("list", "schedulers", "--json").out) == sledsim.schedulers.catalog().to_dict()


def test_device_seeks_are_printed_drawn_and_written(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    assert "distance (µm)" in sledsim_cli("device", "g2", "--seeks").out
    assert "from rest at the centre" in sledsim_cli("device", "g2", "--seek-surface").out
    picture, data = tmp_path / "curve.html", tmp_path / "curve.csv"
    found = sledsim_cli(
        "device", "g2", "--seeks", "--set", "device.seek_model=first-order", "--plot", picture, "--out", data
    )
    assert found.status == 0
    assert f"wrote {data}\n" in found.err
    assert f"wrote {picture}: open it in a browser\n" in found.err
    assert "first-order" in picture.read_text()
    assert data.read_text().startswith("axis,distance_um,mean_ms,min_ms,max_ms\n")
    surface = json.loads(
        sledsim_cli("device", "g2", "--seek-surface", "--set", "device.settle_constants=0", "--json").out
    )
    assert len(surface["seek_ms"]) == len(surface["x_um"]) > 1000


def test_trace_summarises_prints_and_converts(
    sledsim_cli: Callable[..., Outcome], trace_file: Path, tmp_path: Path
) -> None:
    assert json.loads(sledsim_cli("trace", trace_file, "--json").out)["records"] == 50
    assert "records" in sledsim_cli("trace", trace_file).out
    lines = sledsim_cli("trace", trace_file, "--head", "3").out.splitlines()
    assert len(lines) == 5
    assert lines[-1].split() == ["2.000000", "0", "81,920", "4,096", "read"]
    assert len(json.loads(sledsim_cli("trace", trace_file, "--head", "10", "--json").out)["time_ns"]) == 10
    copy = tmp_path / "copy.parquet"
    done = sledsim_cli("trace", trace_file, "--out", copy)
    written = f"wrote {copy}: 50 records\nnext: sledsim replay {copy} --device g2\n"
    assert (done.status, done.out, done.err) == (0, "", written)
    assert json.loads(sledsim_cli("trace", copy, "--json").out)["format"] == "parquet"
    names = {each["name"] for each in json.loads(sledsim_cli("list", "formats", "--json").out)}
    assert {"csv", "parquet", "hp-srt", "mqsim"} <= names
    assert "blkparse" in sledsim_cli("list", "formats").out


def test_a_closed_pipe_is_silent(scenario_file: Path) -> None:
    code = "from sledsim.cli import main; main()"
    command = [sys.executable, "-c", code, "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_a_file_that_is_read_is_not_overwritten(
    sledsim_cli: Callable[..., Outcome], trace_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tr.csv").write_bytes(trace_file.read_bytes())
    (tmp_path / "link.csv").symlink_to("tr.csv")
    workload = {"kind": "trace", "path": "tr.csv"}
    (tmp_path / "run.json").write_text(json.dumps({"workload": workload, "system": {"device": "mine.json"}}))
    (tmp_path / "mine.json").write_text(json.dumps({"mechanism": "mems", "base": "low.json"}))
    (tmp_path / "low.json").write_text(json.dumps({"mechanism": "mems", "base": "g2"}))
    (tmp_path / "top.yaml").write_text("# base: other.csv\nbase: run.json\n")
    (tmp_path / "find.toml").write_text('scenario = "run.json"\n')
    (tmp_path / "box.json").write_text("{}")
    before = {each: each.read_bytes() for each in tmp_path.iterdir()}
    for words, says in (
        ("replay tr.csv --device g2 --log tr.csv", "--log: tr.csv is also used by TRACE"),
        ("replay tr.csv --device g2 --log ./link.csv", "--log: link.csv is also used by TRACE"),
        ("replay tr.csv --device mine.json --timeline mine.json", "--timeline: mine.json is also used by --device"),
        ("replay tr.csv --log a.csv --timeline a.csv", "--log: a.csv is also used by --timeline"),
        ("run run.json --log run.json", "--log: run.json is also used by FILE"),
        ("run run.json --log tr.csv", "--log: tr.csv is also used by run.json"),
        ("run run.json --timeline mine.json", "--timeline: mine.json is also used by run.json"),
        ("run run.json --log low.json", "--log: low.json is also used by mine.json"),
        ("power run.json --plot low.json", "--plot: low.json is also used by mine.json"),
        ("run top.yaml --plot run.json", "--plot: run.json is also used by top.yaml"),
        ("replay tr.csv --device mine.json --plot low.json", "--plot: low.json is also used by mine.json"),
        ("compare top.yaml run.json --plot run.json", "--plot: run.json is also used by FILES"),
        ("reliability box.json --plot box.json", "--plot: box.json is also used by FILES"),
        ("reliability box.json run.json --plot run.json", "--plot: run.json is also used by FILES"),
        ("optimise find.toml --plot run.json", "--plot: run.json is also used by find.toml"),
        (
            "role-test merit run.json --without box.json --plot box.json",
            "--plot: box.json is also used by --without",
        ),
        ("trace tr.csv --out link.csv", "--out: link.csv is also used by FILE"),
        ("validate-drive atlas10k tr.csv --out tr.csv", "--out: tr.csv is also used by TRACE"),
    ):
        found = sledsim_cli(*words.split())
        assert (found.status, found.out, found.err) == (2, "", f"error: {says}: name another file\n"), words
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == before
    assert sledsim_cli("replay", "tr.csv", "--device", "g2", "--log", "other.csv").status == 0
    assert sledsim_cli("replay", "tr.csv", "--device", "mine.json", "--plot", "other.json").status == 0
    # A file written by an earlier run may be overwritten.
    assert sledsim_cli("replay", "tr.csv", "--device", "g2", "--log", "other.csv").status == 0


def test_a_missing_distribution_is_named_with_the_command_that_installs_it(
    sledsim_command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # An empty package hides the installed one.
    (tmp_path / "sledsim_papers").mkdir()
    (tmp_path / "sledsim_papers" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = sledsim_command("reproduce", "lin2002")
    assert found.status == 2
    assert found.err.startswith("error: sledsim reproduce: the distribution sledsim-papers cannot be loaded")
    assert found.err.endswith("`pip install ./papers` installs it\n")
    assert sledsim_command("--version").status == 0
