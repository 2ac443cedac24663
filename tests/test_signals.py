"""Ctrl-C during a call of a library that turns it into its own error."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

from sledsim.show.signals import handled_interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator


class StoppedError(RuntimeError):
    """The error that a library raises on Ctrl-C."""


def library() -> None:
    """Get interrupted, and raise the library's error."""
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        raise StoppedError("query interrupted") from None


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Restore the signal handler after each test."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_raised_as_keyboard_interrupt() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught, handled_interrupts():
        library()
    assert caught.value.__suppress_context__
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_without_a_library_is_unchanged() -> None:
    with pytest.raises(KeyboardInterrupt), handled_interrupts():
        signal.raise_signal(signal.SIGINT)


def test_errors_of_a_library_without_ctrl_c_are_unchanged() -> None:
    before = signal.getsignal(signal.SIGINT)
    for error in (StoppedError, LookupError):
        with pytest.raises(error, match="of its own"), handled_interrupts():
            raise error("of its own")
    assert signal.getsignal(signal.SIGINT) is before


def test_other_errors_after_ctrl_c_are_unchanged() -> None:
    def fails() -> None:
        try:
            library()
        except StoppedError:
            raise LookupError("elsewhere") from None

    with pytest.raises(LookupError, match="elsewhere"), handled_interrupts():
        fails()


def test_errors_of_a_custom_handler_are_passed_on() -> None:
    def raises(number: int, _: object) -> None:
        raise LookupError(f"signal {number}")

    signal.signal(signal.SIGINT, raises)
    with pytest.raises(LookupError, match=f"signal {signal.SIGINT.value}"), handled_interrupts():
        library()
    assert signal.getsignal(signal.SIGINT) is raises


def test_handlers_that_do_not_raise_stop_nothing() -> None:
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append("heard"))
    with handled_interrupts():
        library()
    assert heard == ["heard"]


def test_ignored_ctrl_c_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with handled_interrupts():
        library()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_do_not_change_the_handler() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with handled_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
