"""The built extension, for tests of text that also hold without it."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def built_core() -> Any:
    """Return the built extension; where it is not built the test is skipped, but not in continuous integration."""
    if os.environ.get("CI") == "true":
        return importlib.import_module("sledsim._core")
    return pytest.importorskip("sledsim._core")
