"""What five papers say of MEMS storage, and what we find."""

from sledsim.papers.finding import Finding, Probe
from sledsim.papers.ledger import PAPERS, Claim, claims
from sledsim.papers.registry import Drawn, Picture, experiments, pictures, select
from sledsim.papers.study import Study

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
