"""Compiled schedulers: the same contract in C, from a library and by address."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from c_programs import compiled_policies
from conftest import ROOT, SCENARIO
from sledsim.schedulers import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SOURCE = r"""
#include "sledsim_policy.h"
#include <assert.h>
#include <stddef.h>

_Static_assert(offsetof(struct sledsim_pending, parameters) == 64, "no padding");
_Static_assert(sizeof(struct sledsim_request) == 64, "no padding");

int64_t fcfs(const struct sledsim_pending *pending) { return 0; }

int64_t clook(const struct sledsim_pending *pending) {
    uint64_t *head = pending->state;
    int64_t lowest = 0, ahead = -1;
    assert(pending->positioning_ns == NULL);
    for (uint64_t row = 0; row < pending->count; row++) {
        uint64_t lbn = pending->lbn[row];
        if (lbn < pending->lbn[lowest]) lowest = row;
        if (lbn >= *head && (ahead < 0 || lbn < pending->lbn[ahead])) ahead = row;
    }
    int64_t next = ahead < 0 ? lowest : ahead;
    *head = pending->lbn[next] + pending->blocks[next];
    return next;
}

int64_t sptf(const struct sledsim_pending *pending) {
    int64_t best = 0;
    for (uint64_t row = 1; row < pending->count; row++)
        if (pending->positioning_ns[row] < pending->positioning_ns[best]) best = row;
    return best;
}

/* Parameters come in the order of their names. */
int64_t aged(const struct sledsim_pending *pending) {
    double weight = pending->parameters[1], least = 0;
    int64_t best = -1;
    if (pending->parameter_count != 2 || pending->parameters[0] != 7) return -7;
    for (uint64_t row = 0; row < pending->count; row++) {
        double cost = (double)pending->positioning_ns[row] - weight * (double)pending->age_ns[row];
        if (best < 0 || cost < least) { best = row; least = cost; }
    }
    return best;
}

/* Counts its calls: arrivals minus completions are the pending and active requests. */
struct counts { uint64_t there, reads; };

void arrived(const struct sledsim_request *request) {
    struct counts *counts = request->state;
    counts->there++;
    counts->reads += request->read;
}

void completed(const struct sledsim_request *request) {
    struct counts *counts = request->state;
    counts->there--;
    counts->reads -= request->read;
}

int64_t counting(const struct sledsim_pending *pending) {
    struct counts *counts = pending->state;
    uint64_t reads = 0;
    for (uint64_t row = 0; row < pending->count; row++) reads += pending->read[row];
    uint64_t under_way = counts->there - pending->count, reading = counts->reads - reads;
    return under_way <= 1 && reading <= under_way && pending->state_bytes == 16 ? 0 : -1;
}

int64_t wrong(const struct sledsim_pending *pending) { return pending->id[0] < 50 ? 0 : (int64_t)pending->count; }
"""

BUILT_IN = {"fcfs": "fcfs", "clook": "clook", "sptf": "sptf", "aged": {"name": "asptf", "weight": 0.01}}
GIVEN: dict[str, dict[str, Any]] = {
    "fcfs": {"positioning": False},
    "clook": {"positioning": False, "state_bytes": 8},
    "sptf": {},
    "aged": {"weight": 0.01, "seven": 7},
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_policies(SOURCE, tmp_path_factory.mktemp("compiled"))


def log_of(system: dict[str, Any], scheduler: object) -> bytes:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 1500.0}, "read_fraction": 0.6}
    scenario = {"seed": 5, "workload": workload, "run": {"requests": 1500}}
    result = sledsim.run({**scenario, "system": {**system, "scheduler": scheduler}}, log=True, check=True)
    return b"".join(name.encode() + column.tobytes() for name, column in sorted(result.log.items()))


SYSTEMS: list[dict[str, Any]] = [
    {"device": "g2"},
    {"device": {"name": "g1", "sleds": 2}, "merge": {}},
    {"device": "atlas10k"},
]


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_rewritten_policy_gives_the_same_log(library: Path, name: str) -> None:
    own = {"library": str(library), "symbol": name, **GIVEN[name]}
    for system in SYSTEMS:
        assert log_of(system, own) == log_of(system, BUILT_IN[name])


def test_a_function_at_an_address_gives_the_same_log(library: Path) -> None:
    functions = ctypes.CDLL(str(library))
    for name, given in GIVEN.items():
        assert log_of(SYSTEMS[0], compiled(getattr(functions, name), **given)) == log_of(SYSTEMS[0], BUILT_IN[name])

    class Numbered:
        """As Numba's are."""

        address = ctypes.cast(functions.sptf, ctypes.c_void_p).value

    assert log_of(SYSTEMS[0], compiled(Numbered())) == log_of(SYSTEMS[0], "sptf")


def test_a_python_function_can_be_given_by_address(library: Path) -> None:
    newest = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint64))(lambda pending: pending[1] - 1)
    result = sledsim.run({**SCENARIO, "system": {"device": "g2", "scheduler": compiled(newest)}})
    assert result.complete
    assert result.summary["scheduler"] == "compiled"


def test_the_page_s_function_of_numba_gives_the_log_of_asptf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="Numba is large, and nothing of Sledsim's needs it")
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    [module] = [block for block in re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL) if "@cfunc" in block]
    (tmp_path / "my_numba.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    scheduler = importlib.import_module("my_numba").scheduler
    for system in SYSTEMS:
        assert log_of(system, scheduler) == log_of(system, BUILT_IN["aged"])
    assert sledsim.runs.check_policy(scheduler, role="scheduler").passed


def test_hooks_are_called_for_every_request(library: Path) -> None:
    own = {
        "library": str(library),
        "symbol": "counting",
        "arrived": "arrived",
        "completed": "completed",
        "state_bytes": 16,
    }
    assert sledsim.run({**SCENARIO, "system": {"device": "g2", "scheduler": own}}).complete


def test_the_result_names_the_function_and_the_hash_of_its_library(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(library.parent)
    own = {"library": "libmine.so", "symbol": "clook", **GIVEN["clook"]}
    result = sledsim.run({**SCENARIO, "system": {"device": "g2", "scheduler": own}})
    assert result.summary["scheduler"] == "clook"
    said = result.summary["scenario"]["system"]["scheduler"]
    assert said["source"] == hashlib.sha256(library.read_bytes()).hexdigest()
    monkeypatch.chdir("/")
    assert sledsim.run(result.summary["scenario"]).response == result.response


def picks(row: str, folder: Path) -> bytes:
    """Compile a policy that picks a row into the library of a folder; return the log that it gives."""
    include = '#include "sledsim_policy.h"'
    text = f"{include}\nint64_t pick(const struct sledsim_pending *pending) {{ return (int64_t)({row}); }}\n"
    library = compiled_policies(text, folder)
    return log_of(SYSTEMS[0], {"library": str(library), "symbol": "pick"})


def test_changed_libraries_are_reloaded(tmp_path: Path) -> None:
    # Code and hash are those of the current file after each change.
    first = picks("pending->count - pending->count", tmp_path)
    last = picks("pending->count - 1", tmp_path)
    assert first == log_of(SYSTEMS[0], "fcfs") != last
    assert picks("pending->count / 2", tmp_path) not in (first, last)
    assert picks("pending->count - pending->count", tmp_path) == first
    own = {"library": str(tmp_path / "libmine.so"), "symbol": "pick"}
    done = sledsim.run({**SCENARIO, "system": {"device": "g2", "scheduler": own}})
    said = done.summary["scenario"]["system"]["scheduler"]
    assert said["source"] == hashlib.sha256((tmp_path / "libmine.so").read_bytes()).hexdigest()
    # No temporary copies remain.
    assert not list(Path(tempfile.gettempdir()).glob(f"sledsim-policy-{os.getpid()}-*"))


def test_a_library_is_read_once(library: Path, tmp_path: Path) -> None:
    def source() -> str:
        own = {"library": str(held), "symbol": "fcfs"}
        read = sledsim.scenario.resolve({**SCENARIO, "system": {"device": "g2", "scheduler": own}}).values
        return str(read["system"]["scheduler"]["source"])

    held, behind = tmp_path / "held.so", b"what no program looks at"
    held.write_bytes(library.read_bytes() + behind)
    found, status = source(), held.stat()
    with held.open("r+b") as file:
        file.seek(-len(behind), os.SEEK_END)
        file.write(behind.upper())
    os.utime(held, ns=(status.st_atime_ns, status.st_mtime_ns))
    # Size, time and number are as they were: it counts as the same file, and its text is not looked at.
    assert source() == found
    os.utime(held, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000))
    assert source() == hashlib.sha256(held.read_bytes()).hexdigest() != found


def test_snapshots_include_the_state_of_compiled_functions(library: Path) -> None:
    own = {"library": str(library), "symbol": "clook", **GIVEN["clook"]}
    session = sledsim.Session({"device": "g2", "scheduler": own})
    for number in range(200):
        session.submit(number * 7919 % 1_000_000, 8)
    session.advance(20_000_000)
    snapshot = session.snapshot()
    assert [done.id for done in session.drain()] == [done.id for done in snapshot.drain()]


def test_invalid_row_ends_the_run(library: Path) -> None:
    scheduler = {"library": str(library), "symbol": "wrong"}
    with pytest.raises(sledsim.RunError, match="wrong chose 1 of 1 pending requests") as caught:
        sledsim.run({**SCENARIO, "system": {"device": "g2", "scheduler": scheduler}})
    assert (caught.value.kind, caught.value.path) == ("policy", "system.scheduler")
    assert caught.value.request is not None
    assert caught.value.result.requests.completed in (49, 50)


@pytest.mark.parametrize(
    ("given", "path", "says"),
    [
        ({"library": "nowhere.so", "symbol": "sptf"}, "library", "no library nowhere.so"),
        ({"symbol": "sptff"}, "symbol", "no function sptff"),
        ({}, "symbol", "symbol is missing"),
        ({"symbol": "fcfs", "arrived": "nobody"}, "arrived", "no function nobody"),
        ({"symbol": "aged", "weight": "much"}, "weight", "a number"),
        ({"symbol": "fcfs", "python": "own:Mine"}, "library", "not both"),
        ({"symbol": "fcfs", "state_bytes": -1}, "state_bytes", "out of range"),
        ({"library": None, "address": 4096}, "address", "address 4096 is of no function"),
        ({"library": __file__, "symbol": "x"}, "library", "invalid ELF header"),
    ],
)
def test_errors_name_the_invalid_value(library: Path, given: dict[str, Any], path: str, says: str) -> None:
    with pytest.raises(sledsim.ScenarioError) as caught:
        sledsim.scenario.resolve(
            {**SCENARIO, "system": {"device": "g2", "scheduler": {"library": str(library), **given}}}
        )
    assert caught.value.path == f"system.scheduler.{path}"
    assert says in str(caught.value)


def test_functions_without_an_address_are_refused() -> None:
    with pytest.raises(sledsim.ScenarioError, match="has no address"):
        compiled(print)
    for number in (None, 0, 5):
        with pytest.raises(sledsim.ScenarioError, match="expected the address of a function"):
            compiled(number)


def test_the_command_line_takes_a_library(
    library: Path, scenario_file: Path, sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(library.parent)
    sets = ["--set", "scheduler.library=libmine.so", "--set", "scheduler.symbol=sptf"]
    own = json.loads(sledsim_cli("run", scenario_file, *sets, "--json").out)
    assert own["response"] == json.loads(sledsim_cli("run", scenario_file, "--json").out)["response"]


def test_compiled_functions_pass_the_contract_check(library: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    for name, given in GIVEN.items():
        found = sledsim.runs.check_policy({"library": str(library), "symbol": name, **given}, role="scheduler")
        assert found.passed, str(found)
    table = f'{{ library = "{library}", symbol = "wrong" }}'
    done = sledsim_cli("plugin-check", table, "--role", "scheduler")
    assert done.status == 2
    assert "wrong chose" in done.err
    assert "request 50" in done.err
