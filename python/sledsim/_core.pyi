"""The simulator, written in Rust; use it through :mod:`sledsim`."""

# ruff: noqa: A002  a trace's format is the word of the field

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from sledsim._plugin_views import Copies, Modes, Pending, Request

__all__ = [
    "Completion",
    "Copies",
    "Device",
    "Disk",
    "Document",
    "Fault",
    "Modes",
    "Pending",
    "Request",
    "RunError",
    "RunOutput",
    "Scenario",
    "ScenarioError",
    "Schema",
    "Session",
    "Sled",
    "SledsimError",
    "TraceError",
    "TraceReader",
    "TraceTable",
    "Written",
    "__version__",
    "cache_policies",
    "call_with_timeout",
    "catalog_entry",
    "catalog_names",
    "disksim_reference",
    "enclosure_lifetimes",
    "enclosure_reach",
    "end_when_stuck",
    "error_of",
    "hit_ratios",
    "import_disksim",
    "limits",
    "mean_interval",
    "mechanisms",
    "most_like",
    "nearest",
    "phases",
    "policy_title",
    "quantity",
    "result_schema",
    "run",
    "schedulers",
    "schema",
    "serve_nbd",
    "split_quantity",
    "trace_convert",
    "trace_formats",
    "trace_info",
    "used_columns",
    "wake_by",
]

__version__: str

_Error = TypeVar("_Error", bound=SledsimError)

@final
class Fault:
    """Something wrong with what a user gave, as data; ``str`` makes a sentence of it."""

    def __new__(
        cls,
        kind: str,
        says: str | Sequence[str | tuple[str]] | None = None,
        *,
        path: str | None = None,
        value: object = None,
        allowed: str | Sequence[str] | dict[str, object] | None = None,
        suggestion: str | None = None,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        message_is_complete: bool = False,
    ) -> Self: ...
    kind: str
    """In what way it is wrong.

    One of ``unknown-key``, ``unknown-name``, ``missing``, ``out-of-range``, ``wrong-type``, ``conflict``,
    ``misfit``, ``notation``, ``syntax``, ``record``, ``unknown-format``, ``unreadable``, ``unsupported``,
    ``rule``, ``endless`` and ``policy``.
    """
    path: str | None
    """The key that is wrong, with dots and entries of lists by number: ``system.members.0.device.tips``."""
    field: str | None
    """The field of a record that is wrong."""
    value: Any
    """What it is."""
    allowed: Any
    """What it may be.

    A tuple of words, a text, or bounds by name: ``least``, ``above``, ``most``, ``below``, ``whole`` and ``unit``.
    """
    suggestion: str | None
    """The allowed word most like the one given."""
    file: str | None
    """The file in which it is to be put right."""
    line: int | None
    """Its line there, from 1."""
    setting: str | None
    """The setting (``path=value``) on top of the document that it comes from."""
    keys: tuple[str, ...]
    """Every key that the sentence names, the wrong one first."""
    at_s: float | None
    """Of a custom policy that failed: the simulated time, s."""
    request: int | None
    """Of a custom policy that failed: the id of its request, or of the oldest pending one."""
    traceback: str | None
    """Of a custom policy that raised an error: Python's traceback."""
    def of_option(self, option: str) -> Self: ...
    def within(self, prefix: str) -> Self: ...
    def about(self, about: str, *, instead: bool = False) -> Self: ...
    def text(self, words: Callable[[str, Any], str] | None = None) -> str: ...
    def __reduce__(self) -> tuple[Callable[[str], Self], tuple[str]]: ...
    @staticmethod
    def _of(text: str) -> Fault: ...

class SledsimError(Exception):
    """What Sledsim cannot do, and what to do about it.

    Its attributes are those of the first of ``faults``, which has all that is wrong; None where only words are known.
    """

    kind: str | None
    path: str | None
    field: str | None
    value: Any
    allowed: Any
    suggestion: str | None
    file: str | None
    line: int | None
    setting: str | None
    at_s: float | None
    request: int | None
    traceback: str | None
    faults: tuple[Fault, ...]

class ScenarioError(SledsimError):
    """A scenario, or a catalogue entry that it names, is wrong."""

class TraceError(SledsimError):
    """A trace cannot be read."""

class RunError(SledsimError):
    """A run failed; if a custom policy is the cause, ``result`` has the results until then."""

    result: Any

def end_when_stuck(signal: int | None = None) -> None: ...
def call_with_timeout(name: str, limit_s: float, function: Callable[[], Any]) -> Any: ...
def wake_by(signal: int) -> None: ...
def error_of(kind: type[_Error], faults: list[Fault]) -> _Error: ...
def nearest(given: str, known: list[str]) -> str | None: ...
def most_like(given: str, known: list[str], count: int) -> list[str]: ...
def catalog_names(kind: str, *, catalog: list[str]) -> dict[str, str]: ...
def catalog_entry(kind: str, name: str, *, catalog: list[str], base_dir: str) -> dict[str, Any]: ...
def schema(*, document: bool = False) -> dict[str, Any]: ...
def result_schema() -> dict[str, Any]: ...
def policy_title(policy: str | Mapping[str, Any]) -> str: ...

@final
class Written:
    """A scenario as written, before settings and defaults: read once, resolved as often as one likes.

    Parameters
    ----------
    written
        A text, or a dictionary.
    format
        The notation of a text: ``"toml"``, ``"yaml"`` or ``"json"``.
    name
        Its name in messages.
    base_dir, catalog
        The folder of its relative paths, and folders whose ``devices`` and ``workloads`` it may name.
    policies, drawings
        Functions that load its custom policies, and make its devices from drawings.
    """

    def __new__(
        cls,
        written: str | dict[str, Any],
        *,
        format: str = "json",
        name: str,
        base_dir: str,
        catalog: list[str],
        policies: Callable[[str, dict[str, Any], Path], object] | None = None,
        drawings: Callable[[Any, Path], dict[str, Any]] | None = None,
    ) -> Self: ...
    name: str
    """What messages call it."""
    text: str
    """The text; of a dictionary or a table, what it says as JSON."""
    base_dir: str
    """The folder from which its relative paths start."""
    def resolve(self, sets: Sequence[str | tuple[str, Any]] = ...) -> Scenario: ...

@final
class Scenario:
    """A scenario with every key explicit, checked: equal to others that say the same, and made by :class:`Written`."""

    @property
    def values(self) -> dict[str, Any]:
        """Every key, as plain dictionaries and lists that are the caller's own."""
    @property
    def seed(self) -> int:
        """Seed of every random stream of the run."""
    citations: list[str]
    """Keys of the works that the values of the devices and of the workload are taken from."""
    unpowered: list[str]
    """Names of the devices whose powers are not known."""
    @property
    def trace(self) -> tuple[Path, dict[str, str] | None] | None:
        """The file and the columns of the trace that it replays, if it replays one."""
    @property
    def table(self) -> TraceTable | None:
        """The trace that it replays, if it is in memory."""
    def with_table(self, table: TraceTable, columns: Mapping[str, str] | None = None) -> Scenario: ...
    def canonical(self, trace: tuple[str, str] | None = None) -> str: ...
    def explain(self) -> dict[str, Any]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Callable[..., Self], tuple[str, list[str], object, TraceTable | None]]: ...
    @staticmethod
    def _of(text: str, citations: list[str], policies: object = None, table: TraceTable | None = None) -> Scenario: ...

@final
class Schema:
    """The keys of a kind of document, as a JSON Schema has them."""

    def __new__(cls, schema: dict[str, Any]) -> Self: ...
    def faults(self, keys: object) -> list[Fault]:
        """Return the faults of the keys of a table."""

@final
class Document:
    """A document with those it is based on below it and settings on top, checked against a schema."""

    def __new__(
        cls,
        written: str | dict[str, Any],
        *,
        format: str = "json",
        source: str,
        base_dir: str,
        schema: Schema,
        sets: list[str] = ...,
        prefix: str = "",
    ) -> Self: ...
    values: Any
    """What it says, quantities as numbers in the units of their keys."""
    faults: list[Fault]
    """What is wrong with it, each with the setting, or the file and line, that it comes from."""
    def part(
        self,
        key: str,
        *,
        base_dir: str,
        catalog: list[str],
        policies: Callable[[str, dict[str, Any], Path], object] | None = None,
        drawings: Callable[[Any, Path], dict[str, Any]] | None = None,
    ) -> Written:
        """Return the scenario that the table at a key is: its faults stand where the table does."""
    def located(self, fault: Fault) -> Fault:
        """Return a fault with the setting, or the file and line, that it comes from."""

def quantity(text: str, unit: str) -> float: ...
def split_quantity(text: str) -> tuple[float, str] | None: ...
def run(
    scenario: Scenario,
    *,
    log: bool = False,
    log_file: tuple[Path, str, str, list[tuple[str, str]]] | None = None,
    timeline: tuple[float, float] | None = None,
    progress: Callable[[int, int | None, float, float | None], None] | None = None,
    check: bool = False,
) -> RunOutput: ...

@final
class RunOutput:
    def summary(self) -> dict[str, Any]: ...
    def numbers(self) -> dict[str, float]: ...
    def histograms(self) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.uint64]]]: ...
    def histogram(self, quantity: str, op: str) -> tuple[NDArray[np.float64], NDArray[np.uint64]]: ...
    def log(self) -> dict[str, NDArray[np.generic]]: ...
    def response_difference(
        self, other: RunOutput, *, ended_when_precise: bool = False
    ) -> tuple[float, float | None, float | None]: ...
    def timeline(self) -> dict[str, NDArray[np.generic]]: ...
    def timeline_states(self) -> list[str]: ...
    def timeline_slot_s(self) -> float | None: ...

@disjoint_base
class Session:
    def __new__(
        cls,
        of: Scenario | Session,
        *,
        log: bool = False,
        timeline: tuple[float, float] | None = None,
        check: bool = False,
    ) -> Self: ...
    capacity_blocks: int
    """Number of blocks of the system."""
    block_bytes: int
    """Size of a block in bytes."""
    now_ns: int
    """The current time."""
    under_way: int
    """Requests handed in that have not come back."""
    next_event_ns: int | None
    """When something happens next: a request arrives, or something ends; none where nothing ever will."""
    def submit(
        self, lbn: int, blocks: int = 1, *, read: bool = True, fua: bool = False, at_ns: int | None = None
    ) -> int:
        """Hand in a request that arrives now, or at an instant to come: in the order of arrivals.

        Returns its number, from 0 on. What does not fit comes back refused; a write with ``fua``, once it is durable.
        """
    def flush(self, *, at_ns: int | None = None) -> int:
        """Hand in a flush, which comes back when all writes that had come back before it outlive a power cut."""
    def reset(self, lbn: int, blocks: int, *, at_ns: int | None = None) -> int:
        """Submit a reset of zones."""
    def advance(self, until_ns: int | None = None) -> list[Completion]:
        """Let time pass until an instant, or else until the next event; return what came back, in that order."""
    def drain(self) -> list[Completion]:
        """Let time pass until all that has been handed in has come back, and no further; return what came back."""
    def _serve_now(self, op: int, pieces: Sequence[tuple[int, int]]) -> list[Completion]:
        """Hand in reads (0), writes (1) or flushes (2) that arrive now; return these alone, once they are back."""
    def _submit_all(
        self, lbns: NDArray[np.uint64], blocks: NDArray[np.uint32], ops: NDArray[np.uint8], at_ns: NDArray[np.uint64]
    ) -> None: ...
    def _serve_one(
        self, lbn: Any, blocks: Any, read: Any, fua: Any, flush: Any, at_ns: Any, until_ns: Any
    ) -> dict[str, NDArray[np.generic]] | None: ...
    def advance_all(self, until_ns: int | None = None) -> dict[str, NDArray[np.generic]]: ...
    def restore(self, snapshot: Session) -> None: ...
    def output(self) -> RunOutput: ...

@final
class Completion:
    """A request that has come back."""

    id: int
    """Its number."""
    arrival_ns: int
    """When it arrived."""
    start_ns: int
    """When it was dispatched."""
    end_ns: int
    """When it came back."""
    response_ns: int
    """From arrival to completion."""
    status: str
    """What came of it: ``served``, ``refused``, ``unreadable`` or ``failed``."""
    energy_j: float
    """Joules spent on it; 0 where the device's powers are not known."""

def phases() -> list[tuple[str, str, str, dict[str, str]]]: ...
def serve_nbd(scenario: Scenario, options: dict[str, Any], ready: Any) -> tuple[RunOutput, dict[str, Any]]: ...
def limits() -> list[tuple[str, int, str, str]]: ...
def schedulers() -> list[dict[str, Any]]: ...
def mechanisms() -> list[dict[str, Any]]: ...
def mean_interval(count: int, mean: float, variance: float, *, confidence: float = 0.95) -> tuple[float, float]: ...

@final
class Device:
    def __new__(
        cls,
        given: str | dict[str, Any],
        *,
        sets: list[str] = ...,
        catalog: list[str] = ...,
        base_dir: str = ...,
        policies: Callable[[str, dict[str, Any], Path], object] | None = ...,
        drawings: Callable[[Any, Path], dict[str, Any]] | None = ...,
    ) -> Device: ...
    parameters: dict[str, Any]
    capacity_blocks: int
    block_bytes: int
    cylinders: int
    has_powers: bool
    def break_even(self) -> list[dict[str, Any]]: ...
    def positioning_ms(self, lbns: NDArray[np.uint64], read: bool, now_ns: int) -> NDArray[np.float64]: ...
    def serve(
        self,
        lbns: NDArray[np.uint64],
        blocks: NDArray[np.uint32],
        reads: NDArray[np.bool_],
        due_ns: NDArray[np.uint64],
    ) -> dict[str, NDArray[np.generic]]: ...
    def serve_batch(
        self, lbns: NDArray[np.uint64], blocks: NDArray[np.uint32], read: bool = True
    ) -> dict[str, NDArray[np.generic]]: ...
    def serve_batches(
        self, lbns: NDArray[np.uint64], blocks: NDArray[np.uint32], sizes: NDArray[np.uint64], read: bool = True
    ) -> dict[str, NDArray[np.generic]]: ...

@final
class Sled:
    def __new__(cls, device: Device) -> Sled: ...
    rows: int
    tracks: int
    blocks_per_row: int
    settle_ms: float
    access_speed_m_s: float
    access_speed_limit_m_s: float | None
    peak_bandwidth_mb_s: float
    streaming_bandwidth_mb_s: float
    raw_capacity_bytes: float
    readable_bytes: int
    def place(self, lbn: int) -> tuple[int, int, int, int]: ...
    def equivalent(self, lbn: int) -> NDArray[np.uint64]: ...
    def seek_x_ms(self, from_um: NDArray[np.float64], to_um: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def seek_y_ms(
        self,
        from_um: NDArray[np.float64],
        from_direction: NDArray[np.int64],
        to_um: NDArray[np.float64],
        to_direction: NDArray[np.int64],
    ) -> NDArray[np.float64]: ...

@final
class Disk:
    def __new__(cls, device: Device) -> Disk: ...
    rotation_ms: float
    mean_seek_ms: float
    streaming_bandwidth_mb_s: float
    def place(self, lbn: int) -> tuple[int, int, int, float]: ...
    def seek_ms(self, distances: NDArray[np.uint32], read: bool) -> NDArray[np.float64]: ...
    def zones(self) -> dict[str, NDArray[np.generic]]: ...

@final
class TraceTable:
    """A trace in memory: columns by name, which it copies.

    A table with the name of one that exists is that one. Texts are given as the different texts and the index of each
    row's text.
    """

    def __new__(
        cls, name: str, columns: Sequence[tuple[str, NDArray[np.generic] | tuple[list[str], NDArray[np.uint32]]]]
    ) -> TraceTable: ...
    @property
    def name(self) -> str:
        """Its name: of a trace in memory what a scenario has in place of a path."""
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[type[Self], tuple[str, list[Any]]]: ...

def used_columns(name: str, names: list[str], columns: Mapping[str, str] | None = None) -> list[str]: ...

@final
class TraceReader:
    def __new__(
        cls,
        source: str | TraceTable,
        *,
        format: str | None = None,
        skip_bad: int = 0,
        sort: bool = False,
        sector_bytes: int | None = None,
        columns: dict[str, str] | None = None,
        event: str | None = None,
        time_unit: str | None = None,
    ) -> TraceReader: ...
    @property
    def format(self) -> str: ...
    @property
    def skipped(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def has_responses(self) -> bool: ...
    def read(self, n: int) -> dict[str, NDArray[np.generic]]: ...

def import_disksim(path: str, *, device: str | None = None, scenario: bool = False) -> dict[str, Any]: ...
def disksim_reference() -> dict[str, Any]: ...
def enclosure_lifetimes(
    enclosure: dict[str, Any], experiment: dict[str, Any], *, progress: Callable[[int], object] | None = None
) -> dict[str, Any]: ...
def enclosure_reach(enclosure: dict[str, Any], experiment: dict[str, Any]) -> tuple[bool, int]: ...
def cache_policies() -> list[dict[str, Any]]: ...
def hit_ratios(
    source: str | TraceTable,
    *,
    caches: list[tuple[dict[str, Any], int]],
    policies: Callable[[str, dict[str, Any], Path], object],
    page_bytes: int | None = None,
    progress: Callable[[int, int | None, float, float | None], None] | None = None,
    format: str | None = None,
    skip_bad: int = 0,
    sort: bool = False,
    sector_bytes: int | None = None,
    columns: dict[str, str] | None = None,
    event: str | None = None,
    time_unit: str | None = None,
) -> dict[str, Any]: ...
def trace_info(
    source: str | TraceTable,
    *,
    format: str | None = None,
    skip_bad: int = 0,
    sort: bool = False,
    sector_bytes: int | None = None,
    columns: dict[str, str] | None = None,
    event: str | None = None,
    time_unit: str | None = None,
) -> dict[str, Any]: ...
def trace_convert(
    src: str | TraceTable,
    dst: str,
    *,
    to: str,
    format: str | None = None,
    skip_bad: int = 0,
    sort: bool = False,
    sector_bytes: int | None = None,
    columns: dict[str, str] | None = None,
    event: str | None = None,
    time_unit: str | None = None,
) -> int: ...
def trace_formats() -> list[dict[str, Any]]: ...
