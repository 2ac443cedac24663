"""Little memory, few open files, unwritable folders, truncated or foreign parts; reachable addresses."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import size
from sledsim import SledsimError
from sledsim.show import converting
from sledsim.sweep import Store, run
from sledsim.sweep.parts import write_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

#: The command line under a resource limit; its first arguments are the name of the resource and the limit.
LIMITED = """
import resource, sys
limited, most = getattr(resource, sys.argv.pop(1)), int(sys.argv.pop(1))
resource.setrlimit(limited, (most, most))
from sledsim.cli import main
main()
"""

RATE = "workload.arrival.rate_per_s"
SWEEP = f"""\
scenario = "small.toml"
overrides."run.requests" = 50
axes.scheduler = ["fcfs", "sptf"]
axes."{RATE}" = [300, 900]
"""


def limited(kind: str, most: int, *arguments: str | Path) -> Outcome:
    """Run a command under a limit and check that it prints at most one message."""
    from conftest import Outcome

    command = [sys.executable, "-c", LIMITED, kind, str(most), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert "Traceback" not in done.stderr, done.stderr[-2_000:]
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def sweep_file(scenario_file: Path) -> Path:
    path = scenario_file.with_name("rates.toml")
    path.write_text(SWEEP)
    return path


#: A rebuild of whole drives in units of 512 B, with reads that wait for it and a power cut.
REBUILT = """\
workload.arrival = { kind = "closed", outstanding = 3 }
run = { time_s = 0.39, requests = 366, power_cuts.times_s = [0.2] }
[system]
kind = "concat"
[[system.members]]
count = 6
[system.members.system]
kind = "raid6"
spares = 2
sparing = "distributed"
unit_bytes = 512
rebuild = { rows = 9, delay_s = 0.01 }
faults = [{ member = 2, fails_at_s = 0.055 }]
members = [{ count = 5, system = { device = "g1-paper", scheduler = "zsptf" } }]
"""


#: The run writes more data than can be held.
LARGE = """\
run = { requests = 40, power_cuts.times_s = [1e6] }
[workload]
arrival = { kind = "poisson", rate_per_s = 0.5 }
size_bytes = { kind = "fixed", value = 33554432 }
read_fraction = 0
[system]
kind = "mirror"
members = [{ count = 4, device = "cheetah73" }]
"""


def test_memory_of_a_power_cut_run_follows_from_written_data(tmp_path: Path) -> None:
    path = tmp_path / "rebuilt.toml"
    path.write_text(REBUILT)
    assert limited("RLIMIT_AS", 2 << 30, "run", path, "--json").status == 0


@pytest.mark.slow
def test_power_cut_run_with_too_much_data_ends_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_text(LARGE)
    found = limited("RLIMIT_AS", 4 << 30, "run", path)
    assert found.status == 2
    assert f"{1 << 29} bytes" in found.err
    assert "run.power_cuts" in found.err


def test_out_of_memory_is_reported(scenario_file: Path) -> None:
    command = [sys.executable, "-c", NO_MEMORY, str(scenario_file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "memory" in done.stderr


@pytest.mark.parametrize("ending", size(["svg"], ["svg", "png", "html"]))
def test_out_of_memory_in_a_picture_keeps_the_run(scenario_file: Path, tmp_path: Path, ending: str) -> None:
    # The chart converter reserves gigabytes of address space, and its process ends if that fails.
    picture = tmp_path / f"picture.{ending}"
    found = limited("RLIMIT_AS", 2 << 30, "run", scenario_file, "--plot", picture)
    assert found.status == 2
    assert "the chart can't be drawn" in found.err
    assert list(tmp_path.glob("*picture*")) == []
    assert limited("RLIMIT_AS", 2 << 30, "run", scenario_file, "--plot", tmp_path / "picture.json").status == 0


def test_drawing_process_is_restarted_after_it_ended(tmp_path: Path) -> None:
    import altair

    from sledsim.show.converting import converted_text
    from sledsim.show.pages import vega_lite_version
    from sledsim.show.saving import save

    chart = altair.Chart(altair.InlineData(values=[{"a": 1}])).mark_point().encode(x="a:Q")
    with pytest.raises(SledsimError, match="the chart can't be drawn"):
        converted_text("vegalite_to_svg", {"mark": "no such mark"}, vl_version="v0")
    save(chart, tmp_path / "one.svg")
    assert converting._converter.end() == 0
    save(chart, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_text() == (tmp_path / "two.svg").read_text()
    assert "<svg" in converted_text("vegalite_to_svg", chart.to_dict(), vl_version=vega_lite_version())


#: The command line, with a MemoryError at the end of a run.
NO_MEMORY = """
import sys
from sledsim.runs import running
def greedy(*args, **options):
    raise MemoryError
running.Result = greedy
sys.argv[1:1] = ["run"]
from sledsim.cli import main
main()
"""


@pytest.mark.parametrize("most", size([32], [32, 64, 256]))
def test_file_descriptor_limits_are_met_or_reported(sweep_file: Path, tmp_path: Path, most: int) -> None:
    scenario, store = sweep_file.with_name("small.toml"), tmp_path / "s"
    commands: tuple[list[str | Path], ...] = (
        ["run", scenario, "--log", tmp_path / "log.parquet"],
        ["sweep", "run", sweep_file, "--store", store, "--threads", "2"],
        ["sweep", "show", store],
    )
    for arguments in commands:
        found = limited("RLIMIT_NOFILE", most, *arguments)
        assert found.status == 0 or (most < 256 and found.status == 2 and found.err.startswith("error: ")), found.err
    assert limited("RLIMIT_NOFILE", 1024, "sweep", "run", sweep_file, "--store", store).status == 0
    assert len(Store(store).keys()) == 4


def test_a_store_of_many_parts_is_read_with_few_open_files(sweep_file: Path, tmp_path: Path) -> None:
    import duckdb

    assert run(sweep_file, tmp_path / "s").done == 4
    (part,) = Store(tmp_path / "s").parts("runs")
    whole = limited("RLIMIT_NOFILE", 1024, "sweep", "show", tmp_path / "s")
    with duckdb.connect() as connection:
        for _ in range(size(70, 100)):
            write_batch(connection, tmp_path / "s", [("runs", f"FROM '{part}'")])
    # The number of files that the reader opens at once depends on its threads, thus on the machine.
    for most in size([64], [48, 64, 128, 256]):
        assert limited("RLIMIT_NOFILE", most, "sweep", "show", tmp_path / "s") == whole


def unwritable(tmp_path: Path) -> Path:
    """Return a folder in which no user, not even root, can create files."""
    if os.geteuid() == 0:
        return Path("/proc")
    folder = tmp_path / "read-only"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "SCENARIO", "--log", "FOLDER/log.csv"],
        ["run", "SCENARIO", "--log", "FOLDER/log.parquet"],
        ["trace", "TRACE", "--out", "FOLDER/trace.csv"],
        ["trace", "TRACE", "--out", "FOLDER/trace.parquet"],
        ["sweep", "run", "SWEEP", "--store", "FOLDER/store"],
        ["import", "DRIVE", "-o", "FOLDER/drive.toml"],
        ["reproduce", "griffin1999.settle-time", "--report", "FOLDER/report"],
        ["device", "g2", "--seeks", "--plot", "FOLDER/seek.svg"],
    ],
    ids=" ".join,
)
def test_write_errors_are_reported(
    sledsim_cli: Callable[..., Outcome], sweep_file: Path, trace_file: Path, tmp_path: Path, arguments: list[str]
) -> None:
    from test_import import SIMPLE

    folder = unwritable(tmp_path)
    drive = tmp_path / "drive.diskspecs"
    drive.write_text(SIMPLE)
    names = {"SCENARIO": sweep_file.with_name("small.toml"), "TRACE": trace_file, "SWEEP": sweep_file, "DRIVE": drive}
    words = [str(names.get(each, each.replace("FOLDER", str(folder)))) for each in arguments]
    found = sledsim_cli(*words)
    assert found.status == 2, found.out
    assert str(folder) in found.err
    assert found.err.startswith("error: ") or "\nerror: " in found.err


# DuckDB writes logs, the core writes traces as text, and Python writes the rest.
@pytest.mark.parametrize(
    "name", ["log.parquet", "trace.csv", "chart.json", *size([], ["log.csv", "trace.parquet", "chart.html"])]
)
def test_full_disks_keep_earlier_files(scenario_file: Path, tmp_path: Path, name: str) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    folder = tmp_path / "full"
    folder.mkdir()
    target = folder / name
    target.write_bytes(b"an earlier one")
    trace = tmp_path / "long.csv"
    lines = (f"{i * 1000},0,{i * 7919 % 50000 * 512},{512 + i % 9 * 512},R" for i in range(30_000))
    trace.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *lines, ""]))
    arguments: list[str | Path] = ["run", scenario_file, "--log", target]
    if name.startswith("trace"):
        arguments = ["trace", trace, "--out", target]
    if name.startswith("chart"):
        arguments = ["run", scenario_file, "--plot", target]
    found = limited("RLIMIT_FSIZE", 20_000, *arguments)
    assert found.status == 2
    assert found.err.startswith("error: ")
    assert target.read_bytes() == b"an earlier one"
    assert [each.name for each in folder.iterdir()] == [name]


#: Starts a cluster on this machine, and prints all listening addresses of it and its children.
LISTENING = """
from contextlib import suppress
from pathlib import Path
import os, re
from sledsim.sweep.cluster import Cluster

def family(pid):
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    return [pid, *(each for child in children for each in family(child))]

if __name__ == "__main__":
    with Cluster("local", 2):
        sockets = set()
        for pid in family(str(os.getpid())):
            for each in Path(f"/proc/{pid}/fd").iterdir():
                # Files come and go.
                with suppress(FileNotFoundError):
                    sockets.update(re.findall(r"socket:\\[(\\d+)\\]", os.readlink(each)))
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in sockets:
                    print(table, fields[1].partition(":")[0])
"""


def test_local_clusters_listen_on_loopback_only(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    script = tmp_path / "listening.py"
    script.write_text(LISTENING)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=600)
    listening = {tuple(line.split()) for line in done.stdout.splitlines()}
    assert listening, "no listening socket"
    assert listening <= {("tcp", "0100007F"), ("tcp6", "00000000000000000000000001000000")}, listening


def test_too_many_sleds_are_refused_before_allocation(tmp_path: Path) -> None:
    # Each has its own queue: together they would take more than a gigabyte.
    drive = {"kind": "drive", "device": {"name": "g1-paper", "sleds": 1024}, "scheduler": {"name": "asptf"}}
    member = {"kind": "partition", "child": drive, "first_block": 54547, "bytes": 16777216}
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 10.0}}
    scenario = tmp_path / "sleds.json"
    mirror = {"kind": "mirror", "members": [{"count": 5, "system": member}]}
    scenario.write_text(json.dumps({"workload": workload, "system": mirror}))
    found = limited("RLIMIT_AS", 3 << 29, "check", scenario)
    assert found.status == 2
    assert "more than 4096 components" in found.err
