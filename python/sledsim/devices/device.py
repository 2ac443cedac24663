"""The base class of devices, for every mechanism."""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from sledsim import _core
from sledsim._core import ScenarioError, SledsimError
from sledsim.scenario.document_kinds import not_a_device
from sledsim.scenario.drawings.loading import load_drawing
from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.policy_loading import load
from sledsim.scenario.reading import Sets, resolve_relative, toml_lines, working_folder
from sledsim.scenario.texts import is_document
from sledsim.show.arguments import (
    argument_error,
    broadcast_to_requests,
    require_flags,
    require_integers,
    require_numbers,
    require_single,
)
from sledsim.show.faults import by_arguments, make_error

if TYPE_CHECKING:
    import altair
    import numpy as np
    from numpy.typing import NDArray

    from sledsim.devices.break_even import BreakEven
    from sledsim.show.tables import Table

__all__ = ["DRAWING_PREFIX", "MOST_POINTS", "Device", "WrongMechanismError", "in_shape"]


class DesignLike(Protocol):
    """A design of a sled, such as :class:`sledsim.studies.Design`."""

    def _in_scenario(self) -> dict[str, Any]: ...


#: Prefix of the name of a drawing of the catalogue in the name of a device.
DRAWING_PREFIX = "drawing:"
#: Maximum number of points of a curve.
MOST_POINTS = 10_000
#: Latest dispatch time of a request, ms: about 31 years.
LATEST_MS = 1e12


class WrongMechanismError(SledsimError, AttributeError):
    """The error for an attribute that only devices of another mechanism have."""


class Device:
    """A device without a workload: geometry, positioning and service times.

    The constructor returns an instance of the subclass for the mechanism: :class:`MemsStorage`, :class:`DiskDrive`,
    :class:`SimpleDevice` or :class:`PluginDevice`, which have further methods.

    Parameters
    ----------
    name
        An entry of the catalogue, the path of a device file or of a drawing, a drawing of the catalogue such as
        ``"drawing:g2"``, a complete device such as the result of ``import_disksim``, a design of
        :func:`sledsim.studies.design`, or a custom mechanism: its class, or ``"my_module:MyDevice"``.
    overrides
        Values that replace those of the entry, as on the command line: ``["device.settle_constants=0"]``.
    **keys
        Values that replace those of the entry, such as ``settle_constants=0``.

    Attributes
    ----------
    name : str
        The name that it was created from.
    parameters : dict
        All parameters, in the units of their names.
    capacity_blocks, block_bytes : int
        Number of logical blocks, and the size of a block.
    capacity_bytes : int
        Capacity.
    cylinders : int
        Number of cylinders. Blocks of a cylinder are accessed without moving the coarse actuator.
    """

    #: Names of the mechanism in scenarios, its name in messages, and the heading of its devices in tables.
    MECHANISMS: ClassVar[tuple[str, ...]] = ()
    KIND: ClassVar[str] = "a device"
    HEADING: ClassVar[str] = "device"
    #: Sort key of the kind in a list of all devices.
    ORDER: ClassVar[int] = 0

    name: str
    parameters: dict[str, Any]
    _core: _core.Device
    capacity_blocks: int
    block_bytes: int
    capacity_bytes: int
    cylinders: int

    def __new__(
        cls, name: "str | type | Mapping[str, Any] | DesignLike" = "g2", /, *, overrides: Sets = (), **keys: Any
    ) -> Self:
        """Create an instance of the subclass for the mechanism."""
        if hasattr(name, "_in_scenario") and not isinstance(name, type):
            name = name._in_scenario()
        given = (
            name if isinstance(name, Mapping) else {"python": name} if isinstance(name, type) else {"name": str(name)}
        )
        chosen = {**given, **keys}
        # A custom mechanism is identified by its name or class, at another key.
        own = {} if isinstance(name, Mapping) or "python" in keys else {"system.device.python": "name"}
        with by_arguments({"system.device": "", **own}):
            try:
                core = _core.Device(
                    chosen,
                    sets=resolve_relative(overrides),
                    catalog=catalog_folders(),
                    base_dir=working_folder(),
                    policies=load,
                    drawings=load_drawing,
                )
            except ScenarioError as error:
                raise not_a_device(error) from None
        parameters = core.parameters
        kind = next(kind for kind in _kinds() if parameters["mechanism"] in kind.MECHANISMS)
        if not issubclass(kind, cls):
            message = f"{name} is {kind.KIND}, not {cls.KIND}"
            raise make_error(SledsimError, "unsupported", message, path="name", value=name, allowed=cls.KIND)
        made = super().__new__(kind)
        made.parameters, made._core = parameters, core
        return made

    def __init__(
        self, name: "str | type | Mapping[str, Any] | DesignLike" = "g2", /, *, overrides: Sets = (), **keys: Any
    ) -> None:
        is_label = isinstance(name, Mapping | type) or hasattr(name, "_in_scenario")
        self.name = self.parameters["name"] if is_label else str(name)
        self.capacity_blocks = self._core.capacity_blocks
        self.block_bytes = self._core.block_bytes
        self.capacity_bytes = self.capacity_blocks * self.block_bytes
        self.cylinders = self._core.cylinders

    def __getattr__(self, name: str) -> Any:
        """Raise an error that names the kind of device with the missing attribute."""
        for kind in () if name.startswith("_") else _kinds():
            if name in kind.__annotations__ or name in vars(kind):
                message: list[str | tuple[str]] = [f"{self.name} is {self.KIND}: only {kind.KIND} has ", (name,)]
                raise make_error(
                    WrongMechanismError, "unsupported", message, path=name, value=self.name, allowed=kind.KIND
                )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return all parameters of the device in the form of a scenario.

        A device can also be a value in a scenario: ``{"system": {"device": Device("g2", tips=3200)}}``.
        """
        return copy.deepcopy(self.parameters)

    def to_toml(self) -> str:
        """Return the device as the text of a device file with all values.

        TOML has no null: values that are None, also in tables, are left out.
        """
        values = _without_none(self.to_dict())
        name = values.pop("name", None)
        lines = [] if name is None else [f"title = {json.dumps(self.label, ensure_ascii=False)}"]
        lines += [f"mechanism = {json.dumps(values.pop('mechanism'))}", "", "[values]"]
        for key, value in values.items():
            # In a device file, a table is a value with its source, so that table values need the key ``value``.
            lines += toml_lines(key, {"value": value} if isinstance(value, Mapping) else value)
        return "\n".join([*lines, ""])

    @property
    def label(self) -> str:
        """The name in headings: the catalogue entry, file or drawing, and the values that differ from it."""
        from sledsim.devices.headings import device_heading

        return device_heading(self.parameters)

    def positioning_ms(self, lbns: Any, *, read: bool = True, at_ms: float = 0.0) -> Any:
        """Return the time from dispatch until the first bit can be transferred, on a device in its initial state.

        The result is an array for several blocks, and a number for one.

        Parameters
        ----------
        lbns
            Logical block numbers.
        read
            True for reads, false for writes.
        at_ms
            Time of dispatch, which determines the rotational position of a disk.
        """
        blocks = self._lbns(lbns)
        dispatch_ms = require_single("at_ms", require_numbers("at_ms", at_ms, 0, LATEST_MS, "ms"))
        is_read = require_single("read", require_flags("read", read))
        return in_shape(self._core.positioning_ms(blocks.ravel(), is_read, round(dispatch_ms * 1e6)), blocks.shape)

    def serve(
        self, lbns: Any, blocks: Any = 1, *, read: Any = True, due_ms: Any = 0.0
    ) -> "dict[str, NDArray[np.generic]]":
        """Serve requests one after the other, on a device in its initial state.

        Parameters
        ----------
        lbns
            First block of each request.
        blocks
            Number of blocks of each request, or of all.
        read
            True for reads, false for writes: of each request, or of all.
        due_ms
            Earliest dispatch time of each request; it also waits for the request before it.

        Returns
        -------
        dict
            NumPy columns with a row for each request: ``start_ns``, ``end_ns``, ``free_ns``, the phases, and
            ``energy_j`` if the device's powers are known.
        """
        import numpy as np

        first, count = self._requests(lbns, blocks)
        due_ns = np.rint(require_numbers("due_ms", due_ms, 0, LATEST_MS, "ms") * 1e6).astype(np.uint64)
        reads = broadcast_to_requests("read", require_flags("read", read), first.size)
        return self._core.serve(first, count, reads, broadcast_to_requests("due_ms", due_ns, first.size))

    def serve_batch(self, lbns: Any, blocks: Any = 1, *, read: bool = True) -> "dict[str, NDArray[np.generic]]":
        """Serve non-contiguous requests together, on a device in its initial state.

        Devices that cannot access non-contiguous blocks together serve the requests one after the other.

        Parameters
        ----------
        lbns
            First block of each request.
        blocks
            Number of blocks of each request, or of all.
        read
            True for reads, false for writes.

        Returns
        -------
        dict
            NumPy columns as for :meth:`serve`.
        """
        first, count = self._requests(lbns, blocks)
        return self._core.serve_batch(first, count, require_single("read", require_flags("read", read)))

    def serve_batches(
        self, lbns: Any, blocks: Any, sizes: Any, *, read: bool = True
    ) -> "dict[str, NDArray[np.generic]]":
        """Serve batches of non-contiguous requests, each as soon as the previous batch completes.

        Parameters
        ----------
        lbns
            First block of each request, batch after batch.
        blocks
            Number of blocks of each request, or of all.
        sizes
            Number of requests of each batch, at least 1.
        read
            True for reads, false for writes.

        Returns
        -------
        dict
            NumPy columns as for :meth:`serve`.
        """
        import numpy as np

        first, count = self._requests(lbns, blocks)
        batches = np.atleast_1d(require_integers("sizes", sizes, 1, max(len(first), 1)))
        if batches.ndim > 1 or batches.sum() != len(first):
            expected = f"one row of numbers that add up to the {len(first)} requests"
            raise argument_error("sizes", batches.tolist(), expected)
        is_read = require_single("read", require_flags("read", read))
        return self._core.serve_batches(first, count, batches.astype(np.uint64), is_read)

    def _lbns(self, lbns: Any) -> "NDArray[np.uint64]":
        """Return block numbers as an array, and raise if one is not on the device."""
        import numpy as np

        return require_integers("lbns", lbns, 0, self._core.capacity_blocks - 1).astype(np.uint64)

    def _requests(self, lbns: Any, blocks: Any) -> "tuple[NDArray[np.uint64], NDArray[np.uint32]]":
        """Return the first block and the number of blocks of each request."""
        import numpy as np

        first = np.atleast_1d(self._lbns(lbns))
        if first.ndim > 1:
            raise argument_error("lbns.shape", first.shape, "one row")
        most = min(self._core.capacity_blocks, 2**32 - 1)
        counts = require_integers("blocks", blocks, 1, most).astype(np.uint32)
        return first, broadcast_to_requests("blocks", counts, first.size)

    @property
    def is_drawn(self) -> bool:
        """True if the device was computed from a drawing."""
        return self.name.startswith(DRAWING_PREFIX) or (
            is_document(self.name) and not is_document(str(self.parameters["name"]))
        )

    @property
    def has_powers(self) -> bool:
        """True if the powers of the device are known."""
        return self._core.has_powers

    def break_even(self) -> "BreakEven":
        """Return the idle times beyond which the lower idle modes of the device save energy.

        Raises
        ------
        SledsimError
            If the powers of the device are unknown.

        Examples
        --------
        >>> found = Device("g2").break_even()
        >>> round(found.idle_s * 1e3, 6), round(found.fixed_span_s * 1e3, 6)
        (1.0, 0.5)
        """
        from sledsim.devices.break_even import BreakEven, powers_unknown

        if not self.has_powers:
            raise powers_unknown(self.label)
        return BreakEven(self.label, self.parameters, self._core.break_even())

    def facts(self) -> list[tuple[str, float | None, str]]:
        """Return figures derived from the parameters: label, value, unit."""
        return [("capacity", self.capacity_bytes / 1e9, "GB"), ("blocks", self.capacity_blocks, "")]

    def key_figures(self) -> list[tuple[str, float | None]]:
        """Return the figures of the catalogue table: label with unit, value."""
        return [("capacity (GB)", self.capacity_bytes / 1e9)]

    def seek_curve(self, points: int = 101) -> "dict[str, NDArray[np.generic]]":
        """Return seek times by distance, as NumPy columns.

        Parameters
        ----------
        points
            Number of distances, from 0 to the full stroke.
        """
        raise make_error(
            WrongMechanismError, "unsupported", f"{self.name} is {self.KIND}: it has no seeks", value=self.name
        )

    def seek_table(self) -> "Table":
        """Return a table of seek times by distance."""
        raise make_error(
            WrongMechanismError, "unsupported", f"{self.name} is {self.KIND}: it has no seeks", value=self.name
        )

    def plot(self, kind: str = "curve") -> "altair.TopLevelMixin":
        """Draw the device.

        Parameters
        ----------
        kind
            ``"curve"`` (seek time by distance); for MEMS storage ``"surface"`` (seek time over the X-Y plane); for
            disks ``"zones"`` (sectors per track and media rate).
        """
        charts = self._charts()
        if str(kind) not in charts:
            raise make_error(
                SledsimError, "unknown-name", f"no plot {kind!r} of {self.KIND}", path="kind", value=kind, known=charts
            )
        return charts[kind](self)

    def _charts(self) -> "Mapping[str, Callable[[Any], altair.TopLevelMixin]]":
        """Return the functions that draw its charts, by kind."""
        return {}

    def save_plot(self, path: str | Path, kind: str = "curve") -> None:
        """Save a chart of the device to a file (``.html``, ``.png``, ``.svg`` or ``.json``)."""
        from sledsim.show.saving import save

        save(self.plot(kind), path)

    def _repr_html_(self) -> str:
        from sledsim.show.tables import Table, number

        rows = [[label, number(value), unit] for label, value, unit in self.facts()]
        return Table([self.label, "", "unit"], rows, left=frozenset({2}))._repr_html_()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.capacity_bytes / 1e9:.3f} GB>"


def _kinds() -> list[type[Device]]:
    """Return the classes of devices."""
    # A circular import: the subclasses import this module.
    from sledsim.devices.custom import PluginDevice
    from sledsim.devices.disk import DiskDrive
    from sledsim.devices.mems import MemsStorage
    from sledsim.devices.simple import SimpleDevice

    return [PluginDevice, DiskDrive, MemsStorage, SimpleDevice]


def _without_none(value: Any) -> Any:
    """Return a value without the None in its tables and lists."""
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value if item is not None]
    return value


def in_shape(values: "NDArray[Any]", shape: tuple[int, ...]) -> Any:
    """Return values in a shape; the shape of a scalar gives a number.

    Parameters
    ----------
    values
        A one-dimensional array.
    shape
        The new shape.
    """
    return values.reshape(shape)[()]
