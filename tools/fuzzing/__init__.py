"""A fuzzer of everything that Sledsim reads: documents, traces, DiskSim files, Python arguments and random systems.

A case is a target, a seed and a number, which determine its input. A target makes an input and tries it; permitted
outcomes are errors of Sledsim and results that keep the invariants.
"""
