"""The command that serves a system as a network block device."""

import signal
from typing import Annotated, Any

import typer

from sledsim.cli.options import AsJson, Sets, System
from sledsim.cli.output import print_found, print_text

__all__ = ["register"]

SERVE_EXAMPLES = """\b
Examples:
  sledsim serve g2
  sledsim serve scenario.toml --image disk.img --log requests.csv
  sledsim serve scenario.toml --tcp 127.0.0.1:10809 --dilation 10
  sledsim serve scenario.toml --set device=g3 --once --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=SERVE_EXAMPLES)(serve)


def serve(
    system: System,
    sets: Sets = None,
    socket: Annotated[
        str | None, typer.Option("--socket", metavar="FILE", help="Unix socket (default: sledsim.sock).")
    ] = None,
    tcp: Annotated[
        str | None,
        typer.Option("--tcp", metavar="[ADDRESS:]PORT", help="Use TCP (default address: 127.0.0.1)."),
    ] = None,
    remote: Annotated[
        bool, typer.Option("--remote", help="Allow --tcp addresses that other machines can reach.")
    ] = False,
    image: Annotated[
        str | None, typer.Option("--image", metavar="FILE", help="Keep data in this file (default: in memory).")
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the image at the end.")] = False,
    dilation: Annotated[
        float, typer.Option("--dilation", metavar="N", help="Run the device N times slower than real time.")
    ] = 1.0,
    log: Annotated[str | None, typer.Option("--log", metavar="FILE", help="Write the requests as a CSV trace.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Exit when the last client disconnects.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve a system as a network block device (NBD).

    Requests are answered when the simulated system would have done them, and what is written is kept. SIGTERM or Ctrl-C
    ends it; then it says whether answers came when they should, and what the system did.
    """
    from sledsim.runs.serving import serve as served
    from sledsim.runs.session import system_of

    def ready(address: str, size: int, early_ns: int) -> None:
        print_text(f"{address} has {size:,} bytes; answers leave {early_ns / 1e3:.1f} µs early", err=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options: dict[str, Any] = {"socket": socket, "tcp": tcp, "remote": remote, "image": image, "drop": drop, "log": log}
    found = served(system_of(system), overrides=sets or [], **options, dilation=dilation, once=once, ready=ready)
    # It has ended; what it found is still to be told.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print_found(found, as_json=as_json)
