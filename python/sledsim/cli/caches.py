"""Commands about caches."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.options import MOST_DIGITS, AsJson, Plot, Reading, policy_names, unfolded
from sledsim.cli.output import check_picture, print_found

__all__ = ["register"]

HIT_RATIO_EXAMPLES = """\b
Examples:
  sledsim hit-ratio trace.vscsi.zst --pages 1000,10000
  sledsim hit-ratio trace.csv --policy lru --policy arc --policy s3-fifo --pages 5000
  sledsim hit-ratio my-trace.gz --policy lru --policy arc --pages 100,300,1000,3000 --plot misses.html
  sledsim hit-ratio my-trace.gz --policy lru --policy my_module:MyPolicy,weight=2 --pages 300
  sledsim hit-ratio OLTP.lis --policy 2q:in_share=0.3,out_share=0.5 --json
"""
CACHE_POLICIES_EXAMPLES = """\b
Examples:
  sledsim cache-policies
  sledsim cache-policies --json
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="hit-ratio", epilog=HIT_RATIO_EXAMPLES)(unfolded(hit_ratio))
    app.command(name="cache-policies", epilog=CACHE_POLICIES_EXAMPLES)(cache_policies)


def sizes_of(texts: list[str]) -> list[int]:
    """Turn ``1000,2000`` into numbers of pages."""
    sizes = []
    for part in ",".join(texts).split(","):
        if part.strip().isdecimal() and len(part.strip()) > MOST_DIGITS:
            says = f"{part.strip()[:MOST_DIGITS]}…: too large, a number of {len(part.strip()):,} digits"
            raise typer.BadParameter(says, param_hint="--pages")
        if not part.strip().isdecimal() or int(part) < 1:
            raise typer.BadParameter(f"{part!r}: expected numbers of pages, as in 1000,2000", param_hint="--pages")
        sizes.append(int(part))
    return sizes


def hit_ratio(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Block trace, compressed or not.")],
    *,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="NAME[:KEY=VALUE,…]",
            help="Replacement policy (see `sledsim cache-policies`), lru by default, or a class of your own as "
            "MODULE:CLASS[,KEY=VALUE,…]. Repeatable.",
            autocompletion=policy_names,
        ),
    ] = None,
    pages: Annotated[
        list[str] | None,
        typer.Option("--pages", metavar="N[,N…]", help="Cache sizes in pages (default: 1000). Repeatable."),
    ] = None,
    page_bytes: Annotated[
        int | None,
        typer.Option(
            "--page-bytes", metavar="N", min=1, help="Size of a page; else the format's (ARC lists: 512), or 4096."
        ),
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Compute the hit ratio of caches under a trace, without a device.

    Every request references the pages that it touches, in the order of the trace; times are ignored. Reads and writes
    count alike, and what is missed is brought in.
    """
    from sledsim.studies.hit_ratios.ratios import hit_ratio as found_by

    check_picture(plot)
    found = found_by(
        trace,
        policies or ["lru"],
        sizes_of(pages or ["1000"]),
        page_bytes=page_bytes,
        **reading.keys(),
        progress=True,
    )
    print_found(found, as_json=as_json)
    if plot:
        found.save_plot(plot)


def cache_policies(as_json: AsJson = False) -> None:
    """List the replacement policies of caches."""
    from sledsim.caches import catalog

    print_found(catalog(), as_json=as_json)
