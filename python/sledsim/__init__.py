"""Sledsim simulates storage that moves: MEMS sleds, and the systems built on them.

>>> import sledsim
>>> result = sledsim.run({
...     "workload": {"arrival": {"kind": "poisson", "rate_per_s": 500.0}},
...     "system": {"device": "g2", "scheduler": "sptf"},
...     "run": {"requests": 1000},
... })
>>> result.requests.completed
1000

Everything is loaded on first use, so that importing the package stays quick.
"""

from sledsim._loading import attach, take_core

take_core()
__getattr__, __dir__, __all__ = attach(__name__)
