"""Figures and tables of hong2006, redrawn from our runs."""
