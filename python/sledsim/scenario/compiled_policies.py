"""Compiled policies: functions of this process, kept alive."""

import ctypes
from pathlib import Path
from typing import Any

from sledsim._core import ScenarioError
from sledsim.show.faults import wrong

__all__ = [
    "COMPILED_ONLY",
    "compiled",
    "compiled_alone",
    "compiled_replacement",
    "include_folder",
    "require_kept",
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


def compiled(function: Any, *, positioning: bool = True, state_bytes: int = 0, **parameters: float) -> dict[str, Any]:
    """Return a compiled function as a scheduler, or the choice of a mirror's copy, for a scenario of this process.

    Parameters
    ----------
    function
        What takes a pointer to ``struct sledsim_pending`` and returns the row to dispatch, or ``struct sledsim_copies``
        and returns that of the copy, see ``sledsim_policy.h`` in :func:`include_folder`: a ``cfunc`` of Numba or
        anything else with an ``address``, or a function of ``ctypes``.
    positioning
        Whether it uses positioning times, which are expensive to compute.
    state_bytes
        Size of its state for each queue, or mirror.
    **parameters
        Its parameters, passed as an array in the order of their names.

    Examples
    --------
    >>> import ctypes
    >>> oldest = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda pending: 0)
    >>> sorted(compiled(oldest, positioning=False))
    ['address', 'positioning', 'state_bytes']
    """
    return {"address": kept(function), "positioning": positioning, "state_bytes": state_bytes, **parameters}


def compiled_replacement(
    function: Any, *, state_bytes: int = 0, slot_bytes: int = 0, **parameters: float
) -> dict[str, Any]:
    """Return a compiled function as a replacement policy, to be put into a scenario of this process.

    Parameters
    ----------
    function
        What takes a pointer to ``struct sledsim_cache``, see ``sledsim_policy.h`` in :func:`include_folder`: a
        ``cfunc`` of Numba or anything else with an ``address``, or a function of ``ctypes``.
    state_bytes, slot_bytes
        Size of its state for each cache, and additionally for each slot.
    **parameters
        Its parameters, passed as an array in the order of their names.

    Examples
    --------
    >>> import ctypes
    >>> first = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda told: 0)
    >>> sorted(compiled_replacement(first, slot_bytes=8))
    ['address', 'slot_bytes', 'state_bytes']
    """
    return {"address": kept(function), "state_bytes": state_bytes, "slot_bytes": slot_bytes, **parameters}


def compiled_alone(function: Any, *, state_bytes: int = 0, **parameters: float) -> dict[str, Any]:
    """Return a compiled function as a spin-down policy, or a device's mechanism, for a scenario of this process.

    Parameters
    ----------
    function
        What takes a pointer to ``struct sledsim_idle``, or to ``struct sledsim_motion``, see ``sledsim_policy.h`` in
        :func:`include_folder`: a ``cfunc`` of Numba or anything else with an ``address``, or a function of ``ctypes``.
    state_bytes
        Size of its state for each device, such as its position.
    **parameters
        Its parameters, passed as an array in the order of their names.

    Examples
    --------
    >>> import ctypes
    >>> at_once = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda told: 0)
    >>> sorted(compiled_alone(at_once))
    ['address', 'state_bytes']
    """
    return {"address": kept(function), "state_bytes": state_bytes, **parameters}


def kept(function: Any) -> int:
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
            says = f"{function!r} has no address: expected a compiled function"
            raise wrong(ScenarioError, "wrong-type", says, path="function") from None
    if not isinstance(address, int) or address < LOWEST:
        raise wrong(ScenarioError, "wrong-type", "expected the address of a function", path="function", value=address)
    _kept[address] = function
    return address


def require_kept(address: int) -> None:
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
        says = f"address {address} is of no function that sledsim.schedulers.compiled was given in this process"
        raise wrong(ScenarioError, "unsupported", says, path="address", value=address)
