"""Build JupyterLite with the tutorials as notebooks, which run in a browser without a server.

    python tools/notebooks_build.py [FOLDER]      into out/site/lite if not given; serve it with `python -m http.server`

The browser loads Pyodide and its packages, such as NumPy, from the Pyodide distribution, and Typer from the package
index.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from site_build import DOCS, LINK, NOTEBOOK, notebook_of

ROOT = Path(__file__).parents[1]
#: The first cell of each notebook. The extras of the package would need vl-convert, which has no wheel for Pyodide.
SETUP = """\
# Installs Sledsim into this page, which takes about a minute.
%pip install --quiet sledsim altair jinja2 pandas optuna
from sledsim.cli.browser import enable_commands
enable_commands()
"""


def main() -> int:
    """Build the notebooks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "out" / "site" / "lite")
    folder = parser.parse_args().folder
    wheels = list((ROOT / "dist").glob("sledsim-*-pyemscripten_*.whl"))
    if len(wheels) != 1:
        print("dist/ has no wheel for Pyodide, or several: run `make pyodide`", file=sys.stderr)
        return 2
    build(folder, wheels[0])
    print(folder / "notebooks" / "index.html")
    return 0


def build(folder: Path, wheel: Path) -> None:
    """Build JupyterLite with the tutorials.

    Parameters
    ----------
    folder
        The folder of the result; it is replaced.
    wheel
        The wheel for Pyodide, from which the notebooks install the package.
    """
    with TemporaryDirectory() as name:
        work = Path(name)
        (work / "files").mkdir()
        for path, text in notebooks().items():
            (work / "files" / path).write_text(text, encoding="utf-8")
        # JupyterLite serves the wheels of this folder.
        (work / "pypi").mkdir()
        shutil.copy(wheel, work / "pypi")
        options = ["--contents", "files", "--output-dir", "built", "--apps", "notebooks", "--no-sourcemaps"]
        command = [str(Path(sys.executable).parent / "jupyter-lite"), "build", *options]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(work / "built", folder)


def notebooks() -> dict[str, str]:
    """Return the tutorials as notebooks by file name: the first cell installs the package; links are plain text."""
    found = {}
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if NOTEBOOK in text:
            head, title, rest = text.partition("\n# ")
            heading, _, body = rest.partition("\n")
            cell = f"\n```{{code-cell}} python\n{SETUP}```\n"
            plain = LINK.sub(r"\g<text>", body)
            notebook = json.loads(notebook_of(f"{head}{title}{heading}\n{cell}{plain}"))
            # With another name, the page would ask for the kernel.
            notebook["metadata"]["kernelspec"] = {"name": "python", "display_name": "Python (Pyodide)"}
            found[f"{page.stem}.ipynb"] = json.dumps(notebook, indent=1)
    return found


if __name__ == "__main__":
    sys.exit(main())
