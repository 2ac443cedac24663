#!/usr/bin/env python3
"""Link a Python extension for Pyodide: rustc calls this script in place of ``emcc``.

An extension for Pyodide is a WebAssembly module that the running interpreter links dynamically. It contains no C
library: functions of C and of Python are imports. So the linker of the Rust toolchain suffices, without the Emscripten
SDK.
"""

import json
import subprocess
import sys
from pathlib import Path

#: Options of emcc that have no effect on a module without C code.
WITHOUT_EFFECT = ("-s", "-O", "-g", "--target=", "-fwasm-exceptions")
EXPORTS = "-sEXPORTED_FUNCTIONS="


def main(arguments: list[str]) -> int:
    """Translate the arguments of emcc, and call the linker."""
    options = ["--shared", "--experimental-pic", "--import-memory", "-Bsymbolic", "--no-export-dynamic"]
    options += ["--unresolved-symbols=import-dynamic", "--strip-debug", "--gc-sections"]
    linker = "wasm-ld"
    left = iter(arguments)
    for argument in left:
        if argument == "-s":
            argument += next(left)
        if argument.startswith(EXPORTS):
            options += [f"--export={name.removeprefix('_')}" for name in json.loads(argument.removeprefix(EXPORTS))]
        elif argument.startswith("-B"):
            linker = str(Path(argument.removeprefix("-B"), "wasm-ld"))
        elif argument == "-L":
            next(left)
        elif argument == "-o":
            options += ["-o", next(left)]
        elif argument.startswith("-") and not argument.startswith(WITHOUT_EFFECT):
            sys.exit(f"{sys.argv[0]}: {argument}: unknown option; add its translation for wasm-ld to this script")
        elif not argument.startswith("-"):
            options.append(argument)
    return subprocess.run([linker, *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
