"""Questions that take several runs: each study has its function here, and a package with its parts."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
