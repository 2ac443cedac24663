"""Experiments for the claims of hong2006."""
