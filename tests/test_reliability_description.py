"""Descriptions of enclosures: values, and errors that name the key and the remedy."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest

from sledsim.reliability import (
    Cost,
    Description,
    Duration,
    Enclosure,
    EnclosureDevice,
    MarkovModel,
    Rebuild,
    ReliabilityError,
    Repair,
)

TABLES: dict[str, Any] = {
    "enclosure": {"data": 19, "parity": 1, "spares": 5},
    "device": {"mttf": "200000 h"},
    "rebuild": {"time": "15 min"},
}


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("200000 h", 200_000),
        ("200,000 h", 200_000),
        ("200_000h", 200_000),
        ("2e5 hours", 200_000),
        ("15 min", 0.25),
        ("90 s", 0.025),
        (" 1 week ", 168),
        ("1.5 days", 36),
        (".5 day", 12),
        ("3 months", 2190),
        ("1 month", 730),
        ("23 years", 201_480),
    ],
)
def test_durations(text: str, hours: float) -> None:
    duration = Duration(text)
    assert duration.h == pytest.approx(hours, rel=1e-15)
    assert str(duration) == text
    assert duration.years == duration.h / 8760


def test_durations_are_equal_where_the_time_is() -> None:
    assert Duration("1 week") == Duration("168 h") == Duration.read(timedelta(days=7))
    assert Duration("1 week") != Duration("169 h")


def test_a_description_can_be_made_of_tables_and_of_classes() -> None:
    made = Description(
        enclosure=Enclosure(data=19, parity=1, spares=5),
        device=EnclosureDevice(mttf=Duration("200000 h")),
        rebuild=Rebuild(time=Duration("15 min")),
    )
    assert made == Description.load(TABLES)
    assert made.to_dict() == TABLES
    assert Description.load(made.to_dict()) == made
    assert made.repair == Repair(strategy="none")
    assert made.cost is None
    assert hash(made) == hash(Description.load(TABLES))


def test_devices_may_be_given_in_place_of_data() -> None:
    whole = Description.load(TABLES | {"enclosure": {"devices": 20, "parity": 1, "spares": 5}})
    assert whole == Description.load(TABLES)
    assert whole.enclosure.devices == 20


def test_values_are_replaced_by_table() -> None:
    description = Description.load(TABLES | {"cost": {"device": 100.0}})
    changed = description.replace(enclosure={"spares": 2}, repair={"strategy": "mandatory", "mandatory": "1 day"})
    assert (changed.enclosure.spares, changed.enclosure.data) == (2, 19)
    assert changed.repair.mandatory_rate_per_h == pytest.approx(1 / 24)
    assert changed.cost == Cost(device=100.0, lifetime=Duration("5 years"))
    assert changed.replace(cost=None).cost is None
    with pytest.raises(ReliabilityError, match=r"enclosure\.spares = -1 is out of range"):
        description.replace(enclosure={"spares": -1})


def test_rates_of_repair_follow_the_strategy() -> None:
    week, day = Duration("1 week"), Duration("1 day")
    rates = {
        strategy: (repair.preventive_rate_per_h, repair.mandatory_rate_per_h)
        for strategy in ("none", "preventive", "mandatory")
        for repair in [Repair(strategy=strategy, preventive=week, mandatory=day)]
    }
    assert rates == {"none": (0, 0), "preventive": (1 / 168, 1 / 24), "mandatory": (0, 1 / 24)}
    # As in Figure 4 of hong2006.
    alone = Repair(strategy="preventive", preventive=Duration("1 week"))
    assert alone.preventive_rate_per_h == alone.mandatory_rate_per_h == 1 / 168


@pytest.mark.parametrize("key", ["preventive", "mandatory"])
def test_a_time_of_repair_without_a_strategy_is_refused(key: str) -> None:
    with pytest.raises(ReliabilityError) as error:
        Description.load(TABLES | {"repair": {key: "1 week"}})
    says = f'repair.strategy is missing: {key} has no effect without it; add strategy = "{key}"'
    assert says in str(error.value)
    described = Description.load(TABLES | {"repair": {"strategy": "none", key: "1 week"}})
    assert Description.load(described.to_dict()) == described


# The table, the changed keys (None: removed), and the start of the message.
COUNT = "expected a whole number from 1 to 100000"
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("enclosure", {"data": 0}, f"enclosure.data = 0 is out of range: {COUNT}"),
    ("enclosure", {"data": 1.5}, "enclosure.data = 1.5 is of the wrong type: expected a whole number"),
    ("enclosure", {"data": True}, "enclosure.data = true is of the wrong type: expected a whole number"),
    ("enclosure", {"data": 10**9}, f"enclosure.data = 1000000000 is out of range: {COUNT}"),
    ("enclosure", {"data": None}, "enclosure.data is missing: devices' worth of data; or give devices"),
    ("enclosure", {"parity": -1}, "enclosure.parity = -1 is out of range: expected a whole number from 0 to 100000"),
    ("enclosure", {"parity": None}, "enclosure.parity is missing: Devices' worth of redundancy"),
    ("enclosure", {"data": None, "devices": 4, "parity": 5}, "enclosure.parity = 5 of 4 devices leave none for data"),
    ("enclosure", {"data": None, "devices": 4, "parity": 4}, "enclosure.parity = 4 of 4 devices leave none for data"),
    ("enclosure", {"data": None, "devices": 0}, f"enclosure.devices = 0 is out of range: {COUNT}"),
    ("enclosure", {"devices": 20}, "enclosure.devices = 20: give data or devices, not both"),
    ("enclosure", {"spare": 5}, 'unknown key enclosure.spare: did you mean "spares"?'),
    ("enclosure", {"sparing": "hot"}, 'enclosure.sparing = "hot" is not known (known: dedicated, distributed)'),
    ("enclosure", {"spares_fail": 1}, "enclosure.spares_fail = 1 is of the wrong type: expected true or false"),
    ("device", {"mttf": 200_000}, "device.mttf = 200000 is of the wrong type: expected a number with a unit of"),
    ("device", {"mttf": "-5 h"}, 'device.mttf = "-5 h" is out of range: expected a number (h) above 0'),
    ("device", {"mttf": None}, "device.mttf is missing: Mean time to failure"),
    ("rebuild", {"time": None}, "rebuild.time is missing: give one of time, bandwidth_share and load (given: none)"),
    ("rebuild", {"load": "a.toml"}, "rebuild.time: give one of time, bandwidth_share and load (given: time, load)"),
    ("rebuild", {"time": None, "bandwidth_share": 0.5}, "device.name is missing: needed to compute the rebuild time"),
    ("rebuild", {"time": None, "bandwidth_share": 1.5}, "rebuild.bandwidth_share = 1.5 is out of range: expected a"),
    ("rebuild", {"at_once": 0}, f"rebuild.at_once = 0 is out of range: {COUNT}"),
    ("repair", {"strategy": "preventive"}, 'repair.preventive is missing: the strategy "preventive" needs the mean'),
    ("repair", {"strategy": "mandatory", "preventive": "1 day"}, "repair.mandatory is missing: the strategy"),
    ("repair", {"strategy": "weekly"}, 'repair.strategy = "weekly" is not known (known: none, preventive, mandatory)'),
    ("repair", {"preventive": 7}, "repair.preventive = 7 is of the wrong type: expected a number with a unit of"),
    ("cost", {"visit": 5.0}, "cost.device is missing: Price of a device."),
    ("cost", {"device": -1.0}, "cost.device = -1 is out of range: expected a number from 0 to 1000000000000000"),
    ("cost", {"device": 1.0, "lifetime": 5}, "cost.lifetime = 5 is of the wrong type: expected a number with a unit"),
    ("maintenance", {"visits": 1}, "unknown key maintenance (known: enclosure, device"),
]


@pytest.mark.parametrize(("table", "keys", "expected"), WRONG, ids=[f"{table}-{keys}" for table, keys, _ in WRONG])
def test_errors_name_the_invalid_value(table: str, keys: dict[str, Any], expected: str) -> None:
    tables = copy.deepcopy(TABLES)
    changed = tables.get(table, {}) | keys
    tables[table] = {key: value for key, value in changed.items() if value is not None}
    with pytest.raises(ReliabilityError) as error:
        Description.load(tables)
    assert str(error.value).startswith(f"description of an enclosure: {expected}")
    assert error.value.faults


def test_integers_may_be_written_as_floats() -> None:
    assert Description.load(TABLES | {"enclosure": {"data": 1e3, "parity": 1}}).enclosure.data == 1000


def test_values_in_place_of_tables_are_named() -> None:
    with pytest.raises(ReliabilityError, match=r": enclosure = 4 is of the wrong type: expected a table$"):
        Description.load(TABLES | {"enclosure": 4})
    with pytest.raises(ReliabilityError, match=r"expected the path of a file, a text or a dictionary, not list \[1\]"):
        Description.load([1])  # type: ignore[arg-type]
    with pytest.raises(ReliabilityError, match=r"^data = 0 is out of range: expected a whole number") as error:
        Enclosure(data=0, parity=1)
    assert (error.value.kind, error.value.path, error.value.value) == ("out-of-range", "data", 0)
    with pytest.raises(ReliabilityError, match=r"^device = inf: expected a finite number$"):
        Cost(device=float("inf"))


def test_every_public_name_exists() -> None:
    from sledsim import reliability

    assert set(reliability.__all__) <= set(dir(reliability))
    for name in reliability.__all__:
        assert getattr(reliability, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = getattr(reliability, "nothing")  # noqa: B009
    assert repr(MarkovModel(Description.load(TABLES))) == "<MarkovModel of 12 states, MTTF 8.051 years>"
