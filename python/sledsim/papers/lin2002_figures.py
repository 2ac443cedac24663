"""Figures and tables of lin2002, redrawn from our runs."""
