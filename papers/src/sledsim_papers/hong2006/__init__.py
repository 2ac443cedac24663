"""Using MEMS-based storage in computer systems (Hong et al. 2006): claims, experiments, figures."""
