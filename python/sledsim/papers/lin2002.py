"""Experiments for the claims of lin2002."""
