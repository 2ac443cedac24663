"""ARCHITECTURE.md against the code: the steps of its walks are there, and each circle of files has a reason."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PAGE = (ROOT / "ARCHITECTURE.md").read_text()
CORE = ROOT / "crates" / "sledsim" / "src"
PACKAGES = ROOT / "python"
#: Where a walk's files are looked for: those of the core, of the package and of the papers.
HOMES = (CORE, PACKAGES / "sledsim", PACKAGES / "sledsim_papers", ROOT)

Graph = dict[str, set[str]]


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def home(name: str) -> Path | None:
    return next((folder / name for folder in HOMES if (folder / name).is_file()), None)


def test_every_file_of_the_walks_is_there() -> None:
    files = re.findall(r"`([a-z_/-]+/[a-z_]+\.(?:rs|py))`", section("Walks"))
    assert len(files) >= 20
    assert not [name for name in files if home(name) is None]


def functions_named(walks: str) -> list[tuple[str, str]]:
    """Return the functions and classes that a step names, each with the file that the step names before it."""
    found: list[tuple[str, str]] = []
    file = ""
    for word in re.findall(r"`([^`]+)`", walks):
        if re.fullmatch(r"[\w/-]+\.(rs|py)", word):
            file = word
        elif re.fullmatch(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)?", word) and file and not word.endswith(("toml", "md")):
            found.append((file, word))
    return found


def test_every_function_of_the_walks_is_in_the_file_that_is_named_with_it() -> None:
    named = [(file, name) for file, name in functions_named(section("Walks")) if "/" in file]
    assert len(named) >= 20
    missing = []
    for file, name in named:
        text = (home(file) or ROOT).read_text()
        missing += [
            (file, name)
            for part in re.split(r"\.|::", name)
            if not re.search(
                rf"\b(?:def|class|fn|struct|enum|trait|impl)\b[^\n]*\b{part}\b|^{part}\b", text, re.MULTILINE
            )
        ]
    assert not missing


def circles(graph: Mapping[str, Iterable[str]]) -> list[frozenset[str]]:
    """Return the sets of more than one file of which each leads to every other."""
    reach = {name: {name} for name in graph}
    grown = True
    while grown:
        grown = False
        for name, known in reach.items():
            more = known.union(*(graph[each] for each in known))
            if more != known:
                reach[name], grown = more, True
    found = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph}
    return [circle for circle in found if len(circle) > 1]


def use_paths(text: str) -> list[str]:
    """Return the paths that Rust code names, groups written out."""

    def spread(path: str) -> list[str]:
        front, brace, rest = path.partition("{")
        if not brace:
            return [path.partition("@")[0]]
        items: list[str] = []
        depth, item = 0, ""
        for sign in rest.removesuffix("}"):
            depth += (sign == "{") - (sign == "}")
            if sign == "," and not depth:
                items, item = [*items, item], ""
            else:
                item += sign
        return [path for each in [*items, item] if each for path in spread(front + each)]

    code = re.sub(r"//.*", "", text)
    uses = re.findall(r"\buse\s+((?:crate|super|self)\b[^;]*);", code)
    spelled = [re.sub(r"\s", "", use.replace(" as ", "@")) for use in uses]
    inline = re.findall(r"\b(?:crate|super)(?:::\w+)+", code)
    return [*(path for use in spelled for path in spread(use)), *inline]


def rust_graph() -> Graph:
    modules: dict[tuple[str, ...], Path] = {}
    for path in CORE.rglob("*.rs"):
        parts = path.relative_to(CORE).with_suffix("").parts
        modules[parts[:-1] if parts[-1] in ("mod", "lib") else parts] = path
    graph: Graph = {}
    for module, path in modules.items():
        named = set()
        for use in use_paths(path.read_text()):
            words = tuple(use.split("::"))
            climbs = words.count("super")
            start = () if words[0] == "crate" else module[: len(module) - climbs]
            full = start + words[max(climbs, 1) :]
            named.add(next(full[:end] for end in range(len(full), -1, -1) if full[:end] in modules))
        graph["/".join(module)] = {"/".join(each) for each in named - {module}}
    return graph


def python_graph() -> Graph:
    """Return who imports whom; a subject's charts and tables apart, which belong to it."""
    apart = re.compile(r"chart|table")
    modules = {
        ".".join(path.relative_to(PACKAGES).with_suffix("").parts): path
        for path in PACKAGES.rglob("*.py")
        if path.name != "__init__.py" and not apart.search(path.stem)
    }
    graph: Graph = {}
    for module, path in modules.items():
        imports = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.ImportFrom)]
        named = {each.module or "" for each in imports} | {
            f"{each.module}.{name.name}" for each in imports for name in each.names
        }
        graph[module] = (named & modules.keys()) - {module}
    return graph


def with_reasons(language: str) -> list[frozenset[str]]:
    table = section("Files that know each other").partition(f"| {language}")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`[^|]+) \| \S[^|]{20,} \|$", table, flags=re.MULTILINE)
    return [frozenset(re.findall(r"`([^`]+)`", row)) for row in rows]


@pytest.mark.parametrize(("language", "graph"), [("Rust", rust_graph), ("Python", python_graph)])
def test_files_that_know_each_other_have_a_sentence_that_says_why(language: str, graph: object) -> None:
    assert callable(graph)
    found = {circle: sorted(circle) for circle in circles(graph())}
    assert sorted(found.values()) == sorted(map(sorted, with_reasons(language)))


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [frozenset("abc")]
    assert use_paths("use crate::{a::B, c::{self, d::E as F}}; // use super::x;") == [
        "crate::a::B",
        "crate::c::self",
        "crate::c::d::E",
    ]
