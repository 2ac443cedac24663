"""Write the typed classes of a scenario from the schema that the core gives.

Run without arguments to bring ``python/sledsim/scenario/models`` up to date, with ``--check`` to learn whether it is.
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

MODELS = Path(__file__).parent.parent / "python" / "sledsim" / "scenario" / "models"
WIDTH = 118
Schema = dict[str, Any]

HEADER = '''\
"""The tables of a scenario as typed classes: {module}.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from sledsim.scenario.models.model import Model, TracePath
'''

STUB_HEADER = '"""Public names of ``sledsim.scenario.models``: written by tools/generate_scenario.py."""\n\n'

# Definitions that get a module of their own, with what they are made of; everything else goes with the scenario itself.
# After a colon stands the tag of one variant.
MODULES = {
    "distribution": ("Distribution",),
    "trace": ("WorkloadSpec:trace",),
    "workload": ("WorkloadSpec",),
    "seek": ("SeekCurve",),
    "disk": ("DeviceSpec:disk",),
    "policy": ("SchedulerSpec:custom",),
    "drive": ("SystemSpec:drive",),
    "cache": (
        "ReplacementSpec",
        "ReadAheadSpec",
        "FlushSpec",
        "WriteBufferCleanSpec",
        "CachingDiskFlushSpec",
        "CachingDiskUnitsSpec",
    ),
    "array": ("RebuildSpec", "JournalSpec", "MemberFaultSpec", "ReadChoice", "WriteMethod", "SparePlace"),
    "volume": ("VolumeSpec", "MoveSpec"),
    "tier": ("TierPlacementSpec", "BlockRangeSpec", "TierMigrationSpec"),
    "system": ("SystemSpec",),
}
ROOT = "scenario"

# Names that Python's own types or other definitions have too, or that end in a number or begin with one.
RENAMED = {
    "Mapping": "LbnMapping",
    "Range": "LbnRange",
    "Rebuild": "ArrayRebuild",
    "2q": "TwoQ",
    "ReadAheadSpec": "CacheReadAhead",
}

# Keys that take more than the schema says.
WIDENED = {("TraceWorkload", "path"): "TracePath"}

# What unions of policies have alike: the class of a variant by its tag.
SHARED = {"custom": "CustomPolicy"}

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
        # The module each is in.
        self.homes: dict[str, str] = {}
        # The definition that each was made of.
        self.named: dict[str, str] = {}
        # What is being written, and may meet itself.
        self.open: set[str] = set()
        for module, named in MODULES.items():
            for name, _, tag in (definition.partition(":") for definition in named):
                if tag:
                    self.union([self.variant(name, tag)], pascal(name))
                else:
                    self.reference(name)
            self.settle(module)
        self.write_class("ScenarioModel", schema)
        self.settle(ROOT)

    def variant(self, name: str, tag: str) -> Schema:
        """Return the variant of a definition that has a tag."""
        variants = self.definitions[name].get("oneOf") or self.definitions[name]["anyOf"]
        return next(each for each in variants if tag in tags_of(each))

    def settle(self, module: str) -> None:
        """Put what has no place yet into a module."""
        for name in self.blocks:
            self.homes.setdefault(name, module)

    def sources(self) -> dict[str, str]:
        """Return the modules by name."""
        return {module: self.source(module) for module in (*MODULES, ROOT)}

    def source(self, module: str) -> str:
        """Return a module."""
        mine = [name for name in self.blocks if self.homes[name] == module]
        text = "\n".join(self.blocks[name] for name in mine)
        imports = ""
        for other in (*MODULES, ROOT):
            names = [name for name in self.homes if self.homes[name] == other != module]
            used = [name for name in names if re.search(rf"\b{name}\b", text)]
            if used:
                imports += f"from sledsim.scenario.models.{other} import {', '.join(used)}\n"
        listing = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(mine)) + "]\n"
        return "\n".join([HEADER.format(module=module) + imports, listing, text])

    def stub(self) -> str:
        """Return the stub of the package: every class with its module. Aliases of types have no public name."""
        homes = {
            "Model": "model",
            **{name: self.homes[name] for name in self.blocks if f"class {name}(" in self.blocks[name]},
        }
        lines = sorted(f"from sledsim.scenario.models.{home} import {name} as {name}\n" for name, home in homes.items())
        return STUB_HEADER + "".join(lines) + "\n__all__: list[str]\n"

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
            # What has keys of its own is one object, of which these say what has to be given.
            if key in schema and "properties" not in schema:
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
            item = self.type_of(schema.get("items", True), hint + "Item")
            if schema.get("minItems") == 2 == schema.get("maxItems"):
                return f"tuple[{item}, {item}]"
            return f"list[{item}]"
        if kind == "object":
            if "properties" in schema:
                return self.write_class(hint, schema)
            return f"dict[str, {self.type_of(schema.get('additionalProperties', True), hint + 'Value')}]"
        if kind == "number" or (kind == "integer" and "x-unit" in schema):
            # The unit may be said: "0.2 ms".
            return f"{PLAIN_TYPES[kind]} | str"
        return PLAIN_TYPES[kind]

    def reference(self, name: str) -> str:
        """Return the annotation of a definition, writing it first where it has not been met yet."""
        class_name = pascal(name)
        if self.named.setdefault(class_name, name) != name or class_name[-1].isdigit():
            raise ValueError(f"{name} and {self.named[class_name]} would both be {class_name}: name one in RENAMED")
        if class_name in self.open:
            return f'"{class_name}"'
        definition = self.definitions[name]
        if class_name not in self.blocks:
            if "properties" in definition and "oneOf" not in definition:
                return self.write_class(class_name, definition)
            self.open.add(class_name)
            text = self.type_of(definition, class_name)
            self.open.discard(class_name)
            if class_name not in self.blocks:
                doc = comment(definition.get("description", "").partition("\n\n")[0])
                self.blocks[class_name] = f"{doc}{class_name} = {text}\n"
        return class_name

    def union(self, variants: list[Schema], hint: str) -> str:
        """Return the annotation of one of several; tagged objects are named after their tag."""
        texts = []
        for number, variant in enumerate(variants, start=1):
            tag = next(iter(tags_of(variant)), "")
            shared = None if hint == "Device" else SHARED.get(tag)
            named = shared or pascal(tag) + hint
            texts.append(self.type_of(variant, named if tag else f"{hint}{number}"))
        return join(texts)

    def write_class(self, name: str, schema: Schema) -> str:
        """Write the class of an object and return its name."""
        if name in self.blocks:
            return name
        self.open.add(name)
        required = set(schema.get("required", []))
        lines, docs = [], []
        for key, value in schema.get("properties", {}).items():
            text = WIDENED.get((name, key)) or self.type_of(value, name + pascal(key))
            attribute = key + "_" if keyword.iskeyword(key) else key
            if "const" not in value:
                docs += documented(attribute, value, self.definitions)
            lines.append(field_line(attribute, key, text, key in required))
        doc = docstring(schema.get("description") or f"Keys of {name}.", docs)
        # Some keys are known only to what the others name.
        config = '    model_config = ConfigDict(extra="allow")\n\n' if is_open(schema) else ""
        self.blocks[name] = f"\nclass {name}(Model):\n{doc}\n\n{config}" + "".join(lines)
        self.open.remove(name)
        return name


def is_open(schema: Schema) -> bool:
    """Tell whether an object takes keys beside its own."""
    return schema.get("additionalProperties") is True


def tags_of(variant: Schema) -> list[str]:
    """List the constants of an object, of which the first tells it from others of its union."""
    return [key["const"] for key in variant.get("properties", {}).values() if "const" in key]


def literal(value: Any) -> str:
    """Write a constant as Python does."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def join(texts: Iterable[str]) -> str:
    """Write a union, its constants together."""
    constants: list[str] = []
    others: list[str] = []
    for text in texts:
        if text.startswith("Literal["):
            constants.append(text[len("Literal[") : -1])
        else:
            others += [part for part in text.split(" | ") if part not in others]
    if constants:
        others.append(f"Literal[{', '.join(constants)}]")
    # None stands last, as people write it.
    return " | ".join(sorted(others, key=lambda text: text == "None"))


def pascal(name: str) -> str:
    """Write a name as those of classes are: ``on-off`` becomes ``OnOff``, ``ArrivalSpec`` becomes ``Arrival``."""
    if name in RENAMED:
        return RENAMED[name]
    words = re.split(r"[^A-Za-z0-9]+", name.removesuffix("Spec"))
    joined = "".join(word[:1].upper() + word[1:] for word in words)
    return RENAMED.get(joined, joined)


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
    meaning = schema.get("description") or target.get("description") or "See its type."
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
            f"at least {plain(low)}" if low is not None else "",
            f"above {plain(above)}" if above is not None else "",
            f"at most {plain(high)}" if high is not None else "",
            f"below {plain(below)}" if below is not None else "",
        ]
        found = ", ".join(part for part in parts if part)
        if found:
            return found
    return ""


def plain(number: float) -> str:
    """Write a number for people: ``1,048,576``, but ``1e+09``."""
    return f"{int(number):,}" if number == int(number) and abs(number) < 1e7 else f"{number:g}"


def docstring(description: str, attributes: list[str]) -> str:
    """Write a class's docstring in NumPy style: a line, the rest, the attributes."""
    first, _, rest = description.replace("\\", "\\\\").partition("\n\n")
    summary, more = first_sentence(" ".join(first.split()))
    lines = [summary, ""]
    for paragraph in (more, *rest.split("\n\n")):
        if paragraph:
            lines += [*textwrap.wrap(" ".join(paragraph.split()), WIDTH - 8), ""]
    if attributes:
        lines += ["Attributes", "----------", *attributes, ""]
    body = "\n".join(f"    {line}".rstrip() for line in lines[:-1])
    return f'    """{body.strip()}"""' if len(lines) == 2 else f'    """{body.strip()}\n    """'


def first_sentence(text: str) -> tuple[str, str]:
    """Split a paragraph that is longer than a line after its first sentence, or part of one."""
    if len(text) <= WIDTH - 8:
        return text, ""
    for end in (". ", "; ", ": "):
        head, found, tail = text.partition(end)
        if found and len(head) <= WIDTH - 8:
            return head + ".", tail[:1].upper() + tail[1:]
    return text, ""


def comment(text: str) -> str:
    """Write a comment above an alias."""
    return "".join(f"# {line}\n" for line in textwrap.wrap(" ".join(text.split()), WIDTH - 2))


def formatted(source: str, path: Path) -> str:
    """Format a module as the rest of the package is."""
    for command in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        source = subprocess.run(arguments, input=source, capture_output=True, text=True, check=True).stdout
    return source


def generate() -> dict[Path, str]:
    """Return the modules that the core's schema gives, by their files."""
    from sledsim import _core

    generator = Generator(_core.schema())
    sources = {MODELS / f"{module}.py": source for module, source in generator.sources().items()}
    sources[MODELS / "__init__.pyi"] = generator.stub()
    return {path: formatted(source, path) for path, source in sources.items()}


def main() -> int:
    """Write the modules, or compare them with what they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a module is out of date")
    check = parser.parse_args().check
    outdated = [
        (path, text)
        for path, text in generate().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in outdated:
        if check:
            print(f"{path} is out of date: run python tools/generate_scenario.py", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
