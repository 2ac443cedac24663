"""Output of commands on terminals of several widths: lines fit, and no content is lost."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from conftest import EXAMPLES, size
from sledsim.cli.app import app
from sledsim.show.fitting import lay_out, wrap_text
from sledsim.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WIDTHS = size((80,), (80, 100, 120, 200))
#: Stands for the width when the output goes into a pipe.
PIPED = 0
FEW = ("--set", "run.requests=1500", "--set", "run.warmup_requests=0")

# Every command that prints for people; `schema`, `import` and `check --resolved` print documents for programs.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("--help",),
    ("example",),
    ("run", "scenario.toml", *FEW),
    ("run", "scenario.toml", *FEW, "--full"),
    ("run", "moving.toml", "--set", "run.requests=400", "--full"),
    ("replay", "my-trace.gz", "--device", "g3", "--fit", "scale", "--records", "500"),
    ("replay", "my-trace.gz", "--device", "g3", "--fit", "scale", "--records", "500", "--full"),
    ("replay", "my-trace.gz", "--records", "500", "--scheduler", "fcfs,sptf"),
    ("replay", "my-trace.gz", "--records", "500", "--device", "g2,travelstar", "--time-scale", "0.01"),
    ("replay", "my-trace.gz", "--records", "500", "--find-limit", "p99=20ms"),
    ("compare", "fcfs.toml", "sptf.toml", *FEW),
    ("compare", *("fcfs.toml", "sptf.toml") * 5, *FEW),
    ("check", "scenario.toml"),
    ("check", "moving.toml"),
    ("power", "power.toml", "--set", "run.requests=1500"),
    ("power", "power.toml", "--set", "run.requests=1500", "--policies"),
    ("device", "g2", "--break-even"),
    ("reliability", "enclosure.toml"),
    ("reliability", "enclosure.toml", "--simulate", "--lifetimes", "2000"),
    ("reliability", "enclosure.toml", "enclosure.toml"),
    ("reliability", "enclosure.toml", "--figure", "spares"),
    ("reliability", "enclosure.toml", "--figure", "maintenance"),
    ("reliability", "enclosure.toml", "--figure", "failures"),
    ("reliability", "enclosure.toml", "--figure", "cost"),
    ("sweep", "status", "rates.sweep"),
    ("sweep", "show", "rates.sweep"),
    ("sweep", "compare", "rates.sweep", "--axis", "scheduler=fcfs,sptf"),
    ("optimise", "design.toml", "--trials", "6", "--set", "run.requests=300"),
    ("list", "devices"),
    ("device", "g2"),
    ("device", "atlas10k"),
    ("device", "g2", "--set", "device.bit_nm=30"),
    ("list", "schedulers"),
    ("list", "workloads"),
    ("list", "workloads", "snake-like"),
    ("list", "workloads", "symmetrix-like"),
    ("list", "cache-policies"),
    ("device", "g2", "--seeks"),
    ("device", "g2", "--seek-surface"),
    ("device", "atlas10k", "--seeks"),
    ("device", "atlas10k", "--zones"),
    ("validate-drive", "atlas10k", "measured.trace"),
    ("hit-ratio", "my-trace.gz", "--policy", "arc", "--policy", "lru", "--pages", "100,1000"),
    ("cost", "--workload", "cello-like", "--set", "run.requests=2000", "--ratio", "1,2"),
    ("relation", "--records", "100000", "--fetches", "100"),
    ("role-test", "specificity", "sdf", "--replications", "2", "--requests", "500"),
    ("role-test", "merit", "sptf", "--replications", "2", "--requests", "500"),
    ("trace", "my-trace.gz"),
    ("trace", "measured.trace", "--head", "10"),
    ("list", "formats"),
    ("reproduce", "griffin1999.settle-time"),
)

# Runs all of them in one process, as starting takes longer than running; a mark precedes each.
DRIVER = """
import contextlib, json, sys
from sledsim.cli.app import app
for words in json.load(open("commands.json")):
    print("\\x1e", flush=True)
    try:
        app(words, prog_name="sledsim")
    except SystemExit as ended:
        if ended.code:
            sys.exit(f"{words}: {ended.code}")
    sys.stdout.flush()
"""


#: The environment without settings of the output.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}


def on_terminal(command: list[str], folder: Path, width: int, **environment: str) -> str:
    """Return the output of a command on a terminal of this number of columns."""
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    made = {**ENVIRONMENT, "TERM": "xterm-256color", **environment}
    with (folder / f"errors-{width}").open("wb") as errors:
        process = subprocess.Popen(command, cwd=folder, env=made, stdout=secondary, stderr=errors)
    os.close(secondary)
    read = b""
    while True:
        try:
            part = os.read(primary, 65536)
        except OSError:
            # The last writer has closed the terminal.
            break
        if not part:
            break
        read += part
    os.close(primary)
    assert process.wait() == 0, (folder / f"errors-{width}").read_text()
    return read.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[str]]:
    """Return the output of each command, by the width of the terminal."""
    folder = tmp_path_factory.mktemp("screens")
    for name in ("moving", "power"):
        shutil.copy(EXAMPLES / f"{name}.toml", folder)
    sledsim = [sys.executable, "-c", "from sledsim.cli import main; main()"]
    for words in (["example", "readme"], ["sweep", "run", "rates.toml", *FEW]):
        subprocess.run([*sledsim, *words], cwd=folder, check=True, capture_output=True)
    (folder / "commands.json").write_text(json.dumps(COMMANDS))
    driver = [sys.executable, "-c", DRIVER]

    def screen(width: int) -> str:
        if width == PIPED:
            return subprocess.run(
                driver, cwd=folder, check=True, capture_output=True, text=True, env=ENVIRONMENT
            ).stdout
        return on_terminal(driver, folder, width, NO_COLOR="1")

    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(screen, (PIPED, *WIDTHS)))
    return {width: text.split("\x1e\n")[1:] for width, text in zip((PIPED, *WIDTHS), texts, strict=True)}


EACH = pytest.mark.parametrize("i", range(len(COMMANDS)), ids=[" ".join(words[:3]) for words in COMMANDS])


@EACH
def test_no_line_is_longer_than_the_terminal(screens: dict[int, list[str]], i: int) -> None:
    for width in WIDTHS:
        assert "\x1b" not in screens[width][i]
        longest = max(screens[width][i].splitlines(), key=len)
        assert len(longest) <= width, longest


def words_in(text: str) -> Counter[str]:
    """Count the words of a text; rules are none."""
    # A value below its row is preceded by its column header and a colon.
    return Counter(word.rstrip(":") for word in text.split() if set(word) != {"─"})


@EACH
def test_terminal_and_pipe_have_the_same_content(screens: dict[int, list[str]], i: int) -> None:
    if COMMANDS[i] == ("--help",):
        return  # click folds it, and lists options in two columns if there is space
    for width in WIDTHS:
        assert words_in(screens[PIPED][i]) <= words_in(screens[width][i])


def test_columns_sets_the_width_of_a_pipe() -> None:
    command = [sys.executable, "-c", "from sledsim.cli import main; main()", "list", "devices"]
    for width in (80, 100):
        environment = {**ENVIRONMENT, "COLUMNS": str(width)}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        assert width - 20 < max(map(len, done.stdout.splitlines())) <= width


RULE = re.compile(r"^─+(  ─+)*$")


@dataclass
class PrintedTable:
    """A table as it was printed."""

    above: str
    headers: list[str]
    rows: list[list[str]]


def tables_in(text: str) -> Iterator[PrintedTable]:
    """Find the tables of piped output, by their rules."""
    lines = text.splitlines()
    for i, rule in enumerate(lines):
        if not RULE.match(rule):
            continue
        spans = [found.span() for found in re.finditer("─+", rule)]

        def cells(line: str, spans: list[tuple[int, int]] = spans) -> list[str]:
            return [line[start:end].strip() for start, end in spans]

        end = next((k for k in range(i + 1, len(lines)) if not lines[k] or NOTE.match(lines[k])), len(lines))
        above = " ".join(line for line in lines[max(0, i - 4) : i - 1])
        yield PrintedTable(above, cells(lines[i - 1]), [cells(line) for line in lines[i + 1 : end]])


NOTE = re.compile(r"note: |no 95 % interval: |end of the run: ")


@EACH
def test_every_row_has_its_name(screens: dict[int, list[str]], i: int) -> None:
    tables = list(tables_in(screens[PIPED][i]))
    for table in tables:
        assert all(row[0] for row in table.rows), table.rows
    for width in WIDTHS:
        text = screens[width][i]
        firsts = [
            " ".join(line[: len(rule.split("  ")[0])].strip() for line in block.splitlines())
            for rule, block in blocks_in(text)
        ]
        for table in tables:
            for row in table.rows:
                name = " ".join(row[0].split())
                assert any(name in " ".join(first.split()) for first in firsts), (width, name)


def blocks_in(text: str) -> Iterator[tuple[str, str]]:
    """Find the rules of terminal output, and the lines below each up to the next."""
    lines = text.splitlines()
    rules = [*(i for i, line in enumerate(lines) if RULE.match(line)), len(lines)]
    for start, end in itertools.pairwise(rules):
        yield lines[start], "\n".join(lines[start + 1 : end])


NUMBER = re.compile(r"^[-×]?[\d,]*\.?\d+(e[-+]?\d+)?$")
# Counts, ratios and shares without a unit, and columns whose headers or titles have it.
PURE = re.compile(
    r"ratio|^×|%|share|fraction|count|requests|runs?$|records|reads$|writes$|flushes$|resets$|scv|trial|entered|start-ups|seed|losses|"
    r"demerit|blocks|sectors|cylinder|zones?|tracks|rows|LBN|tips|pages|hits|gain|device|claims|spares|visits|times|"
    r"P\(loss\)|survival|loss of|failures|repairs|up to|none|point|mJ/|/s$|factor|constants|bidirectional|bits|"
    r"utilisation|^USD$|_per_s$|^to$|rpm|replications|queue|price per|pairs|of the full scan|^MB$|skipped|suspect|"
    r"exponent|regions|weight|_ms$|_bytes$|other|by construction|reproduced|differs|shape only|done|failed|missing",
    re.IGNORECASE,
)


@EACH
def test_every_number_has_its_unit(screens: dict[int, list[str]], i: int) -> None:
    for table in tables_in(screens[PIPED][i]):
        whole = "(" in table.headers[0] or re.search(r" in (ms|µm)|\(\w+\)", table.above)
        units = [k for k, header in enumerate(table.headers) if header == "unit"]
        for row in table.rows:
            for header, cell in zip(table.headers[1:], row[1:], strict=True):
                if not NUMBER.match(cell) or whole:
                    continue
                has_unit = "(" in header or "(" in row[0] or any(row[k] for k in units)
                assert has_unit or any(map(PURE.search, (header, *row[:2], *table.headers[:2]))), (header, row)


def helps() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield all commands, including nested ones, with the text below their help."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        yield words, command.epilog or ""
        for name, each in getattr(command, "commands", {}).items():
            yield from walk(each, (*words, name))

    return walk(typer.main.get_command(app), ())


def test_help_of_each_command_fits_and_is_complete(tmp_path: Path) -> None:
    found = list(helps())
    (tmp_path / "commands.json").write_text(json.dumps([[*words, "--help"] for words, _ in found]))
    for width in WIDTHS:
        shown = on_terminal([sys.executable, "-c", DRIVER], tmp_path, width, NO_COLOR="1").split("\x1e\n")[1:]
        for (words, epilog), text in zip(found, shown, strict=True):
            assert max(map(len, text.splitlines())) <= width, words
            assert "..." not in text.partition("Commands:")[2], words
            # As a shell reads them.
            pasted = re.sub(r" \\\n +", " ", text)
            assert all(line.strip() in pasted for line in epilog.replace("\b", "").splitlines()), words


def test_colours_and_styles_are_for_terminals(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from sledsim.cli import main; main()", "list", "schedulers"]
    plain = on_terminal(command, tmp_path, 80, NO_COLOR="1")
    styled = on_terminal(command, tmp_path, 80)
    assert "\x1b[1m" in styled
    assert re.sub("\x1b\\[[0-9;]*m", "", styled) == plain
    assert "\x1b" not in on_terminal(command, tmp_path, 80, TERM="dumb")


PRINTS = """
import sledsim
result = sledsim.run({"workload": "tpcc-like", "system": "g2", "run": {"requests": 300}})
print(result, result.brief(), sledsim.compare({"one": result, "other": result}), sep="\\n")
print(sledsim.Device("g2").break_even())
"""


def test_printed_results_fit_the_terminal(tmp_path: Path) -> None:
    program = [sys.executable, "-c", PRINTS]
    piped = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    for width in WIDTHS:
        shown = on_terminal(program, tmp_path, width)
        assert max(map(len, shown.splitlines())) <= width
        assert words_in(piped) <= words_in(shown)


WORDS = st.text(st.sampled_from("abc ()/"), max_size=60)
NUMBERS = st.floats(0, 1e6).map(lambda value: f"{value:.4g}")


@st.composite
def some_tables(draw: st.DrawFn) -> Table:
    left = draw(st.lists(st.booleans(), max_size=9))
    headers = [draw(WORDS) for _ in range(len(left) + 1)]
    rows = [
        [f"row{i} {draw(WORDS)}", *(draw(WORDS if words else NUMBERS) for words in left)]
        for i in range(draw(st.integers(1, 4)))
    ]
    flush = frozenset(i + 1 for i, words in enumerate(left) if words)
    return Table(headers, rows, title=draw(WORDS), left=flush, notes=[draw(WORDS)])


@given(some_tables(), st.integers(40, 130))
def test_tables_fit_without_losing_content(table: Table, width: int) -> None:
    lines = [line.text for line in lay_out(table, width)]
    assert max(map(len, lines)) <= width
    # Words may be split: compare the counts of letters only.
    texts = [table.title or "", *(cell for row in table.rows for cell in row), *table.notes]
    shown, whole = Counter("".join(lines)), Counter("".join(texts))
    for letter in "abc()/0123456789":
        assert shown[letter] >= whole[letter]
    for i in range(len(table.rows)):
        assert any(line.startswith(f"row{i}") for line in lines)


@given(WORDS, st.integers(10, 40))
def test_folding_keeps_every_word(text: str, width: int) -> None:
    parts = wrap_text(text, width, "  ")
    assert "".join("".join(parts).split()) == "".join(text.split())
