"""Questions that take several runs: each study is a room with what it runs, its tables and its charts."""

from typing import TYPE_CHECKING

from sledsim._loading import on_first_use

if TYPE_CHECKING:
    from sledsim.studies import calibration, cost, hit_ratio, objective, power, relation, validation

__all__ = ["calibration", "cost", "hit_ratio", "objective", "power", "relation", "validation"]

__getattr__, __dir__ = on_first_use(__name__, {}, __all__)
