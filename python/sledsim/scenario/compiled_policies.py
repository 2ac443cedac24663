"""Compiled policies: functions of this process, kept alive."""

import ctypes
from pathlib import Path
from typing import Any

from sledsim._core import ScenarioError
from sledsim.show.faults import make_error

__all__ = [
    "COMPILED_ONLY",
    "compiled",
    "include_folder",
    "require_alive",
]

#: Keys that only compiled policies have.
COMPILED_ONLY = ("symbol", "arrived", "completed", "positioning", "state_bytes", "slot_bytes")

#: End of the first memory page, which has no functions.
LOWEST = 4096
#: Functions by address, kept alive because the core calls them.
_kept: dict[int, Any] = {}


def include_folder() -> str:
    """Return the folder of ``sledsim_policy.h``, for a compiler's ``-I``."""
    return str(Path(__file__).parent.parent / "include")


def compiled(
    function: Any,
    *,
    positioning: bool | None = None,
    state_bytes: int = 0,
    slot_bytes: int | None = None,
    **parameters: float,
) -> dict[str, Any]:
    """Return a compiled function as a custom policy or mechanism for a scenario of this process.

    Parameters
    ----------
    function
        A function that takes the structure of its role, see ``sledsim_policy.h`` in :func:`include_folder`: a ``cfunc``
        of Numba or any object with an ``address``, or a function of ``ctypes``. ``struct sledsim_pending`` for a
        scheduler, ``sledsim_copies`` for the reads of a mirror, ``sledsim_cache`` for a replacement policy,
        ``sledsim_idle`` for a spin-down policy, ``sledsim_motion`` for a mechanism.
    positioning
        True if a scheduler or mirror policy uses positioning times, which are expensive to compute; true if absent.
    state_bytes
        Size of the state of each queue, mirror, cache or device, bytes.
    slot_bytes
        Size of a replacement policy's additional state of each slot, bytes; 0 if absent.
    **parameters
        Its parameters, passed as an array in the order of their names.

    Examples
    --------
    >>> import ctypes
    >>> oldest = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda pending: 0)
    >>> sorted(compiled(oldest, positioning=False))
    ['address', 'positioning', 'state_bytes']
    """
    given = {"positioning": positioning, "slot_bytes": slot_bytes}
    options = {key: value for key, value in given.items() if value is not None}
    return {"address": keep_alive(function), "state_bytes": state_bytes, **options, **parameters}


def keep_alive(function: Any) -> int:
    """Return the address of a compiled function, and keep the function alive.

    Parameters
    ----------
    function
        An object with an ``address``, or a function of ``ctypes``.

    Raises
    ------
    ScenarioError
        If it has no address.
    """
    address = getattr(function, "address", None)
    if address is None:
        try:
            address = ctypes.cast(function, ctypes.c_void_p).value
        except (ctypes.ArgumentError, TypeError):
            message = f"{function!r} has no address: expected a compiled function"
            raise make_error(ScenarioError, "wrong-type", message, path="function") from None
    if not isinstance(address, int) or address < LOWEST:
        raise make_error(
            ScenarioError, "wrong-type", "expected the address of a function", path="function", value=address
        )
    _kept[address] = function
    return address


def require_alive(address: int) -> None:
    """Check that an address is that of a function that is kept alive.

    Parameters
    ----------
    address
        The address, as a scenario has it.

    Raises
    ------
    ScenarioError
        If no function with that address was passed to ``compiled``.
    """
    if address not in _kept:
        message = f"address {address} is of no function that sledsim.schedulers.compiled was given in this process"
        raise make_error(ScenarioError, "unsupported", message, path="address", value=address)
