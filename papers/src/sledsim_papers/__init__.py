"""Claims of five papers about MEMS storage, checked with Sledsim's public API.

``harness`` runs experiments and computes verdicts; each paper has a folder with its claims, experiments and figures.
"""
