"""Documents beside scenarios: sweeps, searches, enclosures, comparisons of caches, roles."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import examples_of
from sledsim import Scenario, SledsimError, _core
from sledsim.cli.describe import document_kinds
from sledsim.reliability import load
from sledsim.studies.cache_cost import CostStudy
from sledsim.studies.objective import RoleTest
from sledsim.sweep import Sweep
from sledsim.sweep.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable

    from sledsim.scenario.documents import Document


@dataclass(frozen=True)
class Case:
    """A kind of document: a valid one, and lines that make it invalid."""

    text: str
    load: Callable[..., Any]
    typo: tuple[str, str]  # the line, and the path of the unknown key
    out_of_range: tuple[str, str]
    setting: tuple[str, str, Any]  # key, value, value in the result


CASES = {
    "sweep": Case(
        'scenario = "disk.toml"\naxes.scheduler = ["fcfs", "sptf"]\n',
        Sweep.load,
        ("replicatons = 2", "replicatons"),
        ("replications = 0", "replications"),
        ("replications", "3", 3),
    ),
    "search": Case(
        'scenario = "disk.toml"\nparameters."device.bit_nm" = { from = 30, to = 60 }\nobjectives = ["response"]\n',
        Search.load,
        ("trails = 7", "trails"),
        ("trials = 0", "trials"),
        ("sampler", "nsga2", "nsga2"),
    ),
    "enclosure": Case(
        'enclosure.data = 19\nenclosure.parity = 1\ndevice.mttf = "200000 h"\nrebuild.time = "15 min"\n',
        load,
        ("enclosure.spare = 5", "enclosure.spare"),
        ("enclosure.spares = -1", "enclosure.spares"),
        ("enclosure", "{data = 3, parity = 2}", None),
    ),
    "cost": Case(
        'scenario = "disk.toml"\nmems_bytes = "16 MiB"\n',
        CostStudy.load,
        ("replicatons = 2", "replicatons"),
        ("replications = 0", "replications"),
        ("replications", "4", 4),
    ),
    "role": Case(
        'role = "sdf"\ndevice = "g3"\n',
        RoleTest.load,
        ("replicatons = 3", "replicatons"),
        ("replications = 1", "replications"),
        ("metric", "response.p99_ms", "response.p99_ms"),
    ),
}


@pytest.fixture(autouse=True)
def _disk(tmp_path: Path) -> None:
    """Have the scenario that documents name, in both folders."""
    (tmp_path / "below").mkdir()
    for folder in (tmp_path, tmp_path / "below"):
        (folder / "disk.toml").write_text('workload = "tpcc-like"\nsystem = "g2"\nrun.requests = 9\n')


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def case(name: str) -> Case:
    return CASES[name]


def kind_of(name: str) -> type[Document]:
    return document_kinds()[name]


def refused(case: Case, path: Path, **given: Any) -> SledsimError:
    with pytest.raises(SledsimError) as error:
        case.load(path, **given)
    assert error.value.faults
    return error.value


def wrong(case: Case, tmp_path: Path, *lines: str) -> tuple[SledsimError, str]:
    """Return the errors of a document with further lines, and its file."""
    path = tmp_path / "wrong.toml"
    path.write_text(case.text + "\n".join(lines) + "\n")
    return refused(case, path), str(path)


def test_valid_documents_are_read(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "right.toml"
    path.write_text(case.text)
    assert case.load(path) is not None


@pytest.mark.parametrize("date", ["2024-05-27", "07:32:00", "2024-05-27T07:32:00Z", "[{ x = 2024-05-27 }]"])
def test_dates_are_refused(case: Case, tmp_path: Path, date: str) -> None:
    error, file = wrong(case, tmp_path, f"name = {date}")
    assert (error.kind, error.file, error.line) == ("notation", file, case.text.count("\n") + 1)
    assert "date" in str(error)
    assert refused(case, tmp_path / "wrong.toml", overrides=[f"name={date}"]).faults


@pytest.mark.parametrize("ending", ["toml", "yaml", "json"])
def test_deep_nesting_and_endless_digits_are_refused(name: str, case: Case, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"deep.{ending}"
    for value in ("[" * 3000 + "]" * 3000, "9" * 5000):
        path.write_text({"toml": f"name = {value}", "yaml": f"name: {value}", "json": f'{{"name": {value}}}'}[ending])
        assert refused(case, path).file == str(path)
    right = tmp_path / "right.toml"
    right.write_text(case.text)
    key = kind_of(name).prefix + case.out_of_range[1]
    for setting in (f"{key}{'.a' * 5000}=1", f"{key}={'[' * 5000}{']' * 5000}", f"{key}={'9' * 5000}"):
        assert refused(case, right, overrides=[setting]).setting == setting
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]
    for endless in (nested, 10**5000):
        with pytest.raises(SledsimError):
            case.load({**tomllib.loads(case.text), "name": endless})


def as_yaml(values: dict[str, Any], indent: str = "") -> str:
    lines = []
    for key, value in values.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}:", as_yaml(value, f"{indent}  ")]
        elif isinstance(value, list):
            lines += [f"{indent}{key}:", *(f"{indent}  - {json.dumps(each)}" for each in value)]
        else:
            lines.append(f"{indent}{key}: {value}")
    return "\n".join(lines)


def unnamed(document: Document) -> dict[str, Any]:
    """Return the keys of a document, except for its name."""
    return {key: getattr(document, key) for key in type(document).model_fields if key != "name"}


def test_yaml_and_json_equal_toml(name: str, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = tomllib.loads(case.text)
    texts = {"toml": case.text, "yaml": as_yaml(values), "yml": as_yaml(values), "json": json.dumps(values)}
    kind, read_from = kind_of(name), []
    for ending, text in texts.items():
        path = tmp_path / f"same.{ending}"
        path.write_text(text)
        read_from.append(kind.load(path))
    assert read_from.count(read_from[0]) == len(texts)
    monkeypatch.chdir(tmp_path)
    # A document without a file has no default name.
    assert unnamed(kind.load(values)) == unnamed(read_from[0])


def test_documents_have_bases_and_settings_override_both(name: str, case: Case, tmp_path: Path) -> None:
    kind = kind_of(name)
    (tmp_path / "below" / "other.toml").write_text(case.text)
    path = tmp_path / "own.yaml"
    path.write_text("base: below/other.toml\n")
    inherited = kind.load(path)
    direct = kind.load(tmp_path / "below" / "other.toml")
    # The name is that of the file.
    assert unnamed(inherited) == unnamed(direct)
    if "scenario" in kind.model_fields:
        assert unnamed(inherited)["scenario"] == tmp_path / "below" / "disk.toml"
    key, text, value = case.setting
    changed = kind.load(path, overrides=[f"{kind.prefix}{key}={text}"])
    assert changed != inherited
    if value is not None:
        assert getattr(changed, key) == value
    assert case.load(path, overrides=[f"{kind.prefix}{key}={text}"]) is not None


def test_a_fault_of_a_base_names_the_base_and_one_of_a_setting_the_setting(
    name: str, case: Case, tmp_path: Path
) -> None:
    below = tmp_path / "other.toml"
    below.write_text(case.text + case.out_of_range[0] + "\n")
    path = tmp_path / "own.toml"
    path.write_text('base = "other.toml"\n')
    error = refused(case, path)
    assert (error.file, error.line, error.path) == (str(below), case.text.count("\n") + 1, case.out_of_range[1])
    below.write_text(case.text)
    setting = kind_of(name).prefix + case.out_of_range[0].replace(" ", "")
    error = refused(case, path, overrides=[setting])
    assert (error.setting, error.path, error.file) == (setting, case.out_of_range[1], None)


def test_the_schema_describes_every_key(name: str, sledsim_cli: Callable[..., Any], case: Case, tmp_path: Path) -> None:
    found = sledsim_cli("schema", name)
    assert found.status == 0
    schema = json.loads(found.out)
    keys = {field.alias or key for key, field in kind_of(name).model_fields.items()}
    assert set(schema["properties"]) == keys | {"base"}
    assert all(each.get("description") for each in schema["properties"].values())
    assert schema["additionalProperties"] is False
    path = tmp_path / "right.toml"
    path.write_text(case.text)
    assert not _core.Schema(schema).faults(kind_of(name).load(path).to_dict())


def test_settings_of_the_document_without_prefix_suggest_the_prefix(name: str, case: Case, tmp_path: Path) -> None:
    path = tmp_path / "right.toml"
    path.write_text(case.text)
    kind = kind_of(name)
    # Scenarios have the first three, and are meant; one of a table called as the prefix is its own.
    for key in kind.model_fields.keys() - {"name", "seed", "device", kind.prefix.strip(".")} if kind.prefix else ():
        error = refused(case, path, overrides=[f"{key}.deep=1"])
        assert (error.kind, error.path, error.suggestion) == ("unknown-key", f"{key}.deep", f"{kind.prefix}{key}.deep")
    if kind.prefix:
        # Other faults are reported with it.
        path.write_text(f"{case.text}{case.typo[0]}\n")
        error = refused(case, path, overrides=["replications=1"])
        assert [fault.path for fault in error.faults] == ["replications", case.typo[1]]


@pytest.mark.parametrize(
    ("kind", "path"),
    [(kind, path) for kind in ("sweep", "search", "enclosure", "cost", "role") for path in examples_of(kind)],
    ids=lambda value: value if isinstance(value, str) else value.stem,
)
def test_the_examples_are_read(kind: str, path: Path) -> None:
    found = kind_of(kind).load(path)
    for key in ("scenario", "role", "without"):
        named = getattr(found, key, None)
        if isinstance(named, Path):
            assert Scenario.load(named).system is not None


def test_options_take_precedence_over_the_file(sledsim_cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    path.write_text(
        'scenario = { workload = "tpcc-like", system = "atlas10k-50mb" }\nmems_bytes = "16 MiB"\nratios = [1, 8]\n'
        'segment_bytes = "8 KiB"\noverrides = { "run.requests" = 2000 }\n'
    )
    found = json.loads(sledsim_cli("cost", path, "--json").out)
    assert (found["mems"]["bytes"], [row["ratio"] for row in found["nvram"]]) == (16 << 20, [1.0, 8.0])
    found = json.loads(sledsim_cli("cost", path, "--json", "--budget", "0.008388608", "--nvram-price", "2").out)
    assert (found["mems"]["bytes"], [row["ratio"] for row in found["nvram"]]) == (8 << 20, [2.0])
    path = tmp_path / "role.toml"
    path.write_text('role = "sdf"\ndevice = "g3"\nreplications = 3\nrequests = 500\n')
    for test in ("specificity", "merit"):
        assert "3 seeds" in sledsim_cli("role-test", test, path).out
        assert (
            "2 seeds" in sledsim_cli("role-test", test, path, "--set", "role.replications=4", "--replications", "2").out
        )


def test_axes_keep_the_written_order(tmp_path: Path) -> None:
    path = tmp_path / "order.toml"
    path.write_text('scenario = "a.toml"\n[axes]\nscheduler = ["fcfs"]\nb.y = [1]\nb.x = [2]\n"a" = [3]\n')
    assert Sweep.load(path).parameters == ["scheduler", "b.y", "b.x", "a"]


def test_scenarios_can_have_bases(tmp_path: Path) -> None:
    (tmp_path / "below" / "base.toml").write_text(
        '[workload]\npath = "trace.csv"\n[system]\ndevice = "g2"\nscheduler = "sptf"\n'
    )
    own = tmp_path / "own.yaml"
    own.write_text("base: below/base.toml\nsystem:\n  device: g3\n")
    values = Scenario.load(own).resolve()
    assert values["workload"]["path"] == str(tmp_path / "below" / "trace.csv")
    assert (values["system"]["device"]["name"], values["system"]["scheduler"]["name"]) == ("g3", "sptf")
    (tmp_path / "below" / "base.toml").write_text("[workload]\npath = 'a.csv'\n[system]\ndevice = 'g2'\nschedler = 1\n")
    with pytest.raises(SledsimError) as error:
        Scenario.load(own)
    assert (error.value.file, error.value.line) == (str(tmp_path / "below" / "base.toml"), 5)
