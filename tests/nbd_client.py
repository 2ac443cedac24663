"""A minimal client of the network block device protocol, and a program that writes until it is killed.

The program takes a socket and a seed. Before it asks for a write it prints its block and the seed of its data, and
once that is answered its cookie. So the acknowledged writes of a killed client are known, too.
"""

from __future__ import annotations

import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

OPTION_MAGIC = 0x49484156454F5054
READ, WRITE, DISCONNECT, FLUSH, TRIM, ZEROES = 0, 1, 2, 3, 4, 6
FUA = 1
INVALID, NO_SPACE, IO = 22, 28, 5
#: The program writes this number of blocks of this size.
BLOCKS, BLOCK_BYTES = 64, 4096


class Client:
    """A connection."""

    def __init__(self, at: Path | tuple[str, int]) -> None:
        self.socket = socket.socket(socket.AF_UNIX if isinstance(at, Path) else socket.AF_INET)
        self.socket.settimeout(600)
        self.socket.connect(str(at) if isinstance(at, Path) else at)
        magic, options, flags = struct.unpack(">QQH", self.take(18))
        assert (magic, options, flags & 3) == (0x4E42444D41474943, OPTION_MAGIC, 3)
        self.socket.sendall(struct.pack(">I", 3))
        self.cookie = 0

    def take(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            if not more:
                raise EOFError
            found += more
        return found

    def option(self, number: int, data: bytes = b"") -> list[tuple[int, bytes]]:
        """Send an option; return the replies to it."""
        self.socket.sendall(struct.pack(">QII", OPTION_MAGIC, number, len(data)) + data)
        found: list[tuple[int, bytes]] = []
        while not found or found[-1][0] in (2, 3):
            magic, option, kind, length = struct.unpack(">QIII", self.take(20))
            assert (magic, option) == (0x3E889045565A9, number)
            found.append((kind, self.take(length)))
        return found

    def go(self) -> int:
        """Start the transmission phase; return the size of the device."""
        answers = self.option(7, struct.pack(">IH", 0, 0))
        assert answers[-1][0] == 1
        [size] = [struct.unpack(">HQH", data)[1] for kind, data in answers if kind == 3 and len(data) == 12]
        return int(size)

    def send(self, kind: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> int:
        self.cookie += 1
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, flags, kind, self.cookie, offset, length) + data)
        return self.cookie

    def answer(self) -> tuple[int, int]:
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert magic == 0x67446698
        return error, cookie

    def ask(self, kind: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> int:
        cookie = self.send(kind, offset, length, data, flags)
        error, answered = self.answer()
        assert answered == cookie
        return error

    def read(self, offset: int, length: int) -> bytes:
        assert self.ask(READ, offset, length) == 0
        return self.take(length)

    def write(self, offset: int, data: bytes, flags: int = 0) -> int:
        return self.ask(WRITE, offset, len(data), data, flags)

    def close(self) -> None:
        with suppress(OSError):
            self.send(DISCONNECT)
        self.socket.close()


def data_of(seed: int) -> bytes:
    """Return the content of a block."""
    return Random(seed).randbytes(BLOCK_BYTES)


def write_without_end(path: Path, seed: int) -> None:
    """Write blocks, some durably, up to eight at once, and flush now and then."""
    random, client = Random(seed), Client(path)
    client.go()
    while True:
        asked = set()
        for _ in range(random.randint(1, 8)):
            block, filled_by = random.randrange(BLOCKS), random.getrandbits(32)
            print("asked", client.cookie + 1, block, filled_by, flush=True)
            flags = FUA if random.random() < 0.2 else 0
            asked.add(client.send(WRITE, block * BLOCK_BYTES, BLOCK_BYTES, data_of(filled_by), flags))
        if random.random() < 0.3:
            asked.add(client.send(FLUSH))
        while asked:
            error, cookie = client.answer()
            assert error == 0
            asked.remove(cookie)
            print("answered", cookie, flush=True)


if __name__ == "__main__":
    # The connection ends when the server is killed.
    with suppress(EOFError, ConnectionError):
        write_without_end(Path(sys.argv[1]), int(sys.argv[2]))
