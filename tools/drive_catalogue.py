"""Write the drives of the catalogue from the parameter files that DiskSim 4.0 ships for its validation.

The files are read by way of ``sledsim import``.

    python tools/drive_catalogue.py FOLDER            write the drives, from FOLDER/NAME/NAME.parv
    python tools/drive_catalogue.py FOLDER --check    exit with 1 where a drive's file is out of date
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim import _core

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
DEVICES = ROOT / "python" / "sledsim" / "catalog" / "devices"


@dataclass(frozen=True)
class Fact:
    """A value and what it rests on."""

    value: Any
    source: str
    where: str
    kind: str
    note: str = ""
    alternatives: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Entry:
    """A file of the catalogue."""

    title: str
    description: str
    facts: dict[str, Fact]

    def text(self, units: dict[str, str]) -> str:
        """Return the file's text."""
        cited = dict.fromkeys(fact.source for fact in self.facts.values())
        for fact in self.facts.values():
            cited.update(dict.fromkeys(str(other["source"]) for other in fact.alternatives))
        lines = [
            f"title = {plain(self.title)}",
            'mechanism = "disk"',
            f'description = """\n{self.description.strip()}\n"""',
            f"citations = {plain(list(cited))}",
        ]
        for key, fact in self.facts.items():
            lines += ["", f"[values.{key}]", f"value = {spread(fact.value)}", f"unit = {plain(units[key])}"]
            lines += [f"source = {plain(fact.source)}", f"where = {plain(fact.where)}", f"kind = {plain(fact.kind)}"]
            lines += [f"note = {plain(fact.note)}"] if fact.note else []
            if fact.alternatives:
                lines += ["alternatives = [", *(f"  {plain(other)}," for other in fact.alternatives), "]"]
        return "\n".join(lines) + "\n"


def plain(value: Any) -> str:
    """Return a value in TOML, on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {plain(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(plain(each) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def spread(value: Any) -> str:
    """Return a value in TOML, with long lists over several lines."""
    if isinstance(value, dict) and any(isinstance(each, list) for each in value.values()):
        return "{ " + ", ".join(f"{key} = {spread(each)}" for key, each in value.items()) + " }"
    if not isinstance(value, list) or len(plain(value)) <= 100:
        return plain(value)
    lines = [""]
    for each in value:
        text = plain(each) + ","
        if lines[-1] and len(lines[-1]) + 1 + len(text) > 100:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + text
    return "[\n" + "\n".join(f"  {line}" for line in lines) + "\n]"


def disk_keys() -> dict[str, Any]:
    """Return what the schema says of each key of a disk."""
    definitions = _core.schema()["$defs"]
    for option in definitions["DeviceSpec"]["anyOf"]:
        if option["properties"]["mechanism"]["const"] == "disk":
            reference = option.get("$ref", "").removeprefix("#/$defs/")
            keys: dict[str, Any] = {**definitions.get(reference, {}).get("properties", {}), **option["properties"]}
            return keys
    message = "the schema describes no disk"
    raise LookupError(message)


def catalogued(name: str) -> dict[str, Fact]:
    """Return the values of a drive in the catalogue."""
    values = tomllib.loads((DEVICES / f"{name}.toml").read_text(encoding="utf-8"))["values"]
    facts = {}
    for key, value in values.items():
        rest = {name: each for name, each in value.items() if name != "unit"}
        facts[key] = Fact(**{**rest, "alternatives": tuple(rest.get("alternatives", ()))})
    return facts


@dataclass(frozen=True)
class Drive:
    """What the parameter files of a drive do not say of it."""

    title: str
    description: str


EXTRACTED = "Parameters extracted from a drive by DIXtrac (Schindler and Ganger 1999)"
BY_HAND = "Parameters extracted from a drive over its SCSI bus (Worthington et al. 1995)"


def _described(title: str, what: str, found: str, bus: str) -> Drive:
    shipped = "and shipped with DiskSim 4.0, whose validation runs use them"
    measured = f"The bus is that of the set-up where it was measured, {bus}."
    return Drive(title, f"\nA drive of {what}.\n{found}\n{shipped}. {measured}\n")


DRIVES = {
    "atlas10k": _described(
        "Quantum Atlas 10K (TM09100W)",
        "1999: 9.18 GB, 10,025 rpm, 6 surfaces, 24 zones, a buffer of 10 segments with zero-latency access",
        EXTRACTED,
        "5.2 MB/s",
    ),
    "cheetah4LP": _described(
        "Seagate Cheetah 4LP (ST34501)",
        "1996: 4.55 GB, 10,033 rpm, 8 surfaces, 7 zones, a buffer of 3 segments",
        EXTRACTED,
        "4.8 MB/s",
    ),
    "cheetah9LP": _described(
        "Seagate Cheetah 9LP (ST39102LW)",
        "1998: 9.11 GB, 10,045 rpm, 12 surfaces, 11 zones, a buffer of 3 segments",
        EXTRACTED,
        "4.9 MB/s",
    ),
    "barracuda": _described(
        "Seagate Barracuda 4LP (ST32171W)",
        "1996: 2.10 GB, 7,200 rpm, 5 surfaces, 11 zones, a buffer of 3 segments",
        EXTRACTED,
        "3.8 MB/s",
    ),
    "hp_c2247a": _described(
        "HP C2247A",
        "1992: 1.05 GB, 5,400 rpm, 13 surfaces, 8 zones, a buffer of 2 segments; reads hold the bus",
        BY_HAND,
        "3.0 MB/s for reads and 2.7 MB/s for writes",
    ),
    "st41601n": _described(
        "Seagate Elite ST41601N",
        "1991: 1.37 GB, 5,397 rpm, 17 surfaces, 14 zones, a buffer of one segment",
        BY_HAND,
        "5.4 MB/s. Lin et al. 2002 replay its validation trace",
    ),
}


def drive(folder: Path, name: str) -> Entry:
    """Return a drive from its parameter files."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / f"{name}.toml"
        command = ["sledsim", "import", str(folder / name / f"{name}.parv"), "--out", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        values = tomllib.loads(path.read_text(encoding="utf-8"))["values"]
    facts = {
        key: Fact(
            tidy(value["value"]), "disksim4", value["where"] or "all drives", value["kind"], value.get("note", "")
        )
        for key, value in values.items()
    }
    return Entry(DRIVES[name].title, DRIVES[name].description, facts)


def tidy(value: Any) -> Any:
    """Return a value with its tables as they are read best: without what is empty, the kind of a curve first."""
    if isinstance(value, list):
        return [tidy(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: each for key, each in value.items() if each != []}
    order = ["curve", "first_cylinder", "last_cylinder", "sectors_per_track"]
    keys = [key for key in order if key in kept] + [key for key in kept if key not in order]
    return {key: tidy(kept[key]) for key in keys}


def write(makers: dict[str, Callable[[], Entry]], *, check: bool) -> int:
    """Write files of the catalogue, or say which are out of date; return the exit status."""
    units = {key: str(node.get("x-unit", "")) for key, node in disk_keys().items()}
    stale = []
    for name, make in makers.items():
        path = DEVICES / f"{name}.toml"
        text = make().text(units)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.name)
        if not check:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name} {'is out of date' if check else 'written'}")
    return 1 if check and stale else 0


def main() -> int:
    """Write or check the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the parameter files of the drives are")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file is out of date")
    options = parser.parse_args()
    return write({name: functools.partial(drive, options.folder, name) for name in DRIVES}, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
