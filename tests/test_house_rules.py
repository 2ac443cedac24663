"""The house rules of ARCHITECTURE.md that a machine can check."""

from __future__ import annotations

import ast
import importlib
import re
from typing import TYPE_CHECKING

import pytest

import sledsim._core
from messages_read import messages_read, messages_read_in_rust
from source_text import (
    CORE,
    DISKSIM,
    PACKAGE,
    PAPERS,
    ROOT,
    Function,
    committed_files,
    committed_text,
    place,
    rust_code,
    rust_code_without_tests,
    rust_functions,
    sources,
    tree_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_LINES = 500
FUNCTION_LINES = 70

# What every room of the core may name.
SPOKEN = {"time", "request", "service", "units", "fault", "limits", "registry"}

# The rooms that each room of the core may name besides itself: the arrows of ARCHITECTURE.md.
CORE_ARROWS = {
    "time": set(),
    "units": set(),
    "fault": set(),
    "limits": set(),
    "registry": {"fault"},
    "request": {"time", "units"},
    "service": {"time", "units", "request"},
    "power": SPOKEN,
    "engine": SPOKEN | {"power"},
    "own": SPOKEN | {"engine", "power"},
    "devices": SPOKEN | {"engine", "own", "power"},
    "schedulers": SPOKEN | {"engine", "own", "devices"},
    "traces": SPOKEN,
    "workloads": SPOKEN | {"engine", "traces"},
    "metrics": SPOKEN | {"engine"},
    "reliability": {"engine", "fault", "limits", "metrics"},
    "hierarchy": SPOKEN | {"engine", "own", "power", "devices", "schedulers", "workloads", "traces", "metrics"},
    "scenario": SPOKEN
    | {"engine", "own", "power", "devices", "schedulers", "workloads", "traces", "metrics", "hierarchy"},
    "lib": set(),
}

# The lists of the core: the enum that each makes, and its room.
LISTS = {
    "SchedulerSpec": "schedulers",
    "ReplacementSpec": "hierarchy/cache/replacement",
    "TraceFormat": "traces",
    "WorkloadSpec": "workloads",
    "ArrivalSpec": "workloads/arrival",
    "LocationSpec": "workloads/location",
}

# What only some can do, and is not in their own files: CSV has columns to map; a trace has a file, records to report
# on, and an end of its own.
ONLY_SOME = {
    "reader.rs": {"Csv"},
    "resolve.rs": {"Trace"},
    "summary.rs": {"Session", "Trace"},
    "run.rs": {"Trace"},
}

# The rooms of the Python package: each may name itself and those of the levels before its own.
PACKAGE_LEVELS = (
    {"_core", "_loading"},
    {"_guarding"},
    {"show"},
    {"scenario"},
    {"traces", "workloads", "devices", "schedulers", "caches", "mirrors", "spin_down"},
    {"runs"},
    {"sweep", "reliability", "studies", "sqlite", "machine"},
    {"report"},
    {"cli"},
)


def core_room(path: Path) -> str:
    return path.relative_to(CORE).parts[0].removesuffix(".rs")


def rooms_named(code: str) -> set[str]:
    """Return the top-level modules that Rust code names through ``crate::``."""
    named = set(re.findall(r"\bcrate::(\w+)", code))
    for group in re.findall(r"\bcrate::\{([^;]*)\}", code):
        flat = group
        while "{" in flat:
            flat = re.sub(r"\{[^{}]*\}", "", flat)
        named.update(part.strip().split("::")[0] for part in flat.split(",") if part.strip())
    return named


@pytest.mark.parametrize("path", [path for path in sources(".rs") if CORE in path.parents], ids=place)
def test_arrows_between_rooms_of_the_core_point_down(path: Path) -> None:
    room = core_room(path)
    assert room in CORE_ARROWS, f"{room} is not a room of ARCHITECTURE.md"
    code = rust_code_without_tests(path.read_text())
    upward = rooms_named(code) - CORE_ARROWS[room] - {room}
    assert not upward, f"{room} may not name {sorted(upward)}"
    depth = len(path.relative_to(CORE).parts) - (path.name == "mod.rs")
    climbs = [chain for chain in re.findall(r"(?:\bsuper::)+", code) if chain.count("super") >= depth]
    assert room == "lib" or not climbs, "a path out of the room starts with crate::"


@pytest.mark.parametrize("room", ["engine", "schedulers", "hierarchy", "workloads", "metrics"])
def test_only_the_scenario_knows_concrete_devices_and_policies(room: str) -> None:
    policies = {path.stem for path in (CORE / "schedulers").glob("*.rs")} - {"mod", "checked"}
    mechanisms = {path.stem for path in (CORE / "devices").iterdir()} - {"mod"}
    assert policies
    assert mechanisms
    for path in (CORE / room).rglob("*.rs"):
        code = rust_code_without_tests(path.read_text())
        if room != "schedulers":
            assert not set(re.findall(r"\bschedulers::(\w+)", code)) & policies, place(path)
        assert not set(re.findall(r"\bdevices::(\w+)", code)) & mechanisms, place(path)


def lines_of(enum: str) -> dict[str, str]:
    """Return the lines of a list: the module of each variant."""
    text = (CORE / LISTS[enum] / "mod.rs").read_text()
    return dict(re.findall(r"^ +(?:#\[[^\n]*\] )?(\w+) => (\w+),$", text, re.MULTILINE))


@pytest.mark.parametrize("enum", LISTS)
def test_what_a_list_adds_is_named_in_its_file_and_its_line_alone(enum: str) -> None:
    # A name that two lists have is in the files of both.
    own = {CORE / LISTS[each] / f"{module}.rs" for each in LISTS for module in lines_of(each).values()}
    own |= {CORE / room / "mod.rs" for room in LISTS.values()}
    others = [path for path in CORE.rglob("*.rs") if path not in own]
    texts = {path: re.sub(r"//.*", "", path.read_text()).split("#[cfg(test)]")[0] for path in others}
    assert len(lines_of(enum)) > 2
    for variant, module in lines_of(enum).items():
        declared = (CORE / LISTS[enum] / f"{module}.rs").read_text()
        # Parts of workloads have no other name than their variant's.
        key = re.search(r'^    name: ("[\w-]+"),$', declared, re.MULTILINE)
        assert key or "workloads" in LISTS[enum], f"{module} declares its name"
        words = rf"\b{enum}::{variant}\b|\b{module}::(?:POLICY|ENTRY|Spec)\b" + (f"|{key[1]}" if key else "")
        for path, text in texts.items():
            if variant not in ONLY_SOME.get(path.name, set()):
                named = re.search(words, text)
                assert not named, f"{place(path)} names {named}"


def test_reliability_takes_only_random_streams_from_the_engine() -> None:
    for path in (CORE / "reliability").rglob("*.rs"):
        code = rust_code_without_tests(path.read_text())
        assert set(re.findall(r"\bcrate::engine::(\w+)", code)) <= {"random"}, place(path)
        assert not re.search(r"\bcrate::engine::?\{|\bcrate::\{", code), place(path)


def test_the_importer_is_a_client_that_the_core_does_not_know() -> None:
    code = "".join(rust_code_without_tests(path.read_text()) for path in DISKSIM.rglob("*.rs"))
    assert set(re.findall(r"\bsledsim::(\w+)", code)) == {"devices", "fault", "scenario"}
    assert set(re.findall(r"\bsledsim::devices::([\w:]+)", code)) == {"disk::Layout"}
    assert "disksim" not in (ROOT / "crates" / "sledsim" / "Cargo.toml").read_text()
    for path in CORE.rglob("*.rs"):
        # Formats of traces have DiskSim's name.
        named = re.search("disksim", rust_code(path.read_text()), re.IGNORECASE)
        assert core_room(path) == "traces" or not named, place(path)


def test_the_core_prints_nothing_and_knows_no_python() -> None:
    for path in [*CORE.rglob("*.rs"), *DISKSIM.rglob("*.rs")]:
        code = rust_code_without_tests(path.read_text())
        assert not re.search(r"\b(e?print(ln)?|dbg)!", code), place(path)
        assert "pyo3" not in code, place(path)
    assert "pyo3" not in (ROOT / "crates" / "sledsim" / "Cargo.toml").read_text()


def imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules that a file imports anywhere, for types too, each with a name taken from it, if one is."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from ((node.module or "", alias.name) for alias in node.names)


def modules_of(package: Path) -> list[Path]:
    return [path for path in sources(".py") if package in path.parents]


@pytest.mark.parametrize("path", modules_of(PACKAGE), ids=place)
def test_arrows_between_rooms_of_the_package_point_down(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    names = {name if module == "sledsim" else module for module, name in imported_names(path)}
    assert not any(name.startswith("sledsim_papers") for name in names), "the package does not know its clients"
    if room == "__init__":
        return
    level = next(place for place, rooms in enumerate(PACKAGE_LEVELS) if room in rooms)
    allowed = set().union(*PACKAGE_LEVELS[:level], {room})
    for module, name in imported_names(path):
        if module == "sledsim":
            home = sledsim_homes().get(name, name)
            assert home.partition(".")[0] in allowed, f"{room} may not import {name} of {home}"
        elif module.startswith("sledsim."):
            assert module.split(".")[1] in allowed, f"{room} may not import {module}"


def sledsim_homes() -> dict[str, str]:
    """Return the modules in which the public names of the package live."""
    homes: dict[str, str] = vars(sledsim)["_HOMES"]
    return homes


def is_public_face(module: str) -> bool:
    """Tell whether a module is the package itself, or what one of its rooms shows to others."""
    room = module.split(".")
    return len(room) <= 2 or (room[1] == "studies" and len(room) == 3)


@pytest.mark.parametrize("path", modules_of(PAPERS), ids=place)
def test_the_papers_are_a_client_of_public_names(path: Path) -> None:
    for module, name in imported_names(path):
        if module.partition(".")[0] == "sledsim":
            assert is_public_face(module), f"{module} is inside a room"
            assert name in importlib.import_module(module).__all__, f"{module} does not offer {name}"


@pytest.mark.parametrize("path", modules_of(PAPERS / "harness"), ids=place)
def test_what_runs_papers_knows_none_of_them(path: Path) -> None:
    for module, _ in imported_names(path):
        assert not module.startswith("sledsim_papers.") or module.startswith("sledsim_papers.harness")


@pytest.mark.parametrize("suffix", [".rs", ".py", ".pyi"])
def test_files_are_short(suffix: str) -> None:
    # What a tool writes is as long as what it is made of.
    written = [path for path in sources(suffix) if path.parent != PACKAGE / "scenario" / "models"]
    long = {place(path): count for path in written if (count := len(path.read_text().splitlines())) > FILE_LINES}
    assert not long


def python_functions(path: Path) -> Iterator[Function]:
    """Yield the functions of a file of Python; a docstring does not count as lines."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
            yield Function(node.name, node.lineno, (node.end_lineno or 0) - node.lineno + 1 - docstring)


def functions_of_rust(path: Path) -> Iterator[Function]:
    return rust_functions(path.read_text())


@pytest.mark.parametrize(("suffix", "functions"), [(".rs", functions_of_rust), (".py", python_functions)])
def test_functions_are_short(suffix: str, functions: object) -> None:
    assert callable(functions)
    seen = 0
    long = []
    for path in sources(suffix):
        for function in functions(path):
            seen += 1
            if function.lines > FUNCTION_LINES:
                long.append(f"{place(path, function.line)} {function.name}: {function.lines} lines")
    assert seen > 0
    assert not long


def test_the_measure_of_rust_functions_sees_what_it_should() -> None:
    text = "fn a(x: [u8; 4]) -> u8 {\n  let s = \"}\"; // }\n  x[0]\n}\ntrait T { fn b(&self); }\nfn c() { '}'; }\n"
    assert list(rust_functions(text)) == [Function("a", 1, 4), Function("c", 6, 1)]


#: The file of each door that is unsafe.
UNSAFE = {"c": "memory.rs", "compiled": "raw.rs", "python": "raw.rs", "nbd": "os.rs"}


def test_no_unsafe_code() -> None:
    assert re.search(r'^unsafe_code = "forbid"$', (ROOT / "Cargo.toml").read_text(), flags=re.MULTILINE)
    # What C hands over is a pointer, what the bindings share with Python and C goes without a check, and signals are
    # the machine's: each is in one file, which says of each line why it is right.
    crates = ROOT / "crates"
    allowed = {crates / f"sledsim-{room}" / "src" / name for room, name in UNSAFE.items()}
    for path in sources(".rs"):
        found = re.search(r"\bunsafe\b", rust_code(path.read_text()))
        assert bool(found) == (path in allowed), place(path)


def test_names_say_what_a_file_is_about() -> None:
    empty = {"util", "utils", "misc", "manager", "helper", "helpers", "v2"}
    for path in committed_files():
        words = set(re.split(r"[^a-z0-9]+", str(path.relative_to(ROOT)).lower()))
        assert not words & empty, place(path)


# Each pattern has a letter in brackets, so that this file passes its own test.
FORBIDDEN_TEXT = {
    "work left undone": re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X)\b"),
    "a folder of one machine": re.compile(r"(?<![\w.])/[w]ork(?=/|\b)"),
    "the host of a package registry": re.compile(r"pypi[.]org|pythonhosted[.]org|crates[.]io|anaconda[.]org"),
}


@pytest.mark.parametrize("what", FORBIDDEN_TEXT)
def test_no_file_holds(what: str) -> None:
    found = []
    for path, text in committed_text():
        # Cargo writes its registry into the lock file.
        if path.name == "Cargo.lock":
            continue
        for match in FORBIDDEN_TEXT[what].finditer(text):
            found.append(f"{place(path, text.count(chr(10), 0, match.start()) + 1)}: {match.group()}")
    assert not found


def test_pinned_packages_are_exact_and_hashed() -> None:
    for name in ["base.txt", "dev.txt"]:
        lines = (ROOT / "requirements" / name).read_text().splitlines()
        packages = [line for line in lines if line and not line.startswith((" ", "#"))]
        assert packages
        for line in packages:
            assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; .+)? \\", line), line
        assert sum("--hash=sha256:" in line for line in lines) >= len(packages)


OUR_ERRORS = re.compile(
    r"^(Scenario|Trace|Run|Sledsim|Store|Reliability|Cluster|WrongMechanism|NoDuration|Missing(?:Trace|Runs))Error$"
)


def test_nobody_reads_what_an_error_says() -> None:
    read = {place(path): messages_read(tree_of(path)) for path in (*modules_of(PACKAGE), *modules_of(PAPERS))}
    assert not {name: lines for name, lines in read.items() if lines}
    # What pydantic says of a key it says in an entry of a table.
    says = re.compile(r"""\[["']msg["']\]\s*(?:\.|\[)""")
    assert not [place(path) for path in (*modules_of(PACKAGE), *modules_of(PAPERS)) if says.search(path.read_text())]
    # The crate of tests has nothing else: what is told is what it looks at.
    rust = [path for path in sources(".rs") if path.is_relative_to(ROOT / "crates") and "src" in path.parts]
    assert {path.relative_to(ROOT).parts[1] for path in rust} >= {"sledsim", "sledsim-python", "sledsim-c"}
    read = {place(path): messages_read_in_rust(path.read_text()) for path in rust}
    assert not {name: lines for name, lines in read.items() if lines}


@pytest.mark.parametrize("error", ["_core.ScenarioError", "duckdb.Error", "(OSError, ValueError)"])
@pytest.mark.parametrize(
    "looked",
    [
        "re.search('x', str(error))",
        "str(error).split(':')",
        "'axis' in str(error)",
        "text.removeprefix('a')",
        "str(error).strip().splitlines()[0]",
        "(lambda: f'{error}'.replace('a', 'b'))",
        "f'bad {error}'.split(':')",
        "str(error.faults[0]).split(':')",
        "error.faults[0].text().split(':')",
        "[fault.text().strip().partition(' ') for fault in error.faults]",
        "error.args[0].split(':')",
        "answer.error.split(':')",
        "(first := error.faults[0]) and str(first).split(':')",
    ],
)
def test_the_search_for_read_messages_sees_each_way(looked: str, error: str) -> None:
    code = f"try:\n    run()\nexcept {error} as error:\n    text = str(error)\n    found = {looked}\n"
    assert messages_read(ast.parse(code)) == [5]
    for data in ("f'{error}', file=error.filename.strip()", "str(error), file=error.path.split('.')[0]"):
        whole = code.replace(looked, f"wrong(StoreError, 'unreadable', {data})")
        assert not messages_read(ast.parse(whole))


def test_the_search_for_read_messages_sees_what_is_kept_or_handed_over() -> None:
    kept = "def one():\n    try:\n        run()\n    except OSError as error:\n        said = f'no: {error}'\n"
    assert messages_read(ast.parse(f"{kept}    again = said\n    return again.split()\n")) == [7]
    # Another function's name is another thing.
    assert not messages_read(ast.parse(f"{kept}    return said\ndef other(said):\n    return said.split()\n"))
    handed = "class A:\n    def one(self, fault: core.Fault, path: Path):\n"
    assert messages_read(ast.parse(f"{handed}        return str(fault).split(':')\n")) == [3]
    assert not messages_read(ast.parse(f"{handed}        return str(fault.path).split('.') + str(path).split('.')\n"))


def test_the_search_for_read_messages_sees_those_in_rust() -> None:
    for looked in (
        'error.to_string().contains("x")',
        'fault.text(&Keys).split_once(": ")',
        "faults[0].to_string().find(&word)",
        "faults.first().to_string().starts_with('a')",
        "reason.strip_prefix(word.as_str())",
        "said\n    .lines()",
    ):
        start = "fn one() {\n  let said: String = fault.to_string();\n  "
        assert messages_read_in_rust(f"{start}{looked};\n}}\n") == [3], looked
    assert not messages_read_in_rust("fn one() { error.path.to_string().split('.'); told.split(':'); }\n")
    assert not messages_read_in_rust("#[cfg(test)]\nmod tests { fn one() { error.to_string().contains('a'); } }\n")


def lost_halves(tree: ast.Module) -> list[int]:
    """Return the lines of texts that stand alone in a function, where they do nothing: the half of a sentence."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    documented = {id(node.body[0]) for node in (*functions, *classes)}
    alone = [
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.JoinedStr | ast.Constant)
        if id(node) not in documented and ast.unparse(node) != "..."
    ]
    return sorted(set(alone))


def test_no_text_stands_alone() -> None:
    lost = [place(path, line) for path in sources(".py") for line in lost_halves(tree_of(path))]
    assert lost == []


def test_the_search_for_texts_that_stand_alone_sees_them() -> None:
    code = "'Doc.'\ndef one():\n    'Doc.'\n    a = 'first, '\n    'second'\n    if a:\n        f'{a}'\n    'third'\n"
    assert lost_halves(ast.parse(code)) == [5, 7, 8]
    assert not lost_halves(ast.parse("class A:\n    a = 1\n    'Of a.'\n    def one(self):\n        ...\n"))
    for inner in ("def two():", "class Two:"):
        assert not lost_halves(ast.parse(f"def one():\n    'Doc.'\n    {inner}\n        'Doc.'\n    return 1\n"))


def errors_of_words(tree: ast.Module) -> list[int]:
    """Return the lines of a module that make an error of Sledsim's of a text alone, without faults."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [(getattr(call.func, "attr", getattr(call.func, "id", "")), call.lineno) for call in calls]
    return [line for name, line in names if OUR_ERRORS.match(name)]


def test_every_error_of_both_packages_is_data() -> None:
    modules = (*modules_of(PACKAGE), *modules_of(PAPERS))
    made = {place(path): errors_of_words(tree_of(path)) for path in modules}
    assert not {name: lines for name, lines in made.items() if lines}


def test_the_search_for_errors_of_words_sees_them() -> None:
    assert errors_of_words(ast.parse("raise StoreError(f'{path}: gone')\nerror = _core.RunError('x')")) == [1, 2]
    assert not errors_of_words(ast.parse("raise wrong(StoreError, 'missing', 'gone')\nraise ValueError('x')"))


def test_every_type_of_error_is_looked_for() -> None:
    declared = {
        node.name
        for path in (*modules_of(PACKAGE), *modules_of(PAPERS))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and any(OUR_ERRORS.match(ast.unparse(base)) for base in node.bases)
    }
    assert "MissingTraceError" in declared
    assert all(OUR_ERRORS.match(name) for name in declared)


def test_tests_wait_for_what_happens_and_not_for_some_time() -> None:
    sleeping = [path.name for path in (ROOT / "tests").glob("*.py") if "time.sleep(" in path.read_text()]
    assert sorted(sleeping) == ["test_house_rules.py", "waiting.py"]


def test_threads_are_begun_in_one_place() -> None:
    for path in (*modules_of(PACKAGE), *modules_of(PAPERS)):
        begun = re.search(r"\b(?:ThreadPoolExecutor|threading\.Thread)\(", path.read_text())
        assert not begun or path == PACKAGE / "runs" / "threads.py", place(path)


def test_no_definition_of_the_schema_is_told_apart_by_a_number() -> None:
    names = list(sledsim._core.schema()["$defs"])
    assert names
    assert not [name for name in names if name[-1].isdigit()]
