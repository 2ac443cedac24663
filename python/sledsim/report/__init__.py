"""Pages to be read from disk: charts as files and as definitions, and the style that pages share."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
