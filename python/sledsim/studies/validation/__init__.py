"""Models of drives beside what was measured on the drives."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
