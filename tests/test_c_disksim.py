"""DiskSim's own interface: programs written for DiskSim 4.0, on its parameter files, respond as runs do."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sledsim
from c_programs import SOURCES, Library, library, run
from conftest import reference

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["library"]

DRIVES = ["atlas10k", "barracuda", "cheetah4LP", "cheetah9LP", "dec_rz26", "hp_c2247a", "st41601n"]
COUNT = 300


@pytest.fixture(scope="module")
def program(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that submits the requests of its standard input and prints response times."""
    return library.build(SOURCES / "disksim_program.c", tmp_path_factory.mktemp("program"))


SIMPLE = """
disksim_global Global { Init Seed = 42, Real Seed = 42, Stat definition file = statdefs }
disksim_iodriver DRIVER0 { type = 1, Constant access time = 0.0, Use queueing in subsystem = 1, Scheduler = QUEUE }
disksim_bus BUS0 {
  type = 1, Arbitration type = 1, Arbitration time = 0.0, Read block transfer time = 0.0,
  Write block transfer time = 0.0, Print stats = 0
}
disksim_ctlr CTLR0 {
  type = 1, Scale for delays = 0.0, Bulk sector transfer time = 0.0, Maximum queue length = 0, Print stats = 0
}
disksim_simpledisk SD {
  Block count = 100000, Access time = 9.5, Command overhead = 0.5, Bulk sector transfer time = 0.25,
  Never disconnect = 0, Print stats = 1, Max queue length = 1, Scheduler = QUEUE
}
instantiate [ bus0 ] as BUS0
instantiate [ NAMES ] as SD
instantiate [ driver0 ] as DRIVER0
instantiate [ ctlr0 ] as CTLR0
topology disksim_iodriver driver0 [ disksim_bus bus0 [ disksim_ctlr ctlr0 [ DEVICES ] ] ]
"""

QUEUE = """disksim_ioqueue {
  Scheduling policy = 1, Cylinder mapping strategy = 0, Write initiation delay = 0.0, Read initiation delay = 0.0,
  Sequential stream scheme = 0, Maximum concat size = 0, Overlapping request scheme = 0,
  Sequential stream diff maximum = 0, Scheduling timeout scheme = 0, Timeout time/weight = 0,
  Timeout scheduling = 0, Scheduling priority scheme = 0, Priority scheduling = 0
}"""


def simple(folder: Path, devices: int = 1) -> Path:
    """Write a parameter file without a workload: devices of constant time."""
    names = [f"disk{number}" for number in range(devices)]
    text = SIMPLE.replace("QUEUE", QUEUE).replace("NAMES", ", ".join(names))
    path = folder / "simple.parv"
    path.write_text(text.replace("DEVICES", ", ".join(f"disksim_simpledisk {name} []" for name in names)))
    return path


def requests_of(capacity_blocks: int, seed: int) -> dict[str, np.ndarray]:
    """Draw requests: some alone, some in bursts, some at once; near and far, small and large."""
    chance = np.random.default_rng(seed)
    gaps = chance.choice([0, 1, 700_001, 4_321_987, 60_000_003], COUNT) * chance.integers(0, 3, COUNT)
    return {
        # A replay begins with its first record.
        "at_ns": np.cumsum(gaps) - gaps[0],
        "lbn": np.where(chance.random(COUNT) < 0.3, 5_000, chance.integers(0, capacity_blocks - 64, COUNT)),
        "blocks": chance.integers(1, 64, COUNT),
        "read": chance.random(COUNT) < 0.6,
    }


def rows_of(asked: dict[str, np.ndarray]) -> str:
    each = zip(*(asked[name] for name in ("at_ns", "lbn", "blocks", "read")), strict=True)
    return "".join(f"{at / 1e6:.6f} 0 {lbn} {blocks} {int(read)}\n" for at, lbn, blocks, read in each)


def responses_ns(shown: str) -> list[int]:
    """Return the response times that a program printed, in the order in which requests were handed in."""
    rows = sorted((int(number), float(ms)) for number, _, ms in map(str.split, shown.splitlines()))
    return [round(ms * 1e6) for _, ms in rows]


def run_of(scenario: str, asked: dict[str, np.ndarray], folder: Path) -> sledsim.Result:
    """Replay the same requests on a scenario that was imported."""
    trace = folder / "asked.csv"
    each = zip(*(asked[name] for name in ("at_ns", "lbn", "blocks", "read")), strict=True)
    rows = [f"{at},0,{lbn * 512},{blocks * 512},{'R' if read else 'W'}" for at, lbn, blocks, read in each]
    trace.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    path = folder / "imported.toml"
    path.write_text(scenario)
    workload = f'workload={{kind="trace", path="{trace}"}}'
    return sledsim.run(path, overrides=["accept_missing=true", workload, "run.requests=1000000"], log=True)


@pytest.mark.parametrize("drive", DRIVES)
def test_response_times_equal_those_of_a_run(program: Path, tmp_path: Path, drive: str) -> None:
    parameters = reference(f"drives/{drive}/{drive}.parv")
    scenario = sledsim.scenario.import_disksim(parameters, scenario=True).scenario_file
    assert scenario
    capacity = sledsim.Device(sledsim.scenario.import_disksim(parameters).device).capacity_blocks
    asked = requests_of(capacity, DRIVES.index(drive))
    shown = run(program, parameters, tmp_path / "out", given=rows_of(asked))
    log = run_of(scenario, asked, tmp_path).log
    assert responses_ns(shown) == log["response_ns"][np.argsort(log["id"])].tolist()


def test_overrides_of_the_call_take_precedence_over_files(program: Path, tmp_path: Path) -> None:
    parameters = reference("drives/cheetah9LP/cheetah9LP.parv")
    overrides = ["disk*", "Scheduler:Scheduling policy", "4", "disk0 .. disk3", "Max queue length", "8"]
    edited = tmp_path / "edited"
    edited.mkdir()
    for file in parameters.parent.iterdir():
        (edited / file.name).write_bytes(file.read_bytes())
    text = (edited / "cheetah9LP.diskspecs").read_text()
    text = re.sub(r"(Scheduling policy\s*=\s*)\d+", r"\g<1>4", text)
    (edited / "cheetah9LP.diskspecs").write_text(re.sub(r"(Max queue length\s*=\s*)\d+", r"\g<1>8", text))
    asked = requests_of(1_000_000, 5)

    def served(parameters: Path, *more: str) -> list[int]:
        return responses_ns(run(program, parameters, tmp_path / "out", *more, given=rows_of(asked)))

    assert served(parameters, *overrides) == served(edited / parameters.name) != served(parameters)


def test_requests_can_be_submitted_from_the_callback(library: Library, tmp_path: Path) -> None:
    """The same requests at the same times give the same responses in a run without callbacks."""
    parameters = reference("drives/atlas10k/atlas10k.parv")
    program = library.build(SOURCES / "disksim_closed.cpp", tmp_path)
    rows = [row.split() for row in run(program, parameters, tmp_path / "out", "400").splitlines()]
    assert len(rows) == 400
    scenario = sledsim.scenario.import_disksim(parameters, scenario=True).scenario_file
    assert scenario
    at_ns = np.array([round(float(row[0]) * 1e6) for row in rows])
    order = np.argsort(at_ns, kind="stable")
    columns = {
        "at_ns": at_ns,
        "lbn": np.array([int(row[1]) for row in rows]),
        "blocks": np.full(400, 8),
        "read": np.array([row[2] == "1" for row in rows]),
    }
    log = run_of(scenario, {name: column[order] for name, column in columns.items()}, tmp_path).log
    found = zip(at_ns.tolist(), columns["lbn"].tolist(), (round(float(row[3]) * 1e6) for row in rows), strict=True)
    expected = zip(log["arrival_ns"].tolist(), log["lbn"].tolist(), log["response_ns"].tolist(), strict=True)
    assert sorted(found) == sorted(expected)


def test_random_numbers_match_posix(library: Library, tmp_path: Path) -> None:
    source = tmp_path / "random.c"
    source.write_text(
        "#define _DEFAULT_SOURCE\n"
        "#include <disksim_rand48.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "int main(void) { for (long seed = -1; seed < 100000; seed += 33333) {\n"
        "DISKSIM_srand48(seed); srand48(seed);\n"
        "for (int i = 0; i < 100; i++) {\n"
        "if (DISKSIM_lrand48() != lrand48() || DISKSIM_drand48() != drand48()) return 1;\n"
        "if ((int)DISKSIM_mrand48() != (int)mrand48()) return 2; } } return 0; }\n"
    )
    assert run(library.build(source, tmp_path)) == ""


def test_device_capacity_can_be_queried(library: Library, tmp_path: Path) -> None:
    parameters = reference("drives/cheetah9LP/cheetah9LP.parv")
    source = tmp_path / "size.c"
    source.write_text(
        "#include <diskmodel/dm.h>\n#include <disksim_interface.h>\n#include <stdio.h>\n"
        "int main(int argc, char **argv) {\n"
        'struct disksim_interface *one = disksim_interface_initialize(argv[argc - 1], "stdout", 0, 0, 0, 0, 0, 0);\n'
        "struct dm_disk_if *disk = disksim_getdiskmodel(one, 0);\n"
        'printf("size %d %d %d\\n", disk->dm_cyls, disk->dm_surfaces, disk->dm_sectors); return 0; }\n'
    )
    device = sledsim.scenario.import_disksim(parameters).device
    blocks = sledsim.Device(device).capacity_blocks
    shown = run(library.build(source, tmp_path), parameters)
    assert f"size {device['cylinders']} {device['surfaces']} {blocks}\n" in shown


def test_the_output_file_has_the_statistics(program: Path, tmp_path: Path) -> None:
    parameters = simple(tmp_path)
    shown = run(program, parameters, tmp_path / "out", given="0 0 10 1 1\n30 0 20 1 0\n")
    assert shown == "0 0.000000 10.000000\n1 30.000000 10.000000\n"
    text = (tmp_path / "out").read_text()
    # Once in the middle, once at the end.
    assert re.findall(r"^Total time of run: +(.*)$", text, re.MULTILINE) == ["30.000000", "40.000000"]
    assert re.findall(r"^Overall I/O System Total Requests handled:\t(.*)$", text, re.MULTILINE) == ["1", "2"]
    assert re.findall(r"^Overall I/O System Response time average: \t(.*)$", text, re.MULTILINE) == ["10.000000"] * 2
    results = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert [result["requests"]["completed"] for result in results] == [1, 2]
    shown = run(program, parameters, "stdout", given="0 0 10 1 1\n")
    assert "0 0.000000 10.000000" in shown
    assert "Overall I/O System Response time average: \t10.000000" in shown


def test_equal_devices_are_addressed_by_number(program: Path, tmp_path: Path) -> None:
    parameters = simple(tmp_path, devices=3)
    shown = run(program, parameters, tmp_path / "out", given="0 0 10 1 1\n0 0 10 1 1\n0 2 10 1 1\n1 1 99999 1 0\n")
    assert responses_ns(shown) == [10_000_000, 20_000_000, 10_000_000, 10_000_000]


REFUSED = {
    "0 1 10 1 1\n": "devno = 1: expected 0 to 0",
    "0 -1 10 1 1\n": "devno = -1",
    "0 0 100000 1 1\n": "blkno = 100000, 1 blocks: the device has 100000",
    "0 0 10 0 1\n": "bytecount has 0 blocks",
    "-1 0 10 1 1\n": "time = -1 ms",
    "nan 0 10 1 1\n": "time = NaN ms",
    "5 0 10 1 1\n4.9998 0 10 1 1\n": "time runs back",
}


@pytest.mark.parametrize("given", REFUSED)
def test_invalid_calls_abort_as_in_disksim(program: Path, tmp_path: Path, given: str) -> None:
    command = [str(program), str(simple(tmp_path)), str(tmp_path / "out")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 1
    assert done.stderr.startswith("disksim_interface_request_arrive: ")
    assert REFUSED[given] in done.stderr


@pytest.mark.parametrize(
    ("parameters", "more", "says"),
    [
        ("missing.parv", [], "no such file"),
        ("simple.parv", ["disk0", "Access time"], "argc = 2: expected three words for each override"),
        ("simple.parv", ["disk1", "Access time", "1"], 'component = "disk1" is not known: did you mean "disk0"'),
        ("simple.parv", ["disk0", "Acces time", "1"], "Acces time"),
        ("simple.parv", ["disk0", "Access time:x", "1"], "expected a block"),
        ("simple.parv", ["disk0", "Access time", "-1"], "Access time"),
    ],
)
def test_errors_name_the_invalid_file_or_override(
    program: Path, tmp_path: Path, parameters: str, more: list[str], says: str
) -> None:
    simple(tmp_path)
    command = [str(program), str(tmp_path / parameters), str(tmp_path / "out"), *more]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 1
    assert done.stderr.startswith("disksim_interface_initialize: ")
    assert says in done.stderr


@pytest.mark.parametrize("call", ["disksim_interface_internal_event(one, 1, 0)", "disksim_free_disksim(one)"])
@pytest.mark.parametrize("before", ["disksim_free_disksim(one)", "one = 0"])
def test_use_after_shutdown_is_detected(library: Library, tmp_path: Path, call: str, before: str) -> None:
    source = tmp_path / "gone.c"
    source.write_text(
        "#include <disksim_interface.h>\n"
        "int main(int argc, char **argv) {\n"
        'struct disksim_interface *one = disksim_interface_initialize(argv[argc - 1], "stdout", 0, 0, 0, 0, 0, 0);\n'
        f"{before}; {call}; return 0; }}\n"
    )
    command = [str(library.build(source, tmp_path, "-fsanitize=address")), str(simple(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 1
    assert done.stderr == f"{call.split('(')[0]}: invalid handle: it was closed or never opened\n"
