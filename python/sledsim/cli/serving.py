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
        str | None, typer.Option("--socket", metavar="FILE", help="Unix socket; sledsim.sock if none is given.")
    ] = None,
    tcp: Annotated[
        str | None,
        typer.Option("--tcp", metavar="[ADDRESS:]PORT", help="TCP instead, on 127.0.0.1 if only a port is given."),
    ] = None,
    remote: Annotated[
        bool, typer.Option("--remote", help="Let --tcp take an address that other machines reach.")
    ] = False,
    image: Annotated[
        str | None, typer.Option("--image", metavar="FILE", help="Keep data in this file; in memory otherwise.")
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Remove that file at the end.")] = False,
    dilation: Annotated[
        float, typer.Option("--dilation", metavar="N", help="Let time run N times slower for the device.")
    ] = 1.0,
    log: Annotated[
        str | None, typer.Option("--log", metavar="FILE", help="Write the requests as a trace, in CSV.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when the last client has gone.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve a system as a network block device: programs are its workload.

    Requests are answered when the simulated system would have done them, and what is written is kept. SIGTERM or Ctrl-C
    ends it; then it says whether answers came when they should, and what the system did.
    """
    from sledsim.runs.serving import serve as served
    from sledsim.runs.session import system_of

    def ready(address: str, size: int, early_ns: int) -> None:
        print_text(f"{address} has {size:,} bytes; answers leave {early_ns / 1e3:.1f} µs early", err=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options: dict[str, Any] = {"socket": socket, "tcp": tcp, "remote": remote, "image": image, "drop": drop, "log": log}
    found = served(system_of(system), set=sets or [], **options, dilation=dilation, once=once, ready=ready)
    # It has ended; what it found is still to be told.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print_found(found, as_json=as_json)
