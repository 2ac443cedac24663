"""Small traces in every format that Sledsim reads, written after the descriptions of the formats."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


class Record(NamedTuple):
    """A record of a trace."""

    time_ns: int
    device: int
    sector: int
    sectors: int
    read: bool


def records(random: Random) -> list[Record]:
    """Draw some records, their times in order, in whole milliseconds."""
    found, time_ns = [], 0
    reach = random.choice([100, 10_000, 6_000_000, 2**33])
    for _ in range(random.choice([1, 2, 5, 20, 80])):
        time_ns += random.choice([0, 1, 3, 40]) * 1_000_000
        sectors = random.choice([1, 2, 8, 16, 200])
        found.append(
            Record(time_ns, random.choice([0, 0, 1, 5]), random.randrange(reach), sectors, random.random() < 0.6)
        )
    return found


def _lines(line: Callable[[int, Record], str], head: str = "") -> Callable[[list[Record]], bytes]:
    def write(rows: list[Record]) -> bytes:
        return (head + "".join(f"{line(i, row)}\n" for i, row in enumerate(rows))).encode()

    return write


def _hp_srt_1(rows: list[Record]) -> bytes:
    words = b""
    for row in rows:
        seconds, rest = divmod(row.time_ns, 10**9)
        fields = [56, 0x0004_0001, 5 + seconds, rest // 1000, 1, 2, row.sectors * 512, row.sector * 2 % 2**32]
        words += struct.pack(">14I", *fields, row.device << 8, 0, 0, int(row.read), 0, 0)
    return b"$$TR_IOREC-1.3\nsectorsize = 256;\n\x0c" + words


def _hp_srt_1_7(rows: list[Record]) -> bytes:
    found = b"$$TR_IOREC-1.7\n\x0c"
    for row in rows:
        seconds, rest = divmod(row.time_ns, 10**9)
        offset = row.sector * 512
        words = [0] * 22
        words[:4] = [88, 0x0007_0001, seconds, rest // 1000]
        words[6], words[8], words[11] = row.sectors * 512, row.device, int(row.read)
        words[16], words[17] = offset >> 32, offset & 0xFFFF_FFFF
        found += struct.pack(">22I", *words)
    return found


def _vscsi_1(rows: list[Record]) -> bytes:
    return b"".join(
        struct.pack(
            "<IIIBBHQQ", i, row.sectors * 512, 1, 0x28 if row.read else 0x2A, 0, 0x0100, row.sector, row.time_ns // 1000
        )
        for i, row in enumerate(rows)
    )


def _vscsi_2(rows: list[Record]) -> bytes:
    return b"".join(
        struct.pack(
            "<BBHIIIQQQ",
            0x28 if row.read else 0x2A,
            0,
            0x0200,
            i,
            row.sectors * 512,
            1,
            row.sector,
            row.time_ns // 1000,
            0,
        )
        for i, row in enumerate(rows)
    )


def _blktrace(rows: list[Record]) -> bytes:
    return b"".join(
        struct.pack(
            "<IIQQIIIIIHH",
            0x65617407,
            i,
            row.time_ns,
            row.sector,
            row.sectors * 512,
            1 | (1 << 20) | ((1 << 16) if row.read else (1 << 17)),
            697,
            (8 << 20) | row.device,
            0,
            0,
            0,
        )
        for i, row in enumerate(rows)
    )


def _op(row: Record, words: str) -> str:
    return words.split("|")[0 if row.read else 1]


WRITERS: dict[str, Callable[[list[Record]], bytes]] = {
    "hp-srt": _hp_srt_1,
    "hp-srt-1.7": _hp_srt_1_7,
    "vscsi": _vscsi_1,
    "vscsi-2": _vscsi_2,
    "fio": _lines(
        lambda _, r: (
            f"{r.time_ns // 10**3} /dev/sd{r.device} {_op(r, 'read|write')} {r.sector * 512} {r.sectors * 512}"
        ),
        "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n",
    ),
    "fio-2": _lines(
        lambda _, r: f"/dev/sd{r.device} {_op(r, 'read|write')} {r.sector * 512} {r.sectors * 512}",
        "fio version 2 iolog\n",
    ),
    "blkparse": _lines(
        lambda i, r: (
            f"8,{r.device} 0 {i + 1} {r.time_ns / 1e9:.9f} 697 Q {_op(r, 'R|WS')} {r.sector} + {r.sectors} [dd]"
        )
    ),
    "blktrace": _blktrace,
    "fiu": _lines(
        lambda _, r: f"{r.time_ns} 697 my app {r.sector} {r.sectors} {_op(r, 'R|W')} 8 {r.device} {r.sector:032x}"
    ),
    "disksim-validate": _lines(
        lambda _, r: f"{_op(r, 'R|W')} Miss {r.sector} {r.sectors} 9000.5 {r.time_ns % 7000}.25"
    ),
    "mqsim": _lines(lambda _, r: f"{r.time_ns} {r.device} {r.sector} {r.sectors} {int(r.read)}"),
    "disksim-ascii": _lines(
        lambda _, r: f"{r.time_ns / 1e6 + 0.125:.6f} {r.device} {r.sector} {r.sectors} {int(r.read)}"
    ),
    "arc": _lines(lambda i, r: f"{r.sector} {r.sectors} 0 {i}"),
    "msr": _lines(
        lambda _, r: (
            f"{128166372003061629 + r.time_ns // 100},usr,{r.device},{_op(r, 'Read|Write')},{r.sector * 512},"
            f"{r.sectors * 512},41286"
        )
    ),
    "spc": _lines(lambda _, r: f"{r.device},{r.sector},{r.sectors * 512},{_op(r, 'R|W')},{r.time_ns / 1e9:.6f}"),
    "alibaba": _lines(
        lambda _, r: (
            f"{r.device},{_op(r, 'R|W')},{r.sector * 512},{r.sectors * 512},{1577808144360767 + r.time_ns // 1000}"
        )
    ),
    "tencent": _lines(
        lambda _, r: f"{1538323200 + r.time_ns // 10**9},{r.sector},{r.sectors},{_op(r, '0|1')},{r.device + 1000}"
    ),
    "csv": _lines(
        lambda _, r: f"{r.time_ns},{r.device},{r.sector * 512},{r.sectors * 512},{_op(r, 'R|W')}",
        "t_ns,device,offset_bytes,bytes,op\n",
    ),
}
#: Formats that keep the times of the records.
TIMED = (
    "hp-srt",
    "hp-srt-1.7",
    "vscsi",
    "vscsi-2",
    "fio",
    "blkparse",
    "blktrace",
    "fiu",
    "mqsim",
    "disksim-ascii",
    "msr",
    "alibaba",
    "csv",
    "spc",
)
#: Variants by name, with the name of their format.
FORMAT_OF = {"hp-srt-1.7": "hp-srt", "vscsi-2": "vscsi", "fio-2": "fio"}
