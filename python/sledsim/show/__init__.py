"""What shows things, whatever they are: tables, charts' style and files, frames, progress, names."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
