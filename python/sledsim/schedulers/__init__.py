"""Schedulers: those that a scenario can name."""

from sledsim.schedulers.entries import catalog, schedulers_table

__all__ = [
    "catalog",
    "schedulers_table",
]
