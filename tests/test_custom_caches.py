"""Custom replacement policies: as classes and compiled, in caches and by themselves."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from c_programs import compiled_policies
from conftest import ROOT, size
from sledsim import RunError, ScenarioError
from sledsim.caches import compiled
from sledsim.sweep import Sweep, results, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

SOURCE = r"""
#include "sledsim_policy.h"
#include <stddef.h>

_Static_assert(offsetof(struct sledsim_cache, parameters) == 32, "no padding");

/* Lists of keys or slots, the oldest first, in the room for each slot. */
struct lists { double p; uint64_t length[4]; uint64_t entries[]; };
enum { T1, T2, B1, B2 };

static uint64_t *list_of(const struct sledsim_cache *event, int list) {
    struct lists *lists = event->state;
    return lists->entries + list * event->slots;
}

static int64_t place_of(const struct sledsim_cache *event, int list, uint64_t entry) {
    struct lists *lists = event->state;
    for (uint64_t place = 0; place < lists->length[list]; place++)
        if (list_of(event, list)[place] == entry) return place;
    return -1;
}

static int leaves(const struct sledsim_cache *event, int list, uint64_t entry) {
    struct lists *lists = event->state;
    int64_t place = place_of(event, list, entry);
    if (place < 0) return 0;
    lists->length[list]--;
    for (uint64_t next = place; next < lists->length[list]; next++)
        list_of(event, list)[next] = list_of(event, list)[next + 1];
    return 1;
}

static void joins(const struct sledsim_cache *event, int list, uint64_t entry) {
    struct lists *lists = event->state;
    list_of(event, list)[lists->length[list]++] = entry;
}

/* The first of two lists, or what comes after `slot`. */
static int64_t first_of(const struct sledsim_cache *event, int one, int other) {
    struct lists *lists = event->state;
    int found = event->slot == SLEDSIM_NO_SLOT;
    for (int turn = 0; turn < 2; turn++) {
        int list = turn ? other : one;
        for (uint64_t place = 0; place < lists->length[list]; place++) {
            if (found) return list_of(event, list)[place];
            found = list_of(event, list)[place] == event->slot;
        }
    }
    return -1;
}

int64_t lru(const struct sledsim_cache *event) {
    switch (event->what) {
    case SLEDSIM_VICTIM:
        return first_of(event, T1, T2);
    case SLEDSIM_ADMITTED:
    case SLEDSIM_HIT:
        leaves(event, T1, event->slot);
        joins(event, T1, event->slot);
        return 0;
    case SLEDSIM_REMOVED:
        leaves(event, T1, event->slot);
    }
    return 0;
}

/* Megiddo and Modha, FAST 2003, Figure 4. */
int64_t arc(const struct sledsim_cache *event) {
    struct lists *lists = event->state;
    uint64_t *length = lists->length;
    double b1 = length[B1], b2 = length[B2], p = lists->p, most;
    int ghost = event->what == SLEDSIM_VICTIM || event->what == SLEDSIM_ADMITTED
        ? place_of(event, B1, event->key) >= 0 ? B1 : place_of(event, B2, event->key) >= 0 ? B2 : -1
        : -1;
    if (ghost == B1) {
        most = b2 / b1 > 1 ? b2 / b1 : 1;
        p = p + most < event->slots ? p + most : event->slots;
    } else if (ghost == B2) {
        most = b1 / b2 > 1 ? b1 / b2 : 1;
        p = p - most > 0 ? p - most : 0;
    }
    switch (event->what) {
    case SLEDSIM_VICTIM:
        if (length[T1] > p || (ghost == B2 && length[T1] == p)) return first_of(event, T1, T2);
        return first_of(event, T2, T1);
    case SLEDSIM_ADMITTED: {
        int remembers = 1, into = ghost < 0 ? T1 : T2;
        lists->p = p;
        if (ghost >= 0) {
            leaves(event, ghost, event->key);
        } else if (length[T1] + length[B1] == event->slots) {
            remembers = length[B1] > 0;
            if (remembers) leaves(event, B1, list_of(event, B1)[0]);
        } else if (length[T1] + length[T2] + length[B1] + length[B2] == 2 * event->slots) {
            leaves(event, B2, list_of(event, B2)[0]);
        }
        if (event->evicted != SLEDSIM_NO_KEY) {
            int was = leaves(event, T1, event->slot) ? B1 : B2;
            leaves(event, T2, event->slot);
            if (remembers) joins(event, was, event->evicted);
        }
        joins(event, into, event->slot);
        return 0;
    }
    case SLEDSIM_HIT:
        leaves(event, T1, event->slot);
        leaves(event, T2, event->slot);
        joins(event, T2, event->slot);
        return 0;
    case SLEDSIM_REMOVED:
        leaves(event, T1, event->slot);
        leaves(event, T2, event->slot);
    }
    return 0;
}

/* Lets no key come in that is a multiple of its parameter. */
int64_t choosy(const struct sledsim_cache *event) {
    if (event->what == SLEDSIM_REFUSES) return event->key % (uint64_t)event->parameters[0] == 0;
    return lru(event);
}

int64_t wrong(const struct sledsim_cache *event) { return event->what == SLEDSIM_VICTIM ? (int64_t)event->slots : 0; }
"""
#: State of each policy: the four lists; each ghost list has one entry per slot.
ROOM: dict[str, Any] = {"state_bytes": 40, "slot_bytes": 32}

CLASSES = """
from sledsim.caches import Replacement
from custom_caches import Lru

class Second(Lru):
    times: int = 2

    def __post_init__(self):
        super().__post_init__()
        self.seen = {}

    def admits(self, key):
        self.seen[key] = self.seen.get(key, 0) + 1
        return self.seen[key] >= self.times

class Raises(Lru):
    def victim(self, key, after):
        raise ValueError("no idea")

class Tires(Lru):
    after: int
    calls = 0

    def tire(self):
        self.calls += 1
        if self.calls > self.after:
            raise ValueError("no more")

    def victim(self, key, after):
        self.tire()
        return super().victim(key, after)

    def hit(self, slot, key):
        self.tire()
        super().hit(slot, key)

    def admitted(self, slot, key, evicted):
        self.tire()
        super().admitted(slot, key, evicted)

class Nonsense(Lru):
    answer: int = 99_999

    def victim(self, key, after):
        return self.answer

class Words(Lru):
    def victim(self, key, after):
        return "the first"

class Hangs(Lru):
    limit_s = 0.3

    def hit(self, slot, key):
        while True:
            pass

class Insists(Lru):
    def victim(self, key, after):
        return 0

class Bare(Replacement):
    pass
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_policies(SOURCE, tmp_path_factory.mktemp("compiled"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with policies, which is the working folder."""
    shutil.copy(ROOT / "examples" / "custom_caches.py", tmp_path)
    (tmp_path / "mine.py").write_text(CLASSES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


WORKLOAD = {
    "arrival": {"kind": "poisson", "rate_per_s": 250.0},
    "read_fraction": 0.6,
    "location": {"kind": "zipf", "exponent": 1.1, "regions": 20_000},
}
SYSTEMS: dict[str, dict[str, Any]] = {
    "back": {"kind": "ram-cache", "bytes": 400 * 4096, "child": {"device": "g2", "scheduler": "sptf"}},
    "through": {"kind": "ram-cache", "bytes": 300 * 4096, "write": "through", "child": {"device": "g2"}},
    "mcd": {
        "kind": "mcd",
        "mems_bytes": 4 << 20,
        "mems": {"device": "g2"},
        "disk": {"device": "atlas10k"},
        "flush": {"idle_ms": 5.0},
    },
}


def ran(system: dict[str, Any], policy: object, requests: int = 1200) -> sledsim.Result:
    scenario = {"seed": 5, "workload": WORKLOAD, "system": {**system, "policy": policy}, "run": {"requests": requests}}
    return sledsim.run(scenario, log=True)


def log_of(system: dict[str, Any], policy: object) -> bytes:
    found = ran(system, policy)
    return b"".join(name.encode() + column.tobytes() for name, column in sorted(found.log.items()))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(("name", "listed"), [("Lru", "lru"), ("Arc", "arc")])
def test_a_rewritten_policy_gives_the_same_log(
    folder: Path, library: Path, system: str, name: str, listed: str
) -> None:
    expected = log_of(SYSTEMS[system], listed)
    assert log_of(SYSTEMS[system], f"custom_caches:{name}") == expected
    assert log_of(SYSTEMS[system], {"library": str(library), "symbol": listed, **ROOM}) == expected
    assert expected != log_of(SYSTEMS[system], "fifo")


@pytest.fixture
def trace(folder: Path, sledsim_cli: Callable[..., Outcome]) -> Path:
    assert sledsim_cli("example", "my-trace.gz").status == 0
    return folder / "my-trace.gz"


def test_hit_ratios_equal_those_of_the_built_in_policy(trace: Path, library: Path) -> None:
    functions = ctypes.CDLL(str(library))
    for name, listed in (("Lru", "lru"), ("Arc", "arc")):
        address = compiled(getattr(functions, listed), **ROOM)
        own: list[Any] = [f"custom_caches:{name}", {"library": str(library), "symbol": listed, **ROOM}, address]
        found = sledsim.studies.hit_ratio(trace, [listed, *own], [100, 300])
        for pages in (100, 300):
            assert len({cache.hits for cache in found.caches if cache.pages == pages}) == 1
    labels = [cache.label for cache in found.caches[:4]]
    assert labels == ["arc", "custom_caches:Arc", "arc", "compiled"]


def test_policies_decide_admission(trace: Path, library: Path) -> None:
    found = sledsim.studies.hit_ratio(trace, ["lru", "mine:Second", "mine:Second,times=1"], 300)
    whole, second, first = (cache.hits for cache in found.caches)
    assert first == whole != second
    assert [cache.label for cache in found.caches][1:] == ["mine:Second,times=2", "mine:Second,times=1"]
    # With room for all, a page that is referenced n times is hit n - 2 times, or 1 less where all come in.
    roomy = sledsim.studies.hit_ratio(trace, ["lru", "mine:Second"], 20_000)
    whole, second = (cache.hits for cache in roomy.caches)
    distinct = roomy.references - whole
    assert roomy.references - 2 * distinct < second < whole
    # None of the lines that are no multiple of 1 comes in.
    none = {"library": str(library), "symbol": "choosy", "one": 1, **ROOM}
    assert sledsim.studies.hit_ratio(trace, none, 300).caches[0].hits == 0


def count(result: sledsim.Result, name: str) -> float:
    [found] = [each["value"] for each in result.components[0]["counts"] if each["name"] == name]
    return float(found)


@pytest.mark.parametrize("system", SYSTEMS)
def test_refused_lines_bypass_the_cache(folder: Path, library: Path, system: str) -> None:
    none = {"library": str(library), "symbol": "choosy", "one": 1, **ROOM}
    found = ran(SYSTEMS[system], none)
    assert found.requests.completed == 1200
    assert count(found, "read_hits") == count(found, "write_hits") == 0
    second, all_ = ran(SYSTEMS[system], "mine:Second"), ran(SYSTEMS[system], "lru")
    assert 0 < count(second, "read_hits") != count(all_, "read_hits")
    # Acknowledged data survives power cuts, admitted to the cache or not.
    cut = {"seed": 5, "workload": WORKLOAD, "run": {"requests": 400, "power_cuts": {"random": 2}}}
    for policy in (none, "mine:Second", "custom_caches:Arc"):
        survived = sledsim.run({**cut, "system": {**SYSTEMS[system], "policy": policy}}, check=True)
        assert survived.power_cuts
        for each in survived.power_cuts:
            assert each["written_blocks"] > 0
            assert each["lost_durable_blocks"] == each["unreadable_blocks"] == 0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Raises", "mine:Raises.victim raised ValueError: no idea"),
        ("Nonsense", "mine:Nonsense.victim returned 99999: expected a slot from 0 to 299"),
        ("Words", "mine:Words.victim returned 'the first': expected a slot from 0 to 299"),
        ("Hangs", "mine:Hangs.admitted did not return within 0.3 s"),
        ("Bare", "mine:Bare.admitted raised NotImplementedError: Bare has no method admitted"),
    ],
)
def test_policy_failures_end_the_run(folder: Path, trace: Path, name: str, says: str) -> None:
    with pytest.raises(RunError) as raised:
        ran(SYSTEMS["through"], f"mine:{name}")
    assert says in str(raised.value)
    assert " s, with line " in str(raised.value)
    assert raised.value.path == "system.policy"
    assert raised.value.result.run["end"] == "failed"
    with pytest.raises(RunError) as raised:
        sledsim.studies.hit_ratio(trace, f"mine:{name}", 300)
    assert says in str(raised.value)
    assert str(raised.value).startswith("with page ")


@pytest.mark.parametrize("system", SYSTEMS)
def test_failure_of_the_constructor_has_no_key(folder: Path, trace: Path, system: str) -> None:
    (folder / "late.py").write_text(
        "from custom_caches import Lru\nclass Late(Lru):\n    def started(self, slots):\n        assert slots < 0\n"
    )
    with pytest.raises(RunError) as raised:
        ran(SYSTEMS[system], "late:Late")
    place = rf"system.policy at [\d.]+ s, with request {raised.value.request} \("
    assert re.match(place, str(raised.value)), raised.value
    with pytest.raises(RunError, match=r"^late:Late raised AssertionError"):
        sledsim.studies.hit_ratio(trace, "late:Late", 300)


def test_policy_errors_include_the_request(folder: Path) -> None:
    """Also when the policy is called again for a request that waited for space or other requests."""
    workload = {**WORKLOAD, "arrival": {"kind": "poisson", "rate_per_s": 5000.0}}
    few = {"back": 8 * 4096, "through": 8 * 4096}
    later = 0
    for name, system in SYSTEMS.items():
        system = {**system, "bytes": few[name]} if name in few else system
        for after in range(5, 405, size(100, 8)):
            scenario = {
                "seed": 5,
                "workload": workload,
                "system": {**system, "policy": {"python": "mine:Tires", "after": after}},
                "run": {"requests": 1200},
            }
            with pytest.raises(RunError, match=r"mine:Tires\.\w+ raised ValueError: no more") as raised:
                sledsim.run(scenario)
            assert raised.value.request is not None, (name, after, str(raised.value))
            assert f" and request {raised.value.request} (" in str(raised.value)
            later += raised.value.request < raised.value.result.requests.submitted - 1
    assert later > 1


def test_invalid_victim_of_a_compiled_policy_ends_the_run(library: Path) -> None:
    with pytest.raises(RunError, match="wrong returned 300: expected a slot from 0 to 299"):
        ran(SYSTEMS["through"], {"library": str(library), "symbol": "wrong"})


def test_repeated_choice_of_a_pinned_line_ends_the_run(folder: Path) -> None:
    with pytest.raises(RunError, match="mine:Insists chose slot 0 of 400, which can't be evicted, a second time"):
        ran(SYSTEMS["back"], "mine:Insists")


@pytest.mark.parametrize(
    ("policy", "path", "says"),
    [
        ("mine:Secnd", "system.policy.python", "mine:Second"),
        ("mine:Second,times=x", "system.policy", "mine"),
        ({"python": "mine:Second", "times": "many"}, "system.policy.times", "a number"),
        ({"python": "mine:Second", "tims": 3}, "system.policy.tims", "times"),
        ({"python": "custom_schedulers:Fcfs"}, "system.policy.python", "no class made from sledsim.caches.Replacement"),
        ({"library": "libmine.so", "symbol": "lru", "positioning": False}, "system.policy", "lib"),
    ],
)
def test_errors_have_the_path_of_the_key(folder: Path, policy: object, path: str, says: str) -> None:
    shutil.copy(ROOT / "examples" / "custom_schedulers.py", folder)
    with pytest.raises(ScenarioError) as raised:
        ran(SYSTEMS["back"], policy)
    assert str(raised.value.path).startswith(path)
    assert says in str(raised.value)


def test_cache_policies_are_refused_as_schedulers(folder: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no class made from sledsim\.schedulers\.Policy"):
        sledsim.run({"workload": WORKLOAD, "system": {"device": "g2", "scheduler": "custom_caches:Lru"}})


def test_keys_of_another_role_are_refused(library: Path) -> None:
    with pytest.raises(ScenarioError, match="compiled scheduler") as raised:
        ran(SYSTEMS["back"], {"library": str(library), "symbol": "lru", "positioning": False})
    assert raised.value.path == "system.policy.positioning"


def test_policies_can_be_set_swept_and_named(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    base = {"workload": WORKLOAD, "system": SYSTEMS["back"], "run": {"requests": 1200}}
    (folder / "cached.json").write_text(json.dumps(base))
    result = sledsim_cli(
        "run", "cached.json", "--set", "system.policy=mine:Second", "--set", "policy.times=3", "--json"
    )
    assert result.status == 0, result.err
    policy = json.loads(result.out)["scenario"]["system"]["policy"]
    assert policy["python"] == "mine:Second"
    assert policy["parameters"] == {"times": 3}
    assert len(policy["source"]) == 64
    report = run(Sweep(base, {"system.policy": ["lru", "custom_caches:Lru", "custom_caches:Arc"]}), folder / "s.sweep")
    assert report.done == 3
    means = [
        row["metrics"]["response.mean_ms"]["mean"] for row in results(folder / "s.sweep").rows(["response.mean_ms"])
    ]
    assert means[0] == means[1] != means[2]


def test_sessions_continue_from_a_snapshot(folder: Path) -> None:
    session = sledsim.Session({**SYSTEMS["back"], "policy": "custom_caches:Arc"})
    for number in range(900):
        session.submit(number * 7919 % 40_000 * 8, 8, read=number % 3 > 0)
        if number == 600:
            session.advance(session.next_event_ns or 0)
            snapshot = session.snapshot()
    rest = [(done.id, done.end_ns) for done in snapshot.drain()]
    again = sledsim.Session({**SYSTEMS["back"], "policy": "arc"})
    for number in range(601):
        again.submit(number * 7919 % 40_000 * 8, 8, read=number % 3 > 0)
    again.advance(again.next_event_ns or 0)
    assert [(done.id, done.end_ns) for done in again.drain()] == rest


@pytest.mark.parametrize("name", ["lru", "s3-fifo", "custom_caches:Lru", "custom_caches:Arc", "mine:Second"])
def test_valid_policies_pass_the_contract_check(folder: Path, name: str) -> None:
    found = sledsim.runs.check_policy(name, "replacement")
    assert found.passed, found


def test_contract_violations_are_named(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    result = sledsim_cli("plugin-check", "mine:Raises", "--role", "replacement")
    assert result.status == 2
    assert "serves each request once: a cache that writes back" in result.err
    assert "no idea" in result.err
    result = sledsim_cli("plugin-check", "custom_caches:Lru", "--role", "replacement", "--json")
    assert json.loads(result.out)["replacement"] == "custom_caches:Lru"
    with pytest.raises(ScenarioError, match="replacement"):
        sledsim.runs.check_policy("lru", "replacment")


def test_invalid_result_of_a_function_ends_the_run() -> None:
    nonsense = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda _event: 1 << 30)
    policy = compiled(nonsense)
    cache = {"kind": "ram-cache", "bytes": 8 << 10, "policy": policy, "child": "g2"}
    scenario = {"workload": {"arrival": {"kind": "closed", "outstanding": 1}}, "system": cache, "run": {"requests": 50}}
    with pytest.raises(
        RunError, match="returned 1073741824 when asked whether it refuses a key: expected 0 or 1"
    ) as caught:
        sledsim.run(scenario)
    assert caught.value.path == "system.policy"
    assert f" and request {caught.value.request} (" in str(caught.value)
    assert caught.value.at_s is not None
    assert not sledsim.runs.check_policy(policy, role="replacement").passed
