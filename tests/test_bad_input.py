"""Invalid input gives one message and exit status 2, never a traceback."""

from __future__ import annotations

import sys
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import TOML
from sledsim.sweep import Sweep, optimise
from sledsim.sweep.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

HEADER = "t_ns,device,offset_bytes,bytes,op\n"


def assert_refused(found: Outcome, *words: str) -> None:
    assert found.status == 2
    assert found.out == ""
    assert found.err.startswith("error: ")
    for word in words:
        assert word in found.err, f"{word!r} in {found.err!r}"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("run.requsts=5", ["run.requsts", '"requests"']),
        ("workload.arrivel.kind=closed", ["arrivel", '"arrival"']),
        ("run.requests=many", ["run.requests", "many", "number"]),
        (f"seed={'9' * 5_000}", ["seed = ", "999…", "out of range", "whole number"]),
        ("seed=1e40", ["seed = 1e+40 is out of range"]),
        ("workload.arrival.rate_per_s=1e400", ["1e400 is not a finite number"]),
        ("device.overhead_ms=1e400 s", ['overhead_ms = "1e400 s" is out of range']),
        ("run.requests=1.5", ["run.requests", "1.5", "whole number"]),
        ("device.bidirectional=3", ["system.device.bidirectional", "true or false"]),
        ("device.overhead_ms=3 um", ["system.device.overhead_ms", '"um"', "ms"]),
        ("workload.read_fraction=1.5", ["workload.read_fraction", "1.5", "from 0 to 1"]),
        ("device.spring_factor=-1", ["system.device.spring_factor", "-1", "0.99"]),
        ("run.requests=0", ["run.requests", "at least 1"]),
        ("device=g22", ["g22", '"g2"']),
        ("device=grifin1999", ["grifin1999", '"griffin1999"']),
        ("scheduler=sptff", ["sptff", '"sptf"']),
        ("device.seek_model=decompose", ["decompose", "decomposed"]),
        ("nothing", ["nothing", "path=value"]),
        ("workload=5", ["workload", "table"]),
    ],
)
def test_wrong_values_are_refused(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, setting: str, words: list[str]
) -> None:
    assert_refused(sledsim_cli("run", scenario_file, "--set", setting), *words)
    assert_refused(sledsim_cli("check", scenario_file, "--set", setting), *words)
    with pytest.raises(sledsim.ScenarioError):
        sledsim.run(scenario_file, overrides=[setting])


def test_too_large_sizes_are_printed_as_given(sledsim_cli: Callable[..., Outcome]) -> None:
    done = sledsim_cli("cost", "--workload", "tpcc-like", "--mems-size", "1e400 MiB")
    assert_refused(done, '--mems-size "1e400 MiB" is out of range: expected a whole number (B)')


@pytest.mark.parametrize("command", ["run", "check", "compare"])
def test_error_of_a_missing_file_suggests_the_nearest(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, command: str
) -> None:
    missing = scenario_file.with_name("smal.toml")
    assert_refused(sledsim_cli(command, missing), "smal.toml: no such file", "small.toml")
    assert_refused(sledsim_cli(command, scenario_file.parent / "nowhere" / "a.toml"), "no folder")
    assert_refused(sledsim_cli(command, scenario_file.parent), "directory")


@pytest.mark.parametrize("command", ["run", "check", "compare", "power"])
def test_empty_names_are_refused(sledsim_cli: Callable[..., Outcome], command: str) -> None:
    assert_refused(sledsim_cli(command, ""), '"": no file has an empty name; name one, or - for standard input')


@pytest.mark.parametrize("text", ["", "\n  \n", "# only a remark\n"])
def test_empty_standard_input(sledsim_cli: Callable[..., Outcome], text: str) -> None:
    assert_refused(sledsim_cli("run", "-", given=text), "standard input: empty", "TOML, YAML or JSON")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.toml", "[workload\n", ["a.toml", "line 1"]),
        ("a.json", '{"seed": 1,\n "workload"', ["a.json", "line 2"]),
        ("a.yaml", "seed: [1\n", ["a.yaml"]),
        ("a.toml", "", ["a.toml", "empty"]),
        ("a.toml", "seed = 1\n", ["a.toml", "workload is missing"]),
        ("a.json", "[1, 2]", ["a.json"]),
        ("a.toml", TOML.replace('device = "g2"', ""), ["device is missing"]),
    ],
)
def test_files_without_a_scenario_are_refused(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, name: str, text: str, words: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert_refused(sledsim_cli("run", path), *words)


def test_trace_given_as_a_scenario_is_refused(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "trace.bin"
    path.write_bytes(bytes(range(256)))
    assert_refused(sledsim_cli("run", path), "byte 128 is not UTF-8 text", "sledsim replay")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no records", "the file is empty"]),
        (HEADER, ["no requests: give the whole file"]),
        ("a line of prose\nand another one\n", ["no known trace format", "hp-srt"]),
        (HEADER + "5,0,0,4096,R\n6,0,4o96,4096,R\n", ["line 3", "offset", '"4o96"']),
        (HEADER + "5,0,0,4096,R\n6,0,4096", ["line 3"]),
        (HEADER + "5,0,0,4096,R\n1,0,10,4096,R,extra\n", ["line 3"]),
        (HEADER + "5,0,0,0,R\n", ["line 2", "zero length"]),
        (HEADER + "5,0,0,4096,R\n4,0,0,4096,W\n", ["line 2", "one 1 ns after that of the next record"]),
        (HEADER + "5,0,0,4096,R\n6,0,99999999995904,4096,R\n", ["beyond the device", "wrap", "scale"]),
        (HEADER + "5,0,0,4096,R\n6,0,0,4096,X\n", ["line 3", "op"]),
        (HEADER + "-5,0,0,4096,R\n", ["line 2", "time"]),
    ],
)
def test_bad_traces_are_refused(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, text: str, words: list[str]
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    assert_refused(sledsim_cli("replay", path, "--device", "g2"), "trace.csv", *words)


def test_trace_of_mixed_formats_is_refused(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "mixed.trace"
    lines = [f"{i * 1000} 0 {i * 8} 8 1\n" for i in range(40)]
    path.write_text("".join([*lines, "0,1024,4096,R,0.5\n"]))
    assert_refused(sledsim_cli("replay", path), "mixed.trace", "line 41", "mqsim")


def test_bad_records_can_be_tolerated_and_are_counted(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(HEADER + "5,0,0,4096,R\nrubbish\n6,0,0,0,R\n7,0,0,4096,W\n")
    assert_refused(sledsim_cli("replay", path, "--skip-bad", "1"), "line 4")
    found = sledsim_cli("replay", path, "--device", "g2", "--skip-bad", "2")
    assert found.status == 0
    assert "2 bad records skipped" in found.out
    assert "bad records skipped 2" in " ".join(
        sledsim_cli("replay", path, "--device", "g2", "--skip-bad", "2", "--full").out.split()
    )


def test_error_of_a_truncated_binary_record_has_its_place(
    sledsim_cli: Callable[..., Outcome], trace_file: Path
) -> None:
    import gzip

    whole = gzip.compress(trace_file.read_bytes())
    cut = trace_file.with_name("cut.csv.gz")
    cut.write_bytes(whole[: len(whole) // 2])
    assert_refused(sledsim_cli("replay", cut), "cut.csv.gz", "damaged or incomplete: fetch it")


@pytest.mark.parametrize(
    ("trace", "arguments", "said"),
    [
        ("iolog", ["--time-scale", "0.5"], "--time-scale: has no meaning for a trace without times"),
        ("iolog", ["--set", "workload.end_s=1"], "workload.end_s: has no meaning for a trace without times"),
        ("iolog", ["--outstanding", "2"], ""),
        ("iolog", ["--outstanding", "2", "--mode", "outstanding"], ""),
        ("csv", ["--outstanding", "2"], "--outstanding: has no meaning where requests arrive as recorded"),
        ("csv", ["--outstanding", "2", "--mode", "outstanding"], ""),
        ("csv", ["--time-scale", "0.5", "--set", "workload.end_s=1"], ""),
    ],
)
def test_an_option_without_effect_is_an_error(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, trace: str, arguments: list[str], said: str
) -> None:
    path = tmp_path / "trace"
    iolog = "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 0 4096\n/dev/x write 4096 4096\n"
    path.write_text(iolog if trace == "iolog" else HEADER + "5,0,0,4096,R\n7,0,0,4096,W\n")
    found = sledsim_cli("replay", path, *arguments)
    if said:
        assert_refused(found, said)
    else:
        assert found.status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device", "g22"], ["g22", '"g2"']),
        (["--scheduler", "lok"], ["lok", '"look"']),
        (["--set", "device.seek_model=optimal"], ["optimal", "time-optimal"]),
        (["--mode", "opn"], ["opn", '"open"']),
        (["--fit", "scal"], ["scal", '"scale"']),
        (["--format", "mqsin"], ["mqsin", "mqsim"]),
        (["--time-scale", "-1"], ["--time-scale -1 is out of range"]),
        (
            ["--set", "workload.start_s=5", "--set", "workload.end_s=1"],
            ["workload.end_s = 1 is not after workload.start_s = 5"],
        ),
        (["--log", "log.xlsx"], [".xlsx", ".parquet"]),
        (["--log", "nowhere/log.csv"], ["no folder nowhere"]),
        (["--plot", "plot.gif"], [".gif", ".svg"]),
        (["--column", "time=nothing"], ["--column", "nothing"]),
        (["--column", "foo=bar"], ['--column: "foo" is not known; did you mean op?']),
        (["--set", "workload.time_unit=us"], ["workload.time_unit: has no meaning for format csv"]),
        (["--mode", "closed"], ['--mode "closed": the trace has no gaps between requests']),
        (["--format", "parquet"], ["--format", "Parquet files are told by their content"]),
    ],
)
def test_wrong_options_of_replay(
    sledsim_cli: Callable[..., Outcome], trace_file: Path, arguments: list[str], words: list[str]
) -> None:
    device = [] if "--device" in arguments else ["--device", "g2"]
    assert_refused(sledsim_cli("replay", trace_file, *device, *arguments), *words)


@pytest.mark.parametrize(
    "arguments",
    [
        ["frob"],
        ["run"],
        ["run", "a", "b"],
        ["replay", "t", "--devices", "one"],
        ["replay", "t", "--column", "x"],
        ["replay", "t", "--column", "time=a", "--column", "time=b"],
        ["--frob"],
    ],
)
def test_wrong_use_of_the_command_line(sledsim_command: Callable[..., Outcome], arguments: list[str]) -> None:
    found = sledsim_command(*arguments)
    assert found.status == 2
    assert found.out == ""
    assert "rror" in found.err


@pytest.mark.parametrize("library", ["altair", "vl_convert"])
def test_a_missing_library_is_named_before_anything_runs(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    picture = ["--plot", scenario_file.with_name("a.png")]
    assert_refused(sledsim_cli("run", scenario_file, *picture), library, "pip install 'altair")
    assert_refused(sledsim_cli("compare", scenario_file, *picture), library, "pip install 'altair")


def test_error_of_an_unknown_metric_suggests_the_nearest(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path
) -> None:
    found = sledsim_cli(
        "compare", scenario_file, "--metric", "response.mean", "--plot", scenario_file.with_suffix(".svg")
    )
    assert_refused(found, "response.mean_ms?")


@pytest.mark.parametrize("options", [[], ["--seeks"]])
def test_error_of_an_unknown_device_suggests_the_nearest(
    sledsim_cli: Callable[..., Outcome], options: list[str]
) -> None:
    assert_refused(sledsim_cli("device", "g2-papr", *options), "g2-papr", "g2-paper")


def test_name_in_place_of_a_scenario_suggests_the_right_command(sledsim_cli: Callable[..., Outcome]) -> None:
    assert_refused(
        sledsim_cli("run", "g2"), "g2: no such file", "`sledsim example`", "`sledsim replay TRACE --device NAME`"
    )


@pytest.mark.parametrize("options", [[], ["--head", "3"], ["--out", "out.csv"]])
def test_trace_refuses_files_that_it_cannot_read(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(sledsim_cli("trace", tmp_path / "none", *options), "no such file")
    prose = tmp_path / "prose.txt"
    prose.write_text("neither here nor there\n")
    assert_refused(sledsim_cli("trace", prose, *options), "prose.txt", "no known trace format")


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


#: Python values that no document can contain.
UNHELD: list[Any] = [
    *(10**5000, -(10**400), float("inf"), float("nan"), "\ud800", nested(5000), {"a": nested(5000)}, date(2026, 1, 1)),
    *(object(), 1j, {1: 2}),
]


@pytest.mark.parametrize("value", UNHELD, ids=lambda value: type(value).__name__)
def test_values_outside_the_document_model_are_refused(scenario_file: Path, value: Any) -> None:
    scenario = sledsim.Scenario.load(scenario_file).to_dict()
    for key in ("seed", "run", "workload"):
        for load in (
            lambda key=key: sledsim.run({**scenario, key: value}),
            lambda key=key: sledsim.run(scenario, overrides={key: value}),
            lambda key=key: Sweep(scenario, {key: [value]}).check(),
            lambda key=key: sledsim.Device({"name": "g2", "bit_nm": value}),
        ):
            with pytest.raises(sledsim.SledsimError):
                load()


ENDLESS: list[Any] = [
    *(float("inf"), -float("inf"), float("nan"), 1e308, 10**5000, -(10**400), "1e400", "\ud800", "9" * 5000, "x"),
]


@pytest.mark.parametrize("key", ["from", "to", "step", "count"])
@pytest.mark.parametrize("value", ENDLESS, ids=lambda value: type(value).__name__)
def test_axes_with_invalid_ends_are_refused(scenario_file: Path, key: str, value: Any) -> None:
    axis: dict[str, Any] = {"from": 1, "to": 5} | ({} if key == "count" else {"step": 1}) | {key: value}
    with pytest.raises(sledsim.SledsimError):
        Sweep(scenario_file, {"workload.arrival.rate_per_s": axis}).check()
    with pytest.raises(sledsim.SledsimError, match="values; an axis may have"):
        Sweep(scenario_file, {"run.requests": {"from": 1, "to": 5, "step": 1e-320}}).check()


@pytest.mark.parametrize("seed", [2**32, 2**64, 10**5000, -1, 1.5], ids=lambda seed: type(seed).__name__)
def test_seeds_of_searches_have_a_range(scenario_file: Path, tmp_path: Path, seed: Any) -> None:
    search = {
        "scenario": str(scenario_file),
        "parameters": {"device.bit_nm": {"from": 30, "to": 60}},
        "objectives": ["response"],
        "overrides": {"run.requests": 20},
        "trials": 2,
    }
    assert len(optimise({**search, "seed": 2**32 - 1}, tmp_path / "store").trials) == 2
    with pytest.raises(sledsim.SledsimError):
        Search.load({**search, "seed": seed})
