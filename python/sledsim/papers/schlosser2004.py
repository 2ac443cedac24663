"""Experiments for the claims of schlosser2004."""
