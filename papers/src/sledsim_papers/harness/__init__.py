"""Runs experiments, computes verdicts, writes tables and pages."""

from sledsim_papers.harness.claim import PAPERS, Claim, claims
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import Drawn, Picture, experiments, pictures, select
from sledsim_papers.harness.reproduction import reproduce
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
    "reproduce",
    "select",
]
