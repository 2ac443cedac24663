"""Compiled policies of one's own: functions of a shared library, or of the program at hand, found and kept in place."""

import ctypes
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sledsim._core import Fault, ScenarioError, error_of
from sledsim.show.faults import wrong

__all__ = [
    "COMPILED_ONLY",
    "Functions",
    "compiled",
    "compiled_choice",
    "compiled_mechanism",
    "compiled_replacement",
    "compiled_spin_down",
    "functions_of",
    "include_folder",
    "library_of",
]

#: Addresses of functions that decide, hear of arrivals and of completions; parameters; bytes that are remembered of
#: all, and of each slot of a cache.
Functions = tuple[int, int | None, int | None, list[float], int, int]
#: Keys that compiled policies of a role have, and not those of every role; those that only compiled ones have.
OF_ROLES: dict[str, tuple[str, ...]] = {
    "scheduler": ("arrived", "completed", "positioning"),
    "choice of a copy": ("arrived", "completed", "positioning"),
    "replacement policy": ("slot_bytes",),
    "spin-down policy": (),
    "mechanism": (),
}
COMPILED_ONLY = ("symbol", *OF_ROLES["scheduler"], "state_bytes", *OF_ROLES["replacement policy"])

#: Functions by their addresses: what is called has to stay where it is.
_kept: dict[int, Any] = {}
#: Libraries by path and content; one that was built anew is opened again.
_libraries: dict[tuple[str, str], ctypes.CDLL] = {}


def include_folder() -> str:
    """Return the folder of ``sledsim_policy.h``, for a compiler's ``-I``."""
    return str(Path(__file__).parent.parent / "include")


def compiled(function: Any, *, positioning: bool = True, state_bytes: int = 0, **parameters: float) -> dict[str, Any]:
    """Return a compiled function as a scheduler, to be put into a scenario of this process.

    Parameters
    ----------
    function
        What takes a pointer to ``struct sledsim_pending`` and returns the row to dispatch, see ``sledsim_policy.h`` in
        :func:`include_folder`: a ``cfunc`` of Numba or anything else with an ``address``, or a function of ``ctypes``.
    positioning
        Whether it looks at positioning times, which take longer to find than all else.
    state_bytes
        What it remembers of each queue.
    **parameters
        Its parameters: it gets them as an array, in the order of their names.

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
        What it remembers of each cache, and of each slot of that besides.
    **parameters
        Its parameters: it gets them as an array, in the order of their names.

    Examples
    --------
    >>> import ctypes
    >>> first = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda told: 0)
    >>> sorted(compiled_replacement(first, slot_bytes=8))
    ['address', 'slot_bytes', 'state_bytes']
    """
    return {"address": kept(function), "state_bytes": state_bytes, "slot_bytes": slot_bytes, **parameters}


def compiled_choice(
    function: Any, *, positioning: bool = True, state_bytes: int = 0, **parameters: float
) -> dict[str, Any]:
    """Return a compiled function as the choice of a mirror's copy, to be put into a scenario of this process.

    Parameters
    ----------
    function
        What takes a pointer to ``struct sledsim_copies`` and returns the row of the copy, see ``sledsim_policy.h`` in
        :func:`include_folder`: a ``cfunc`` of Numba or anything else with an ``address``, or a function of ``ctypes``.
    positioning
        Whether it looks at positioning times, which take longer to find than all else.
    state_bytes
        What it remembers of each mirror.
    **parameters
        Its parameters: it gets them as an array, in the order of their names.

    Examples
    --------
    >>> import ctypes
    >>> first = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda copies: 0)
    >>> compiled_choice(first, positioning=False)["positioning"]
    False
    """
    return compiled(function, positioning=positioning, state_bytes=state_bytes, **parameters)


def compiled_spin_down(function: Any, *, state_bytes: int = 0, **parameters: float) -> dict[str, Any]:
    """Return a compiled function as a spin-down policy, to be put into a scenario of this process.

    Parameters
    ----------
    function
        What takes a pointer to ``struct sledsim_idle``, see ``sledsim_policy.h`` in :func:`include_folder`: a ``cfunc``
        of Numba or anything else with an ``address``, or a function of ``ctypes``.
    state_bytes
        What it remembers of each device.
    **parameters
        Its parameters: it gets them as an array, in the order of their names.

    Examples
    --------
    >>> import ctypes
    >>> at_once = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda told: 0)
    >>> sorted(compiled_spin_down(at_once))
    ['address', 'state_bytes']
    """
    return {"address": kept(function), "state_bytes": state_bytes, **parameters}


def compiled_mechanism(function: Any, *, state_bytes: int = 0, **parameters: float) -> dict[str, Any]:
    """Return a compiled function as a device's mechanism, to be put into a scenario of this process.

    Parameters
    ----------
    function
        What takes a pointer to ``struct sledsim_motion``, see ``sledsim_policy.h`` in :func:`include_folder`: a
        ``cfunc`` of Numba or anything else with an ``address``, or a function of ``ctypes``.
    state_bytes
        What it remembers, such as where it stands.
    **parameters
        Its parameters: it gets them as an array, in the order of their names.

    Examples
    --------
    >>> import ctypes
    >>> same = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda asked: 1_000_000)
    >>> sorted(compiled_mechanism(same))
    ['address', 'state_bytes']
    """
    return {"address": kept(function), "state_bytes": state_bytes, **parameters}


def kept(function: Any) -> int:
    """Return the address of a compiled function, which stays where it is from now on.

    Parameters
    ----------
    function
        What has an ``address``, or is a function of ``ctypes``.

    Raises
    ------
    ScenarioError
        Where it has none.
    """
    address = getattr(function, "address", None)
    if address is None:
        try:
            address = ctypes.cast(function, ctypes.c_void_p).value
        except (ctypes.ArgumentError, TypeError):
            says = f"{function!r} has no address: expected a compiled function"
            raise wrong(ScenarioError, "wrong-type", says, path="function") from None
    if not isinstance(address, int) or address <= 0:
        raise wrong(ScenarioError, "wrong-type", "expected the address of a function", path="function", value=address)
    _kept[address] = function
    return address


def library_of(name: str, folders: list[Path]) -> tuple[ctypes.CDLL, str, str]:
    """Open a shared library.

    Parameters
    ----------
    name
        Its path.
    folders
        The folders from which that may start.

    Returns
    -------
    tuple
        The library, the folder from which its path starts, and the SHA-256 of what is in it.

    Raises
    ------
    ScenarioError
        Where there is none.
    """
    folder = next((folder.resolve() for folder in folders if (folder / name).is_file()), None)
    if folder is None:
        places = ", ".join(dict.fromkeys(str(folder / name) for folder in folders))
        raise wrong(ScenarioError, "unreadable", f"no library {name}: looked for {places}", path="library", value=name)
    path = folder / name
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if (str(path), digest) not in _libraries:
        try:
            _libraries[str(path), digest] = ctypes.CDLL(str(path))
        except OSError as error:
            raise wrong(ScenarioError, "unreadable", f"{error}", path="library", value=name) from None
    return _libraries[str(path), digest], str(folder), digest


def functions_of(role: str, wanted: Mapping[str, Any], library: ctypes.CDLL | None) -> Functions:
    """Return the addresses of a policy's functions, and what they are given.

    Parameters
    ----------
    role
        What the policy decides.
    wanted
        What a scenario says of the policy.
    library
        The library that has them; none where the scenario gives an address.

    Raises
    ------
    ScenarioError
        Where a function is not there, or a parameter is no number.
    """
    given: Mapping[str, Any] = wanted.get("parameters") or {}
    faults = [
        Fault("wrong-type", path=name, value=value, allowed="a number: compiled policies have no others")
        for name, value in given.items()
        if isinstance(value, bool) or not isinstance(value, int | float)
    ]
    foreign = [
        Fault("conflict", f": is of a compiled {other}, not of a {role}", path=key)
        for key in dict.fromkeys(key for keys in OF_ROLES.values() for key in keys)
        if key not in OF_ROLES[role] and wanted.get(key) is not None
        for other in [next(other for other, keys in OF_ROLES.items() if key in keys)]
    ]
    if faults or foreign:
        raise error_of(ScenarioError, [*faults, *foreign])
    numbers = [float(given[name]) for name in sorted(given)]
    state_bytes, slot_bytes = (int(wanted.get(key) or 0) for key in ("state_bytes", "slot_bytes"))
    if library is None:
        address = wanted["address"]
        if address not in _kept:
            says = "is of no function that sledsim.schedulers.compiled was given in this process"
            raise wrong(ScenarioError, "unsupported", says, path="address", value=address)
        return address, None, None, numbers, state_bytes, slot_bytes
    pick = _address(library, wanted.get("symbol"), "symbol")
    if pick is None:
        says = ": the function of the library that decides"
        raise error_of(ScenarioError, [Fault("missing", says, path="symbol")])
    hooks = [_address(library, wanted.get(key), key) for key in ("arrived", "completed")]
    return pick, hooks[0], hooks[1], numbers, state_bytes, slot_bytes


def _address(library: ctypes.CDLL, symbol: str | None, key: str) -> int | None:
    if symbol is None:
        return None
    try:
        return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
    except AttributeError:
        says = f"no function {symbol} in {library._name}"
        raise wrong(ScenarioError, "unknown-name", says, path=key, value=symbol) from None
