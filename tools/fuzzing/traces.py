"""Traces of every format, complete, cut, garbled and compressed: read, counted, converted, replayed."""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import TYPE_CHECKING, Any

from fuzzing import mutation
from fuzzing.invariants import require
from fuzzing.running import run_and_check
from fuzzing.trace_texts import FORMAT_OF, TIMED, WRITERS, records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from fuzzing.targets import Given
    from sledsim import Trace

COMPRESSED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
#: File names of traces; only the suffix of Parquet matters.
SUFFIXES = ("csv", "trace", "txt", "parquet", "gz")
COLUMNS = ("t_ns", "device", "offset_bytes", "bytes", "op")


def garbled_fields(random: Random, content: bytes) -> bytes:
    """Replace some fields of the lines."""
    lines = content.split(b"\n")
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(lines))
        comma = b"," if b"," in lines[at] else b" "
        fields = lines[at].split(comma)
        other = random.choice(
            [*mutation.NUMBERS, *mutation.TEXTS, "512.0", "4096.5", "-0", "1e3", "+5", "R", "w", "Read"]
        )
        place = random.randrange(len(fields))
        fields[place : place + random.choice([0, 1, 1, 1, 2])] = [str(other).encode(errors="surrogatepass")]
        lines[at] = comma.join(fields)
    if random.random() < 0.2:
        random.shuffle(lines)
    return b"\n".join(lines)


class Traces:
    """Traces of all formats."""

    def make(self, random: Random) -> Given:
        """Draw a trace and its reading options."""
        name = random.choice([*WRITERS])
        rows = records(random)
        content = WRITERS[name](rows)
        given: Given = {"written": name, "whole": True, "options": self._options(random, FORMAT_OF.get(name, name))}
        if random.random() < 0.65:
            given["whole"] = False
            binary = name.startswith(("hp-srt", "vscsi", "blktrace"))
            for _ in range(random.choice([1, 1, 2, 4])):
                fields = not binary and random.random() < 0.6
                content = garbled_fields(random, content) if fields else mutation.garbled_bytes(random, content)
        if random.random() < 0.25:
            content = COMPRESSED[random.choice([*COMPRESSED])](content)
            if random.random() < 0.4:
                given["whole"] = False
                content = mutation.garbled_bytes(random, content)
        given["rows"] = [list(row) for row in rows]
        given["content"] = content.decode("latin-1")
        given["suffix"] = random.choice(SUFFIXES[:3]) if random.random() < 0.95 else random.choice(SUFFIXES)
        given["replay"] = {"fit": random.choice(["wrap", "wrap", "scale", "error"])}
        return given

    def _options(self, random: Random, name: str) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if random.random() < 0.4:
            options["format"] = name if random.random() < 0.8 else random.choice([*WRITERS])
        if random.random() < 0.3:
            options["skip_bad"] = random.choice([0, 1, 5, 2**40])
        if random.random() < 0.1:
            options["sector_bytes"] = random.choice([1, 256, 512, 4096, 2**20, 2**31])
        if random.random() < 0.1:
            keys = [
                "time",
                "offset",
                "bytes",
                "op",
                "device",
                "time_unit",
                "offset_unit",
                "length_unit",
                "read",
                "write",
            ]
            options["columns"] = {
                key: random.choice([*COLUMNS, "0", "3", "us", "x"]) for key in keys if random.random() < 0.7
            }
        return options

    def attempt(self, given: Given, folder: Path) -> None:
        """Read the trace in every way."""
        import sledsim

        path = folder / f"trace.{given['suffix']}"
        path.write_bytes(given["content"].encode("latin-1"))
        trace = sledsim.traces.open_trace(path, **given["options"])
        columns = _columns(trace)
        self._check_read(given, trace, columns)
        self._convert(trace, columns, folder)
        sledsim.studies.hit_ratio(path, ["lru", "arc"], [1, 50], page_bytes=2**20, **given["options"])
        self._replay(given, path)

    def _check_read(self, given: Given, trace: Trace, columns: dict[str, Any]) -> None:
        """Check the records against the summary of the trace, and against the written records."""
        info = trace.info().to_dict()
        count = len(columns["time_ns"])
        require(info["records"] == count, f"{info['records']} records in the summary, {count} read")
        reads = int(columns["read"].sum())
        require(info["reads"] == reads, f"{info['reads']} reads in the summary, {reads} read")
        flushes = columns["flush"]
        require(info["flushes"] == int(flushes.sum()), f"{info['flushes']} flushes in the summary")
        # A flush concerns the whole device, and transfers no data.
        sizes, offsets = columns["bytes"][~flushes], columns["offset_bytes"][~flushes]
        require((sizes > 0).all(), "a record of no bytes")
        require(not columns["bytes"][flushes].any(), "a flush of some bytes")
        if len(sizes):
            sums = {
                "total_bytes": sum(map(int, sizes)),
                "min_bytes": int(sizes.min()),
                "max_bytes": int(sizes.max()),
                "min_offset_bytes": int(offsets.min()),
                "end_offset_bytes": int((offsets + sizes).max()),
            }
            for name, value in sums.items():
                require(info.get(name, value) == value, f"{name} = {info.get(name)} in the summary, {value} read")
        require(list(columns["time_ns"]) == sorted(columns["time_ns"]), "records are not in the order of time")
        usual = {key for key in given["options"] if key != "skip_bad"} <= {"format"}
        detected = trace.format == FORMAT_OF.get(given["written"], given["written"])
        if not (given["whole"] and usual and detected):
            return
        rows = given["rows"]
        if given["written"] == "blktrace":
            # Events of the same time are ordered by device, as blkparse orders them.
            rows = sorted(rows, key=lambda row: row[:2])
        require(count == len(rows), f"{count} records read, {len(rows)} written")
        require([int(each) for each in columns["bytes"]] == [row[3] * 512 for row in rows], "other sizes than written")
        if given["written"] != "arc":
            require(
                [bool(each) for each in columns["read"]] == [row[4] for row in rows], "other operations than written"
            )
        offsets = [row[2] * 512 for row in rows]
        if given["written"] == "hp-srt":
            offsets = [row[2] * 2 % 2**32 * 256 for row in rows]
        require([int(each) for each in columns["offset_bytes"]] == offsets, "other offsets than written")
        if given["written"] in TIMED:
            times = [row[0] - rows[0][0] for row in rows]
            require([int(each) for each in columns["time_ns"]] == times, "other times than written")

    def _convert(self, trace: Trace, columns: dict[str, Any], folder: Path) -> None:
        """Convert the trace to the canonical form, and read the result."""
        import numpy as np

        import sledsim

        written = folder / "converted.csv"
        count = trace.convert(written)
        require(count == len(columns["time_ns"]), f"{count} records converted of {len(columns['time_ns'])}")
        if count:
            again = _columns(sledsim.traces.open_trace(written))
            for name in ("time_ns", "device", "offset_bytes", "bytes", "read", "flush", "fua"):
                require(np.array_equal(again[name], columns[name]), f"{name} changes in the conversion")
        # The format of MQSim has no flushes.
        kept = ~columns["flush"]
        count = trace.convert(folder / "converted.mqsim")
        require(count == int(kept.sum()), f"{count} records converted into MQSim's format of {int(kept.sum())}")
        if count:
            again = _columns(sledsim.traces.open_trace(folder / "converted.mqsim", format="mqsim"))
            for name in ("offset_bytes", "bytes", "read"):
                require(
                    np.array_equal(again[name], columns[name][kept]),
                    f"{name} changes in the conversion into MQSim's format",
                )

    def _replay(self, given: Given, path: Path) -> None:
        from sledsim.scenario.reading import resolve

        workload = {"kind": "trace", "path": str(path), **given["options"], **given["replay"]}
        resolved = resolve({"workload": workload, "system": {"device": "g2"}, "run": {"requests": 100}})
        run_and_check(resolved.values, again=False)


def _columns(trace: Trace) -> dict[str, Any]:
    import numpy as np

    batches = list(trace.batches(7))
    if not batches:
        return trace.head(1)
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
