"""How exactly answers of a served block device come, and how many go through it: a table for docs/how-to/serve.md.

For each time that a device takes, a client asks it one request after the other; what the server says of its answers is
printed, with the load of the machine beside it. Throughput is that of a device that takes no time, with 64 requests
under way. An otherwise idle machine is asked for, and the load says whether it was.

    python tools/serving_accuracy.py [--seconds 5]
"""

import argparse
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

#: What a device takes for each request, ms, and how much slower its clock runs.
CASES = [(0.3, 1), (1.0, 1), (5.0, 1), (0.3, 10), (1.0, 10), (0.3, 30), (1.0, 30)]
UNDER_WAY = 64
REQUEST = struct.Struct(">IHHQQI")


def connected(path: Path) -> socket.socket:
    """Connect, and ask for requests."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(path))
    take(client, 18)
    client.sendall(struct.pack(">I", 3) + struct.pack(">QIIIH", 0x49484156454F5054, 7, 6, 0, 0))
    while True:
        _, _, kind, length = struct.unpack(">QIII", take(client, 20))
        take(client, length)
        if kind == 1:
            return client


def take(client: socket.socket, count: int) -> bytes:
    """Take so many bytes."""
    found = b""
    while len(found) < count:
        found += client.recv(count - len(found))
    return found


def read(number: int) -> bytes:
    """Return a request to read a block."""
    return REQUEST.pack(0x25609513, 0, 0, number, number % 1000 * 4096, 512)


def one_by_one(client: socket.socket, seconds: float) -> int:
    """Ask one request after the other; return how many."""
    end, asked = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        client.sendall(read(asked))
        take(client, 16 + 512)
        asked += 1
    return asked


def many(client: socket.socket, seconds: float) -> int:
    """Keep many requests under way; return how many were answered."""
    end, answered = time.monotonic() + seconds, 0
    client.sendall(b"".join(read(each) for each in range(UNDER_WAY)))
    left = b""
    while time.monotonic() < end:
        left += client.recv(1 << 20)
        count, rest = divmod(len(left), 16 + 512)
        left = left[len(left) - rest :]
        answered += count
        client.sendall(b"".join(read(each) for each in range(count)))
    return answered


def served(
    folder: Path, access_ms: float, dilation: float, client: Callable[[socket.socket, float], int], seconds: float
) -> tuple[dict[str, Any], float]:
    """Serve a device that takes a constant time; return what the server says, and the requests a second."""
    text = "[workload]\nkind = 'session'\n[system]\nscheduler = 'fcfs'\n[system.device]\nname = 'simpledisk-constant'\n"
    (folder / "constant.toml").write_text(f"{text}access_ms = {access_ms}\n")
    program = str(Path(sys.executable).with_name("sledsim"))
    command = [program, "serve", "constant.toml", "--dilation", str(dilation), "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    process.stderr.readline()
    with connected(folder / "sledsim.sock") as stream:
        began = time.monotonic()
        count = client(stream, seconds)
        rate = count / (time.monotonic() - began)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    delivery: dict[str, Any] = json.loads(out)["delivery"]
    return delivery, rate


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure how exactly a served device answers.")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each row")
    seconds = parser.parse_args().seconds
    print("| a request takes | dilation | error, median | error, p99 | within 2 % | load |")
    print("| --- | --- | --- | --- | --- | --- |")
    with TemporaryDirectory() as folder:
        for access_ms, dilation in CASES:
            found, _ = served(Path(folder), access_ms, dilation, one_by_one, seconds)
            median_us, p99_us = found["median_error_us"], found["p99_error_us"]
            share = f"{100 * found['on_time']:.1f} %"
            load = f"{os.getloadavg()[0]:.1f}"
            print(
                f"| {access_ms:g} ms | {dilation} | {median_us:.1f} µs | {p99_us:.1f} µs | {share} | {load} |",
                flush=True,
            )
        _, rate = served(Path(folder), 0.0, 1, many, seconds)
    what = f"{UNDER_WAY} under way; load {os.getloadavg()[0]:.1f}"
    print(f"\n{rate:,.0f} requests/s through a device that takes no time, {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
