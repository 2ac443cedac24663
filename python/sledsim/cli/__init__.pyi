"""Public names of ``sledsim.cli``, each loaded on first use."""

from sledsim.cli.options import AsJson as AsJson
from sledsim.cli.output import complain as complain
from sledsim.cli.output import print_json as print_json
from sledsim.cli.output import print_tables as print_tables

def main() -> None: ...

__all__: list[str]
