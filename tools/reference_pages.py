"""What the program says about itself, for the reference pages of the site.

A page of docs/ has its prose; ``<!-- generated: NAME -->`` stands where a part of it is made when the site is built.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim.explorer.html_page import is_built

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).parents[1]
DEVICES = ROOT / "python" / "sledsim" / "catalog" / "devices"
WORKLOADS = DEVICES.parent / "workloads"
MARK = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.MULTILINE)

Node = dict[str, Any]

#: Kinds of device, a page each, and the mechanisms of a kind.
KINDS = {"mems": "MEMS storage devices", "disks": "Disk drives", "simple": "Devices without a mechanism"}
MECHANISMS = {"mems": ("mems",), "disks": ("disk",), "simple": ("simpledisk-constant", "simpledisk-linear")}

#: The subjects of a scenario: a page, its title, and the objects that belong to it wherever they are named first.
SUBJECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "workload": ("Workload", ("WorkloadSpec",)),
    "system": (
        "System and its components",
        ("SystemSpec", "MemberSpec", "VolumeSpec", "TierPlacementSpec", "TierMigrationSpec"),
    ),
    "scheduling": (
        "Scheduling, merging and stopping",
        ("SchedulerSpec", "MergeSpec", "SpinDownSpec", "DelayedStartupSpec"),
    ),
    "devices": ("Devices of a scenario", ("DeviceSpec",)),
    "arrays": (
        "Arrays and their failures",
        ("ReadChoice", "RebuildSpec", "JournalSpec", "MemberFaultSpec", "WriteMethod", "SparePlace", "UnreadableSpec"),
    ),
    "caches": (
        "Caches and buffers",
        (
            *("ReplacementSpec", "WritePolicy", "ReadAheadSpec", "FlushSpec"),
            *("WriteBufferCleanSpec", "CachingDiskFlushSpec", "CachingDiskUnitsSpec"),
        ),
    ),
    "run": ("Run and power cuts", ("RunSpec", "PowerCutsSpec")),
}

#: On a narrow screen the first two are in view.
COLUMNS = ("key", "meaning", "type", "unit", "allowed", "default")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    header = list(header)
    lines = [header, ["---"] * len(header), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def one_line(text: str) -> str:
    """Return text with its line breaks as spaces."""
    return " ".join(text.split())


def code(value: object) -> str:
    """Return a value as it would stand in JSON, in code type."""
    return f"`{json.dumps(value, ensure_ascii=False)}`"


class Reference:
    """The keys of a JSON Schema as Markdown: one table for each object, one section for each object with a name."""

    def __init__(self, schema: Node, label: str = "key", *, columns: Iterable[str] = COLUMNS) -> None:
        self.schema = schema
        self.label = label
        self.columns = list(columns)
        self.definitions: Node = schema.get("$defs", {})
        self.told: list[str] = []

    def text(self) -> str:
        """Return the whole reference."""
        parts = [self.object_text(self.schema)]
        # Describing a definition may name others for the first time.
        for name in self.told:
            parts += [self.section(name)]
        return "\n\n".join(part for part in parts if part)

    def section(self, name: str) -> str:
        """Return the section of a named object, with a label that every page can link to."""
        head = f"({self.anchor(name)})=\n## {heading(name)}"
        return f"{head}\n\n{self.definition_text(self.definitions[name])}"

    def anchor(self, name: str) -> str:
        """Return the label of a named object."""
        return f"{self.label}-{name.lower()}"

    def definition_text(self, node: Node) -> str:
        """Return the description of a named object, and of each of its alternatives."""
        options: list[Node] = node.get("oneOf") or node.get("anyOf") or []
        choices = "\n".join(self.option_text(option) for option in options if "const" in option)
        shapes = [self.option_text(option) for option in options if "const" not in option]
        parts = [node.get("description", ""), choices, *shapes, self.object_text(node)]
        return "\n\n".join(part for part in parts if part)

    def option_text(self, option: Node) -> str:
        """Return one alternative of a definition."""
        named = self.named(option)
        properties: Node = dict((named or {}).get("properties", {}))
        properties.update(option.get("properties", {}))
        tags = [(key, node["const"]) for key, node in properties.items() if "const" in node]
        description = one_line(option.get("description") or (named or {}).get("description", ""))
        if tags:
            head = ", ".join(f'`{key} = "{tag}"`' for key, tag in tags)
        elif "const" in option:
            return f"- {code(option['const'])}: {description}"
        else:
            head = self.type_text(option)
        rest = {key: node for key, node in properties.items() if "const" not in node}
        required = {*option.get("required", []), *(named or {}).get("required", [])}
        lines = f"**{head}** {description}".strip()
        return lines + ("\n\n" + self.rows(rest, required) if rest else "")

    def named(self, node: Node) -> Node | None:
        """Return the definition that a node refers to."""
        reference = node.get("$ref")
        return self.definitions[reference.removeprefix("#/$defs/")] if reference else None

    def object_text(self, node: Node) -> str:
        """Return the table of an object's keys, and then those of the objects inside it."""
        properties: Node = node.get("properties", {})
        if not properties or "oneOf" in node:
            return ""
        return self.rows(properties, set(node.get("required", [])))

    def rows(self, properties: Node, required: set[str], prefix: str = "") -> str:
        """Return the table of some keys, those of objects without a name among them."""
        rows = self.cells(properties, required, prefix)
        return "{.keys}\n" + table(self.columns, ([row[column] for column in self.columns] for row in rows))

    def cells(self, properties: Node, required: set[str], prefix: str) -> Iterator[dict[str, str]]:
        """Yield what each column says of each key."""
        for key, node in properties.items():
            default = code(node["default"]) if node.get("default") is not None else ""
            yield {
                "key": f"`{prefix}{key}`",
                "type": self.type_text(node),
                "unit": unit(node),
                "allowed": allowed(node),
                "default": default or ("required" if key in required else ""),
                "meaning": one_line(node.get("description", "")),
            }
            inside = node.get("properties")
            if inside:
                yield from self.cells(inside, set(node.get("required", [])), f"{prefix}{key}.")

    def type_text(self, node: Node) -> str:
        """Return what a value may be; a named object becomes a link to its section."""
        if "$ref" in node:
            name = str(node["$ref"]).removeprefix("#/$defs/")
            if name not in self.told:
                self.told.append(name)
            return f"[{heading(name)}](#{self.anchor(name)})"
        options = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
        if options:
            return " or ".join(dict.fromkeys(self.type_text(option) for option in options))
        if "const" in node:
            return code(node["const"])
        if "enum" in node:
            return " ".join(code(value) for value in node["enum"])
        kind = node.get("type", "any")
        if kind == "array" and node.get("minItems") == 2 == node.get("maxItems"):
            return f"pair of {self.type_text(node['items'])}"
        if kind == "array" and "items" in node:
            return f"list of {self.type_text(node['items'])}"
        return " or ".join(kind) if isinstance(kind, list) else str(kind)


def unit(node: Node) -> str:
    """Return the unit of a value, where it has one."""
    return str(node.get("x-unit", ""))


def allowed(node: Node) -> str:
    """Return the range of a number, where it is bounded."""
    for option in [node, *node.get("anyOf", [])]:
        low, above, high = option.get("minimum"), option.get("exclusiveMinimum"), option.get("maximum")
        if low is not None and high is not None:
            return f"{bound(low)} to {bound(high)}"
        limits = [("at least", low), ("above", above), ("at most", high)]
        said = [f"{word} {bound(limit)}" for word, limit in limits if limit is not None]
        if said:
            return ", ".join(said)
    return ""


def bound(limit: float) -> str:
    """Return a limit as people write it: 1,000,000 or 1e15."""
    if abs(limit) >= 1e12:
        return f"{limit:g}".replace("e+", "e")
    return f"{limit:,}".removesuffix(".0")


def heading(name: str) -> str:
    """Return the heading of a named object."""
    return name.removesuffix("Spec")


def scenario() -> str:
    """Return the keys of a scenario that stand at its top."""
    reference = Reference(_core.schema(), "scenario")
    return reference.object_text(reference.schema)


def scenario_pages() -> dict[str, str]:
    """Return a page for each subject of a scenario: its objects, and those that they are the first to name."""
    reference = Reference(_core.schema(), "scenario")
    reference.object_text(reference.schema)
    page_of = {name: page for page, (_, names) in SUBJECTS.items() for name in names}
    sections: dict[str, list[str]] = {page: [f"# {title}"] for page, (title, _) in SUBJECTS.items()}
    for name in reference.told:
        page = page_of.setdefault(name, "system")
        sections[page].append(reference.section(name))
        for named in reference.told:
            page_of.setdefault(named, page)
    return {page: "\n\n".join([*parts, ""]) for page, parts in sections.items()}


def result() -> str:
    """Return the keys of a summary."""
    return Reference(_core.result_schema(), "result", columns=["key", "meaning", "type"]).text()


def device_pages() -> dict[str, str]:
    """Return the catalogue, a page for each kind: devices side by side, and what each value rests on."""
    entries = {path.stem: tomllib.loads(path.read_text()) for path in sorted(DEVICES.glob("*.toml"))}
    pages = {}
    for page, title in KINDS.items():
        parts = [f"# {title}"]
        for mechanism in MECHANISMS[page]:
            kind = {name: entry for name, entry in entries.items() if entry["mechanism"] == mechanism}
            parts += [f"## Side by side: {mechanism}" if len(MECHANISMS[page]) > 1 else "## Side by side"]
            parts += [side_by_side(kind)]
            for name, entry in kind.items():
                parts += [f"## {name}", f"{entry['title']}.", entry["description"].strip(), values_table(entry)]
        pages[page] = "\n\n".join([*parts, ""])
    return pages


def stand_ins() -> str:
    """Return what each stand-in was matched to and what it reaches, and what was assumed."""
    parts = []
    for path in sorted(WORKLOADS.glob("*.toml")):
        entry = tomllib.loads(path.read_text())
        rows = [
            [
                each["what"] + (f", {each['unit']}" if each["unit"] else ""),
                aim(each["published"]),
                f"{each['source']}, {each['where']}",
                each["reached"] + ("" if each["matched"] else " (not matched)"),
                each.get("note", ""),
            ]
            for each in entry["statistics"]
        ]
        parts += [
            f"### {path.stem}",
            f"{entry['title']}.",
            entry["description"].strip(),
            table(["statistic", "aimed at", "source", "reached", "note"], rows),
        ]
        if "assumptions" in entry:
            assumed = [[each["what"], each["value"], each["why"]] for each in entry["assumptions"]]
            parts.append(table(["assumed", "", "why"], assumed))
        else:
            parts.append(values_table(entry))
    return "\n\n".join(parts)


def aim(published: object) -> str:
    """Return a published figure or range."""
    return " to ".join(str(each) for each in published) if isinstance(published, list) else f"{published:,}"


def side_by_side(entries: dict[str, Node]) -> str:
    """Return what devices of a kind have, a column for each; values that are nothing in all of them are left out."""
    keys = list(dict.fromkeys(key for entry in entries.values() for key in entry["values"]))
    rows = []
    for key in keys:
        values = [entry["values"].get(key) for entry in entries.values()]
        if not any(value and value["value"] for value in values):
            continue
        units = next(value["unit"] for value in values if value)
        cells = [shown(value["value"]) if value else "" for value in values]
        rows.append([f"`{key}`", units, *cells])
    return table(["", "unit", *entries], rows)


def shown(value: object) -> str:
    """Return a catalogue value as people write it; of long lists, how long they are."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(_named(key, item) for key, item in value.items())
    if isinstance(value, list):
        return f"{len(value)} of them"
    return str(value).removesuffix(".0")


def _named(key: str, value: object) -> str:
    """Return a value within a table."""
    if isinstance(value, list):
        return f"{len(value)} {key}"
    return value if isinstance(value, str) else f"{key} {shown(value)}"


def values_table(entry: Node) -> str:
    """Return what each value of a device rests on; values of one source, one kind and no note together."""
    together: dict[tuple[str, str, str], list[str]] = {}
    for key, value in entry["values"].items():
        others = [
            f"{shown(other['value'])} in {other['source']}, {other['where']}" for other in value.get("alternatives", [])
        ]
        notes = "; ".join(note for note in [value.get("note", ""), *others] if note)
        together.setdefault((value["kind"], place(value), notes), []).append(f"`{key}`")
    rows = [[", ".join(keys), kind, source, notes] for (kind, source, notes), keys in together.items()]
    return table(["values", "kind", "source", "note, and what other sources have"], rows)


def place(value: Node) -> str:
    """Return where a value stands; of a parameter file its name, as the entry itself has line and parameter."""
    files = dict.fromkeys(re.findall(r"(\S+):\d+ ", value["where"]))
    return f"{value['source']}, {', '.join(files) or value['where']}"


def schedulers() -> str:
    """Return the policies and their parameters."""
    schema: Node = _core.schema()
    reference = Reference(schema, "scenario")
    options = [option["properties"] for option in schema["$defs"]["SchedulerSpec"]["oneOf"] if "properties" in option]
    keys = {properties["name"]["const"]: properties for properties in options}
    parts = []
    for policy in _core.schedulers():
        name = policy["name"]
        parameters = {key: node for key, node in keys[name].items() if key != "name"}
        parts.append(f"## {name}")
        parts.append(f"**{policy['title']}**. {policy['description']}")
        parts.append(f"Source: {policy['source']}.")
        if parameters:
            parts.append(reference.rows(parameters, set()))
    return "\n\n".join(parts)


def cache_policies() -> str:
    """Return the replacement policies and their parameters."""
    reference = Reference({})
    parts = []
    for policy in _core.cache_policies():
        parts.append(f"### {policy['name']}")
        parts.append(f"**{policy['title']}**. {policy['description']}")
        parts.append(f"Source: {policy['source']}. Memory: {policy['bytes_per_slot']:g} bytes per slot.")
        if policy["parameters"]:
            parts.append(reference.rows(policy["parameters"], set()))
    return "\n\n".join(parts)


def limits() -> str:
    """Return what is bounded though no key says so."""
    return table(
        ["limit", "most", "of", "because"], [[name, f"{most:,}", of, why] for name, most, of, why in _core.limits()]
    )


def trace_formats() -> str:
    """Return the formats of traces."""
    rows = [
        [f"`{each['name']}`", each["description"], "yes" if each["has_times"] else "no"]
        for each in _core.trace_formats()
    ]
    return table(["format", "records", "arrival times"], rows)


def disksim_parameters() -> str:
    """Return DiskSim's blocks and parameters, and what becomes of each."""
    parts = []
    for block in _core.disksim_reference()["blocks"]:
        rows = [
            [
                each["name"],
                each["takes"] + ("" if each["required"] else ", or nothing"),
                ", ".join(f"`{key}`" for key in each["keys"]),
                each["treatment"],
            ]
            for each in block["parameters"]
        ]
        parts += [f"### {block['name']}", one_line(block["title"]).capitalize() + "."]
        parts.append(table(["parameter", "takes", "key", "what becomes of it"], rows))
    return "\n\n".join(parts)


def disksim_policies() -> str:
    """Return DiskSim's scheduling policies and ours."""
    rows = [
        [str(each["number"]), f"`{each['scheduler']}`", each["lost"]] for each in _core.disksim_reference()["policies"]
    ]
    return table(["number", "scheduler", "what is lost"], rows)


def disksim_refused() -> str:
    """Return the blocks of DiskSim that are refused."""
    rows = [[f"`{each['name']}`", each["what"]] for each in _core.disksim_reference()["refused"]]
    return table(["block", "describes"], rows)


def explorer() -> str:
    """Return the page of the explorer in a frame; :mod:`site_build` puts it beside the pages if it is built."""
    if not is_built():
        return ""
    frame = '<iframe src="../_static/explorer.html" title="Sledsim explorer" loading="lazy" class="explorer"></iframe>'
    link = '<p><a href="../_static/explorer.html">Open the explorer in a window of its own</a></p>'
    return f"```{{raw}} html\n{frame}\n{link}\n```"


BLOCKS: dict[str, Callable[[], str]] = {
    "scenario": scenario,
    "result": result,
    "stand-ins": stand_ins,
    "schedulers": schedulers,
    "cache-policies": cache_policies,
    "limits": limits,
    "trace-formats": trace_formats,
    "disksim-parameters": disksim_parameters,
    "disksim-policies": disksim_policies,
    "disksim-refused": disksim_refused,
    "explorer": explorer,
}


def filled(page: str) -> str:
    """Return a page with its generated parts."""
    return MARK.sub(lambda found: BLOCKS[found[1]](), page)
