"""Results of enclosures as tables, JSON and charts."""

from sledsim.show.shown import Shown as AnyShown

__all__ = ["Shown"]


class Shown(AnyShown):
    """A result for one or several enclosures that can be printed, drawn and saved.

    Attributes
    ----------
    complete : bool
        True if the result has everything that was requested; false after an interrupted simulation.
    """

    complete: bool = True
