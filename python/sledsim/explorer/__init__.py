"""The explorer, a page that simulates and draws in a browser, and its lessons."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
