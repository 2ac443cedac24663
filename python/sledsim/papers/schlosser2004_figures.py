"""Figures and tables of schlosser2004, redrawn from our runs."""
