"""Experiments for the claims of schlosser2000."""
