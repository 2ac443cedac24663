"""Batches of a store: Parquet parts that are written together, and a manifest with their checksums.

The part of a batch for a table is ``TABLE/BATCH.parquet``; its manifest, ``batches/BATCH.json``, is written last. Parts
that no manifest lists do not belong to the store. A batch never changes, but it may be replaced by a larger one.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from pydantic import ConfigDict, TypeAdapter

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.files import atomic_write, write_atomically
from sledsim.show.frames import COPY_OPTIONS, copy_atomically
from sledsim.sweep.execution import canonical, content_digest

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "BATCHES",
    "Manifest",
    "StoreError",
    "files_in",
    "is_intact",
    "manifest_path",
    "part_path",
    "read_manifest",
    "refuse_links",
    "write_batch",
    "write_manifest",
]

#: The folder of manifests.
BATCHES = "batches"


class StoreError(SledsimError):
    """The error for a store that cannot be read or written."""


@dataclass(frozen=True)
class Manifest:
    """Content of a batch.

    Parameters
    ----------
    parts
        SHA-256 of each part, by table.
    replaces
        Names of the batches whose rows are in this one, too.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    parts: dict[str, str]
    replaces: tuple[str, ...] = ()

    @property
    def checksum(self) -> str:
        """SHA-256 of the manifest itself."""
        return hashlib.sha256(canonical(asdict(self)).encode()).hexdigest()

    @property
    def text(self) -> str:
        """The text of the manifest's file, with its checksum."""
        return json.dumps({"sha256": self.checksum, **asdict(self)}, indent=2) + "\n"


def files_in(folder: Path, suffix: str) -> list[Path]:
    """Return the regular files of a folder of a store, sorted by name; none if there is no such folder.

    Parameters
    ----------
    folder
        The folder.
    suffix
        The suffix of their names.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == suffix and path.is_file())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise make_error(StoreError, "unreadable", f"cannot be read: {error.strerror}", file=folder) from None


def manifest_path(store: Path, batch: str) -> Path:
    """Return the path of a batch's manifest.

    Parameters
    ----------
    store
        The folder of the store.
    batch
        Name of the batch.
    """
    return store / BATCHES / f"{batch}.json"


def part_path(store: Path, table: str, batch: str) -> Path:
    """Return the path of a batch's part of a table.

    Parameters
    ----------
    store
        The folder of the store.
    table
        Name of the table.
    batch
        Name of the batch.
    """
    return store / table / f"{batch}.parquet"


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ValueError
        If its content does not match its checksum.
    FileNotFoundError
        If the file does not exist.
    """
    held = TypeAdapter(dict[str, object]).validate_json(path.read_bytes())
    checksum = held.pop("sha256", None)
    manifest = TypeAdapter(Manifest).validate_json(json.dumps(held))
    if manifest.checksum != checksum:
        raise ValueError(path)
    return manifest


def write_manifest(store: Path, batch: str, manifest: Manifest) -> None:
    """Write the manifest of a batch; the parts that it lists belong to the store from then on.

    Parameters
    ----------
    store
        The folder of the store.
    batch
        Name of the batch.
    manifest
        Its content.
    """
    write_atomically(manifest_path(store, batch), manifest.text, durable=True)


def is_intact(part: Path, checksum: str, *, cached: bool = True) -> bool:
    """Return true if a part exists and matches its checksum.

    Parameters
    ----------
    part
        The file.
    checksum
        Its SHA-256 in the manifest.
    cached
        True to read a file of the same size and modification time only once in this process.
    """
    digest = content_digest if cached else content_digest.__wrapped__
    try:
        stat = part.stat()
        return S_ISREG(stat.st_mode) and digest(str(part.absolute()), stat.st_size, stat.st_mtime_ns) == checksum
    except FileNotFoundError:
        return False
    except OSError as error:
        raise make_error(StoreError, "unreadable", f"cannot be read: {error.strerror}", file=part) from None


def refuse_links(store: Path, names: Iterable[str]) -> None:
    """Raise if a file or folder of a store is a symbolic link, as a write would change files outside the store.

    Parameters
    ----------
    store
        The folder of the store.
    names
        The files and folders.
    """
    for path in (store / name for name in names):
        if path.is_symlink():
            message = "is a symbolic link, and files outside the store are not written: replace it by its target"
            raise make_error(StoreError, "unsupported", message, file=path)


def write_batch(
    connection: "duckdb.DuckDBPyConnection",
    store: Path,
    selects: Iterable[tuple[str, str]],
    replaces: Sequence[str] = (),
) -> None:
    """Write a batch durably; if this fails, the batch is not in the store.

    Parameters
    ----------
    connection
        A DuckDB connection.
    store
        The folder of the store.
    selects
        Tables, each with a query of its rows.
    replaces
        Batches whose rows are in this one, too. The caller removes them afterwards.
    """
    batch = uuid.uuid4().hex
    manifest = manifest_path(store, batch)
    remedy = "; the runs written before are safe: make room, and run the same command again"
    refuse_links(store, [BATCHES])
    checksums: dict[str, str] = {}
    try:
        with atomic_write(manifest, durable=True) as unfinished:
            for table, select in selects:
                refuse_links(store, [table])
                part = part_path(store, table, batch)
                copy_atomically(connection, select, part, COPY_OPTIONS[".parquet"], durable=True, remedy=remedy)
                stat = part.stat()
                checksums[table] = content_digest(str(part.absolute()), stat.st_size, stat.st_mtime_ns)
            unfinished.write_text(Manifest(checksums, tuple(replaces)).text)
    except OSError as error:
        raise make_error(
            StoreError, "unreadable", f"cannot be written: {error.strerror}{remedy}", file=manifest
        ) from None
    finally:
        if not manifest.exists():
            for table in checksums:
                part_path(store, table, batch).unlink(missing_ok=True)
