"""MEMS-based storage devices and standard disk interfaces (Schlosser and Ganger 2004): claims, experiments, figures."""
