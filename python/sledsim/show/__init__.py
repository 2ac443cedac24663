"""Output: tables, charts, files, frames, progress and labels."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
