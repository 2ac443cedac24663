"""Public names of ``sledsim.cli``, each loaded on first use."""

from sledsim.cli.options import AsJson as AsJson
from sledsim.cli.output import print_error as print_error
from sledsim.cli.output import print_json as print_json
from sledsim.cli.output import print_tables as print_tables
from sledsim.cli.output import print_written as print_written

def main() -> None: ...

__all__: list[str]
