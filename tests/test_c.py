"""Sessions from C and C++: programs that are compiled, linked and run; the header held to the code; misuse by name."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from c_programs import EXAMPLES, HEADERS, SOURCES, Library, compiled_policies, library, run
from conftest import ROOT, missing

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["library"]

CODE = ROOT / "crates" / "sledsim-c" / "src"

# C types of Rust types, except for const, which only matters to the compiler.
TYPES = {
    "*const c_char": "char *",
    "*const *const c_char": "char **",
    "*mut MaybeUninit<u8>": "char *",
    "*mut MaybeUninit<SledsimCompletion>": "sledsim_completion_t *",
    "Place<u64>": "uint64_t *",
    "Place<u32>": "uint32_t *",
    "Place<usize>": "size_t *",
    "Place<SledsimCompletion>": "sledsim_completion_t *",
    "*mut Request": "struct disksim_request *",
    "*mut c_void": "void *",
    "Handle": "struct disksim_interface *",
    "*const Model": "struct dm_disk_if *",
    "Option<Complete>": "disksim_interface_complete_t",
    "Option<Schedule>": "disksim_interface_sched_t",
    "Option<Deschedule>": "disksim_interface_desched_t",
    "c_int": "int",
    "c_short": "short",
    "c_long": "long",
    "c_ulong": "unsigned long",
    "u64": "uint64_t",
    "u32": "uint32_t",
    "usize": "size_t",
    "f64": "double",
}


def plain(c_type: str) -> str:
    """Return a type of C as :data:`TYPES` has it."""
    words = re.sub(r"\bconst\b|\bsledsim_session\b", lambda word: "uint64_t" if "session" in word[0] else "", c_type)
    return re.sub(r"\s*(\*+)", r" \1", " ".join(words.split())).replace("* *", "**")


def text_of(header: str) -> str:
    return re.sub(r"/\*.*?\*/|^#.*?$", "", (HEADERS / header).read_text(), flags=re.DOTALL | re.MULTILINE)


def declared() -> dict[str, tuple[str, list[str]]]:
    """Return the functions of the headers with their return and parameter types."""
    found = {}
    for header in ("sledsim.h", "disksim_interface.h", "disksim_rand48.h"):
        text = re.sub(r"typedef\b[^;{]*;|^struct \w+;$", "", text_of(header), flags=re.MULTILINE)
        for returns, name, takes in re.findall(r"([\w ]+?[ *]+)(\w+)\(([^()]*)\);", text):
            types = [re.sub(r"\w+(\[\])?$", "", each.strip()) for each in takes.split(",") if takes != "void"]
            found[name] = plain(returns), [plain(each) for each in types]
    return found


def exported() -> dict[str, tuple[str, list[str]]]:
    """Return the same of the code."""
    found = {}
    for path in CODE.rglob("*.rs"):
        for name, takes, returns in re.findall(
            r'#\[no_mangle\]\npub (?:unsafe )?extern "C" fn (\w+)\(([^)]*)\)(?: -> ([^{]+))? \{', path.read_text()
        ):
            types = [each.split(": ")[1] for each in re.split(r",\s*", takes.strip().rstrip(",")) if each]
            found[name] = TYPES[returns] if returns else "void", [TYPES[each] for each in types]
    return found


def test_headers_declare_the_functions_of_the_library() -> None:
    assert len(exported()) > 25
    assert declared() == exported()


def fields(text: str, pattern: str) -> list[tuple[str, ...]]:
    return re.findall(pattern, text)


def test_structures_and_codes_match_the_library() -> None:
    for header, opening, source, name in [
        ("sledsim.h", "typedef struct sledsim_completion", "session.rs", "SledsimCompletion"),
        ("disksim_interface.h", "struct disksim_request", "disksim/mod.rs", "Request"),
    ]:
        in_c = text_of(header).split(opening + " {")[1].split("}")[0]
        in_rust = re.split(rf"#\[repr\(C\)\]\npub struct {name} \{{", (CODE / source).read_text())[1].split("}")[0]
        rust_fields = [(name, TYPES[kind]) for name, kind in fields(in_rust, r"(\w+): ([^,]+),")]
        assert rust_fields == [(name, plain(kind)) for kind, name in fields(in_c, r"([\w ]+?[ *]+)(\w+);")]
    codes = fields((CODE / "codes.rs").read_text(), r'= (-?\d+), c"(SLEDSIM_\w+)"')
    in_c = text_of("sledsim.h").split("enum sledsim_code {")[1].split("}")[0]
    assert [(number, name) for name, number in fields(in_c, r"(SLEDSIM_\w+) = (-?\d+)")] == codes


@pytest.fixture(scope="module")
def program(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that submits the requests of its standard input and prints completions and the result."""
    return library.build(SOURCES / "requests.c", tmp_path_factory.mktemp("program"))


def under_valgrind() -> list[str]:
    """Return the valgrind command that checks every memory access and leaks."""
    tool = shutil.which("valgrind") or missing("no valgrind")
    # Rounding in `libm` is written in assembler; valgrind takes its results for undefined.
    options = ["--undef-value-errors=no", "--leak-check=full", "--errors-for-leak-kinds=definite"]
    return [tool, "--quiet", "--error-exitcode=9", *options]


def test_the_first_example_prints_the_documented_output(library: Library, tmp_path: Path) -> None:
    program = library.build(EXAMPLES / "first.c", tmp_path)
    shown = run(program, under=under_valgrind())
    assert len(re.findall(r"^request \d back at [\d.]+ ms, after [\d.]+ ms$", shown, re.MULTILINE)) == 4
    assert json.loads(shown.splitlines()[-1])["requests"]["completed"] == 4
    assert shown == run(library.build(EXAMPLES / "first.c", tmp_path, static=True))


def test_session_as_the_storage_of_another_simulator(library: Library, tmp_path: Path) -> None:
    shown = run(library.build(EXAMPLES / "coupled.cpp", tmp_path))
    found = re.fullmatch(r"(\d+) reads in 10 s, ([\d.]+) ms each\n", shown)
    assert found
    # Sixteen users with a think time of 5 ms: Little's law.
    assert int(found[1]) == pytest.approx(16 * 10_000 / (float(found[2]) + 5), rel=0.01)


#: Custom policies, as a scheduler and as the cache above it.
OWN = """
#include "sledsim_policy.h"

int64_t second(const struct sledsim_pending *pending) {
    ++*(uint64_t *)pending->state;
    return *(uint64_t *)pending->state % (uint64_t)pending->parameters[0] ? 0 : (int64_t)pending->count - 1;
}

int64_t first(const struct sledsim_cache *event) {
    return event->what == SLEDSIM_VICTIM && event->slot != SLEDSIM_NO_SLOT ? event->slot + 1 : 0;
}
"""


@pytest.mark.parametrize("system", ["sptf", "mirror", "own"])
def test_reports_equal_those_of_a_python_session(program: Path, tmp_path: Path, system: str) -> None:
    systems: dict[str, Any] = {
        "sptf": {"device": "g2", "scheduler": "sptf"},
        "mirror": {"kind": "mirror", "members": [{"count": 2, "system": {"device": "atlas10k"}}]},
        "own": {
            "kind": "ram-cache",
            "bytes": 1 << 20,
            "policy": {"library": "libmine.so", "symbol": "first"},
            "child": {
                "device": "g2",
                "scheduler": {"library": "libmine.so", "symbol": "second", "state_bytes": 8, "every": 3},
            },
        },
    }
    compiled_policies(OWN, tmp_path)
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps({"title": "from C", "system": systems[system]}))
    chance = np.random.default_rng(5)
    count = 500
    session = sledsim.Session(path, overrides=["seed=7"])
    at_ns, lbns = chance.integers(0, 10**9, count), chance.integers(0, session.capacity_blocks - 8, count)
    at_ns.sort()
    # SLEDSIM_READ, SLEDSIM_WRITE, SLEDSIM_FLUSH, SLEDSIM_WRITE_FUA.
    ops = chance.choice(4, count, p=[0.6, 0.2, 0.1, 0.1])
    rows = [f"{at} {lbn} 8 {op}\n" for at, lbn, op in zip(at_ns, lbns, ops, strict=True)]
    *back, result = run(program, path, "seed=7", given="".join(rows)).splitlines()
    expected = session.serve(lbns, 8, read=ops == 0, flush=ops == 2, fua=ops == 3, at_ns=at_ns)
    for place, name in enumerate(["id", "arrival_ns", "start_ns", "end_ns", "energy_j"]):
        assert [float(row.split()[place]) for row in back] == expected[name].tolist()
    assert json.loads(result) == session.result().summary
    assert session.result().summary["flushes"]["response"]["count"] == (ops == 2).sum()


def test_zones_are_reset_from_c(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "zones.toml"
    path.write_text('[system]\nkind = "zoned"\nchild = "atlas10k"\nzone_bytes = "1 MiB"\nfull = true\n')
    # SLEDSIM_RESET of two zones and of a part of one.
    *back, result = run(program, path, given="0 0 4096 4\n1 0 8 4\n").splitlines()
    assert [row.split()[-1] for row in back] == ["0", "1"]
    counts = {each["name"]: each["value"] for each in json.loads(result)["components"][0]["counts"]}
    assert counts["zone_resets"] == 2


@pytest.mark.parametrize(
    ("scheduler", "says"),
    [
        ('"mine:Mine"', "Python classes need the Python package; here a custom policy is a library"),
        ('{ library = "libnone.so", symbol = "pick" }', "no library libnone.so: looked for "),
    ],
)
def test_error_of_an_unavailable_policy_names_the_remedy(
    program: Path, tmp_path: Path, scheduler: str, says: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(f'[system]\ndevice = "g2"\nscheduler = {scheduler}\n')
    with pytest.raises(AssertionError, match=re.escape(says)):
        run(program, path)


def test_faults_have_every_field_in_c(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('[system]\ndevice = "g2"\nschedular = "sptf"\n')
    with pytest.raises(AssertionError) as failed:
        run(program, path)
    with pytest.raises(sledsim.ScenarioError) as raised:
        sledsim.Session(path)
    message, faults = str(failed.value).split("SLEDSIM_SCENARIO: ")[1].rsplit("\n", 2)[:2]
    assert message == str(raised.value)
    fault = json.loads(faults)[0]
    assert (fault["kind"], fault["location"]["line"], fault["suggestion"]) == ("unknown-key", 3, "scheduler")


ANSWERS = """\
open nothing: SLEDSIM_NULL
open into nothing: SLEDSIM_NULL
no text: SLEDSIM_TEXT
no format: SLEDSIM_SCENARIO
no system: SLEDSIM_SCENARIO
g2 is suggested
no file: SLEDSIM_SCENARIO
zero: SLEDSIM_HANDLE
made up: SLEDSIM_HANDLE
open: SLEDSIM_OK
submit: SLEDSIM_OK
submit earlier: SLEDSIM_TIME
submit what: SLEDSIM_ARGUMENT
beyond the clock: SLEDSIM_ARGUMENT
not back yet: SLEDSIM_NOTHING
never handed in: SLEDSIM_TAKEN
advance: SLEDSIM_OK
advance back: SLEDSIM_TIME
fetch: SLEDSIM_OK
fetch twice: SLEDSIM_TAKEN
nothing left: SLEDSIM_NOTHING
fetch into nothing: SLEDSIM_NULL
nothing to come: SLEDSIM_NOTHING
too small: SLEDSIM_SPACE
snapshot: SLEDSIM_OK
close: SLEDSIM_OK
close twice: SLEDSIM_HANDLE
use after close: SLEDSIM_HANDLE
restore from what is closed: SLEDSIM_HANDLE
open again: SLEDSIM_OK
the place is taken, the number is not: SLEDSIM_HANDLE
open another system: SLEDSIM_OK
restore from another system: SLEDSIM_ARGUMENT
"""


def test_misuse_returns_the_documented_code(library: Library, tmp_path: Path) -> None:
    shown = run(library.build(SOURCES / "errors.c", tmp_path, "-fsanitize=address"))
    assert re.sub(r"^(.*: SLEDSIM_\w+).*$", r"\1", shown, flags=re.MULTILINE) == ANSWERS
    assert "no system: SLEDSIM_SCENARIO: " in shown


def test_sessions_of_different_threads_are_independent(library: Library, tmp_path: Path) -> None:
    assert run(library.build(SOURCES / "threads.c", tmp_path)) == "alike\n"


PAGE = (ROOT / "docs" / "how-to" / "c.md").read_text()
BLOCKS = re.findall(r"^```(c|cpp)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SCENARIO = '"[system]\\ndevice = \\"g2\\""'

#: What reads blocks by a class of the page: its name, those of its functions, what comes before, what it is made of.
COUPLED = {
    "gem5": ("SledsimDevice", "read", "completed", "", f'gem5::SimObjectParams{{"disk"}}, {SCENARIO}'),
    "ns-3": ("SledsimStore", "Read", "Completed", "", SCENARIO),
    "SST": ("SledsimComponent", "read", "completed", f"SST::Params params{{{SCENARIO}}};", "1, params"),
}
READER = """
#include <cstdio>

struct Reader : BASE {
    using BASE::BASE;
    void COMPLETED(const sledsim_completion_t &back) override
    {
        std::printf("%d %.6f\\n", (int)back.id, static_cast<double>(back.end_ns) / 1e6);
        if (back.id < 49)
            READ((back.id + 1) * 506816 % 6000000, 8);
    }
};

int main()
{
    BEFORE
    Reader reader(MADE_OF);
    reader.READ(0, 8);
    queue().run();
}
"""


def test_programs_of_the_page_run(library: Library, tmp_path: Path) -> None:
    assert [language for language, _ in BLOCKS] == ["c", "cpp", "cpp", "cpp"]
    source = tmp_path / "page.c"
    source.write_text(BLOCKS[0][1])
    assert re.fullmatch(r"request 0: \d\.\d+ ms\nrequest 1: \d\.\d+ ms\n", run(library.build(source, tmp_path)))
    shown = {}
    for _, block in BLOCKS[1:]:
        name = re.match(r"// (.*)\n", block)
        assert name
        words = zip(("BASE", "READ", "COMPLETED", "BEFORE", "MADE_OF"), COUPLED[name[1]], strict=True)
        program = READER
        for word, meant in words:
            program = re.sub(rf"\b{word}\b", meant.replace("\\", r"\\"), program)
        source = tmp_path / f"{name[1]}.cpp"
        source.write_text(block + program)
        shown[name[1]] = run(library.build(source, tmp_path, f"-I{SOURCES / 'stand_ins'}"))
    # The device gives the same answers to every simulator.
    assert len(shown["gem5"].splitlines()) == 50
    assert set(shown.values()) == {shown["gem5"]}


def misused(library: Library, tmp_path: Path, seed: int, calls: int) -> dict[str, int]:
    program = library.build(SOURCES / "misuse.c", tmp_path, "-O1", "-fsanitize=address,undefined")
    rows = [row.split() for row in run(program, str(seed), str(calls)).splitlines()]
    return {name: int(count) for name, count in rows}


def test_random_calls_cover_every_function() -> None:
    declared = re.findall(r"\b(sledsim_\w+)\(", (ROOT / "crates/sledsim-c/include/sledsim.h").read_text())
    called = re.findall(r"\b(sledsim_\w+)\(", (SOURCES / "misuse.c").read_text())
    assert len(set(declared)) > 15
    assert set(declared) <= set(called)


#: Errors that random calls of one thread with few sessions cannot cause.
SELDOM = {"SLEDSIM_BUSY", "SLEDSIM_FULL", "SLEDSIM_RULE", "SLEDSIM_DEFECT"}


def test_random_calls_never_crash(library: Library, tmp_path: Path) -> None:
    answers = misused(library, tmp_path, 1, 20_000)
    assert not {name for name, count in answers.items() if not count} - SELDOM
    assert not answers["SLEDSIM_DEFECT"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_a_million_random_calls_never_crash(library: Library, tmp_path: Path, seed: int) -> None:
    assert not misused(library, tmp_path, seed, 1_000_000)["SLEDSIM_DEFECT"]
