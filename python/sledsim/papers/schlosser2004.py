"""Experiments for the claims of schlosser2004."""

# What registers experiments and pictures of a subject of its own.
from sledsim.papers import schlosser2004_tables  # noqa: F401
