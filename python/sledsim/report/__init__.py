"""HTML reports: chart files, chart definitions for pages, and page templates."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
