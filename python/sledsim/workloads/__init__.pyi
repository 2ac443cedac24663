"""Public names of ``sledsim.workloads``, each loaded on first use."""

from sledsim.workloads.entries import WorkloadEntry as WorkloadEntry
from sledsim.workloads.entries import catalog as catalog
from sledsim.workloads.entries import workload_entry as workload_entry

__all__: list[str]
