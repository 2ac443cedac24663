"""SQLite in virtual time: a database whose reads, writes and syncs a simulated system serves."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
