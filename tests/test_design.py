"""Devices from drawings: published figures, independent arithmetic, and impossible drawings."""

import json
import math
import tomllib
from collections.abc import Callable
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest

import sledsim
from conftest import Outcome
from sledsim import ScenarioError
from sledsim.devices import MemsStorage, materials
from sledsim.scenario.drawings.drawing import PLAUSIBLE
from sledsim.studies.sled_design import DRAWINGS, Drawing, design, figures_of
from test_catalog import BIBLIOGRAPHY, CATALOG

#: Parameters that follow from a drawing and that a catalogue's device has too, as printed.
RUN_OUT = {"y_range_um"}


@pytest.mark.parametrize("name", DRAWINGS)
def test_catalogue_drawings_give_the_published_device(name: str) -> None:
    made = design(name)
    assert set(made.differences()) == RUN_OUT
    ours, its = made.differences()["y_range_um"]
    assert its - 1 < ours < its
    printed = MemsStorage(f"{name}-paper")
    assert made.sled().capacity_bytes == printed.capacity_bytes
    assert made.sled().settle_ms == pytest.approx(printed.settle_ms, rel=1e-5)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_has_every_value_with_its_source(name: str) -> None:
    said = tomllib.loads((CATALOG / "drawings" / f"{name}.toml").read_text(encoding="utf-8"))
    assert {*said["values"], "drawing", "material"} == set(Drawing.model_fields)
    for key, value in said["values"].items():
        assert value["source"] in said["citations"], key
        assert f"{{{value['source']}," in BIBLIOGRAPHY, key
        assert value["kind"] in {"published", "derived", "assumed"}, key
        assert value["where"], key
        assert value["kind"] == "published" or value.get("note"), key
    keys = {"drawing": name, **{key: value["value"] for key, value in said["values"].items()}}
    assert Drawing(**keys).to_dict() == keys


def test_figures_follow_the_documented_equations() -> None:
    drawing = design("g2").drawing
    side_m = math.sqrt(drawing.die_area_mm2) * 1e-3 - 2e-3 * drawing.frame_mm
    mass_kg = side_m**2 * 300e-6 * 2330
    force_n, springs_n = drawing.actuator_mn * 1e-3, drawing.spring_n_m * 50e-6
    found = {key: figure.value for key, figure in figures_of(drawing).items()}
    assert found["acceleration_m_s2"] == pytest.approx(82 * 9.80665, rel=1e-4)
    run_out_m = 0.5 * mass_kg * 0.028**2 / (force_n + springs_n)
    assert found["run_out_um"] == pytest.approx(1e6 * run_out_m)
    assert found["turnaround_ms"] == pytest.approx(2e3 * 0.028 * mass_kg / (force_n + springs_n))
    assert found["settle_ms"] == pytest.approx(1e3 / (2 * math.pi * 729), rel=1e-4)
    assert found["power_mw"] == pytest.approx(1380, rel=1e-4)
    assert found["shock_g"] == pytest.approx((force_n + springs_n * 1.2) / mass_kg / 9.80665)
    assert found["energy_nj_per_byte"] == pytest.approx(1e9 * 1e-3 * 90 / 8 / 700e3)


@pytest.mark.parametrize("rate", [0.0, 1e-7, 5e-6, 1e-4, 1e-3])
def test_code_strength_follows_from_the_error_rate(rate: float) -> None:
    found = design("g2", overrides={"bit_error_rate": rate}).values()["encoded_bits_per_byte"]
    right = Fraction(rate)

    def fails(corrected: int) -> bool:
        bits = 64 + 7 * corrected
        correctable = sum(right**k * (1 - right) ** (bits - k) * comb(bits, k) for k in range(corrected + 1))
        return 1 - correctable > Fraction(1, 10**10)

    needed = 64 + 7 * next(corrected for corrected in range(10) if not fails(corrected))
    assert found == math.ceil(needed / 8)
    assert rate != 5e-6 or found == 10


def test_sleds_share_tips_and_limit() -> None:
    made = design("g2", overrides={"sleds": 2})
    values = made.values()
    assert values["sleds"] == 2
    assert values["active_tips"] == 640
    assert values["tips"] % 640 == 0
    one = design("g2")
    assert made.sled().capacity_bytes < one.sled().capacity_bytes
    assert made.to_dict()["figures"]["capacity_gb"] == pytest.approx(2e-9 * made.sled().capacity_bytes)
    assert "capacity of 2 sleds" in str(made)
    assert made.relations.acceleration_m_s2 > 2 * one.relations.acceleration_m_s2


def test_failed_tips_reduce_capacity() -> None:
    drawings = [design("g1", overrides={"failed_tips_fraction": share}).drawing for share in (0, 0.01)]
    whole, failed = (figures_of(drawing)["capacity_gb"].value for drawing in drawings)
    assert failed == pytest.approx(0.99 * whole)
    values = design("g1", overrides={"failed_tips_fraction": 0.01}).values()
    assert 0.9 * 6400 <= values["tips"] <= 6336


def test_sensitivities_of_a_drawing() -> None:
    found = design("g2").sensitivity()
    assert found.moves["actuator_mn"]["acceleration_m_s2"] == pytest.approx(10.0)
    assert found.moves["channel_mw"]["energy_nj_per_byte"] == pytest.approx(10.0)
    assert found.moves["access_mm_s"]["run_out_um"] == pytest.approx(20.0)
    assert found.moves["sled_density_kg_m3"] == pytest.approx(found.moves["sled_thickness_um"])
    assert found.moves["bit_nm"]["capacity_gb"] < -19
    assert found.moves["bit_nm"]["acceleration_m_s2"] == 0
    half = design("g2").sensitivity(0.05)
    assert half.moves["actuator_mn"]["acceleration_m_s2"] == pytest.approx(5.0)
    assert {row["value"] for row in found.rows()} >= {"bit_nm", "spring_n_m", "ring_nm"}
    assert found.plot().to_dict()["layer"]
    with pytest.raises(ScenarioError, match="step"):
        design("g2").sensitivity(1.0)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"frame_mm": 9.0}, "frame_mm = 9.0 leaves no sled: expected below 5.657 mm"),
        ({"spring_n_m": 1e5}, "more than the actuator can hold: expected at most 712.3 N/m"),
        ({"spring_n_m": 0.0, "servo_stiffness_n_m": 0.0}, "does not settle"),
        ({"bit_error_rate": 0.3}, "more than a code of a tip sector corrects"),
        ({"access_mm_s": 9000.0}, "access_mm_s = 9000 leaves no room for a tip sector along Y"),
        ({"travel_um": 0.1}, "travel_um = 0.1 leaves no room for a tip sector along Y"),
        ({"bit_nm": 0.035}, "bit_nm = 0.035 is out of range: a device has bits of 1 to 10,000 nm"),
        ({"device.bit_nm": 30}, r"unknown key of a drawing: did you mean bit_nm\?"),
        ({"sleds": 4, "active_tips": 192}, "active_tips = 192 is too few: a block takes 64 of each sled, 256 in all"),
        ({"tip_pitch_um": 2000}, "tip_pitch_um = 2000.0 leaves a sled 16 tips: a block takes 64"),
        ({"sled_density_kg_m3": 1e-3}, "sled_density_kg_m3 = 0.001 gives an acceleration of 1.874e[+]09 m/s²"),
        ({"bit_nm": -1}, r"out of range: expected a number \(nm\) above 0"),
        ({"bit_nm": 5e-324}, "bit_nm = 5e-324 is next to nothing"),
        ({"bits": 1}, "unknown key bits"),
    ],
)
def test_impossible_drawings_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match=says) as raised:
        design("g2", overrides=changes)
    assert raised.value.faults[0].path in changes


def test_drawing_files_have_a_base(tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text('drawing = "g3"\nbit_nm = "0.02 um"\n')
    second.write_text('base = "first.toml"\ntravel_um = 80\n')
    made = design(second)
    assert made.drawing.drawing == "g3"
    assert made.drawing.bit_nm == 20
    assert made.values()["x_range_um"] == 80
    with pytest.raises(ScenarioError, match="there is no drawing g9; did you mean g1"):
        design("g9")


def test_designed_devices_can_be_used_by_commands(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    device = tmp_path / "device.toml"
    device.write_text(sledsim_cli("design", "g2", "--set", "bit_nm=30", "--toml").out)
    assert MemsStorage(str(device)).cylinders == 3333
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 100.0}}
    made = design("g2", overrides={"bit_nm": 30})
    results = [
        sledsim.run({"workload": workload, "system": {"device": each}, "run": {"requests": 200}})
        for each in (str(device), made.device())
    ]
    assert results[0]["response"]["mean_ms"] == results[1]["response"]["mean_ms"]


def test_the_command_prints_tables_json_and_a_picture(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    assert "y_range_um" in sledsim_cli("design", "g2").out
    said = json.loads(sledsim_cli("design", "g2", "--json").out)
    assert said["figures"]["acceleration_m_s2"] == pytest.approx(804.145, rel=1e-4)
    moves = json.loads(sledsim_cli("design", "g2", "--sensitivity", "--step", "0.2", "--json").out)
    assert moves["percent"]["actuator_mn"]["acceleration_m_s2"] == pytest.approx(20.0)
    picture = tmp_path / "moves.svg"
    sledsim_cli("design", "g2", "--sensitivity", "--plot", str(picture))
    assert "bit_nm" in picture.read_text()


def test_step_without_sensitivities_is_refused(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    refused = sledsim_cli("design", "g2", "--step", "0.2")
    assert (refused.status, refused.out) == (2, "")
    assert "--step" in refused.err
    assert "--sensitivity" in refused.err
    # The picture alone is drawn with it.
    picture = tmp_path / "moves.svg"
    refused = sledsim_cli("design", "g2", "--sensitivity", "--step", "nan")
    assert (refused.status, refused.err) == (2, "error: --step = nan: expected a number below 1\n")
    assert sledsim_cli("design", "g2", "--step", "0.2", "--plot", str(picture)).status == 0
    assert "20.00 %" in picture.read_text()


def test_designs_can_be_the_device_of_a_scenario() -> None:
    made = design("g2", overrides=["bit_nm=30"])
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 50.0}}
    scenario = {"workload": workload, "system": {"device": made}, "run": {"requests": 10}}
    assert sledsim.run(scenario).scenario.system.device.bit_nm == 30
    by_setting = sledsim.run({**scenario, "system": {"device": "g1"}}, overrides={"device": made})
    assert by_setting.response == sledsim.run(scenario).response


def test_a_design_can_be_made_a_device() -> None:
    made = design("g2", overrides=["bit_nm=30"])
    assert sledsim.Device(made).parameters["bit_nm"] == 30
    assert sledsim.Device(made).label == "drawing g2 with bit_nm 30"


def test_headings_name_the_drawing_and_the_changes(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    assert design("g2").label == "drawing g2"
    assert design("g2", overrides={"bit_nm": 30, "sleds": 1}).label == "drawing g2 with bit_nm 30"
    assert design({"drawing": "g3", "material": "nickel"}).label == "drawing g3 with material nickel"
    (tmp_path / "mine.toml").write_text('drawing = "g2"\nactuator_mn = 40\n')
    assert design(tmp_path / "mine.toml").label == "mine"
    changed = design(tmp_path / "mine.toml", overrides=["bit_nm=30", "travel_um=90"])
    assert changed.label == "mine with travel_um 90, bit_nm 30"
    every = {"bit_nm": 30, "travel_um": 90, "actuator_mn": 50, "spring_n_m": 300}
    assert design("g2", overrides=every).label == "drawing g2 with 4 changed values"
    assert sledsim_cli("design", "g2", "--set", "bit_nm=30").out.startswith("drawing g2 with bit_nm 30\n")


def test_implausible_values_are_questioned() -> None:
    assert [design(name).questions() for name in DRAWINGS] == [[], [], []]
    notes = design("g2", overrides={"sled_density_kg_m3": 2.33}).questions()
    assert notes[0] == (
        "note: sled_density_kg_m3 2.33 kg/m³ is outside 500–22,600 kg/m³ (hollow silicon to osmium); did you mean 2330?"
    )
    assert [note.split()[1] for note in notes[1:]] == ["acceleration", "resonance", "seek", "shock"]
    assert "82,000 g is outside 0.1–1,000 g" in notes[1]
    (note,) = design("g2", overrides={"finger_gap_um": 600}).questions()
    assert "did you mean 0.6?" in note
    assert design("g2", overrides={"servo_stiffness_n_m": 0}).questions() == []
    (note,) = design("g2", overrides={"active_tips": 7000}).questions()
    assert note == "note: active_tips 7,000 exceeds the 6,400 working tips; power counts 7,000"


def test_the_device_command_questions_the_drawing(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "light.toml").write_text('drawing = "g2"\nsled_density_kg_m3 = 2.33\n')
    out = sledsim_cli("device", str(tmp_path / "light.toml")).out
    assert "did you mean 2330?" in out


def test_materials_give_density_and_stiffness() -> None:
    listed = materials()
    for material in listed.values():
        assert PLAUSIBLE["sled_density_kg_m3"].low < material.density_kg_m3 < PLAUSIBLE["sled_density_kg_m3"].high
        for source in material.source.split("; "):
            assert f"{{{source.replace(',', ' ').split()[0]}," in BIBLIOGRAPHY
    solid = design("g2", overrides={"material": "silicon"})
    assert solid.values() == design("g2").values()
    nickel = design("g2", overrides={"material": "nickel"})
    assert nickel.drawing.sled_density_kg_m3 == 8900
    assert nickel.drawing.spring_n_m == pytest.approx(design("g2").drawing.spring_n_m * 207 / 169)
    given = design("g2", overrides={"material": "nickel", "sled_density_kg_m3": 4000})
    assert given.drawing.sled_density_kg_m3 == 4000
    with pytest.raises(ScenarioError, match="silicon-nitride"):
        design("g2", overrides={"material": "silicon-nitrid"})
