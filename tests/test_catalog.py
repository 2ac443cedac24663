"""The catalogue: every value has a source, and the files agree where they should."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sledsim
from built_core import built_core

ROOT = Path(__file__).parents[1]
CATALOG = ROOT / "python" / "sledsim" / "catalog"
DEVICES = {path.stem: tomllib.loads(path.read_text()) for path in sorted((CATALOG / "devices").glob("*.toml"))}
BIBLIOGRAPHY = (CATALOG / "citations.bib").read_text()
KINDS = {"published", "measured", "derived", "assumed"}
GENERATIONS = ["g1", "g2", "g3"]

# Standard gravity, which turns the accelerations that papers print in g into SI.
GRAVITY_M_S2 = 9.80665


def value(device: str, key: str) -> Any:
    return DEVICES[device]["values"][key]["value"]


def of(mechanism: str) -> list[str]:
    return [name for name, device in DEVICES.items() if device["mechanism"] == mechanism]


def entries() -> list[tuple[str, str]]:
    return [(name, key) for name, device in DEVICES.items() for key in device["values"]]


def bibliography_keys() -> list[str]:
    return re.findall(r"^@\w+\{(\w+),$", BIBLIOGRAPHY, flags=re.MULTILINE)


def test_the_expected_devices_are_there() -> None:
    generations = {*GENERATIONS, *(f"{name}-paper" for name in GENERATIONS)}
    assert {"griffin1999", "g2-points", "hong2006"} | generations == {*of("mems")}
    assert {"atlas10k", "cheetah4LP", "cheetah9LP", "barracuda", "hp_c2247a", "st41601n"} <= {*of("disk")}
    assert {"atlas10k-50mb", "superdisk", "uberdisk", "cheetah73"} <= {*of("disk")}
    assert {"travelstar", "ultrastar36z15", "barracuda-2t", "hgst-7k8"} <= {*of("disk")}
    assert {"exos-2x14", "mg10-20t", "travelstar-5k320"} <= {*of("disk")}
    assert (of("simpledisk-constant"), of("simpledisk-linear")) == (["simpledisk-constant"], ["simpledisk-linear"])


@pytest.mark.parametrize("name", DEVICES)
def test_devices_have_a_description(name: str) -> None:
    device = DEVICES[name]
    assert set(device) == {"title", "mechanism", "description", "citations", "values"}
    assert device["mechanism"] in {"mems", "disk", "simpledisk-constant", "simpledisk-linear"}
    assert device["title"].strip()
    assert device["description"].strip()


@pytest.mark.parametrize(("name", "key"), entries())
def test_a_value_has_unit_source_place_and_kind(name: str, key: str) -> None:
    entry = DEVICES[name]["values"][key]
    assert {"value", "unit", "source", "where", "kind"} <= set(entry)
    assert set(entry) <= {"value", "unit", "source", "where", "kind", "note", "alternatives"}
    assert entry["kind"] in KINDS
    assert entry["where"].strip()
    if entry["kind"] != "published":
        assert entry.get("note", "").strip(), "a derived or assumed value says from what"
    for alternative in entry.get("alternatives", []):
        assert set(alternative) == {"value", "source", "where"}
        assert alternative["value"] != entry["value"]
        assert entry["note"].strip(), "a disagreement is explained"


@pytest.mark.parametrize("name", DEVICES)
def test_the_citations_are_the_sources_of_the_values(name: str) -> None:
    sources = set()
    for entry in DEVICES[name]["values"].values():
        sources.add(entry["source"])
        sources.update(alternative["source"] for alternative in entry.get("alternatives", []))
    assert sources == set(DEVICES[name]["citations"])
    assert sources <= set(bibliography_keys())


def test_the_bibliography_has_each_key_once_and_closes_its_braces() -> None:
    keys = bibliography_keys()
    assert len(keys) == len(set(keys)) == len(re.findall(r"^@", BIBLIOGRAPHY, flags=re.MULTILINE))
    assert BIBLIOGRAPHY.count("{") == BIBLIOGRAPHY.count("}")


@pytest.mark.parametrize("name", of("mems"))
def test_all_mems_devices_have_the_same_keys(name: str) -> None:
    # The seek model, and how data pass, have defaults that most entries keep.
    assert set(DEVICES[name]["values"]) - {"seek_model", "transfer"} == set(DEVICES["g2"]["values"])


def test_points_devices_differ_from_g2_as_published() -> None:
    points, g2 = DEVICES["g2-points"]["values"], DEVICES["g2"]["values"]
    differing = {key for key in points if points[key] != g2.get(key)}
    assert differing == {"transfer", "active_tips"}
    assert differing == {key for key in points if points[key]["source"] == "schlosser2004"}
    # A tip for each bit of a block, and no more.
    bits = value("g2-points", "block_bytes") * value("g2-points", "encoded_bits_per_byte")
    assert value("g2-points", "active_tips") == bits
    with_points = sledsim.devices.MemsStorage("g2", transfer="points", active_tips=bits).parameters
    assert sledsim.devices.MemsStorage("g2-points").parameters == {**with_points, "name": "g2-points"}
    assert f"{sledsim.devices.MemsStorage('g2-points').capacity_bytes / 1e9:.3f}" in DEVICES["g2-points"]["description"]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_generations_differ_from_the_paper_only_where_documented(generation: str) -> None:
    differing = {"acceleration_x_m_s2", "acceleration_y_m_s2", "resonance_hz", "overhead_ms"}
    shipped, printed = DEVICES[generation]["values"], DEVICES[f"{generation}-paper"]["values"]
    assert {key for key in shipped if shipped[key]["value"] != printed[key]["value"]} == differing
    for key in differing:
        assert printed[key]["value"] in [other["value"] for other in shipped[key]["alternatives"]]
        assert shipped[key]["value"] in [other["value"] for other in printed[key]["alternatives"]]


@pytest.mark.parametrize(("generation", "gravities"), [("g1", 70), ("g2", 82), ("g3", 105)])
def test_printed_accelerations_are_multiples_of_gravity(generation: str, gravities: int) -> None:
    # Rounded to five decimals in the file.
    assert value(f"{generation}-paper", "acceleration_x_m_s2") == pytest.approx(gravities * GRAVITY_M_S2, abs=1e-5)
    # DiskSim takes g between 9.80 and 9.84 m/s2.
    assert value(generation, "acceleration_x_m_s2") / gravities == pytest.approx(9.82, abs=0.0201)


@pytest.mark.parametrize(
    ("name", "capacity_bytes"),
    [("g1", 2_252_800_000), ("g2", 3_456_000_000), ("g3", 6_143_385_600), ("griffin1999", 2_252_800_000)],
)
def test_capacity_follows_from_the_geometry(name: str, capacity_bytes: int) -> None:
    bits_x = math.floor(value(name, "x_range_um") * 1e3 / value(name, "bit_nm"))
    bits_y = math.floor(value(name, "y_range_um") * 1e3 / value(name, "bit_nm"))
    tip_sector_bits = value(name, "tip_sector_bytes") * value(name, "encoded_bits_per_byte")
    servo_bits = value(name, "servo_bits")
    rows = (bits_y - servo_bits) // (tip_sector_bits + servo_bits)
    tips_per_block = value(name, "block_bytes") // value(name, "tip_sector_bytes")
    blocks = bits_x * rows * value(name, "tips") // tips_per_block
    assert blocks * value(name, "block_bytes") == capacity_bytes
    assert f"{capacity_bytes / 1e9:.4f}".rstrip("0") in DEVICES[name]["description"]


@pytest.mark.parametrize(("name", "peak_mb_per_s"), [("g1", 25.6), ("g2", 89.6), ("g3", 320.0), ("hong2006", 89.6)])
def test_peak_bandwidth_matches_the_papers(name: str, peak_mb_per_s: float) -> None:
    bits_per_s = value(name, "active_tips") * value(name, "bit_rate_kbit_s") * 1e3
    assert bits_per_s / value(name, "encoded_bits_per_byte") / 1e6 == pytest.approx(peak_mb_per_s)


def device_option(schema: dict[str, Any], mechanism: str) -> dict[str, Any]:
    """Return the scenario schema of a kind of device."""
    for option in schema["$defs"]["DeviceSpec"]["anyOf"]:
        if option["properties"]["mechanism"]["const"] == mechanism:
            found: dict[str, Any] = option
            return found
    raise AssertionError(mechanism)


def unit_in(node: Any) -> str:
    """Return the unit that a property carries, itself or one of its branches."""
    if isinstance(node, dict):
        if "x-unit" in node:
            return str(node["x-unit"])
        return next((unit for child in node.values() if (unit := unit_in(child))), "")
    if isinstance(node, list):
        return next((unit for child in node if (unit := unit_in(child))), "")
    return ""


@pytest.mark.parametrize("name", DEVICES)
def test_keys_units_and_types_match_the_schema(name: str) -> None:
    core = built_core()
    schema = core.schema()
    device = DEVICES[name]
    option = device_option(schema, device["mechanism"])
    values = {key: entry["value"] for key, entry in device["values"].items()}
    for key, entry in device["values"].items():
        assert key in option["properties"], f"{name} sets {key}, which the scenario does not know"
        assert entry["unit"] == unit_in(option["properties"][key]), f"unit of {key} in {name}"
    # The catalogue gives all that has no default; types, choices and ranges are the schema's to check.
    whole = {"$defs": schema["$defs"], **option}
    jsonschema.Draft202012Validator(whole).validate({"mechanism": device["mechanism"], "name": name, **values})


def agrees(given: Any, resolved: Any) -> bool:
    """Return true if a resolved value equals the given one, apart from defaults of tables."""
    if isinstance(given, dict):
        return all(agrees(each, resolved[key]) for key, each in given.items())
    if isinstance(given, list):
        return len(given) == len(resolved) and all(agrees(*pair) for pair in zip(given, resolved, strict=True))
    return bool(given == resolved)


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_resolves_to_its_catalogue_values(name: str) -> None:
    core = built_core()
    device = core.Device(name, catalog=[str(CATALOG)], base_dir=str(CATALOG)).parameters
    for key, entry in DEVICES[name]["values"].items():
        assert agrees(entry["value"], device[key]), key
