"""Fixtures of the papers' tests, beside those of tests/conftest.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import REFERENCE
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def study() -> Iterator[Study]:
    """Yield a study with two workers."""
    with Study(workers=2, reference=REFERENCE) as made:
        yield made
