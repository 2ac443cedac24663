"""What the command line says of itself, for the reference pages of the site: a page for each panel of the help."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer.main

from reference_pages import one_line, table
from sledsim.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["command_pages"]


def command_pages() -> dict[str, str]:
    """Return a page for each panel of the help."""
    commands: dict[str, Any] = dict(vars(typer.main.get_command(app))["commands"])
    panels: dict[str, list[str]] = {}
    for name, command in commands.items():
        panels.setdefault(command.rich_help_panel, []).extend(_command(f"sledsim {name}", command))
    return {panel.lower().replace(" ", "-"): "\n\n".join([f"# {panel}", *parts, ""]) for panel, parts in panels.items()}


def _command(name: str, command: Any) -> Iterator[str]:
    """Yield the parts of what is said of a command, and of those within it."""
    yield f"## {name}" if name.count(" ") == 1 else f"### {name}"
    yield from _help(command.help or "")
    within = getattr(command, "commands", {})
    if within:
        for each, inner in within.items():
            yield from _command(f"{name} {each}", inner)
        return
    context = typer.Context(command, info_name=name)
    yield f"```text\n{' '.join(command.get_usage(context).split()).removeprefix('Usage: ')}\n```"
    rows = list(_rows(command.params))
    if rows:
        yield "{.keys}\n" + table(["argument or option", "meaning", "value", "default"], rows)
    examples = re.findall(r"^ {2}(sledsim .+)$", command.epilog or "", flags=re.MULTILINE)
    if examples:
        yield "```sh\n" + "\n".join(examples) + "\n```"


def _help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; what is not to be folded stays as it is."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith("\b"):
            yield "```text\n" + paragraph.removeprefix("\b").strip("\n") + "\n```"
        elif paragraph.strip():
            yield escaped(one_line(paragraph))


def _rows(parameters: Iterable[Any]) -> Iterator[list[str]]:
    """Yield what is said of each argument and option."""
    for each in parameters:
        if getattr(each, "hidden", False):
            continue
        option = each.param_type_name == "option"
        name = ", ".join(f"`{form}`" for form in [*each.opts, *each.secondary_opts]) if option else f"`{each.name}`"
        flag = getattr(each, "is_flag", False)
        value = "" if flag else escaped(str(each.metavar or each.type.name.upper()))
        default = each.default
        shown = "" if flag or default is None or callable(default) or default in ((), [], "") else f"`{default}`"
        meaning = escaped(one_line(getattr(each, "help", "") or ""))
        yield [name, meaning, value, "required" if each.required else shown]


def escaped(text: str) -> str:
    """Return text in which nothing is Markdown."""
    return re.sub(r"([\\*_<>\[\]`])", r"\\\1", text)
