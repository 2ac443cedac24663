"""Workloads of the catalogue: stand-ins for traces that are not public."""

from sledsim.workloads.entries import WorkloadEntry, catalog, workload_entry, workloads_table

__all__ = [
    "WorkloadEntry",
    "catalog",
    "workload_entry",
    "workloads_table",
]
