"""A host in SimPy and its storage in Sledsim, on one clock.

    python examples/session_simpy.py          needs SimPy: pip install simpy

          SimPy                                Sledsim
    users ──► host ──► Storage.access ──► session.submit
      ▲                      │                    │
      └──── event ◄── Storage._look ◄──── session.advance

SimPy's clock counts nanoseconds here, so that both are always at the same instant.
"""

from collections.abc import Generator
from typing import Any

import simpy

import sledsim

MS, US = 1_000_000, 1_000
USERS, REQUESTS = 8, 200


class Storage:
    """A system of Sledsim as a resource of SimPy."""

    def __init__(self, env: simpy.Environment, system: Any) -> None:
        self.env = env
        self.session = sledsim.Session(system)
        self.waiting: dict[int, simpy.Event] = {}
        self.looks_at_ns: int | None = None

    def access(self, lbn: int, blocks: int, *, read: bool = True) -> simpy.Event:
        """Return an event that happens when the request has come back, with its completion."""
        done = self.env.event()
        self.waiting[self.session.submit(lbn, blocks, read=read, at_ns=int(self.env.now))] = done
        self._await_next()
        return done

    def _await_next(self) -> None:
        """Look again when something happens next, if nobody does so before."""
        at_ns = self.session.next_event_ns
        if at_ns is not None and (self.looks_at_ns is None or at_ns < self.looks_at_ns):
            self.looks_at_ns = at_ns
            self.env.timeout(at_ns - self.env.now).callbacks.append(self._look)

    def _look(self, _: simpy.Event) -> None:
        if self.env.now != self.looks_at_ns:
            return  # one that came before it was here already
        self.looks_at_ns = None
        for completion in self.session.advance(int(self.env.now)):
            self.waiting.pop(completion.id).succeed(completion)
        if self.waiting:
            self._await_next()


def user(
    env: simpy.Environment, number: int, cpu: simpy.Resource, storage: Storage
) -> Generator[simpy.Event, Any, None]:
    """Think, compute on the host's only processor, read; over and over."""
    for turn in range(REQUESTS):
        yield env.timeout((3 + (number * 7 + turn * 5) % 11) * MS // 10)
        with cpu.request() as mine:
            yield mine
            yield env.timeout(50 * US)
        # What to read next follows from what was read: nothing here is known in advance.
        lbn = (number * 1_000_003 + turn * turn * 7919) % (storage.session.capacity_blocks - 8)
        completion = yield storage.access(lbn, 8)
        assert completion.end_ns == env.now


def main() -> None:
    """Let users work, and show what they waited for."""
    env = simpy.Environment()
    storage = Storage(env, {"device": "g2", "scheduler": "sptf"})
    cpu = simpy.Resource(env)
    for number in range(USERS):
        env.process(user(env, number, cpu, storage))
    env.run()
    found = storage.session.result()
    print(f"{found.requests.completed} requests in {env.now / 1e9:.3f} s on {found.device.name}")
    print(f"response {found.response.mean_ms:.3f} ms, of which {found.wait.mean_ms:.3f} ms waiting")


if __name__ == "__main__":
    main()
