"""Reliability of enclosures of devices: probability of data loss, mean time to loss, repair strategies and costs.

- Reports: :func:`report` returns the tables that ``sledsim reliability`` prints; :func:`compare_enclosures` compares
  enclosures.
- Markov chains: :class:`MarkovModel`, or :func:`mttf_h` for the MTTF alone; :class:`Chain` for chains of your own.
- Equation 1 of hong2006: :func:`failures_at_most`, :func:`more_repairs_than`.
- Monte Carlo, for effects that Markov chains cannot represent: :func:`simulate`.
- Figures 3, 4 and 5 of hong2006: :func:`survival_by_spares`, :func:`mttf_by_maintenance`, :func:`failure_counts`.
- Costs of spares and repairs: :func:`cost_curve`.

Each function takes an enclosure as a file, a text, a dictionary or a :class:`Description`. Names are loaded on first
use, so importing the package is quick.
"""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
