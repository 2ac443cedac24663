"""Build the documentation's site: the pages of docs/, those made from the program, and the tutorials' outcomes.

    python tools/site_build.py [FOLDER] [--no-claims]      into out/site unless told otherwise: open FOLDER/index.html

The tables of the papers' claims come from a run of every claim, which takes minutes; --no-claims leaves them out.

Nothing of it needs a network: fonts are the system's, and what draws charts lies beside the pages.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from reference_api import api_pages
from reference_commands import command_pages
from reference_pages import device_pages, filled, scenario_pages
from sledsim.explorer.html_page import is_built, page
from sledsim.show.pages import chart_text, vega_library

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Pages of the checkout that the site has too, and where.
PROJECT = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?!https?:|mailto:|#)(?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


#: What a page says of itself that is a notebook, and the title of a page.
NOTEBOOK = "file_format: mystnb"
TITLE = re.compile(r"^# .+\n", re.MULTILINE)
#: The link to a page's notebook.
DOWNLOAD = re.compile(r"^\{download\}`[^`]+`.*\n", re.MULTILINE)


def main() -> int:
    """Build the site."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "out" / "site")
    parser.add_argument("--no-claims", action="store_true", help="leave out the tables of the papers' claims")
    given = parser.parse_args()
    folder = given.folder
    build(folder, claims=not given.no_claims)
    print(folder / "index.html")
    return 0


def build(folder: Path, *, claims: bool = True) -> None:
    """Build the site.

    Parameters
    ----------
    folder
        Gets the pages; what Sphinx keeps for the next time lies beside it.
    claims
        Whether to check the papers' claims for the tables on their page.
    """
    kept = folder.parent / f"{folder.name}-kept"
    sources = kept / "sources"
    prepare(sources, claims_pages(kept) if claims else None, lite=(folder / "lite").is_dir())
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--builder",
        "html",
        "--jobs",
        "auto",
        "--fail-on-warning",
        "--keep-going",
    ]
    command += [
        "--quiet",
        "--doctree-dir",
        str(kept / "doctrees"),
        "--define",
        f"nb_execution_cache_path={kept / 'runs'}",
    ]
    subprocess.run([*command, str(sources), str(folder)], env=environment_of_pages(), check=True)
    _finish_downloads(folder, kept / "runs")


def _finish_downloads(folder: Path, runs: Path) -> None:
    """Give each notebook offered for download the outputs of its page, and its links as plain text.

    Parameters
    ----------
    folder
        The site; MyST-NB writes the pages as notebooks into ``jupyter_execute`` beside it.
    runs
        The cache of executed notebooks.
    """
    import jupytext
    from jupyter_cache import get_cache

    pages = {path.name: path for path in (folder.parent / "jupyter_execute").rglob("*.ipynb")}
    for download in (folder / "_downloads").glob("*/*.ipynb"):
        page = jupytext.read(pages[download.name])
        _, notebook = get_cache(runs).merge_match_into_notebook(page)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                # Other pages do not lie beside the downloaded file.
                cell.source = LINK.sub(r"\g<text>", DOWNLOAD.sub("", cell.source))
        jupytext.write(notebook, download, fmt="ipynb")


def claims_pages(kept: Path) -> Path:
    """Return the folder with the pages of the papers, their tables and pictures.

    The claims are checked if they may have changed since the last time.

    Parameters
    ----------
    kept
        Folder that keeps the pages for the next time.
    """
    papers = ROOT / "papers"
    read = [*(papers / "src").rglob("*.*"), *(papers / "tools").glob("*.py"), *(papers / "records").glob("*.json")]
    read += [*(DOCS / "papers").glob("*.md"), *(ROOT / "python" / "sledsim").glob("_core*.so")]
    digest = hashlib.sha256()
    for path in sorted(path for path in read if path.suffix != ".pyc"):
        digest.update(path.read_bytes())
    pages = kept / f"papers-{digest.hexdigest()[:16]}"
    if not pages.exists():
        kept.mkdir(parents=True, exist_ok=True)
        made = pages.with_suffix(".new")
        subprocess.run([sys.executable, str(papers / "tools" / "claims_page.py"), "--site", str(made)], check=True)
        made.rename(pages)
    return pages


def environment_of_pages() -> dict[str, str]:
    """Return the environment in which tutorials run: the commands of this one's Python come first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "COLUMNS": "88", "NO_COLOR": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def prepare(sources: Path, claims: Path | None = None, *, lite: bool = False) -> None:
    """Put together what Sphinx reads.

    Parameters
    ----------
    sources
        A folder for it; files that are as they should be are left alone, so that only what changed is built again.
    claims
        Folder with the pages of the papers, their tables and pictures; without these if not given.
    lite
        True if the site has the notebooks of tools/notebooks_build.py, to which pages then link.
    """
    pages = {path.relative_to(DOCS): path.read_bytes() for path in sorted(DOCS.rglob("*")) if path.is_file()}
    if claims:
        found = sorted(path for path in claims.rglob("*") if path.is_file())
        pages |= {"papers" / path.relative_to(claims): path.read_bytes() for path in found}
    pages = {name: content for name, content in pages.items() if "__pycache__" not in name.parts}
    wanted = {name: content for name, content in pages.items() if name.suffix != ".md"}
    for name, content in pages.items():
        if name.suffix == ".md":
            text = _linked(filled(content.decode()), DOCS / name, name)
            if NOTEBOOK in text:
                copy = f"notebooks/{name.stem}.ipynb"
                wanted[Path(copy)] = notebook_of(text).encode()
                links = f"{{download}}`This page as a notebook <../{copy}>`"
                if lite:
                    address = f"../lite/notebooks/index.html?path={name.stem}.ipynb"
                    links += f' · <a href="{address}">run it in this browser</a>'
                text = TITLE.sub(rf"\g<0>\n{links}\n", text, count=1)
            wanted[name] = text.encode()
    for source, place in PROJECT.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        wanted[Path(place)] = _linked(text, ROOT / source, Path(place)).encode()
    made = {f"reference/scenario/{name}.md": text for name, text in scenario_pages().items()}
    made |= {f"reference/catalogue/{name}.md": text for name, text in device_pages().items()}
    made |= {f"reference/commands/{name}.md": text for name, text in command_pages().items()}
    made |= {f"reference/api/{name}.rst": text for name, text in api_pages().items()}
    made |= {"_static/vega.js": vega_library(), "_static/draw.js": chart_text("draw.js")}
    if is_built():
        made["_static/explorer.html"] = page()
    wanted |= {Path(name): text.encode() for name, text in made.items()}
    _write(sources, wanted)


def _linked(text: str, source: Path, place: Path) -> str:
    """Return a page with its links to other pages as they are on the site; what is no page is named alone."""

    def moved(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / found["target"]))
        if target.is_relative_to(DOCS):
            there = target.relative_to(DOCS)
        elif target.is_relative_to(ROOT) and target.relative_to(ROOT).as_posix() in PROJECT:
            there = Path(PROJECT[target.relative_to(ROOT).as_posix()])
        else:
            return found["text"]
        return f"[{found['text']}]({os.path.relpath(there, place.parent)}{found['anchor'] or ''})"

    return LINK.sub(moved, text)


def notebook_of(text: str) -> str:
    """Return a page as a notebook, not yet run."""
    import jupytext

    notebook = jupytext.reads(text, fmt="md:myst")
    for number, cell in enumerate(notebook.cells):
        # The same bytes every time.
        cell.id = f"cell-{number}"
    return str(jupytext.writes(notebook, fmt="ipynb"))


def _write(folder: Path, wanted: dict[Path, bytes]) -> None:
    """Make a folder hold these files and no others."""
    if folder.exists():
        for path in [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder) not in wanted]:
            path.unlink()
    for name, content in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
