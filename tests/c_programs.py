"""Helpers of the C tests: the library as built by `make lib`, programs linked with it, and compiled policies."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT, missing
from sledsim.schedulers import include_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SOURCES = ROOT / "tests" / "c"
EXAMPLES = ROOT / "examples" / "c"
HEADERS = ROOT / "crates" / "sledsim-c" / "include"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def compiled_policies(source: str, folder: Path, *libraries: str) -> Path:
    """Compile custom policies into a shared library, linked with others."""
    compiler = shutil.which("cc")
    assert compiler, "the tests need a C compiler"
    (folder / "mine.c").write_text(source)
    target = folder / "libmine.so"
    options = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{include_folder()}"]
    subprocess.run([compiler, *options, "-o", str(target), str(folder / "mine.c"), *libraries], check=True)
    return target


@dataclass(frozen=True)
class Library:
    """The library, as `make lib` has installed it."""

    prefix: Path

    @property
    def lib(self) -> Path:
        return self.prefix / "lib"

    def build(self, source: Path, into: Path, *options: str, static: bool = False) -> Path:
        """Compile a program, in C or C++ by its name, and link it."""
        is_c = source.suffix == ".c"
        compiler = shutil.which("cc" if is_c else "c++") or missing("no compiler for C and C++")
        program = into / source.stem
        standard = "-std=c11" if is_c else "-std=c++11"
        linked = (
            [str(self.lib / "libsledsim.a"), *self.flags("--static", "--libs-only-l")[1:]] if static else self.linked()
        )
        command = [compiler, standard, *WARNINGS, *options, f"-I{EXAMPLES}", *self.flags("--cflags"), str(source)]
        subprocess.run([*command, "-o", str(program), *linked, "-lpthread", "-lm"], check=True, timeout=600)
        return program

    def linked(self) -> list[str]:
        return [*self.flags("--libs"), f"-Wl,-rpath,{self.lib}"]

    def flags(self, *wanted: str) -> list[str]:
        """Return the output of pkg-config for the library."""
        tool = shutil.which("pkg-config") or missing("no pkg-config")
        environment = os.environ | {"PKG_CONFIG_PATH": str(self.lib / "pkgconfig")}
        done = subprocess.run([tool, *wanted, "sledsim"], check=True, capture_output=True, text=True, env=environment)
        return done.stdout.split()


def make_library(prefix: Path) -> Library:
    """Build the library in the profile of the tests, whose simulator is already compiled."""
    command = ["make", "lib", "PROFILE=test", f"PREFIX={prefix}"]
    # Variables that `make test` passes on do not apply here.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Library(prefix)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Return the library, built for these tests."""
    return make_library(tmp_path_factory.mktemp("library"))


def run(program: Path, *arguments: str | Path, given: str = "", under: Sequence[str] = ()) -> str:
    """Run a program that must succeed; return its output."""
    command = [*under, str(program), *map(str, arguments)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout
