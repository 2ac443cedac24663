"""Public names of ``sledsim.sqlite``, each loaded on first use."""

from sledsim.sqlite.connection import Connection as Connection
from sledsim.sqlite.connection import connect as connect
from sledsim.sqlite.statements import Statement as Statement
from sledsim.sqlite.statements import Statements as Statements

__all__: list[str]
