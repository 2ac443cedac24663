"""A fuzzer of all that Sledsim reads: documents, traces, DiskSim's files, arguments of Python, and systems at random.

A case is a door, a seed and a number: the same ones make the same input everywhere. Doors make an input and try it;
what may come out are errors of Sledsim's own, or a result that keeps the invariants.
"""
