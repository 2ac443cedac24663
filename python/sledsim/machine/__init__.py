"""Linux machines in virtual time whose storage is simulated: what a program takes on them."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
