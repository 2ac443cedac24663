"""The objective tests of a role or policy: specificity to MEMS storage, and merit."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
