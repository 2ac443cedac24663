"""Modeling and scheduling of MEMS-based storage devices (Griffin et al. 1999): claims, experiments, figures."""
