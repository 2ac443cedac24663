"""Studies that take several runs: a function for each study, and a package with its parts."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
