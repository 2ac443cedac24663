"""The texts of documents: from a file, standard input or a program, and in which notation they are."""

import re
import sys
from pathlib import Path
from typing import NamedTuple

from sledsim._core import Fault, ScenarioError, error_of
from sledsim.show.faults import brief, is_file_name, missing_file, most_of
from sledsim.show.fitting import visible

__all__ = ["Text", "is_document", "no_name", "no_text", "require_text", "text_of"]

#: Maximum length of an unreadable text in a message, characters.
LONGEST_SHOWN = 80

#: Bytes that a document may have.
MOST_BYTES = most_of("size of a document")
#: Its name in messages.
STDIN = "standard input"
#: Characters that Python decodes from bytes that are not UTF-8.
BYTES_FROM, BYTES_TO = "\udc80", "\udcff"

FORMATS = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}


def is_document(name: str | Path) -> bool:
    """Return true if a name has the ending of a document.

    Parameters
    ----------
    name
        The name.
    """
    return Path(name).suffix.lower() in FORMATS


class Text(NamedTuple):
    """A document as written.

    Parameters
    ----------
    text
        The content.
    format
        The notation: ``"toml"``, ``"yaml"`` or ``"json"``.
    name
        Its name in messages.
    base_dir
        The folder from which its relative paths start.
    """

    text: str
    format: str
    name: str
    base_dir: str


def text_of(source: Path | str, what: str) -> Text:
    """Read the text of a document.

    Parameters
    ----------
    source
        A file, ``"-"`` for standard input, or a text of several lines.
    what
        The kind of the document, in a word.

    Raises
    ------
    ScenarioError
        If the file does not exist or is empty.
    """
    here = str(Path.cwd())
    if isinstance(source, Path):
        return _of_file(source, what)
    require_text(source)
    if source == "-":
        return Text(*_detected(_of_input(what), STDIN, what), STDIN, here)
    if not source:
        raise _unread('""', f"no file has an empty name; name one, or - for {STDIN}")
    if "\n" in source or source.lstrip().startswith("{"):
        return Text(*_detected(source, what, what), what, here)
    return _of_file(Path(source), what)


def require_text(*texts: object) -> None:
    """Raise if a value is not a text, or cannot be encoded as UTF-8.

    Parameters
    ----------
    *texts
        Texts, or settings.
    """
    for text in texts:
        if not isinstance(text, str):
            message = f"expected a text, not {type(text).__name__} {brief(text)[0]}"
            raise error_of(ScenarioError, [Fault("wrong-type", message)])
        if why := no_text(text):
            raise error_of(ScenarioError, [Fault("notation", why, file=visible(text[:LONGEST_SHOWN]))])


def no_text(given: str) -> str | None:
    """Return the reason why UTF-8 cannot encode a text; ``None`` if it can.

    Parameters
    ----------
    given
        The text. Bytes of a command line that are not UTF-8 are lone surrogates in it.
    """
    try:
        given.encode()
    except UnicodeEncodeError as error:
        half = given[error.start]
        if BYTES_FROM <= half <= BYTES_TO:
            return f"byte {ord(half) - 0xDC00:#04x} is not UTF-8 text"
        return f"{half!r} is an unpaired surrogate, which UTF-8 cannot encode"
    return None


def no_name(given: str) -> str | None:
    """Return the reason why no file can have a name; ``None`` if one can. Bytes that are not UTF-8 are allowed.

    Parameters
    ----------
    given
        The name.
    """
    return no_text(re.sub(f"[{BYTES_FROM}-{BYTES_TO}]", "", given))


def _of_input(what: str) -> str:
    """Read standard input, up to one byte more than a document may have."""
    if sys.stdin is None:
        raise _unread(STDIN, f"closed; name a file, or send a {what} there")
    try:
        # A program may have replaced it by a text stream.
        read = getattr(sys.stdin, "buffer", sys.stdin).read(MOST_BYTES + 1)
        return _decoded(read, what) if isinstance(read, bytes) else read
    except OSError as error:
        raise _unread(STDIN, error.strerror or str(error)) from None
    except _UnfitError as error:
        raise _unread(STDIN, str(error)) from None


class _UnfitError(ValueError):
    """Bytes are not the text of a document."""


def _decoded(content: bytes, what: str) -> str:
    """Return the text of a document, with line ends as in Python."""
    traces = " (`sledsim replay` takes traces)" if what == "scenario" else ""
    expected = f"expected a {what} in TOML, YAML or JSON{traces}"
    if len(content) > MOST_BYTES:
        raise _UnfitError(f"has more than the {MOST_BYTES} bytes that a document may have; {expected}")
    try:
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise _UnfitError(f"byte {error.start} is not UTF-8 text; {expected}") from None


def _of_file(path: Path, what: str) -> Text:
    try:
        # Reading a pipe without a writer would block; a shell passes pipes as /dev/fd/63.
        if path.is_fifo() and path.parent not in (Path("/dev"), Path("/dev/fd")):
            raise _unread(path, "a pipe: send it to standard input, and name - instead")
        with path.open("rb") as file:
            text = _decoded(file.read(MOST_BYTES + 1), what)
    except FileNotFoundError:
        message = "no such file"
        if what == "scenario" and not is_file_name(path):
            message += (
                " (`sledsim example` writes scenarios; `sledsim replay TRACE --device NAME` takes a device's name)"
            )
        raise missing_file(ScenarioError, path, message) from None
    except IsADirectoryError:
        raise _unread(path, f"a folder; expected a {what} in TOML, YAML or JSON") from None
    except (OSError, ValueError) as error:
        # A name that contains a zero byte.
        raise _unread(path, getattr(error, "strerror", None) or str(error)) from None
    notation = FORMATS.get(path.suffix.lower())
    if notation is None or not text.strip():
        text, notation = _detected(text, str(path), what)
    return Text(text, notation, visible(str(path)), str(path.parent.resolve()))


def _unread(name: Path | str, message: str) -> ScenarioError:
    return error_of(ScenarioError, [Fault("unreadable", message, file=visible(str(name)))])


def _detected(text: str, name: str, what: str) -> tuple[str, str]:
    """Return the notation, TOML, YAML or JSON, from the first line with content."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), None)
    if first is None:
        raise _unread(name, f"empty; expected a {what} in TOML, YAML or JSON")
    if first.startswith("{"):
        return text, "json"
    if first == "---" or re.match(r"""["']?[\w.-]+["']?\s*:(\s|$)""", first):
        return text, "yaml"
    return text, "toml"
