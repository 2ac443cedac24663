"""Assembles what `sledsim machine` boots, from Debian's packages: a kernel, its modules, programs and their libraries.

    make machine            (into out/machine)

Nothing is installed: packages are fetched and unpacked with apt-get and dpkg-deb. Of them the files are kept that the
guest needs, and `contents.json` says which each program needs.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent
KERNEL = "linux-image-cloud-amd64"
PACKAGES = ("busybox-static", "bash", "nbd-client", "e2fsprogs", "xfsprogs", "fio", "postmark", "tcc", "binutils",
            "binutils-x86-64-linux-gnu", "sqlite3",
            "libc6-dev", "linux-libc-dev")  # fmt: skip
#: What the guest's kernel is asked to load, with what they need before them.
MODULES = ("nbd", "loop", "xfs")
#: What a guest loads instead whose disk is served outside of it.
DISK_MODULES = ("virtio_pci", "virtio_blk")
#: What each program needs beside its libraries: files, and folders whole.
BASE = ("bin/busybox", "bin/bash", "sbin/nbd-client", "sbin/mke2fs", "sbin/mkfs.xfs")
PROGRAMS = {
    "fio": ("bin/fio",),
    "postmark": ("bin/postmark",),
    "andrew": ("bin/tcc", "lib/x86_64-linux-gnu/tcc", "lib/x86_64-linux-gnu/crt1.o", "lib/x86_64-linux-gnu/crti.o",
               "lib/x86_64-linux-gnu/crtn.o", "lib/x86_64-linux-gnu/libc.so", "lib/x86_64-linux-gnu/libc_nonshared.a",
               "lib/x86_64-linux-gnu/libc.so.6", "include"),
    "link": ("bin/x86_64-linux-gnu-ld", "bin/x86_64-linux-gnu-ld.bfd", "bin/ld"),
    "tpch": ("bin/sqlite3",),
}  # fmt: skip
#: Where programs look for libraries; `usr` is their common parent.
LIBRARIES = ("lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu/ceph", "lib64", "lib")
#: Scale factors of the databases of the program `tpch`, in percent.
SCALES_PERCENT = (1, 10)


def main() -> int:
    """Fetch, unpack, and write down what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "out" / "machine")
    parser.add_argument("--server", type=Path, required=True, help="sledsim-nbd, linked statically")
    options = parser.parse_args()
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            sys.exit(
                f"make machine: {tool} is missing; the machine is made of Debian's packages, on Debian and its kin"
            )
    folder = options.folder.resolve()
    made = folder.with_name(folder.name + ".new")
    shutil.rmtree(made, ignore_errors=True)
    tree = made / "tree" / "usr"
    tree.mkdir(parents=True)
    with TemporaryDirectory() as work:
        versions = unpack(Path(work), made)
    contents = {name: sorted(needed(tree, files)) for name, files in {"base": BASE, **PROGRAMS}.items()}
    modules, disk_modules = keep_modules(made)
    keep_only(tree, {each for files in contents.values() for each in files})
    shutil.copy(options.server, made / "sledsim-nbd")
    # Another build of it takes other moments: it is told from others as a package is by its version.
    server = {"sledsim-nbd": f"sha256:{hashlib.sha256(options.server.read_bytes()).hexdigest()}"}
    objects(tree, made / "objects")
    database(made)
    listed = {
        "packages": versions | server,
        "modules": modules,
        "disk_modules": disk_modules,
        "programs": contents,
        "tpch_scales_percent": SCALES_PERCENT,
    }
    (made / "contents.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)
    print(f"{folder} is there: {versions[next(iter(versions))]} and {len(versions) - 1} packages")
    return 0


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a command; return what it prints, end with what it complains of."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        hint = " (as root: apt-get update)" if command[0].startswith("apt") else ""
        sys.exit(f"make machine: {' '.join(command[:3])} …: {(done.stderr or done.stdout).strip()[-500:]}{hint}")
    return done.stdout


def wanted() -> list[str]:
    """Return the kernel's package, the programs', and those of the libraries that they depend on."""
    kernel = re.search(r"Depends: (linux-image-\S+)", run("apt-cache", "depends", KERNEL))
    if kernel is None:
        sys.exit(f"make machine: there is no package {KERNEL} here; as root: apt-get update")
    less = [f"--no-{each}" for each in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    names = re.findall(r"^\w\S*", run("apt-cache", "depends", "--recurse", *less, *PACKAGES), re.MULTILINE)
    libraries = {
        name for name in names if re.match(r"lib|zlib", name) and not re.search(r"perl|python|:|installer", name)
    }
    return [kernel.group(1), *PACKAGES, *sorted(libraries - set(PACKAGES))]


def unpack(work: Path, made: Path) -> dict[str, str]:
    """Fetch the packages and put their files together, `/lib` and `/bin` under `/usr`; return each one's version."""
    fetched = work / "packages"
    fetched.mkdir()
    run("apt-get", "download", "-o", "APT::Sandbox::User=root", *wanted(), cwd=fetched)
    versions = {}
    parts = ("bin", "sbin", "lib", "lib64", "include")
    for package in sorted(fetched.iterdir(), key=lambda each: not each.name.startswith("linux-image")):
        name, version = run("dpkg-deb", "--field", str(package), "Package", "Version").split("\n")[:2]
        versions[name.removeprefix("Package: ")] = version.removeprefix("Version: ")
        each = work / "one"
        run("dpkg-deb", "--extract", str(package), str(each))
        if package.name.startswith("linux-image"):
            shutil.move(next((each / "boot").glob("vmlinuz-*")), made / "kernel")
            shutil.move(next((each / "lib" / "modules").iterdir()), made / "all-modules")
        else:
            for folder in (each / place / part for place in ("usr", ".") for part in parts):
                if folder.is_dir():
                    shutil.copytree(folder, made / "tree" / "usr" / folder.name, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(each)
    return versions


def needed(tree: Path, files: Iterable[str]) -> Iterator[str]:
    """Yield files, what links among them point at, and the libraries that they are linked with."""
    seen: set[str] = set()
    pending = list(files)
    while pending:
        name = pending.pop()
        path = tree / name
        if name in seen:
            continue
        if not path.is_symlink() and not path.exists():
            sys.exit(f"make machine: no package has {name}")
        seen.add(name)
        if path.is_symlink():
            yield name
            pending.append(end_of(tree, path))
        elif path.is_dir():
            pending += [str(each.relative_to(tree)) for each in path.iterdir() if each.name != "python3"]
        else:
            yield name
            pending += [found(tree, library) for library in linked(path.read_bytes())]


def end_of(tree: Path, link: Path) -> str:
    """Return the place under `usr` of where a link leads, whether or not its way begins at the root."""
    whole = Path("/usr") / link.parent.relative_to(tree) / link.readlink()
    parts = Path(os.path.normpath(whole)).parts[1:]
    return "/".join(parts[1:] if parts[0] == "usr" else parts)


def found(tree: Path, library: str) -> str:
    """Return where a library lies; a loader has its path."""
    if "/" in library:
        return library
    for place in LIBRARIES:
        if (tree / place / library).exists() or (tree / place / library).is_symlink():
            return f"{place}/{library}"
    sys.exit(f"make machine: no package has the library {library}")


def linked(data: bytes) -> list[str]:
    """Return the libraries, and the loader, that an ELF file of 64 bits names."""
    if data[:5] != b"\x7fELF\x02":
        return []
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    heads = [struct.unpack_from("<IIQQQQQQ", data, start + each * size) for each in range(count)]
    loads = [head for head in heads if head[0] == 1]

    def text(at: int) -> str:
        return data[at : data.index(b"\0", at)].decode()

    def place(address: int) -> int:
        [head] = [head for head in loads if head[3] <= address < head[3] + head[5]][:1]
        return int(address - head[3] + head[2])

    loaders = [text(head[2]).lstrip("/") for head in heads if head[0] == 3]
    for head in (head for head in heads if head[0] == 2):
        pairs = list(struct.iter_unpack("<QQ", data[head[2] : head[2] + head[5] // 16 * 16]))
        [strings] = [place(value) for tag, value in pairs if tag == 5][:1]
        return loaders + [text(strings + value) for tag, value in pairs if tag == 1]
    return loaders


def keep_modules(made: Path) -> tuple[list[str], list[str]]:
    """Keep the modules that guests load; return those of a machine and those of a disk, in the order of loading."""
    found = made / "all-modules"
    files = {each.name.removesuffix(".ko"): each for each in (found / "kernel").rglob("*.ko")}
    (made / "modules").mkdir()

    def add(name: str, order: list[str]) -> None:
        if name in order or name not in files:
            return
        before = re.search(rb"\0depends=([^\0]*)\0", files[name].read_bytes())
        for each in before.group(1).decode().split(",") if before else []:
            add(each, order)
        order.append(name)
        shutil.copy(files[name], made / "modules" / f"{name}.ko")

    machine: list[str] = []
    disk: list[str] = []
    for name in (*MODULES, "crc32c_generic", "crc32c-intel"):
        add(name, machine)
    for name in (*DISK_MODULES, "crc32c_generic"):
        add(name, disk)
    shutil.rmtree(found)
    return machine, disk


def keep_only(tree: Path, kept: set[str]) -> None:
    """Remove what no program needs."""
    for folder, _, names in os.walk(tree, topdown=False):
        for name in names:
            path = Path(folder, name)
            if str(path.relative_to(tree)) not in kept and path.name != "libc.a":
                path.unlink()
        if not any(Path(folder).iterdir()):
            Path(folder).rmdir()


def objects(tree: Path, folder: Path) -> None:
    """Take the objects out of the C library's archive: what the program `link` links."""
    folder.mkdir()
    archive = tree / "lib/x86_64-linux-gnu/libc.a"
    run("ar", "x", str(archive), cwd=folder)
    archive.unlink()


def database(made: Path) -> None:
    """Create the databases of the program `tpch`, one for each scale, and its queries, one file each."""
    example = ROOT / "examples" / "tpch" / "run.py"
    spec = importlib.util.spec_from_file_location("tpch", example)
    assert spec is not None
    assert spec.loader is not None
    tpch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tpch)
    folder = made / "tpch"
    folder.mkdir()
    for percent in SCALES_PERCENT:
        tpch.build(folder / f"scale-{percent}.db", percent / 100)
    for number, query in enumerate(tpch.queries(), 1):
        (folder / f"{number}.sql").write_text(query + ";\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
