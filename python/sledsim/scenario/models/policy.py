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
    """A policy of one's own: a Python class, or a compiled function. Its parameters may stand beside the other keys.

    Attributes
    ----------
    python
        The class, and the module that it is in: `my_module:MyPolicy`. The module is looked for in the folder of
        the scenario, in the working folder, and where Python looks.
    library
        A shared library: a path, from the folder of the scenario or the working folder.
    address
        The address of a compiled function, as `sledsim.schedulers.compiled` gives it: of this process alone (at
        least 0).
    rust
        One of the parts that a crate in Rust brings in, by its name.
    symbol
        The function of the library that decides.
    arrived
        The function of the library that hears of arrivals; none where it does without.
    completed
        The function of the library that hears of completions; none where it does without.
    positioning
        Whether a compiled function looks at positioning times, which take longer to find than all else; it does
        when absent. A class says so itself.
    state_bytes
        What a compiled function remembers of each queue, cache, mirror or device; nothing when absent (at least
        0, at most 1e+09).
    slot_bytes
        What a compiled replacement policy remembers of each slot of its cache, besides; nothing when absent (at
        least 0, at most 1,000,000).
    folder
        The folder in which it was found; none where Python itself found the module.
    source
        SHA-256 of the file that it was loaded from, as it was then: one that has changed since is refused.
    parameters
        Its parameters, with the defaults of those not given (default {}).
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
