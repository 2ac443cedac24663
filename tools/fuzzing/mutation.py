"""Changes of inputs: invalid and boundary values, changed tables, damaged texts and bytes."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

#: A place in a document: keys, and indices of entries.
Place = tuple[str | int, ...]

NUMBERS: list[Any] = [
    *(0, -0.0, 1, -1, 2, 0.5, -0.5, 1e-9, 5e-324, 1e300, 1.7e308, -1e308, 1e18, 1e19, 0.1, 3, 7, 100, 512, 4096),
    *(2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 2**70),
    *(10**25, 1e-30, 999_999_999, 1_000_000, 255, 256, 65_535, 65_536),
]
TEXTS: list[str] = [
    *(
        "",
        " ",
        "x",
        "none",
        "auto",
        "null",
        "true",
        "0",
        "-1",
        "1e9",
        "nan",
        "inf",
        "8 KiB",
        "20 ms",
        "1 week",
        "200,000 h",
    ),
    *("1e400 s", "-5 ms", "3 parsec", "g2", "lru", "sptf", "system", "a.b.c", "../..", "/dev/null", "/", "a" * 3000),
    *(
        "\x00",
        "\ud800",
        "é",
        "日本語",
        "\u202e",
        "[red]x[/red]",
        "<b>&",
        "'\"`;--",
        "%s%n",
        "${HOME}",
        "\r\n",
        "=",
        "{}",
        "[]",
    ),
    *("1979-05-27", "9" * 400, "0x10", "1_000", "٣", "½"),
]
OTHERS: list[Any] = [None, True, False, [], {}, [[]], [{}], {"kind": "x"}, [1, "a", None], {"": 0}, [1] * 300]


def wild(random: Random) -> Any:
    """Draw a value that is invalid for most keys."""
    kind = random.random()
    if kind < 0.45:
        return random.choice(NUMBERS)
    if kind < 0.7:
        return random.choice(TEXTS)
    if kind < 0.95:
        # A copy, because later changes must not reach another place.
        return copy.deepcopy(random.choice(OTHERS))
    return nested(random, random.choice([3, 50, 99, 101, 150, 2_000]))


def nested(random: Random, depth: int) -> Any:
    """Return nested lists or tables."""
    value: Any = 1
    listed = random.random() < 0.5
    for _ in range(min(depth, 400)):
        value = [value] if listed else {"a": value}
    return value


def mild(random: Random, value: Any) -> Any:
    """Draw a value of the same type near the present one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = [value + 1, value - 1, value * 2, value // 2, random.randint(0, 10), value * random.randint(1, 1000)]
        return random.choice(near)
    if isinstance(value, float):
        whole = round(value) if math.isfinite(value) else value
        return random.choice([value * 2, value / 2, value * random.random(), value * 100, -value, value / 1e6, whole])
    if isinstance(value, str) and value:
        at = random.randrange(len(value))
        return random.choice([value[:at] + value[at + 1 :], value + value[at], value.upper(), value + " "])
    if isinstance(value, list) and value:
        at = random.randrange(len(value))
        return random.choice([value[:at] + value[at + 1 :], [*value, value[at]], value[::-1], value * 2])
    return wild(random)


def places(document: Any, at: Place = ()) -> Iterator[Place]:
    """Yield the place of every value in a document."""
    entries: Any = ()
    if isinstance(document, dict):
        entries = document.items()
    elif isinstance(document, list):
        entries = enumerate(document)
    for key, value in entries:
        yield (*at, key)
        yield from places(value, (*at, key))


def value_at(document: Any, place: Place) -> Any:
    """Return the value at a place."""
    for key in place:
        document = document[key]
    return document


def replaced(document: Any, place: Place, value: Any) -> None:
    """Set the value at a place."""
    value_at(document, place[:-1])[place[-1]] = value


def removed(document: Any, place: Place) -> None:
    """Remove the value at a place."""
    del value_at(document, place[:-1])[place[-1]]


def garbled_text(random: Random, text: str) -> str:
    """Cut a text, repeat a part, or insert characters."""
    if not text:
        return random.choice(TEXTS)
    start = random.randrange(len(text))
    end = min(len(text), start + random.choice([0, 1, 1, 2, 8, 60]))
    kind = random.random()
    if kind < 0.3:
        return text[:start] + text[end:]
    if kind < 0.5:
        return text[:end] + text[start:]
    if kind < 0.8:
        signs = [
            "[",
            "]",
            "{",
            "}",
            '"',
            "=",
            "\n",
            ",",
            "#",
            ":",
            "- ",
            "\t",
            "&a ",
            "*a",
            "<<: ",
            "!!python/object ",
            "\x00",
        ]
        return text[:start] + random.choice([*signs, str(random.choice(NUMBERS)), random.choice(TEXTS)]) + text[start:]
    if kind < 0.9:
        return text[:start]
    return text.replace(text[start], random.choice([" ", "\n", "", "0"]))


def garbled_bytes(random: Random, content: bytes) -> bytes:
    """Change, cut or insert bytes."""
    if not content:
        return bytes(random.randrange(256) for _ in range(random.randrange(50)))
    start = random.randrange(len(content))
    kind = random.random()
    if kind < 0.35:
        return content[:start] + bytes([random.randrange(256)]) + content[start + 1 :]
    if kind < 0.5:
        return content[:start] + content[start + random.choice([1, 2, 4, 40]) :]
    if kind < 0.65:
        return content[:start]
    if kind < 0.8:
        return content[:start] + content[start // 2 :]
    filler = random.choice([b"\x00", b"\xff", b"\n", b"9", b",", b" ", bytes([random.randrange(256)])])
    return content[:start] + filler * random.choice([1, 3, 20, 5_000]) + content[start:]
