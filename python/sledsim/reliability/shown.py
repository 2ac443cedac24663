"""Results of enclosures as tables, JSON and charts."""

from sledsim.show.shown import Shown as AnyShown

__all__ = ["Shown"]


class Shown(AnyShown):
    """Figures of one or several enclosures, ready to be printed, drawn and written.

    Attributes
    ----------
    complete : bool
        True if everything requested is there; false where a simulation was interrupted.
    """

    complete: bool = True
