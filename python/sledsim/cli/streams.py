"""The standard streams of a command: what is closed, full, or read by nobody is said, and ends it with a status."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import typer

__all__ = ["PIPE_CLOSED", "WRONG", "OutputLostError", "drop", "hold_streams", "say", "told"]

#: Exit statuses: what was asked for is wrong; the reader of our output has gone (128 + SIGPIPE).
WRONG, PIPE_CLOSED = 2, 141


class OutputLostError(OSError):
    """Standard output could not be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.errno, f"{error.strerror}; send it where there is room", "standard output")


def hold_streams() -> None:
    """Begin with streams that can be used, and end where there is no standard output: all commands print.

    The place of a stream that was closed would else be taken by the next file that is opened.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest that is free, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = _nowhere()
    if sys.stdout is None:
        sys.stdout = _nowhere()
        say("error: standard output is closed: send it to a file, or to the null device", err=True)
        sys.exit(WRONG)
    for stream in (sys.stdout, sys.stderr):
        # What the encoding of a terminal lacks, such as lines of tables, is shown as a question mark.
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def say(text: str, *, err: bool = False, end: str = "\n", styled: bool = False) -> None:
    """Print a text, with characters that a terminal would act on as escapes.

    Parameters
    ----------
    text
        The text.
    err
        Print to standard error. Errors of that stream are ignored.
    end
        Text that follows it.
    styled
        The text has styles for a terminal, and such characters in its content have been escaped.

    Raises
    ------
    OutputLostError
        Where standard output can't be written.
    BrokenPipeError
        Where nobody reads it any more.
    """
    if not styled:
        from sledsim.show.fitting import visible

        text = visible(text)
    if not err:
        with _output():
            typer.echo(f"{text}{end}", nl=False)
        return
    try:
        typer.echo(f"{text}{end}", nl=False, err=True)
    except OSError:
        drop(sys.stderr)


@contextmanager
def told() -> Iterator[None]:
    """End a command with a word and a status where help can't be printed."""
    try:
        with _output():
            yield
    except BrokenPipeError:
        drop(sys.stdout)
        raise typer.Exit(PIPE_CLOSED) from None
    except OutputLostError as error:
        drop(sys.stdout)
        say(f"error: {error.filename}: {error.strerror}", err=True)
        raise typer.Exit(WRONG) from None


@contextmanager
def _output() -> Iterator[None]:
    """Tell what is wrong with standard output from what is wrong with files, which have names."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        raise OutputLostError(error) from None


def drop(stream: TextIO) -> None:
    """Let go of what could not be written to a stream: Python would try again, and complain, as it ends.

    Parameters
    ----------
    stream
        The stream.
    """
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
