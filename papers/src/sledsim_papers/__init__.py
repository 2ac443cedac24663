"""What five papers say of MEMS storage, and what we find: a client of Sledsim's public names.

``harness`` runs, judges and shows; each paper has a folder with its claims, experiments and figures.
"""
