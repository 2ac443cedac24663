"""How likely an enclosure of devices loses data, and when to repair it.

- :func:`report` has the tables that ``sledsim reliability`` prints; :func:`compare_enclosures` compares enclosures.
- Chains: :class:`MarkovModel`, where the chain is drawn, or :func:`mttf_h` alone; :class:`Chain` for your own.
- Equation 1 of hong2006: :func:`failures_at_most`, :func:`more_repairs_than`.
- Monte Carlo, for what chains cannot say: :func:`simulate`.
- Figures 3, 4 and 5 of hong2006: :func:`survival_by_spares`, :func:`mttf_by_maintenance`, :func:`failure_counts`.
- Spares or repairs, by their prices: :func:`cost_curve`.

Each takes a file, a text, a dictionary or a :class:`Description` of the enclosure. Names are loaded on first use,
so importing the package is quick.
"""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
