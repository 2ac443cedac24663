"""A tree of C sources to copy, read and compile, generated from a seed."""

from random import Random

__all__ = ["sources"]

#: Folders of the tree, and files in each: about 70 files of 200 kB in total, as in the Andrew benchmark.
FOLDERS, FILES = 10, 7
#: Functions in a file.
FUNCTIONS = 14
WORDS = ("sled", "tip", "seek", "settle", "turn", "spring", "block", "sector", "track", "region", "actuator", "servo")


def sources(seed: int = 1) -> dict[str, bytes]:
    """Return the files of the tree by path.

    Parameters
    ----------
    seed
        Seed of the random numbers.
    """
    random = Random(seed)
    names = [f"part{folder}/{WORDS[file]}{folder}" for folder in range(FOLDERS) for file in range(FILES)]
    files: dict[str, bytes] = {}
    for number, name in enumerate(names):
        files[f"{name}.c"] = _unit(random, name, number, names).encode()
    headers = "".join(f"long {_name_of(name)}(long);\n" for name in names)
    files["all.h"] = f"#ifndef ALL_H\n#define ALL_H\n{headers}#endif\n".encode()
    calls = "".join(f"    sum += {_name_of(name)}({number});\n" for number, name in enumerate(names))
    head, sums = '#include <stdio.h>\n#include "all.h"\nint main(void)\n{\n', "    long sum = 0;\n"
    main = f'{head}{sums}{calls}    printf("%ld\\n", sum);\n    return 0;\n}}\n'
    files["part0/main.c"] = main.encode()
    return files


def _name_of(name: str) -> str:
    return name.partition("/")[2]


def _unit(random: Random, name: str, number: int, names: list[str]) -> str:
    own = _name_of(name)
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>", '#include "all.h"', ""]
    for each in range(FUNCTIONS):
        terms = " + ".join(
            f"x * {random.randint(1, 99)} % {random.randint(3, 97)}" for _ in range(random.randint(1, 4))
        )
        about = " ".join(random.choices(WORDS, k=6))
        lines += [f"/* {about} */", f"static long {own}_{each}(long x)", "{", f"    long y = {terms};",
                  f"    for (int i = 0; i < {random.randint(2, 9)}; i++)", f"        y += i * {random.randint(1, 9)};",
                  "    return y;", "}", ""]  # fmt: skip
    calls = " + ".join(f"{own}_{each}(x)" for each in range(FUNCTIONS))
    # Functions call only those of earlier files, so that there is no recursion.
    other = f" + {_name_of(random.choice(names[:number]))}(x / 2)" if number else ""
    return "\n".join([*lines, f"long {own}(long x)", "{", f"    return {calls}{other};", "}", ""])
