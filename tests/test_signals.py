"""Ctrl-C while a library is at work which tells it as an error of its own."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

from sledsim.show.signals import signals_heard

if TYPE_CHECKING:
    from collections.abc import Iterator


class StoppedError(RuntimeError):
    """What a library makes of Ctrl-C."""


def library() -> None:
    """Be interrupted, and tell it in words of one's own."""
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        raise StoppedError("query interrupted") from None


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Put the handler of signals back, whatever a test does to it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_comes_through_as_itself() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught, signals_heard():
        library()
    assert caught.value.__suppress_context__
    assert signal.getsignal(signal.SIGINT) is before


def test_without_a_library_it_is_as_ever() -> None:
    with pytest.raises(KeyboardInterrupt), signals_heard():
        signal.raise_signal(signal.SIGINT)


def test_errors_of_a_library_that_nobody_interrupted_stay() -> None:
    before = signal.getsignal(signal.SIGINT)
    for error in (StoppedError, LookupError):
        with pytest.raises(error, match="of its own"), signals_heard():
            raise error("of its own")
    assert signal.getsignal(signal.SIGINT) is before


def test_what_else_it_raises_after_ctrl_c_stays() -> None:
    def fails() -> None:
        try:
            library()
        except StoppedError:
            raise LookupError("elsewhere") from None

    with pytest.raises(LookupError, match="elsewhere"), signals_heard():
        fails()


def test_what_a_handler_of_ones_own_raises_comes_through() -> None:
    def told(number: int, _: object) -> None:
        raise LookupError(f"signal {number}")

    signal.signal(signal.SIGINT, told)
    with pytest.raises(LookupError, match=f"signal {signal.SIGINT.value}"), signals_heard():
        library()
    assert signal.getsignal(signal.SIGINT) is told


def test_a_handler_that_raises_nothing_stops_nothing() -> None:
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append("heard"))
    with signals_heard():
        library()
    assert heard == ["heard"]


def test_a_program_that_is_deaf_to_ctrl_c_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with signals_heard():
        library()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_hear_nothing_and_change_nothing() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with signals_heard():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
