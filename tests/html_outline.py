"""The structure of an HTML page, for tests of pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

#: Elements that have no end.
VOID = {"meta", "link", "img", "br", "input", "hr"}


class Outline(HTMLParser):
    """The ids, links, headings, attributes and text of a page; a page with an element left open is refused."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.identities: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.text = ""
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.attributes.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if found.get("id"):
            self.identities.append(str(found["id"]))
        self.links += [str(found[key]) for key in ("href", "src") if found.get(key)]
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.text += f"{data} "
