"""Documents of every kind, in every notation, with settings: read, and used if accepted."""

from __future__ import annotations

import copy
import json
import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import random_scenarios
from fuzzing import mutation
from fuzzing.invariants import numbers_in, require
from fuzzing.notation import NOTATIONS, written_as
from fuzzing.running import run_and_check, shortened, stopper
from fuzzing.schemas import KINDS, Drawing, schema_of
from fuzzing.systems import changed

if TYPE_CHECKING:
    from random import Random

    from fuzzing.targets import Given

EXAMPLES = Path(__file__).parents[2] / "python" / "sledsim" / "examples"
#: A key that occurs in one kind of document only.
KEYS = {"enclosure": "enclosure", "search": "objectives", "cost": "mems_bytes", "role": "role", "scenario": "workload"}
#: Number of points of a sweep, and of designs of a search, to check.
POINTS = 3
#: Largest sweep whose points are all resolved.
MOST_POINTS = 40


@cache
def examples(kind: str) -> list[dict[str, Any]]:
    """Return the example documents of a kind, with their base scenarios included."""
    found = []
    for path in sorted(EXAMPLES.glob("*.toml")):
        document = tomllib.loads(path.read_text())
        if next((name for name, key in KEYS.items() if key in document), "sweep") != kind:
            continue
        for key in ("scenario", "role", "without"):
            if isinstance(document.get(key), str) and document[key].endswith(".toml"):
                document[key] = tomllib.loads((path.parent / document[key]).read_text())
        if isinstance(document.get("workload"), dict) and "path" in document["workload"]:
            document["workload"]["path"] = str(EXAMPLES / document["workload"]["path"])
        found.append(document)
    return found


def drawn(random: Random, kind: str) -> dict[str, Any]:
    """Draw a document of a kind: an example, a random scenario, or values of its schema."""
    way = random.random()
    if way < 0.15:
        made = Drawing(random, schema_of(kind)).value(schema_of(kind))
        return made if isinstance(made, dict) else {}
    if kind == "scenario" and way < 0.6:
        return dict(random_scenarios.scenario(random.randrange(10**6)))
    document = copy.deepcopy(random.choice(examples(kind)))
    if "scenario" in document and random.random() < 0.4:
        document["scenario"] = random_scenarios.scenario(random.randrange(10**6))
    return document


def settings(random: Random, kind: str) -> list[str]:
    """Draw settings, some with paths of the document."""
    found = []
    for _ in range(random.choice([0, 0, 0, 0, 0, 1, 1, 2])):
        document = drawn(random, kind)
        known = [".".join(map(str, place)) for place in mutation.places(document)]
        path = random.choice([*known, "run.requests", "seed", "device", "system.device.zones.3.spares", "title", ""])
        path = random.choice(["", "", "", f"{kind}.", "system."]) + path
        value = random.choice([mutation.wild(random), mutation.wild(random), 5, "g3"])
        text = value if isinstance(value, str) else json.dumps(value)
        setting = f"{path}={text}"
        if random.random() < 0.1:
            setting = random.choice([path, f"={text}", f"{path}=" + "[" * 150, f"{'a.' * 150}b=1", "a=1=2", " = "])
        found.append(setting)
    return found


class Documents:
    """Documents of all kinds."""

    def make(self, random: Random) -> Given:
        """Draw a document and settings."""
        kind = random.choice([*KINDS, "scenario"])
        count = random.choice([0, 0, 0, 1, 1, 1, 2, 5])
        document = changed(random, drawn(random, kind), kind, count)
        notation = random.choice([*NOTATIONS, "table"])
        given: Given = {"kind": kind, "notation": notation, "sets": settings(random, kind)}
        if notation == "table":
            return {**given, "document": document}
        text = written_as(notation, document)
        if random.random() < 0.2:
            for _ in range(random.randint(1, 3)):
                text = mutation.garbled_text(random, text)
        return {**given, "text": text}

    def attempt(self, given: Given, folder: Path) -> None:
        """Read the document, and use it if it is accepted."""
        source: Any = given.get("document")
        if source is None:
            source = folder / f"document.{given['notation']}"
            source.write_bytes(given["text"].encode(errors="surrogatepass"))
        use(given["kind"], source, given["sets"])


def use(kind: str, source: Any, sets: list[str]) -> None:
    """Read a document of a kind, and check its properties."""
    uses = {
        "scenario": _scenario,
        "sweep": _sweep,
        "search": _search,
        "enclosure": _enclosure,
        "cost": _cost,
        "role": _role,
    }
    uses[kind](source, sets)


def _scenario(source: Any, sets: list[str]) -> None:
    import sledsim
    from sledsim.scenario.reading import resolve

    resolved = resolve(source, sets)
    again = resolve(resolved.values)
    require(again == resolved, "resolving a resolved scenario changes it")
    require(again.canonical() == resolved.canonical(), "resolving a scenario changes its canonical text")
    sledsim.scenario.explain(resolved.values).tables()
    run_and_check(resolved.values, again=False)


def _sweep(source: Any, sets: list[str]) -> None:
    from sledsim.sweep import Sweep

    sweep = Sweep.load(source, overrides=sets)
    if len(sweep) <= MOST_POINTS:
        sweep.check()
    for task, _ in zip(sweep.tasks(), range(POINTS), strict=False):
        sweep.prepare(task)
    last = sweep.point(len(sweep) - 1)
    require(set(last) == set(sweep.parameters), f"a point has {set(last)}, the sweep varies {sweep.parameters}")


def _search(source: Any, sets: list[str]) -> None:
    from sledsim.sweep import Search

    search = Search.load(source, overrides=sets)
    require(set(search.spaces) == set(search.parameters), "a parameter has no space")
    search.check()


def _enclosure(source: Any, sets: list[str]) -> None:
    from sledsim import reliability

    description = reliability.load(source, overrides=sets)
    if not reliability.needs_simulation(description):
        found = reliability.analyse(description)
        require(found.mttf_years > 0, f"a mean time to loss of {found.mttf_years} years")
        _check_numbers(found.to_dict())
        found.tables()
    simulated = reliability.simulate(description, lifetimes=1000, threads=1, progress=stopper())
    _check_numbers(simulated.to_dict())


def _check_numbers(found: Any) -> None:
    for path, number in numbers_in(found):
        name = path.split(".")[-1]
        require(number == number, f"{path} is not a number")
        if "probability" in name or name.startswith("p_"):
            require(0 <= number <= 1, f"{path} = {number} is no probability")


def _cost(source: Any, sets: list[str]) -> None:
    from sledsim.scenario.reading import resolve
    from sledsim.studies.cache_cost import CostStudy, cost

    study = CostStudy.load(source, overrides=sets)
    scenario = resolve(study.base, study.overrides)
    short = study.changed(scenario=shortened(scenario.values), replications=1, overrides=())
    with suppress(KeyboardInterrupt):  # it took too long, and was stopped
        _check_numbers(cost(short, progress=stopper()).to_dict())


def _role(source: Any, sets: list[str]) -> None:
    from sledsim.studies.objective import RoleTest
    from sledsim.studies.objective.objective_tests import role_of

    role_of(RoleTest.load(source, overrides=sets))
