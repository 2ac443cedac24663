"""Short runs of accepted scenarios, with their invariants checked."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fuzzing import invariants
from fuzzing.targets import BrokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sledsim import Result

#: Maximum number of requests of a run: enough for queues, rebuilds and flushes, in hundredths of a second.
REQUESTS = 300
#: Processor time after which a run is interrupted, s. The campaign ends runs that do not react.
PATIENCE_S = 1.0


def stopper(limit_s: float = PATIENCE_S) -> Callable[..., None]:
    """Return a progress callback that interrupts a long run as Ctrl-C does."""
    until = time.process_time() + limit_s

    def stop(*_: Any) -> None:
        if time.process_time() > until:
            raise KeyboardInterrupt

    return stop


@contextmanager
def interrupted_in_time(limit_s: float = PATIENCE_S) -> Iterator[None]:
    """Interrupt the enclosed code once, as Ctrl-C does, after this processor time."""
    before = signal.signal(signal.SIGVTALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def shortened(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return a resolved scenario whose run is short."""
    run = dict(scenario["run"])
    run["requests"] = min(run.get("requests") or REQUESTS, REQUESTS)
    run["warmup_requests"] = min(run.get("warmup_requests") or 0, REQUESTS // 3)
    return {**scenario, "run": run}


def run_and_check(document: dict[str, Any], *, again: bool) -> Result:
    """Run a resolved scenario, short, with the simulator's own checks, and check the result.

    Parameters
    ----------
    document
        The resolved scenario.
    again
        True to run the resolved scenario of the result, too, which must give the same bytes.
    """
    import sledsim

    short = shortened(document)
    result = sledsim.run(short, log=True, check=True, progress=stopper())
    invariants.check_result(result)
    if again and result.complete:
        second = sledsim.run(result["scenario"], log=True, progress=stopper())
        if second.complete:
            invariants.same_again(result, second)
            for name, column in result.log.items():
                if column.tobytes() != second.log[name].tobytes():
                    raise BrokenError(f"the resolved scenario gave another log: {name}")
    return result
