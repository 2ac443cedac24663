"""An asyncio program whose storage is simulated: it waits in virtual time, which passes as fast as it can be computed.

    python examples/session_asyncio.py

The event loop takes its time from a session. Where nothing of the program is ready, time passes to the next timer of
the program, or to the next event of the storage, whichever comes first. The program itself is plain asyncio.
"""

import asyncio
import selectors
from typing import Any

import sledsim

NS_PER_S = 1_000_000_000


class Storage:
    """A system of Sledsim whose requests are awaited."""

    def __init__(self, system: Any) -> None:
        self.session = sledsim.Session(system)
        self.waiting: dict[int, asyncio.Future[int]] = {}

    async def access(self, lbn: int, blocks: int, *, read: bool = True) -> int:
        """Wait for a request to come back; return how long it took, ns."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.waiting[self.session.submit(lbn, blocks, read=read)] = done
        return await done

    def pass_time(self, timeout_s: float | None) -> None:
        """Let time pass to the next event, but for no longer than that."""
        session = self.session
        ends = [] if timeout_s is None else [session.now_ns + round(timeout_s * NS_PER_S)]
        if session.next_event_ns is not None:
            ends.append(session.next_event_ns)
        if not ends:
            raise RuntimeError("everybody waits, and nothing will ever happen")
        for completion in session.advance(min(ends)):
            self.waiting.pop(completion.id).set_result(completion.response_ns)


class VirtualSelector(selectors.SelectSelector):
    """Lets virtual time pass where a real program would sleep."""

    storage: Storage

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; let time pass where nothing is."""
        ready = super().select(0)
        if not ready and timeout != 0:
            self.storage.pass_time(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on the clock of a session."""

    def __init__(self, storage: Storage) -> None:
        selector = VirtualSelector()
        selector.storage = self.storage = storage
        super().__init__(selector)

    def time(self) -> float:
        """Return the time of the session, s."""
        return self.storage.session.now_ns / NS_PER_S


async def client(storage: Storage, number: int) -> float:
    """Read and think ten times; return the mean response, ms."""
    spent_ns = 0
    for turn in range(10):
        lbn = (number * 7_919_003 + turn * 104_729) % (storage.session.capacity_blocks - 8)
        spent_ns += await storage.access(lbn, 8)
        await asyncio.sleep(0.005)
    return spent_ns / 10 / 1e6


async def program(storage: Storage) -> None:
    """Serve ever more clients at once."""
    for clients in (1, 4, 16):
        means = await asyncio.gather(*(client(storage, number) for number in range(clients)))
        print(f"{clients:2} clients: {sum(means) / clients:.3f} ms")
    print(f"virtual time: {asyncio.get_running_loop().time():.3f} s")


if __name__ == "__main__":
    drive = Storage({"device": "atlas10k", "scheduler": "sptf"})
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(drive)) as runner:
        runner.run(program(drive))
