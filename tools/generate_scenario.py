"""Write the typed classes of a scenario from the schema that the core gives.

Run without arguments to bring ``python/sledsim/_scenario_models.py`` up to date, with ``--check`` to learn whether
it is.
"""

import argparse
import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parent.parent / "python" / "sledsim" / "_scenario_models.py"
WIDTH = 118
Schema = dict[str, Any]

HEADER = '''\
"""The tables of a scenario as typed classes.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Any, Literal

from pydantic import Field

from sledsim._model import Model
'''

PLAIN_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "Any"}


class Generator:
    """Turns a JSON Schema into classes; objects of unions become classes of their own, named after their tag.

    Parameters
    ----------
    schema
        The schema of a scenario.
    """

    def __init__(self, schema: Schema) -> None:
        self.definitions: dict[str, Schema] = schema.get("$defs", {})
        # Finished classes and aliases: each stands after what it is made of.
        self.blocks: dict[str, str] = {}
        # What is being written, and may meet itself.
        self.open: set[str] = set()
        self.write_class("ScenarioModel", schema)

    def source(self) -> str:
        """Return the module."""
        listing = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(self.blocks)) + "]\n"
        return "\n".join([HEADER, listing, *self.blocks.values()])

    def type_of(self, schema: Schema | bool, hint: str) -> str:
        """Return the annotation of a schema; ``hint`` names the class that an inline object becomes."""
        if isinstance(schema, bool):
            return "Any"
        if "$ref" in schema:
            return self.reference(schema["$ref"].rpartition("/")[2])
        if "const" in schema:
            return f"Literal[{literal(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(literal(value) for value in schema['enum'])}]"
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self.union(schema[key], hint)
        if len(schema.get("allOf", [])) == 1:
            return self.type_of(schema["allOf"][0], hint)
        kinds = schema.get("type", "object")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return join(self.simple_type(kind, schema, hint) for kind in kinds)

    def simple_type(self, kind: str, schema: Schema, hint: str) -> str:
        """Return the annotation of a schema of one JSON type."""
        if kind == "array":
            if "prefixItems" in schema:
                return f"tuple[{', '.join(self.type_of(item, hint) for item in schema['prefixItems'])}]"
            return f"list[{self.type_of(schema.get('items', True), hint + 'Item')}]"
        if kind == "object":
            if "properties" in schema:
                return self.write_class(hint, schema)
            return f"dict[str, {self.type_of(schema.get('additionalProperties', True), hint + 'Value')}]"
        return PLAIN_TYPES[kind]

    def reference(self, name: str) -> str:
        """Return the annotation of a definition, writing it first where it has not been met yet."""
        class_name = pascal(name)
        if class_name in self.open:
            return f'"{class_name}"'
        definition = self.definitions[name]
        if class_name not in self.blocks:
            if "properties" in definition and "oneOf" not in definition:
                return self.write_class(class_name, definition)
            text = self.type_of(definition, class_name)
            if class_name not in self.blocks:
                doc = comment(definition.get("description", "").partition("\n\n")[0])
                self.blocks[class_name] = f"{doc}{class_name} = {text}\n"
        return class_name

    def union(self, variants: list[Schema], hint: str) -> str:
        """Return the annotation of one of several; tagged objects are named after their tag."""
        texts = []
        for number, variant in enumerate(variants, start=1):
            kind = variant.get("properties", {}).get("kind", {})
            tag = kind.get("const") or (kind.get("enum") or [""])[0]
            texts.append(self.type_of(variant, pascal(tag) + hint if tag else f"{hint}{number}"))
        return join(texts)

    def write_class(self, name: str, schema: Schema) -> str:
        """Write the class of an object and return its name."""
        if name in self.blocks:
            return name
        self.open.add(name)
        required = set(schema.get("required", []))
        lines, docs = [], []
        for key, value in schema.get("properties", {}).items():
            text = self.type_of(value, name + pascal(key))
            attribute = key + "_" if keyword.iskeyword(key) else key
            docs += documented(attribute, value, self.definitions)
            lines.append(field_line(attribute, key, text, key in required))
        doc = docstring(schema.get("description") or f"Keys of {name}.", docs)
        self.blocks[name] = f"\nclass {name}(Model):\n{doc}\n\n" + "".join(lines)
        self.open.remove(name)
        return name


def literal(value: Any) -> str:
    """Write a constant as Python does."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def join(texts: Iterable[str]) -> str:
    """Write a union, its constants together."""
    constants, others = [], []
    for text in texts:
        if text.startswith("Literal["):
            constants.append(text[len("Literal[") : -1])
        elif text not in others:
            others.append(text)
    if constants:
        others.append(f"Literal[{', '.join(constants)}]")
    # None stands last, as people write it.
    return " | ".join(sorted(others, key=lambda text: text == "None"))


def pascal(name: str) -> str:
    """Write a name as classes are."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


def field_line(attribute: str, key: str, text: str, required: bool) -> str:
    """Write an attribute; one that need not be given is None until it is."""
    constant = re.fullmatch(r"Literal\[(\"[^\"]*\")\]", text)
    if constant:
        default = constant.group(1)
    elif required:
        default = "..."
    else:
        default = "None"
        if "None" not in text.split(" | ") and text != "Any":
            text += " | None"
    if attribute != key:
        return f'    {attribute}: {text} = Field({default}, alias="{key}")\n'
    return f"    {attribute}: {text}\n" if default == "..." else f"    {attribute}: {text} = {default}\n"


def documented(attribute: str, schema: Schema | bool, definitions: dict[str, Schema]) -> list[str]:
    """Document an attribute: meaning, unit, range, default."""
    if isinstance(schema, bool):
        schema = {}
    target = definitions.get(schema.get("$ref", "").rpartition("/")[2], {})
    kind = schema.get("const")
    meaning = schema.get("description") or target.get("description") or (f"Always {kind}." if kind else "See its type.")
    facts = [fact for fact in (schema.get("x-unit"), range_of(schema)) if fact]
    if "default" in schema and schema["default"] is not None:
        facts.append(f"default {json.dumps(schema['default'], ensure_ascii=False)}")
    summary = " ".join(meaning.partition("\n\n")[0].split())
    if facts:
        summary = summary.rstrip(".") + f" ({'; '.join(facts)})."
    return [f"{attribute}", *textwrap.wrap(summary, WIDTH - 8, initial_indent="    ", subsequent_indent="    ")]


def range_of(schema: Schema) -> str:
    """Write the range of a number."""
    # A number that may also be written otherwise keeps its range in the variant.
    for variant in [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]:
        low = variant.get("minimum")
        above = variant.get("exclusiveMinimum")
        high = variant.get("maximum")
        below = variant.get("exclusiveMaximum")
        parts = [
            f"at least {low:g}" if low is not None else "",
            f"above {above:g}" if above is not None else "",
            f"at most {high:g}" if high is not None else "",
            f"below {below:g}" if below is not None else "",
        ]
        found = ", ".join(part for part in parts if part)
        if found:
            return found
    return ""


def docstring(description: str, attributes: list[str]) -> str:
    """Write a class's docstring in NumPy style."""
    paragraphs = description.replace("\\", "\\\\").split("\n\n")
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += [*textwrap.wrap(" ".join(paragraph.split()), WIDTH - 8), ""]
    if attributes:
        lines += ["Attributes", "----------", *attributes, ""]
    body = "\n".join(f"    {line}".rstrip() for line in lines[:-1])
    if len(lines) == 2 and len(body) < WIDTH - 8:
        return f'    """{body.strip()}"""'
    return f'    """{body.strip()}\n    """'


def comment(text: str) -> str:
    """Write a comment above an alias."""
    return "".join(f"# {line}\n" for line in textwrap.wrap(" ".join(text.split()), WIDTH - 2))


def formatted(source: str) -> str:
    """Format a module as the rest of the package is."""
    for command in (["check", "--fix-only", "--quiet", "-"], ["format", "--quiet", "-"]):
        arguments = [sys.executable, "-m", "ruff", *command[:-1], "--stdin-filename", str(OUTPUT), "-"]
        source = subprocess.run(arguments, input=source, capture_output=True, text=True, check=True).stdout
    return source


def generate() -> str:
    """Return the module that the core's schema gives."""
    from sledsim import _core

    return formatted(Generator(json.loads(_core.schema())).source())


def main() -> int:
    """Write the module, or compare it with what it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where the module is out of date")
    wanted = generate()
    if not parser.parse_args().check:
        OUTPUT.write_text(wanted, encoding="utf-8")
        return 0
    if OUTPUT.is_file() and OUTPUT.read_text(encoding="utf-8") == wanted:
        return 0
    print(f"{OUTPUT.name} is out of date: run python tools/generate_scenario.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
