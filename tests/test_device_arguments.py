"""Arguments of device methods: errors name the wrong argument and the allowed values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from sledsim import SledsimError

if TYPE_CHECKING:
    from collections.abc import Callable

MEMS = sledsim.devices.MemsStorage("g2")
DISK = sledsim.devices.DiskDrive("cheetah73")
SIMPLE = sledsim.Device("simpledisk-constant")

#: Invalid numbers, for every numeric argument.
NO_NUMBERS: list[Any] = [
    *(float("nan"), float("inf"), -float("inf"), 1e300, -1, 2**64, -(2**64), 2**70, 10**5000),
    *("one", b"1", None, 1j, {}, object(), [1, "a"], [1, [2, 3]], [None], [2**70], [float("nan")]),
    *(np.datetime64("2026-01-01"), np.array(["x"]), np.array([1 + 1j]), np.array([2**63], dtype=np.uint64)),
]
NO_FLAGS: list[Any] = [2, -1, 0.5, "yes", None, [True, None], float("nan"), {}, np.array(["x"])]

#: Each argument of each method: its name, and a call with it.
NUMBERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("lbns", MEMS.positioning_ms),
    ("lbns", DISK.positioning_ms),
    ("lbns", SIMPLE.positioning_ms),
    ("at_ms", lambda value: DISK.positioning_ms(0, at_ms=value)),
    ("lbns", MEMS.serve),
    ("blocks", lambda value: MEMS.serve(0, value)),
    ("due_ms", lambda value: DISK.serve(0, due_ms=value)),
    ("lbns", MEMS.serve_batch),
    ("blocks", lambda value: MEMS.serve_batch([0, 1], value)),
    ("lbns", lambda value: MEMS.serve_batches(value, 1, [1])),
    ("blocks", lambda value: MEMS.serve_batches([0, 1], value, [2])),
    ("sizes", lambda value: MEMS.serve_batches([0, 1], 1, value)),
    ("lbn", MEMS.place),
    ("lbn", MEMS.equivalent),
    ("lbn", DISK.place),
    ("distance_cylinders", DISK.seek_ms),
    ("points", MEMS.seek_curve),
    ("points", DISK.seek_curve),
    ("points", MEMS.seek_surface),
]
PLACES: list[tuple[str, Callable[[Any], Any]]] = [
    ("from_um", lambda value: MEMS.seek_x_ms(value, 0)),
    ("to_um", lambda value: MEMS.seek_x_ms(0, value)),
    ("from_um", lambda value: MEMS.seek_y_ms(value, 0)),
    ("to_um", lambda value: MEMS.seek_y_ms(0, value)),
]
DIRECTIONS: list[tuple[str, Callable[[Any], Any]]] = [
    ("from_direction", lambda value: MEMS.seek_y_ms(0, 1, value)),
    ("to_direction", lambda value: MEMS.seek_y_ms(0, 1, 1, 0 if value is None else value)),
]
FLAGS: list[tuple[str, Callable[[Any], Any]]] = [
    ("read", lambda value: MEMS.positioning_ms(0, read=value)),
    ("read", lambda value: MEMS.serve([0, 1], read=value)),
    ("read", lambda value: MEMS.serve_batch([0, 1], read=value)),
    ("read", lambda value: MEMS.serve_batches([0, 1], 1, [2], read=value)),
    ("read", lambda value: DISK.seek_ms(1, read=value)),
]


def refused(name: str, call: Callable[[Any], Any], value: Any) -> str:
    with pytest.raises(SledsimError) as raised:
        call(value)
    text = str(raised.value)
    assert text.startswith(name), text
    assert raised.value.path is not None
    assert raised.value.path.split(".")[0] == name
    assert "expected" in text
    assert "defect" not in text
    return text


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_numbers_out_of_range_are_refused_by_name(value: Any) -> None:
    for name, call in [*NUMBERS, *PLACES]:
        if name in {"from_um", "to_um"} and isinstance(value, int) and value == -1:
            # A micrometre from the centre.
            continue
        refused(name, call, value)
    for name, call in DIRECTIONS:
        if not (isinstance(value, int) and value == -1):
            refused(name, call, value)


@pytest.mark.parametrize("value", NO_FLAGS, ids=lambda value: type(value).__name__)
def test_non_booleans_are_refused_by_name(value: Any) -> None:
    for name, call in FLAGS:
        refused(name, call, value)


def test_numbers_give_numbers_and_arrays_give_arrays() -> None:
    scalars = [
        *(MEMS.seek_x_ms(1, 2), MEMS.seek_y_ms(1, 2), MEMS.positioning_ms(5)),
        *(DISK.seek_ms(3), DISK.positioning_ms(np.uint8(5), at_ms=1)),
    ]
    assert all(isinstance(each, float) for each in scalars), scalars
    assert MEMS.seek_y_ms([1], 2).shape == (1,)
    assert DISK.seek_ms([[1, 2]]).shape == (1, 2)
    assert MEMS.positioning_ms([]).shape == (0,)
    assert MEMS.serve([])["start_ns"].shape == (0,)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.float32, np.float64])
def test_any_integer_type_is_accepted(dtype: type) -> None:
    lbns: np.ndarray[Any, Any] = np.array([1, 2, 100], dtype=dtype)
    assert np.array_equal(MEMS.serve(lbns, lbns)["end_ns"], MEMS.serve([1, 2, 100], [1, 2, 100])["end_ns"])


MANY: list[Any] = [
    range(10**9),
    range(10**30),
    np.broadcast_to(1, (10**6, 10**6)),
    np.broadcast_to(np.True_, 2**24 + 1),
]


@pytest.mark.parametrize("value", MANY, ids=["a range", "no length", "an array", "flags"])
def test_too_many_values_are_refused_before_allocation(value: Any) -> None:
    for call in (
        lambda: MEMS.positioning_ms(value),
        lambda: MEMS.serve(0, value),
        lambda: MEMS.serve(0, read=value),
        lambda: MEMS.seek_y_ms(0, value),
    ):
        with pytest.raises(SledsimError, match=str(2**24)):
            call()
