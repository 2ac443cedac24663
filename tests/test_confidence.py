"""Confidence intervals: comparison with SciPy and requirements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sledsim.runs.confidence import batched_interval, jackknife_interval, mean_interval

# Half-widths come from the same quantile, found by bisection to the last digits; sums differ in rounding.
CLOSE = 1e-9


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40))
def test_intervals_match_student_t(values: list[float]) -> None:
    found = mean_interval(values)
    error = stats.sem(values)
    half_width = stats.t.ppf(0.975, len(values) - 1) * error
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert found.high - found.mean == pytest.approx(half_width, rel=CLOSE, abs=1e-9)
    assert found.mean - found.low == pytest.approx(half_width, rel=CLOSE, abs=1e-9)


def test_long_sequences_use_thirty_batches() -> None:
    values = np.random.default_rng(5).normal(10, 1, 3007)
    found = batched_interval(values.tolist())
    batches = np.array_split(values, 30)
    assert found.mean == pytest.approx(values.mean(), rel=CLOSE)
    half_width = stats.t.ppf(0.975, 29) * stats.sem([batch.mean() for batch in batches])
    assert found.high - found.low == pytest.approx(2 * half_width, rel=CLOSE)
    spread = batched_interval(values, np.std)
    assert spread.low < spread.mean == values.std() < spread.high
    assert sum(spread.ends) / 2 == pytest.approx(np.mean([batch.std() for batch in batches]), rel=CLOSE)


def test_short_sequences_are_not_batched() -> None:
    assert batched_interval([1.0, 2.0, 4.0]) == mean_interval([1.0, 2.0, 4.0])


def test_pairing_removes_common_variation() -> None:
    noise = np.random.default_rng(1).normal(0, 100, 20)
    found = jackknife_interval(lambda one, other: one - other, (noise + 3).tolist(), noise.tolist())
    # The noise of the pairs is the same to the last digit but for the rounding of the sum.
    assert (found.low, found.high) == pytest.approx((3, 3), abs=1e-9)


def test_intervals_have_the_requested_confidence() -> None:
    # Of two values Student's t is that of Cauchy: tan(pi / 2 * confidence).
    for confidence in (0.5, 0.9, 0.95, 0.99):
        found = mean_interval([1.0, 5.0], confidence=confidence)
        assert found.high - 3.0 == pytest.approx(2.0 * np.tan(np.pi / 2 * confidence), rel=1e-9)
    assert mean_interval([1.0, 5.0]) == mean_interval([1.0, 5.0], confidence=0.95)


@given(st.lists(st.tuples(st.floats(1, 100), st.floats(1, 100)), min_size=2, max_size=20))
def test_jackknife_of_a_mean_matches_student_t(pairs: list[tuple[float, float]]) -> None:
    ones, others = ([pair[i] for pair in pairs] for i in (0, 1))
    found = jackknife_interval(lambda one: one, ones)
    expected = mean_interval(ones)
    # Sums are taken in another order.
    assert (found.mean, found.low, found.high) == pytest.approx(
        (expected.mean, expected.low, expected.high), rel=1e-6, abs=1e-6
    )
    ratio = jackknife_interval(lambda one, other: one / other, ones, others)
    assert ratio.mean == pytest.approx(sum(ones) / sum(others), rel=1e-9)


def test_intervals_of_a_gain_have_the_nominal_coverage() -> None:
    random = np.random.default_rng(11)
    trials, held = 400, 0
    for _ in range(trials):
        base = random.gamma(20, 0.05, 12)
        found = jackknife_interval(
            lambda one, other: 1 - other / one, base.tolist(), (0.8 * base * random.normal(1, 0.05, 12)).tolist()
        )
        held += found.low <= 0.2 <= found.high
    # A level of 95 % leaves this range once in 10,000 tests; the jackknife of 12 ratios is off by a percent at most.
    low, high = (float(stats.binom.ppf(level, trials, 0.95)) for level in (5e-5, 1 - 5e-5))
    assert low - 0.01 * trials <= held <= high + 0.01 * trials
