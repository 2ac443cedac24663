"""Intervals of confidence against SciPy, and what they need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sledsim import SledsimError
from sledsim.confidence import batched_interval, mean_interval, paired_difference

# Half-widths come from the same quantile, found by bisection to the last digits; sums differ in rounding.
CLOSE = 1e-9


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40))
def test_the_interval_is_students(values: list[float]) -> None:
    found = mean_interval(values)
    error = stats.sem(values)
    half_width = stats.t.ppf(0.975, len(values) - 1) * error
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert found.high - found.mean == pytest.approx(half_width, rel=CLOSE, abs=1e-9)
    assert found.mean - found.low == pytest.approx(half_width, rel=CLOSE, abs=1e-9)


def test_a_sequence_is_cut_into_thirty_batches() -> None:
    values = np.random.default_rng(5).normal(10, 1, 3007)
    found = batched_interval(values.tolist())
    batches = values[:3000].reshape(30, 100).mean(axis=1)
    assert found.mean == pytest.approx(values.mean(), rel=CLOSE)
    assert found.high - found.low == pytest.approx(2 * stats.t.ppf(0.975, 29) * stats.sem(batches), rel=CLOSE)


def test_a_short_sequence_is_taken_value_by_value() -> None:
    assert batched_interval([1.0, 2.0, 4.0]) == mean_interval([1.0, 2.0, 4.0])


def test_pairs_lose_what_they_have_in_common() -> None:
    noise = np.random.default_rng(1).normal(0, 100, 20)
    found = paired_difference((noise + 3).tolist(), noise.tolist())
    # The noise of the pairs is the same to the last digit but for the rounding of the sum.
    assert (found.low, found.high) == pytest.approx((3, 3), abs=1e-9)


def test_what_has_no_interval_is_refused() -> None:
    with pytest.raises(SledsimError, match="at least 2 values; there are 1"):
        mean_interval([1.0])
    with pytest.raises(SledsimError, match="there are 2 and 3"):
        paired_difference([1.0, 2.0], [1.0, 2.0, 3.0])
