"""The tables of a scenario as typed classes: policy.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Any, Literal

from pydantic import ConfigDict

from sledsim.scenario.models.model import Model

__all__ = [
    "CustomPolicy",
]


class CustomPolicy(Model):
    """A custom policy: a Python class, a compiled function, or a plugin in Rust.

    Its parameters may be given beside the other keys.

    Attributes
    ----------
    python
        The class and its module: `my_module:MyPolicy`. The module is searched for in the folder of the scenario,
        the working folder and Python's path.
    library
        The path of a shared library, relative to the folder of the scenario or the working folder.
    address
        The address of a compiled function in this process, from `sledsim.schedulers.compiled` (at least 0).
    rust
        The name of a plugin in Rust that an installed crate provides.
    symbol
        The function of the library that makes the decision.
    arrived
        The function of the library that is called for arrivals; none when absent.
    completed
        The function of the library that is called for completions; none when absent.
    positioning
        True if a compiled function uses positioning times, which are expensive to compute; true when absent. A
        Python class declares this itself.
    state_bytes
        Size of a compiled function's state for each queue, cache, mirror or device; 0 when absent (at least 0, at
        most 1e+09).
    slot_bytes
        Size of a compiled replacement policy's additional state for each slot of its cache; 0 when absent (at
        least 0, at most 1,000,000).
    folder
        The folder in which it was found; none if Python's path was used.
    source
        SHA-256 of the file that it was loaded from. If given and different from the file's hash, the scenario is
        rejected.
    parameters
        Its parameters, including defaults (default {}).
    """

    model_config = ConfigDict(extra="allow")

    name: Literal["custom"] = "custom"
    python: str | None = None
    library: str | None = None
    address: int | None = None
    rust: str | None = None
    symbol: str | None = None
    arrived: str | None = None
    completed: str | None = None
    positioning: bool | None = None
    state_bytes: int | None = None
    slot_bytes: int | None = None
    folder: str | None = None
    source: str | None = None
    parameters: dict[str, Any] | None = None
