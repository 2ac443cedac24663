"""The standard streams of a command, including closed, full and broken ones."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "PIPE_CLOSED",
    "OutputLostError",
    "discard",
    "exit_if_output_fails",
    "prepare_streams",
    "write",
]

#: Exit statuses: bad input, Ctrl-C, and a closed output pipe (128 + SIGPIPE).
BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 2, 130, 141


class OutputLostError(OSError):
    """Standard output could not be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.errno, f"{error.strerror}; send it where there is room", "standard output")


def prepare_streams() -> None:
    """Make the standard streams usable; exit if standard output is closed, as every command prints.

    A closed stream is replaced by the null device. Otherwise the next file that is opened would take its number.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # `open` returns the lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = _null_device()
    if sys.stdout is None:
        sys.stdout = _null_device()
        write("error: standard output is closed: send it to a file, or to the null device", err=True)
        sys.exit(BAD_INPUT)
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal's encoding lacks, such as lines of tables, become question marks.
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _null_device() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def write(text: str, *, err: bool = False, end: str = "\n", styled: bool = False) -> None:
    """Write a text to a standard stream, with control characters escaped.

    Parameters
    ----------
    text
        The text.
    err
        Write to standard error. Errors of that stream are ignored.
    end
        Text after it.
    styled
        The text contains terminal styles, and its content is escaped already.

    Raises
    ------
    OutputLostError
        If standard output cannot be written.
    BrokenPipeError
        If the reader of standard output has gone.
    """
    if not styled:
        from sledsim.show.fitting import visible

        text = visible(text)
    # Loaded late, for commands that print little.
    from typer import echo

    if not err:
        with _output_errors():
            echo(f"{text}{end}", nl=False)
        return
    try:
        echo(f"{text}{end}", nl=False, err=True)
    except OSError:
        discard(sys.stderr)


@contextmanager
def exit_if_output_fails() -> Iterator[None]:
    """Exit with a message and a status if help cannot be printed."""
    from typer import Exit

    try:
        with _output_errors():
            yield
    except BrokenPipeError:
        discard(sys.stdout)
        raise Exit(PIPE_CLOSED) from None
    except OutputLostError as error:
        discard(sys.stdout)
        write(f"error: {error.filename}: {error.strerror}", err=True)
        raise Exit(BAD_INPUT) from None


@contextmanager
def _output_errors() -> Iterator[None]:
    """Turn errors of standard output, which have no file name, into ``OutputLostError``."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        raise OutputLostError(error) from None


def discard(stream: TextIO) -> None:
    """Redirect a broken stream to the null device, as Python would try to flush it at exit.

    Parameters
    ----------
    stream
        The stream.
    """
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
