"""A system served as a network block device: the protocol, the data, the times, and errors."""

from __future__ import annotations

import csv
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from shutil import which
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sledsim
from nbd_client import DISCONNECT, FLUSH, FUA, INVALID, IO, NO_SPACE, OPTION_MAGIC, READ, TRIM, WRITE, ZEROES, Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Outcome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a block device is served on Linux")


class Server:
    """A server in its own process."""

    def __init__(
        self, folder: Path, *options: str, system: str = "device = 'g2'", before: tuple[str, ...] = ()
    ) -> None:
        (folder / "served.toml").write_text(f"[workload]\nkind = 'session'\n[system]\n{system}\n")
        self.socket = folder / "s.sock"
        by_socket = () if "--tcp" in options else ("--socket", "s.sock")
        self.clients: list[Client] = []
        program = str(Path(sys.executable).with_name("sledsim"))
        command = [*before, program, "serve", "served.toml", *by_socket, "--json", *options]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
        )
        assert self.process.stderr
        said = self.process.stderr.readline()
        assert "answers leave" in said, said + self.process.communicate()[1]
        self.address = said.split()[0]

    def client(self) -> Client:
        self.clients.append(Client(self.socket))
        return self.clients[-1]

    def leave(self) -> None:
        for client in self.clients:
            client.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, by: signal.Signals = signal.SIGTERM) -> dict[str, object]:
        if self.process.poll() is None:
            self.process.send_signal(by)
        out, err = self.process.communicate(timeout=600)
        assert self.process.returncode == 0, err
        found: dict[str, object] = json.loads(out)
        return found


@contextmanager
def served(
    folder: Path, *options: str, system: str = "device = 'g2'", before: tuple[str, ...] = ()
) -> Iterator[Server]:
    server = Server(folder, *options, system=system, before=before)
    try:
        yield server
    finally:
        server.leave()


def test_data_is_read_back_and_times_are_simulated(tmp_path: Path) -> None:
    with served(tmp_path, "--log", "log.csv") as server:
        client = server.client()
        size = client.go()
        assert size == sledsim.device("g2").capacity_bytes
        random = Random(1)
        kept = bytearray(1 << 20)
        for _ in range(60):
            offset, data = random.randrange(len(kept) - 9000), random.randbytes(random.randint(1, 9000))
            assert client.write(offset, data) == 0
            kept[offset : offset + len(data)] = data
            offset = random.randrange(len(kept) - 9000)
            assert client.read(offset, 9000) == kept[offset : offset + 9000]
        assert client.ask(ZEROES, 1000, 5000) == 0
        kept[1000:6000] = bytes(5000)
        assert client.ask(TRIM, size - 512, 512) == 0
        assert client.ask(FLUSH) == 0
        assert client.read(0, len(kept)) == kept
        client.close()
        found = server.end()
    delivery = found["delivery"]
    assert isinstance(delivery, dict)
    assert (delivery["reads"], delivery["writes"], delivery["flushes"]) == (61, 61, 1)
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    # Before them the beginning of the server's clock is written down.
    assert rows.pop(0)["op"] == "F"
    assert len(rows) == 123
    # A log is a trace; on an idle system each answer is due when a run of that trace says.
    replayed = sledsim.replay(tmp_path / "log.csv", device="g2")
    due_ms = [(int(row["due_ns"]) - int(row["t_ns"])) / 1e6 for row in rows]
    assert replayed.response.mean_ms == pytest.approx(sum(due_ms) / len(due_ms), rel=0.02)
    for row in rows:
        assert int(row["response_ns"]) >= 0


def test_replayed_logs_have_the_rotational_position_of_the_server(tmp_path: Path) -> None:
    with served(tmp_path, "--log", "log.csv", system="device = 'atlas10k'") as server:
        client = server.client()
        client.go()
        for block in (0, 1_600_000, 160_000, 900_000):
            client.read(512 * block, 4096)
        client.close()
        server.end()
    workload = {"kind": "trace", "path": str(tmp_path / "log.csv")}
    found = sledsim.run({"system": "atlas10k", "workload": workload}, log=True).log["end_ns"].tolist()
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert found == [int(row["due_ns"]) for row in rows]
    assert len(found) == 5


def test_invalid_requests_are_refused_and_the_connection_stays_open(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        client = server.client()
        size = client.go()
        assert client.ask(READ, size - 100, 512) == INVALID
        assert client.ask(READ, 2**64 - 1, 512) == INVALID
        assert client.write(size - 100, bytes(512)) == NO_SPACE
        assert client.ask(READ, 0, 0) == INVALID
        assert client.ask(READ, 0, 2**32 - 1) == INVALID
        assert client.ask(9) == INVALID
        assert client.ask(FLUSH, 1, 1) == INVALID
        assert client.read(size - 512, 512) == bytes(512)
        client.send(7)
        client.socket.sendall(b"nonsense that is no request at all")
        # After an invalid message the server disconnects; it first replies to the earlier request.
        with suppress(EOFError, OSError):
            assert client.answer() == (INVALID, client.cookie)
            client.take(1)
        server.client().go()
        server.end(signal.SIGINT)
    assert not server.socket.exists()


def test_options_follow_the_protocol(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        client = server.client()
        assert client.option(5) == [(0x80000001, b"")]
        assert client.option(3) == [(2, bytes(4)), (1, b"")]
        assert client.option(3, b"more")[0][0] == 0x80000003
        assert client.option(7, struct.pack(">I", 4) + b"else" + bytes(2))[0][0] == 0x80000006
        assert client.option(6, b"\0")[0][0] == 0x80000003
        assert client.option(6, struct.pack(">IH", 0, 0))[-1][0] == 1
        assert client.option(2) == [(1, b"")]
        with pytest.raises(EOFError):
            client.take(1)
        old = server.client()
        old.socket.sendall(struct.pack(">QII", OPTION_MAGIC, 1, 0))
        size, flags = struct.unpack(">QH", old.take(10))
        assert (size, flags & 0b101101101) == (sledsim.device("g2").capacity_bytes, 0b101101101)
        assert old.read(0, 512) == bytes(512)
        server.end()


#: A device that takes no time worth mentioning.
AT_ONCE = """scheduler = "fcfs"
device = { name = "simpledisk-constant", access_ms = 0.01 }"""
MIB = 1 << 20


def memory_mib(server: Server) -> int:
    """Return the resident memory of a server."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    [resident] = [line.split()[1] for line in lines if line.startswith("VmRSS")]
    return int(resident) >> 10


def test_several_connections_see_the_same_data_beside_a_client_that_never_reads(tmp_path: Path) -> None:
    with served(tmp_path, system=AT_ONCE) as server:
        first, second, deaf = (server.client() for _ in range(3))
        for client in (first, second, deaf):
            client.go()
        before = memory_mib(server)
        for _ in range(500):
            deaf.send(READ, 0, MIB)
        for place in range(200):
            assert first.write(4096 * place, b"shared") == 0
            assert first.ask(FLUSH) == 0
            assert second.read(4096 * place, 6) == b"shared"
        assert memory_mib(server) < before + 30
        # The client that does not read is still connected when the server ends.
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(timeout=600)
        server.end()


def test_headers_of_long_writes_and_zeroes_take_no_memory(tmp_path: Path) -> None:
    with served(tmp_path, system=AT_ONCE) as server:
        clients = [server.client() for _ in range(50)]
        for client in clients:
            client.go()
        before = memory_mib(server)
        for client in clients[1:]:
            client.send(WRITE, 0, 32 * MIB)
        for place in range(100):
            assert clients[0].ask(ZEROES, place * 8 * MIB, 8 * MIB) == 0
        assert memory_mib(server) < before + 30
        server.end()


def test_trims_and_zeroes_may_be_longer_than_other_requests(tmp_path: Path) -> None:
    with served(tmp_path, "--image", "disk.img", "--log", "log.csv", system=AT_ONCE) as server:
        client = server.client()
        size = client.go()
        assert client.write(100 * MIB, bytes([1]) * MIB) == 0
        assert client.ask(ZEROES, 1000, 100 * MIB) == 0
        assert client.read(100 * MIB, MIB) == bytes(1000) + bytes([1]) * (MIB - 1000)
        assert client.ask(TRIM, 0, min(size, 2**32 - 512)) == 0
        assert client.ask(TRIM, size - 512, 1024) == INVALID
        assert client.ask(ZEROES, size - 512, 1024) == NO_SPACE
        client.close()
        server.end()
    assert (tmp_path / "disk.img").stat().st_blocks * 512 < 4 * MIB
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    parts = [(int(row["offset_bytes"]), int(row["bytes"])) for row in rows[2:6]]
    assert parts == [(1000 + place * 32 * MIB, min(32, 100 - place * 32) * MIB) for place in range(4)]


def test_unknown_command_flags_are_refused(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        client = server.client()
        client.go()
        assert client.ask(READ, 0, 512, flags=2) == INVALID
        assert client.write(0, bytes(512), flags=1 << 5) == INVALID
        assert client.ask(ZEROES, 0, 512, flags=2 | FUA) == 0
        assert client.ask(ZEROES, 0, 512, flags=1 << 4) == INVALID
        assert client.ask(TRIM, 0, 512, flags=FUA) == 0
        server.end()


def test_requests_before_a_disconnect_are_replied_to(tmp_path: Path) -> None:
    with served(tmp_path, "--once", system="device = 'atlas10k'") as server:
        client = server.client()
        client.go()
        cookies = [client.send(READ, 512 * 100_000 * place, 512) for place in range(20)]
        client.send(DISCONNECT)
        replies = [(client.answer(), client.take(512))[0] for _ in cookies]
        assert sorted(replies) == [(0, cookie) for cookie in cookies]
        with pytest.raises(EOFError):
            client.take(1)
        server.end()


@pytest.mark.parametrize(("device", "is_rotational"), [("atlas10k", True), ("g2", False)])
def test_disks_are_advertised_as_rotational(tmp_path: Path, device: str, is_rotational: bool) -> None:
    with served(tmp_path, system=f"device = '{device}'") as server:
        client = server.client()
        client.socket.sendall(struct.pack(">QII", OPTION_MAGIC, 1, 0))
        _, flags = struct.unpack(">QH", client.take(10))
        assert bool(flags & 16) == is_rotational
        server.end()


def test_images_are_unlocked_when_the_server_ends(tmp_path: Path) -> None:
    connected = list[socket.socket]()

    def connect_and_interrupt(address: str, *_: object) -> None:
        def connect() -> None:
            client = socket.socket(socket.AF_UNIX)
            client.connect(address.partition("socket=")[2])
            connected.append(client)
            # The server says hello, and waits for the client to do so.
            assert len(client.recv(18)) == 18
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=connect).start()

    for _ in range(2):
        sledsim.runs.serve("g2", image=tmp_path / "i", socket=tmp_path / "s", ready=connect_and_interrupt)
    for client in connected:
        client.close()


@pytest.mark.parametrize(
    ("options", "address"),
    [(("0",), "127.0.0.1"), (("127.0.0.1:0",), "127.0.0.1"), (("0.0.0.0:0", "--remote"), "0.0.0.0")],
)
def test_ports_listen_on_loopback_by_default(tmp_path: Path, options: tuple[str, ...], address: str) -> None:
    with served(tmp_path, "--tcp", *options, "--once") as server:
        [host, port] = server.address.removeprefix("nbd://").split(":")
        assert (host, int(port) > 0) == (address, True)
        client = Client(("127.0.0.1", int(port)))
        assert client.go() == sledsim.device("g2").capacity_bytes
        assert client.write(4096, b"over TCP", FUA) == 0
        assert client.read(4096, 8) == b"over TCP"
        listens = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]}
        # As the kernel writes an address: 127.0.0.1 from its last byte on.
        here = {"127.0.0.1": "0100007F", "0.0.0.0": "00000000"}[address]
        assert f"{here}:{int(port):04X}" in listens
        client.close()
        server.end()


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_acknowledged_flushes_are_in_the_file(tmp_path: Path, by: signal.Signals) -> None:
    with served(tmp_path, "--image", "disk.img", "--dilation", "2") as server:
        client = server.client()
        client.go()
        assert client.write(10_000, b"kept" * 1000) == 0
        assert client.ask(FLUSH) == 0
        assert client.write(50_000, b"durable at once", FUA) == 0
        server.process.send_signal(by)
        server.process.wait(timeout=600)
    with served(tmp_path, "--image", "disk.img") as server:
        client = server.client()
        client.go()
        assert client.read(10_000, 4000) == b"kept" * 1000
        assert client.read(50_000, 15) == b"durable at once"
        client.close()
    assert (tmp_path / "disk.img").stat().st_blocks * 512 < 1 << 20


def test_invalid_image_files_are_reported(tmp_path: Path) -> None:
    # /dev/full takes no byte; its size is 0, and cannot be set.
    with pytest.raises(sledsim.RunError, match="image") as caught:
        sledsim.runs.serve("g2", image="/dev/full", socket=tmp_path / "s.sock")
    assert caught.value.path == "image"


def test_full_host_disk_fails_the_write_only(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    # A user namespace, in which a small disk can be mounted without privileges.
    small = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = "mount -t tmpfs -o size=256k none small"
    if not which("unshare") or subprocess.run([*small, mount], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("no name spaces of users here, so no small disk")
    before = (*small, f'{mount} && exec "$@"', "sh")
    with served(tmp_path, "--image", "small/disk.img", before=before) as server:
        client = server.client()
        client.go()
        assert client.write(0, b"kept" * 1024) == 0
        errors = [client.write((1 + each) << 16, bytes([1]) * 65_536) for each in range(8)]
        assert set(errors) == {0, NO_SPACE}
        assert client.read(0, 4096) == b"kept" * 1024
        assert client.write(0, b"anew" * 1024) == 0
        assert client.ask(FLUSH) == 0
        assert client.read(0, 4096) == b"anew" * 1024
        server.end()


def test_the_option_once_ends_the_server_with_its_last_client(tmp_path: Path) -> None:
    with served(tmp_path, "--once") as server:
        client = server.client()
        client.go()
        client.read(0, 4096)
        client.close()
        found = server.end()
    result = found["result"]
    assert isinstance(result, dict)
    assert result["requests"]["completed"] == 1


#: Two devices beside each other, each of which takes its time for one request after the other; 64 KiB of each in turns.
SIDE_BY_SIDE = """kind = "stripe"
members = [{ count = 2, device = { name = "simpledisk-constant", access_ms = 10.0 }, scheduler = "fcfs" }]"""


def test_the_log_is_ordered_by_arrival_time(tmp_path: Path) -> None:
    with served(tmp_path, "--log", "log.csv", system=SIDE_BY_SIDE) as server:
        client = server.client()
        client.go()
        first = [client.send(WRITE, 0, 512, bytes(512)) for _ in range(8)]
        later = [client.send(WRITE, 1 << 16, 512, bytes(512)) for _ in range(8)]
        answers = [client.answer() for _ in range(16)]
        client.close()
        server.end()
    order = [cookie for error, cookie in answers if error == 0]
    assert sorted(order) == first + later
    assert order.index(later[0]) < order.index(first[-1])
    _, *rows = csv.DictReader((tmp_path / "log.csv").read_text().splitlines())
    came = [int(row["t_ns"]) for row in rows]
    assert came == sorted(came)
    for row in rows:
        assert int(row["asked_ns"]) <= int(row["t_ns"])
        assert int(row["response_ns"]) == int(row["sent_ns"]) - int(row["asked_ns"])
    assert [row["offset_bytes"] for row in rows] == ["0"] * 8 + ["65536"] * 8
    assert sledsim.replay(tmp_path / "log.csv", device="g2").requests["completed"] == 17


def test_connections_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        first = server.client()
        first.go()
        many = []
        for _ in range(999):
            stream = socket.socket(socket.AF_UNIX)
            stream.settimeout(600)
            stream.connect(str(server.socket))
            many.append(stream)
        # The next 64 connections receive the reason that they are refused; the rest are closed at once.
        assert [bool(stream.recv(18)) for stream in many] == [True] * (255 + 64) + [False] * (999 - 255 - 64)
        refused = many[300]
        refused.sendall(struct.pack(">IQIIIH", 3, OPTION_MAGIC, 7, 6, 0, 0))
        assert struct.unpack(">I", refused.recv(4096)[12:16]) == (0x80000002,)
        assert first.read(0, 512) == bytes(512)
        for stream in many:
            stream.close()
        again = server.client()
        assert again.go()
        server.end()


def test_lost_data_of_an_array_fails_the_request(tmp_path: Path) -> None:
    system = """kind = "raid5"
members = [{ count = 3, device = "g2" }]
faults = [{ member = 0, fails_at_s = 0.0 }, { member = 1, fails_at_s = 0.0 }]"""
    with served(tmp_path, system=system) as server:
        client = server.client()
        client.go()
        errors = {client.ask(READ, offset << 16, 65_536) or len(client.take(65_536)) for offset in range(8)}
        assert IO in errors
        server.end()


@pytest.mark.parametrize(
    ("options", "path", "words"),
    [
        ({"dilation": 0.5}, "dilation", "0.5"),
        ({"dilation": np.ones(2)}, "dilation", r"array\(\[1., 1.\]\)"),
        ({"socket": "s", "tcp": "127.0.0.1:1"}, "tcp", "give a socket or a TCP address"),
        ({"tcp": "nowhere"}, "tcp", "or an address and a port"),
        ({"tcp": "0.0.0.0:0"}, "tcp", "accepts connections from other machines: allow them with remote = true"),
        ({"remote": True}, "remote", "it needs a TCP address"),
        ({"drop": True, "socket": "s"}, "drop", "give an image"),
        ({"socket": "no/such/folder/s"}, "socket", "No such file"),
        ({"socket": "s", "log": "no/such/folder/log.csv"}, "log", "No such file"),
    ],
)
def test_wrong_arguments_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object], path: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sledsim.SledsimError, match=words) as caught:
        sledsim.runs.serve("g2", **options)  # type: ignore[arg-type]  # as a user has them wrong
    assert caught.value.path == path
    assert str(caught.value).startswith(path)


@pytest.mark.parametrize("drop", [False, True])
def test_images_of_other_devices_are_not_changed(tmp_path: Path, drop: bool) -> None:
    with (tmp_path / "large.img").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(sledsim.RunError, match="it has 1099511627776 bytes, and the device"):
        sledsim.runs.serve("g2", image=tmp_path / "large.img", drop=drop, socket=tmp_path / "s.sock")
    assert (tmp_path / "large.img").stat().st_size == 1 << 40


@pytest.mark.parametrize("options", [(), ("--drop",)])
def test_temporary_images_are_removed_at_the_end(tmp_path: Path, options: tuple[str, ...]) -> None:
    with served(tmp_path, "--image", "disk.img", *options) as server:
        client = server.client()
        client.go()
        assert client.write(0, b"kept") == 0
        assert (tmp_path / "disk.img").exists()
        client.close()
        server.end()
    assert (tmp_path / "disk.img").exists() == (not options)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_existing_file_at_the_socket_path_is_named_and_kept(tmp_path: Path, kind: str) -> None:
    image = tmp_path / "disk.img"
    place = tmp_path / "s.sock"
    if kind == "file":
        place.write_text("another file")
    else:
        place.mkdir()
    with pytest.raises(sledsim.RunError) as caught:
        sledsim.runs.serve("g2", socket=place, image=image)
    assert not image.exists()
    assert caught.value.path == "socket"
    assert str(caught.value) == f"socket: {place} is a {kind}, not a socket: remove it, or name another path"
    assert place.is_dir() or place.read_text() == "another file"


def test_the_command_prints_errors(sledsim_cli: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(sledsim_cli)
    monkeypatch.chdir(tmp_path)
    found: Outcome = sledsim_cli("serve", "nothing.toml")
    assert (found.status, "nothing.toml" in found.err) == (2, True)
    found = sledsim_cli("serve", "g22")
    assert (found.status, 'did you mean "g2"?' in found.err) == (2, True)
    (tmp_path / "scenario.toml").touch()
    found = sledsim_cli("serve", "scenario.tml")
    assert (found.status, found.err) == (2, "error: scenario.tml: no such file; did you mean scenario.toml?\n")
    found = sledsim_cli("serve", "g2", "--tcp", "nowhere")
    assert (found.status, "--tcp" in found.err) == (2, True)
    found = sledsim_cli("serve", "g2", "--tcp", "[::]:0")
    assert found.status == 2
    assert found.err == (
        'error: --tcp "[::]:0" accepts connections from other machines: allow them with --remote\n'
        "to go on, with:\n  sledsim serve g2 --tcp '[::]:0' --remote\n"
    )
    found = sledsim_cli("serve", "g2", "--tcp", "127.0.0.1:1", "--socket", "s")
    assert (found.status, found.err) == (2, "error: --tcp: give a socket or a TCP address\n")
    (tmp_path / "a.toml").write_text("[system]\ndevice = 'g2'\n[workload]\nkind = 'session'\n")
    found = sledsim_cli("serve", "a.toml", "--dilation", "0")
    assert (found.status, "--dilation" in found.err) == (2, True)
