"""Power conservation strategies for MEMS-based storage devices (Lin et al. 2002): claims, experiments, figures."""
