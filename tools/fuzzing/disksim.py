"""Damaged DiskSim parameter files: from the grammar of the importer, and real ones if there are reference data."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzing import mutation
from fuzzing.invariants import require
from fuzzing.running import run_and_check

if TYPE_CHECKING:
    from random import Random

    from fuzzing.targets import Given

#: The folder of reference data, which may be missing.
REFERENCE = Path(os.environ.get("SLEDSIM_REFERENCE") or "/nonexistent")
#: Maximum size of a real file, characters.
LONGEST = 60_000
ZONES = """[ dm_layout_g1_zone {
  First cylinder number = 0, Last cylinder number = 49, Blocks per track = 60, Offset of first block = 0.0,
  Empty space at zone front = 0, Skew for track switch = 8, Skew for cylinder switch = 12, Number of spares = 0,
  slips = [ 40, 7 ], defects = [ 3, 9 ] },
 dm_layout_g1_zone {
  First cylinder number = 50, Last cylinder number = 99, Blocks per track = 40, Offset of first block = 0.0,
  Empty space at zone front = 0, Skew for track switch = 5, Skew for cylinder switch = 8, Number of spares = 2,
  slips = [ ], defects = [ ] } ]"""
#: Values of parameters for which a random value of the grammar's range would not give a valid drive.
USUAL = {
    "Number of data surfaces": "2",
    "Number of cylinders": "100",
    "Block count": "9992",
    "Zones": ZONES,
    "Seek type": "linear",
    "Average seek time": "6.0",
    "Single cylinder seek time": "1.5",
    "Full strobe seek time": "11.0",
    "Constant seek time": "5.0",
    "Rotation speed (in rpms)": "7200",
    "Access time type": "trackSwitchPlusRotation",
    "Constant access time": "0.0",
    "First ten seek times": "[ 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9 ]",
    "HPL seek equation values": "[ 30, 1.5, 0.3, 3.0, 0.05, 1.9 ]",
    "LBN-to-PBN mapping scheme": "0",
    "Add. write settling delay": "0.5",
    "Number of buffer segments": "4",
    "Segment size (in blks)": "128",
    "Time scale for overheads": "1.0",
    "Layout policy": "6",
    "Sled movement X": "100000",
    "Sled movement Y": "100000",
    "Bit cell length": "40",
    "Tip sector length": "80",
    "Servo burst length": "10",
    "Tip sectors per lbn": "64",
    "Number of usable tips": "6400",
    "Simultaneously active tips": "1280",
    "Number of sleds": "1",
    "Sled acceleration X": "803.6",
    "Sled acceleration Y": "803.6",
    "Sled access speed": "28000",
    "Sled resonant frequency": "739",
}
OPTIONAL = ("Full seek curve", "Skew units")


@cache
def grammar() -> dict[str, list[dict[str, Any]]]:
    """Return the parameters of each block in the importer's grammar."""
    from sledsim import _core

    return {block["name"]: block["parameters"] for block in _core.disksim_reference()["blocks"]}


def block(random: Random, kind: str, name: str = "") -> str:
    """Write a block with usual values, some drawn."""
    lines = []
    for parameter in grammar()[kind]:
        key = parameter["name"]
        if key in OPTIONAL or (not parameter["required"] and random.random() < 0.5 and key not in USUAL):
            continue
        lines.append(f"  {key} = {value(random, key, parameter['takes'])}")
    return f"{kind} {name} {{\n" + ",\n".join(lines) + "\n}"


def value(random: Random, key: str, takes: str) -> str:
    """Draw a value of a parameter."""
    if key in USUAL and random.random() < 0.95:
        return USUAL[key]
    inner = re.match(r"a block of ([\w-]+)", takes)
    if inner:
        return block(random, inner[1])
    words = re.match(r"one of (.*)", takes)
    if words:
        return random.choice(str(words[1]).split(", "))
    if takes == "0 or 1":
        return random.choice("01")
    if takes == "a list":
        return (
            "[ ]" if random.random() < 0.5 else f"[ {random.choice(['0, 1', '1.5', 'x', '0.0, 5.0', 'normal, 1, 2'])} ]"
        )
    if takes == "a text":
        return random.choice(["name", "statdefs", "none.seek"])
    ends = [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", takes)]
    low, high = (ends[0] if ends else 0.0), (ends[1] if len(ends) > 1 else 10.0)
    drawn = low + (min(high, low + 10) - low) * random.random() ** 3
    return str(round(drawn)) if "whole" in takes else f"{drawn:.4f}"


def system(random: Random, kind: str) -> str:
    """Write a whole system about a device of a kind."""
    parts = [block(random, kind, "DEV"), block(random, "disksim_iodriver", "DRV"), block(random, "disksim_bus", "BUS")]
    parts += [block(random, "disksim_ctlr", "CTL")] if random.random() < 0.7 else []
    count = random.choice([1, 1, 2, 4])
    devices = ", ".join(f"{kind} dev{i} []" for i in range(count))
    named = "dev0" if count == 1 else f"dev0 .. dev{count - 1}"
    parts += ["instantiate [ drv0 ] as DRV", "instantiate [ bus0 .. bus1 ] as BUS", f"instantiate [ {named} ] as DEV"]
    inner = f"disksim_bus bus1 [ {devices} ]"
    if any(part.startswith("disksim_ctlr") for part in parts):
        parts.append("instantiate [ ctl0 ] as CTL")
        inner = f"disksim_bus bus0 [ disksim_ctlr ctl0 [ {inner} ] ]"
    parts.append(f"topology disksim_iodriver drv0 [ {inner} ]")
    if random.random() < 0.6:
        organised = block(random, "disksim_logorg", "org0")
        listed = ", ".join(f"dev{i}" for i in range(count))
        parts.append(re.sub(r"devices = [^\n]*\]", f"devices = [ {listed} ]", organised))
    if random.random() < 0.5:
        parts.append(block(random, "disksim_pf", "Proc"))
        parts.append(synthetic(random))
    return "\n\n".join(parts) + "\n"


def synthetic(random: Random) -> str:
    """Write a generator of requests."""
    text = block(random, "disksim_synthgen")
    lists = {
        "devices": "org0",
        "Time-limited think times": "normal, 30.0, 100.0",
        "General inter-arrival times": random.choice(["exponential, 0.0, 25.0", "uniform, 0.0, 10.0", "normal, 5, 1"]),
        "Sequential inter-arrival times": "normal, 0.0, 0.0",
        "Local inter-arrival times": "exponential, 0.0, 0.0",
        "Local distances": "normal, 0.0, 40000.0",
        "Sizes": "exponential, 0.0, 8.0",
    }
    for key, listed in lists.items():
        text = re.sub(rf"{key} = [^\n]*\]", f"{key} = [ {listed} ]", text)
    whole = block(random, "disksim_synthio", "Synthio")
    return re.sub(r"Generators = [^\n]*\]", lambda _: f"Generators = [ {text} ]", whole)


@cache
def real_files() -> list[Path]:
    """Return the parameter files of the reference data, where there are any."""
    return sorted(path for path in REFERENCE.glob("drives/*/*") if path.suffix in {".diskspecs", ".parv", ".model"})


class DiskSimFiles:
    """Parameter files of DiskSim."""

    def make(self, random: Random) -> Given:
        """Draw a parameter file."""
        way = random.random()
        given: Given = {"scenario": random.random() < 0.5, "near": ""}
        if way < 0.2 and real_files():
            path = random.choice(real_files())
            text = path.read_text(errors="replace")[:LONGEST]
            given |= {"near": str(path.parent.relative_to(REFERENCE)), "scenario": path.suffix == ".parv"}
        else:
            kind = random.choice(["disksim_disk", "memsmodel_mems", "disksim_simpledisk", "disksim_simpledisk"])
            text = system(random, kind) if given["scenario"] else block(random, kind, "DEV") + "\n"
        for _ in range(random.choice([0, 0, 1, 1, 2, 5])):
            if random.random() < 0.6:
                numbers = list(re.finditer(r"(?<=[=\[,] )-?[\w.]+", text))
                found = random.choice(numbers) if numbers else None
                other = str(random.choice([*mutation.NUMBERS, *mutation.TEXTS, "[ ]", "[ 1, 2", "source x", "1e999"]))
                text = text[: found.start()] + other + text[found.end() :] if found else text
            else:
                text = mutation.garbled_text(random, text)
        return {**given, "text": text}

    def attempt(self, given: Given, folder: Path) -> None:
        """Import the file, and run the scenario."""
        import sledsim
        from sledsim.scenario.reading import resolve

        near = REFERENCE / given["near"]
        if given["near"] and near.is_dir():
            for path in near.iterdir():
                if path.suffix != ".trace":
                    (folder / path.name).symlink_to(path)
        path = folder / "fuzzed.parv"
        path.write_bytes(given["text"].encode(errors="surrogatepass"))
        found = sledsim.scenario.import_disksim(path, scenario=given["scenario"])
        found = sledsim.scenario.import_disksim(path, scenario=given["scenario"])
        device_file = folder / "device.toml"
        device_file.write_text(found.device_file)
        one, other = (sledsim.Device(each).parameters for each in (str(device_file), found.device))
        require(one | {"name": ""} == other | {"name": ""}, "the device file is another device")
        if found.scenario_file is None:
            workload = {"arrival": {"kind": "poisson", "rate_per_s": 50}, "read_fraction": 0.5}
            document: Any = {"workload": workload, "system": {"device": found.device}, "run": {"requests": 100}}
        else:
            document = folder / "scenario.toml"
            document.write_text(found.scenario_file)
        run_and_check(resolve(document).values, again=False)
