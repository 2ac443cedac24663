"""The command for custom policies."""

import json
import tomllib
from typing import Annotated, Any

import typer

from sledsim.cli.options import AsJson
from sledsim.cli.output import complain, print_found

__all__ = ["register"]

#: The exit status where the contract is not kept: what was asked about is wrong.
BROKEN = 2

CHECK_POLICY_EXAMPLES = """\b
Examples:
  sledsim check-policy my_module:MyPolicy
  sledsim check-policy my_module:MyPolicy --parameter weight=0.5
  sledsim check-policy '{library="mine.so", symbol="pick", state_bytes=8}' --role scheduler
  sledsim check-policy sptf --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="check-policy", epilog=CHECK_POLICY_EXAMPLES)(check_policy)


def check_policy(
    name: Annotated[
        str,
        typer.Argument(metavar="POLICY", help="MODULE:CLASS, the name of a policy, or a table as in a scenario."),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Parameter of the policy. Repeatable."),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="scheduler: whom a drive serves next; replacement: what leaves a cache; "
            "mirror: which copy serves a read; spin-down: when a device without work stops; "
            "device: how long one takes. As the class, or the list that a name stands in, says, if not given.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try the contract of schedulers, or of policies of another role, on one of your own.

    They are the tests that built-in policies pass: each request is served once, in the same order each time, whatever
    is merged or cut off, and no scheduler passes one over for ever. What fails is told with its request.
    """
    from sledsim.runs.policy_check import check_policy as checked

    table = {**_table(name), **dict(_parameter(each) for each in parameters or [])}
    # Some are words, and no tables, where they have no parameters.
    found = checked(name if table == {"name": name} else table, role)
    print_found(found, as_json=as_json)
    if not found.passed:
        first = next(verdict for verdict in found.verdicts if not verdict.passed)
        complain(f"{found.name} does not keep to the contract ({first.rule}): {first.fault}")
        raise typer.Exit(BROKEN)


def _table(given: str) -> dict[str, Any]:
    """Return what a scenario has for a policy."""
    if not given.startswith("{"):
        return {"name": given}
    try:
        return dict(tomllib.loads(f"scheduler = {given}")["scheduler"])
    except tomllib.TOMLDecodeError as error:
        raise typer.BadParameter(f"{given} is no table: {error}", param_hint="POLICY") from None


def _parameter(given: str) -> tuple[str, Any]:
    name, _, text = given.partition("=")
    if not (name and text):
        raise typer.BadParameter(f"expected NAME=VALUE, not {given!r}", param_hint="--parameter")
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text
