"""The program that serves devices in small guests: built as its page says, it needs no library, and serves."""

from __future__ import annotations

import os
import platform
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT
from waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64", reason="the page's command is for Linux on x86-64"
    ),
]
PAGE = ROOT / "docs" / "how-to" / "serve.md"
#: The type of a program header that requests a dynamic loader (PT_INTERP).
INTERPRETER = 3


@pytest.fixture(scope="module")
def program() -> Path:
    """Return the program, built with the command of the page; an earlier build is kept."""
    page = PAGE.read_text(encoding="utf-8")
    [build] = re.findall(r"`(cargo build [^`]*sledsim-nbd)`", page)
    [flags] = re.findall(r'`RUSTFLAGS="([^"]*)"`', page)
    [target] = re.findall(r"`--target (\S+)`", page)
    folder = ROOT / "target" / "static"
    command = [*shlex.split(build), "--locked", "--target", target]
    environment = os.environ | {"RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(folder)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    built: Path = folder / target / "release" / "sledsim-nbd"
    return built


def test_the_binary_is_static(program: Path) -> None:
    data = program.read_bytes()
    assert data[:5] == b"\x7fELF\x02"
    [start] = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    kinds = [struct.unpack_from("<I", data, start + each * size)[0] for each in range(count)]
    assert kinds
    assert INTERPRETER not in kinds


def test_the_binary_serves_with_an_empty_environment(program: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('[system]\ndevice = "g2"\n', encoding="utf-8")
    path = tmp_path / "s.sock"
    with subprocess.Popen([program, scenario, "--socket", path], env={}, cwd=tmp_path) as server:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                assert wait_until(lambda: client.connect_ex(str(path)) == 0, server), "it ended before it served"
                client.settimeout(600)
                assert client.recv(16, socket.MSG_WAITALL) == b"NBDMAGICIHAVEOPT"
        finally:
            server.send_signal(signal.SIGTERM)
    assert server.returncode == 0
