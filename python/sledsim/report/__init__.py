"""Pages in files: charts as files and definitions, and the templates of pages."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
