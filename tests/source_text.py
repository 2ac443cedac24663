"""Read the repository's own sources: its files, and Rust text without comments and literals."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
CORE = ROOT / "crates" / "sledsim" / "src"
DISKSIM = ROOT / "crates" / "sledsim-disksim" / "src"
PACKAGE = ROOT / "python" / "sledsim"
PAPERS = ROOT / "python" / "sledsim_papers"

# What commands make; the rest of the tree is committed.
_MADE = {".git", ".venv", "target", "out", "dist", "__pycache__", ".hypothesis"}
_MADE_SUFFIXES = {".so", ".pyc", ".pyd"}

# A comment, a string (plain, byte or raw), or a character; a lifetime is none of them.
_RUST_LITERAL = re.compile(
    r"""
    //[^\n]*
    | /\*.*?\*/
    | b?r(?P<hashes>\#*)".*?"(?P=hashes)
    | b?"(?:\\.|[^"\\])*"
    | b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'
    """,
    re.VERBOSE | re.DOTALL,
)


class Function(NamedTuple):
    """A function in a source file."""

    name: str
    line: int
    lines: int


def committed_files() -> Iterator[Path]:
    """Yield every file of the repository that no command made."""
    pending = [ROOT]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.name in _MADE or path.name.endswith("_cache") or path.suffix in _MADE_SUFFIXES:
                continue
            if path.is_dir():
                pending.append(path)
            else:
                yield path


def committed_text() -> Iterator[tuple[Path, str]]:
    """Yield every committed text file with its content."""
    for path in committed_files():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def sources(suffix: str) -> list[Path]:
    """List the committed files with a suffix, such as ``.rs``."""
    return [path for path in committed_files() if path.suffix == suffix]


def place(path: Path, line: int | None = None) -> str:
    """Name a file, and a line of it, as a reader would."""
    name = str(path.relative_to(ROOT))
    return name if line is None else f"{name}:{line}"


@cache
def tree_of(path: Path) -> ast.Module:
    """Return what a file of Python says."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def rust_code(text: str) -> str:
    """Blank the comments and literals of Rust text; line numbers stay."""
    return _RUST_LITERAL.sub(lambda found: "\n" * found.group().count("\n") or " ", text)


@cache
def rust_code_without_tests(text: str) -> str:
    """Blank comments, literals and the unit tests, which stand at the end of a file."""
    return re.split(r"^#\[cfg\(test\)\]", rust_code(text), maxsplit=1, flags=re.MULTILINE)[0]


def rust_functions(text: str) -> Iterator[Function]:
    """Yield the functions that have a body, nested ones too."""
    code = rust_code(text)
    for found in re.finditer(r"\bfn\s+(\w+)", code):
        # A signature holds no brace and no semicolon outside an array type; `;` first means there is no body.
        opening = re.compile(r"\[[^\]]*\]|[{;]").finditer(code, found.end())
        start = next((mark.start() for mark in opening if mark.group() in "{;"), None)
        if start is None or code[start] == ";":
            continue
        depth = 0
        for mark in re.compile(r"[{}]").finditer(code, start):
            depth += 1 if mark.group() == "{" else -1
            if depth == 0:
                first = code.count("\n", 0, found.start()) + 1
                yield Function(found.group(1), first, code.count("\n", found.start(), mark.end()) + 1)
                break
