"""Documents as TOML, YAML and JSON, with any values."""

from __future__ import annotations

import json
import math
from typing import Any

import yaml

#: The notations by suffix of the file name.
NOTATIONS = ("toml", "yaml", "json")


def written_as(notation: str, document: Any) -> str:
    """Write a document; values that the notation lacks are left out or approximated.

    Parameters
    ----------
    notation
        One of ``NOTATIONS``.
    document
        The document.
    """
    if notation == "json":
        return json.dumps(document, indent=1)
    try:
        if notation == "toml":
            return _toml(document)
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=False)
    except (yaml.YAMLError, RecursionError):
        return json.dumps(document)


def _toml(document: Any) -> str:
    if not isinstance(document, dict):
        return _toml_value(document)
    return "".join(f"{_key(key)} = {_toml_value(value)}\n" for key, value in document.items() if value is not None)


def _key(key: Any) -> str:
    text = str(key)
    return text if text.isascii() and text.replace("_", "").isalnum() else json.dumps(text)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = [f"{_key(key)} = {_toml_value(each)}" for key, each in value.items() if each is not None]
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml_value(each) for each in value if each is not None) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value)
