"""Figures and tables of griffin1999, redrawn from our runs."""
