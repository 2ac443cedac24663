"""Figures and tables of schlosser2000, redrawn from our runs."""
