"""The devices of the catalogue, by which a scenario names them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sledsim import _core
from sledsim._core import Fault, SledsimError
from sledsim.devices.device import DRAWING_PREFIX, Device
from sledsim.devices.headings import device_questions
from sledsim.scenario.catalog import CatalogEntry, entries, entry_named
from sledsim.scenario.drawings.loading import load_drawing, load_questions
from sledsim.scenario.reading import toml_lines
from sledsim.scenario.texts import is_document, require_text
from sledsim.show.faults import by_arguments
from sledsim.show.shown import Catalog
from sledsim.show.tables import Table, number, with_default

__all__ = [
    "CatalogValue",
    "DeviceEntry",
    "capacities",
    "catalog",
    "device",
    "device_entry",
    "device_of",
    "sled_names",
    "with_room",
    "wrong_device",
]


@dataclass(frozen=True)
class CatalogValue:
    """A value of a catalogue entry, with its source.

    Parameters
    ----------
    value
        The value.
    unit
        Its unit; empty where it has none.
    source
        Key of the citation.
    where
        Table, figure or section of the source.
    kind
        ``"published"``, ``"measured"``, ``"derived"`` or ``"assumed"``; like ``source`` empty where a device file does
        not say.
    note
        What one must know about it.
    alternatives
        What other sources say.
    """

    value: Any
    unit: str
    source: str
    where: str
    kind: str
    note: str
    alternatives: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class DeviceEntry(CatalogEntry):
    """A device of the catalogue: its values, each with unit and source.

    Parameters
    ----------
    name, title, description, citations
        As for every entry.
    mechanism
        The kind of device.
    values
        Its values by name.
    """

    mechanism: str
    values: Mapping[str, CatalogValue]

    def table(self) -> Table:
        """Return every value with its unit, source, place, kind and note."""
        rows = []
        for name, entry in self.values.items():
            rows.append([name, _plain(entry.value), entry.unit, entry.source, entry.where, entry.kind, entry.note])
            for other in entry.alternatives:
                where, note = other.get("where", ""), other.get("note", "")
                rows.append(["  elsewhere", _plain(other["value"]), entry.unit, other["source"], where, "", note])
        headers = ["value of " + self.name, "", "unit", "source", "where", "kind", "note"]
        # A device file may have values without units and sources.
        shown = [i for i in range(len(headers)) if i < 2 or any(row[i] for row in rows)]
        headers, rows = [headers[i] for i in shown], [[row[i] for i in shown] for row in rows]
        return Table(headers, rows, title=f"{self.name}: {self.title}", left=frozenset(range(2, len(headers))))

    def tables(self) -> list[Table]:
        """Return every value with its source, and what follows from them."""
        made = Device(self.name)
        rows = [[label, number(value), unit] for label, value, unit in made.facts()]
        notes = device_questions(made.parameters)
        if made.is_drawn:
            notes = [*load_questions(_drawing_name(made.name), Path.cwd()), *notes]
        return [self.table(), Table(["derived figure", "", "unit"], rows, left=frozenset({2}), notes=notes)]

    def to_toml(self) -> str:
        """Return a device file that is based on this one, with every value in a comment.

        A value whose comment is opened and changed takes the place of this device's; the others follow it.
        """
        lines = [
            "# A new device: uncomment a line and change its value. The other values are those of the base.",
            f"base = {json.dumps(self.name, ensure_ascii=False)}",
            f"title = {json.dumps('based on ' + self.title, ensure_ascii=False)}",
            "",
            "[values]",
        ]
        for name, entry in self.values.items():
            said = "; ".join(each for each in (entry.unit, entry.kind, f"{entry.source} {entry.where}".strip()) if each)
            *above, last = toml_lines(name, entry.value)
            lines += [f"# {line}" for line in above] + [f"# {last}{'  # ' + said if said else ''}"]
        return "\n".join([*lines, ""])


def _plain(value: Any) -> str:
    """Write a catalogue value as its file does; of long lists only how much they hold."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(_named(key, item) for key, item in value.items())
    if isinstance(value, list):
        return f"{len(value)} entries"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _named(key: str, value: Any) -> str:
    """Write a value within a table."""
    if isinstance(value, list):
        return f"{len(value)} {key}"
    return value if isinstance(value, str) else f"{key} {_plain(value)}"


def catalog() -> Catalog[DeviceEntry]:
    """Return the devices of the catalogue by name."""
    return Catalog(entries("device", _of_content), _tables)


def device_entry(name: str) -> DeviceEntry:
    """Return a device of the catalogue or of a device file, or say which name is nearest.

    Parameters
    ----------
    name
        Its name, or the path of its file or of a drawing.
    """
    require_text(name)
    if is_document(name) or name.startswith(DRAWING_PREFIX):
        made = Device(name)  # says what is wrong with it
        if made.is_drawn:
            return _entry_of_drawing(made)
    return entry_named("device", name, _of_content)


def _entry_of_drawing(made: Device) -> DeviceEntry:
    """Return a device made from a drawing, with the values that the drawing decides as derived ones."""
    decided = load_drawing(_drawing_name(made.name), Path.cwd())
    base = device_entry(decided["name"])
    label = decided["label"]
    values = {
        key: CatalogValue(value, base.values[key].unit if key in base.values else "", "", label, "derived", "", ())
        for key, value in decided.items()
        if key not in ("name", "label")
    }
    title = f"device computed from {label}"
    return DeviceEntry(made.name, title, "", base.citations, mechanism=base.mechanism, values={**base.values, **values})


def _drawing_name(device: str) -> str:
    """Return the file or the name of the drawing of a device."""
    return device.removeprefix(DRAWING_PREFIX)


def capacities() -> list[tuple[str, int]]:
    """Return the devices of the catalogue with their capacities in bytes, the smallest first."""
    return sorted(((name, Device(name).capacity_bytes) for name in catalog()), key=lambda each: each[1])


def with_room(least_bytes: float) -> str | None:
    """Return the smallest device of the catalogue with a capacity, MEMS storage if possible; ``None`` if there is none.

    Parameters
    ----------
    least_bytes
        The capacity, bytes.
    """
    large = [name for name, capacity_bytes in capacities() if capacity_bytes >= least_bytes]
    sleds = sled_names()
    return next(iter([name for name in large if name in sleds] or large), None)


def sled_names() -> set[str]:
    """Return the devices of the catalogue that are MEMS storage."""
    return {name for name in catalog() if "mems" in Device(name).MECHANISMS}


def _tables() -> list[Table]:
    """Return the devices and what they can do: a table for each kind, and one for those of an installed crate."""
    rows: dict[type[Device], list[list[str]]] = {}
    for name, entry in catalog().items():
        made = Device(name)
        figures = [number(value) for _, value in made.key_figures()]
        rows.setdefault(type(made), []).append([name, *figures, entry.title])
    tables = []
    for kind, lines in sorted(rows.items(), key=lambda item: item[0].ORDER):
        labels = [label for label, _ in Device(lines[0][0]).key_figures()]
        headers = [kind.HEADING, *labels, ""]
        tables.append(Table(headers, lines, left=frozenset({len(headers) - 1})))
    parts = []
    for each in _core.mechanisms():
        parameters = ", ".join(with_default(key, schema) for key, schema in each["parameters"].items())
        parts.append([each["name"], parameters, each["description"]])
    if parts:
        tables.append(Table(["device of a crate's own", "parameters", ""], parts, left=frozenset({1, 2})))
    return tables


def _of_content(common: dict[str, Any], content: Mapping[str, Any]) -> DeviceEntry:
    values = {name: _catalog_value(value) for name, value in content["values"].items()}
    return DeviceEntry(**common, mechanism=content["mechanism"], values=values)


def _catalog_value(said: Mapping[str, Any]) -> CatalogValue:
    """Return a catalogue value; in a device file of the user it may have no source."""
    return CatalogValue(
        value=said["value"],
        unit=said.get("unit", ""),
        source=said.get("source", ""),
        where=said.get("where", ""),
        kind=said.get("kind", ""),
        note=said.get("note", ""),
        alternatives=tuple(said.get("alternatives", ())),
    )


def device(name: str = "g2", /, **keys: Any) -> Device:
    """Return a device by name or file; see :class:`sledsim.Device`."""
    return Device(name, **keys)


def device_of(argument: str, given: str | Mapping[str, Any], **more: Any) -> Device:
    """Make the device that an argument names: what is wrong with it is wrong with that argument, or in its file.

    Parameters
    ----------
    argument
        What the caller calls it.
    given
        A device of the catalogue, a device file, or a whole device.
    **more
        As for :class:`sledsim.Device`.
    """
    # The keys of a device that is an argument `name` are set as `device.KEY`.
    with by_arguments({"name": argument, "": "device" if argument == "name" else argument}):
        return Device(given, **more)


def wrong_device(name: str, key: str) -> list[Fault]:
    """Return what is wrong with the device that a key names: faults of its file, or of the key.

    Parameters
    ----------
    name
        A device of the catalogue, or a device file.
    key
        The key.
    """
    try:
        device_of(key, name)
    except SledsimError as error:
        return list(error.faults)
    return []
