"""Tables and numbers for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sledsim.show.tables import Table, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (7, "7"),
        (1234567, "1,234,567"),
        (0.1, "0.1000"),
        (0.99998, "1.000"),
        (12.3456, "12.35"),
        (-3.14159, "-3.142"),
        (1234.5678, "1,235"),
        (0.00012345, "0.0001234"),
        (2.5e-5, "2.5e-05"),
        (1e13, "1e+13"),
    ],
)
def test_numbers_are_formatted(value: float | None, text: str) -> None:
    assert number(value) == text


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(min_value=2, max_value=9))
def test_numbers_keep_their_digits(value: float, digits: int) -> None:
    shown = float(number(value, digits).replace(",", ""))
    assert shown == pytest.approx(value, rel=0.6 * 10.0 ** (1 - digits))


def test_table_columns_are_aligned() -> None:
    table = Table(["name", "value (ms)", "note"], [["a", "1", "x"], ["  b", "10", ""]], title="T", left=frozenset({2}))
    assert str(table) == "T\nname  value (ms)  note\n────  ──────────  ────\na              1  x\n  b           10"


def test_a_table_in_html_is_escaped() -> None:
    html = Table(["<a>"], [["<script>"]], title="x & y")._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "x &amp; y" in html
