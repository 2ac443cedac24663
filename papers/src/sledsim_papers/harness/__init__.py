"""What five papers say of MEMS storage, and what we find."""

from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.ledger import PAPERS, Claim, claims
from sledsim_papers.harness.registry import Drawn, Picture, experiments, pictures, select
from sledsim_papers.harness.study import Study

__all__ = [
    "PAPERS",
    "Claim",
    "Drawn",
    "Finding",
    "Picture",
    "Probe",
    "Study",
    "claims",
    "experiments",
    "pictures",
    "select",
]
