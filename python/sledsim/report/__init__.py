"""Pages that show what was found, to be read from disk; nothing is simulated here."""

from sledsim.report.pages import Pages

__all__ = ["Pages"]
