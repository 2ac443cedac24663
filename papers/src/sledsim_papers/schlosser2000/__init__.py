"""Designing computer systems with MEMS-based storage (Schlosser et al. 2000): claims, experiments, figures."""
