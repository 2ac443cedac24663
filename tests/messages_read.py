"""Search sources for what looks into the text of an error: ours carry all that they know as data."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from source_text import rust_code_without_tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What takes a text apart.
TAKEN_APART = {
    "count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex",
    "rpartition", "rsplit", "split", "splitlines", "startswith", "strip", "translate",
}  # fmt: skip
PATTERNS = {"findall", "finditer", "fullmatch", "match", "search", "split", "sub"}

# What leads from an error to one of its faults, and what says either in words.
TO_A_FAULT = {"faults", "exceptions"}
IN_WORDS = {"text", "format_message"}

_ERROR_TYPE = re.compile(r"\b\w*(?:Error|Exception|Fault)\b")


def messages_read(tree: ast.Module) -> list[int]:
    """Return the lines of a module that look into what an error says, whoever's it is."""
    return sorted({line for scope in _scopes(tree) for line in _read_in(scope)})


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the outermost functions, each with those within it, and what stands in none."""
    rest: list[ast.stmt] = []
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            pending += node.body
        else:
            rest.append(node)
    yield ast.Module(rest, [])


def _errors_of(scope: ast.AST) -> set[str]:
    """Return the names of errors and faults: those caught, those that a type says are one, and faults of an error."""
    names = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.arg) and node.annotation and _ERROR_TYPE.search(ast.unparse(node.annotation)):
            names.add(node.arg)
        elif isinstance(node, ast.For | ast.comprehension):
            match node.target, node.iter:
                case ast.Name(name), ast.Attribute(attr=attr) if attr in TO_A_FAULT:
                    names.add(name)
    return names


def _read_in(scope: ast.AST) -> list[int]:
    errors, said = _errors_of(scope), set[str]()

    def is_error(node: ast.AST) -> bool:
        while (isinstance(node, ast.Attribute) and node.attr in TO_A_FAULT) or isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and node.id in errors

    def is_message(node: ast.AST) -> bool:
        match node:
            case ast.Name():
                return node.id in said
            case ast.Call(func=ast.Name("str" | "repr" | "format"), args=[first, *_]):
                return is_error(first)
            case ast.Call(func=ast.Attribute(value, attr)):
                return attr in IN_WORDS and is_error(value)
            case ast.FormattedValue(value):
                return is_error(value)
            case ast.Attribute(value, "args"):
                return is_error(value)
            case ast.Attribute(attr="error"):
                # So outcomes of ours keep it.
                return True
        return False

    def says(node: ast.AST) -> bool:
        if is_message(node):
            return True
        match node:
            case ast.Call(func=ast.Attribute(value)):
                return says(value) or any(says(part) for part in (*node.args, *node.keywords))
            case ast.Attribute():
                # An attribute of an error is data.
                return False
        return any(says(part) for part in ast.iter_child_nodes(node))

    assigned = [node for node in ast.walk(scope) if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr)]
    for _ in assigned:
        before = len(errors) + len(said)
        for node in assigned:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            if node.value and is_error(node.value):
                errors |= names
            elif node.value and says(node.value):
                said |= names
        if len(errors) + len(said) == before:
            break
    return [part.lineno for part in _looked_into(scope) if says(part)]


def _looked_into(scope: ast.AST) -> Iterator[ast.expr]:
    """Yield what is taken apart, or searched."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from [node.func.value] if node.func.attr in TAKEN_APART else []
            yield from node.args if node.func.attr in PATTERNS else []
        elif isinstance(node, ast.Compare) and any(isinstance(each, ast.In | ast.NotIn) for each in node.ops):
            yield from node.comparators


# In the core a message is what an error, or a fault, is told as.
_RUST_ERROR = r"\b(?:error|fault|reason|problem)s?\b(?:\[[^\]]*\]|\.first\(\))*"
_RUST_WORDS = r"(?:\.to_string\(\)|\.text\([^()]*\))"
_RUST_APART = r"\.(?:replace\w*|r?split\w*|strip_\w+|r?find|r?match\w*|contains|starts_with|ends_with|lines)\("
_RUST_KEPT = re.compile(rf"\blet\s+(?:mut\s+)?(\w+)(?::[^=;]*)?\s*=\s*&?{_RUST_ERROR}{_RUST_WORDS}")


def messages_read_in_rust(text: str) -> list[int]:
    """Return the lines of Rust text that look into what an error says, beside its unit tests."""
    code = rust_code_without_tests(text)
    kept: Iterable[str] = {rf"\b{name}\b" for name in _RUST_KEPT.findall(code)}
    said = "|".join([f"{_RUST_ERROR}(?:{_RUST_WORDS})?", *kept])
    found = re.finditer(rf"(?:{said})\s*{_RUST_APART}", code)
    return [code.count("\n", 0, match.start()) + 1 for match in found]
