"""Write the licence notices of the Rust crates, and of the C libraries in them, that are compiled into the package.

    python tools/third_party_notices.py THIRD-PARTY-NOTICES.txt

The crates are those that `cargo metadata` lists for the extension module, without those of tests and build scripts.
Crates with the same text are listed together above it.
"""

import argparse
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: The crate that is compiled into the wheel.
EXTENSION = "sledsim-python"
#: Names of files with the terms of a licence.
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)([-._].*)?", re.IGNORECASE)
#: Endings of files with code, whose names may begin in the same way.
CODE = {".c", ".h", ".rs", ".py", ".sh"}
RULE = "=" * 100
#: Beginnings of licences that apply to no compiled file.
GNU = ("GNU GENERAL", "GNU LESSER", "The GNU General", "GNU LIBRARY")


def main() -> None:
    """Write the notices."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    notices: dict[str, list[str]] = {}
    missing = []
    for package in linked_crates():
        title = f"{package['name']} {package['version']} ({package['license'] or 'see below'})"
        texts = list(licence_texts(Path(package["manifest_path"]).parent))
        if not texts:
            missing.append(title)
        for text in texts:
            notices.setdefault(text, []).append(title)
    if missing:
        notices.setdefault("The crate has no file with the text of its licence.", []).extend(missing)
    blocks = ["\n".join([RULE, *titles, RULE, "", text, ""]) for text, titles in notices.items()]
    head = "Sledsim contains the following works of others, each under the licence that follows its name.\n"
    out.write_text("\n".join([head, *blocks]), encoding="utf-8")


def linked_crates() -> list[dict[str, Any]]:
    """Return the packages of other authors that are compiled into the extension, by name."""
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "metadata", "--locked", "--format-version", "1"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {each["id"]: each for each in found["packages"]}
    nodes = {each["id"]: each for each in found["resolve"]["nodes"]}
    pending = [each for each, package in packages.items() if package["name"] == EXTENSION]
    linked: set[str] = set()
    while pending:
        package = pending.pop()
        if package not in linked:
            linked.add(package)
            pending += [
                each["pkg"] for each in nodes[package]["deps"] if any(not kind["kind"] for kind in each["dep_kinds"])
            ]
    others = [packages[each] for each in linked if packages[each]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def licence_texts(folder: Path) -> Iterator[str]:
    """Yield the licence texts of a crate, and of the sources that it bundles."""
    for pattern in ("*", "*/*"):
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and LICENCE_FILE.fullmatch(path.name) and path.suffix not in CODE:
                text = path.read_text(encoding="utf-8", errors="replace").strip()
                # Terms of tools beside xz's library, which are not compiled, and the alternative to zstd's BSD licence.
                if not text.startswith(GNU):
                    yield "\n".join(line.rstrip() for line in text.splitlines())


if __name__ == "__main__":
    main()
