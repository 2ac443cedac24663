"""Custom spin-down policies: as classes and compiled, as good as built-in ones."""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from c_programs import compiled_policies
from conftest import ROOT
from sledsim import RunError, ScenarioError
from sledsim.spin_down import compiled
from sledsim.sweep import Sweep, results, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SOURCE = r"""
#include "sledsim_policy.h"
#include <math.h>
#include <stddef.h>

_Static_assert(offsetof(struct sledsim_idle, parameters) == 88, "no padding");

static int64_t stop_after(const struct sledsim_idle *call, int64_t after_ns) {
    if (call->what != SLEDSIM_AFTER) return 0;
    return call->mode == call->modes - 1 ? after_ns : (int64_t)call->after_ns[call->mode];
}

int64_t immediate(const struct sledsim_idle *call) { return stop_after(call, 0); }
int64_t never(const struct sledsim_idle *call) { return call->what == SLEDSIM_AFTER ? -1 : 0; }
int64_t timeout(const struct sledsim_idle *call) { return stop_after(call, (int64_t)(call->parameters[0] * 1e6)); }

/* The share algorithm over 12 timeouts; parameters are learning_rate and sharing. */
enum { EXPERTS = 12 };
struct share { double timeout_ns[EXPERTS], kept[EXPERTS], total_ns, average_ns, portion, scale; };

static double above_w(const struct sledsim_idle *call, unsigned mode) {
    return call->power_w[mode] - call->power_w[call->modes - 1];
}

static double return_j(const struct sledsim_idle *call, unsigned mode) {
    return fmax((call->wake_w[mode] - call->power_w[call->modes - 1]) * (double)call->wake_ns[mode] * 1e-9, 0);
}

static void weigh_evenly(struct share *share) {
    for (int i = 0; i < EXPERTS; i++) share->kept[i] = 0;
    share->portion = 1.0 / EXPERTS;
    share->scale = 1;
    share->average_ns = share->total_ns * share->portion;
}

static void begin(const struct sledsim_idle *call, struct share *share) {
    double longest_ns = 2 * (return_j(call, call->modes - 1) / above_w(call, 0) * 1e9 / 1e6) * 1e6;
    for (int i = 1; i < EXPERTS; i++) share->timeout_ns[i] = ldexp(longest_ns, i + 1 - EXPERTS);
    for (int i = 0; i < EXPERTS; i++) share->total_ns += share->timeout_ns[i];
    weigh_evenly(share);
}

/* Joules on the way down, and back from where that leads. */
static double descent(const struct sledsim_idle *call, double idle_ns, double *left_j) {
    double spent_j = 0, until_ns = idle_ns;
    int lowest = call->modes - 1, reached = -1;
    for (int mode = (lowest > 1 ? lowest : 1) - 1; mode >= 0; mode--) {
        uint64_t after_ns = call->after_ns[mode];
        double from_ns = fmin(after_ns == UINT64_MAX ? idle_ns : (double)after_ns, until_ns);
        if (from_ns < idle_ns && reached < 0) reached = mode;
        spent_j += above_w(call, mode) * (until_ns - from_ns) * 1e-9;
        until_ns = from_ns;
    }
    *left_j = return_j(call, reached < 0 ? 0 : reached);
    return spent_j;
}

static double clamped(double loss) { return fmin(fmax(loss, 0), 1); }

struct verdict { double factor, keep; };

static struct verdict verdict(const struct sledsim_idle *call, double loss) {
    if (loss == 0) return (struct verdict){1, 1};
    return (struct verdict){exp(-call->parameters[0] * loss), exp(log1p(-call->parameters[1]) * loss)};
}

static void learn(const struct sledsim_idle *call, struct share *share) {
    double idle_ns = call->idle_ns, back_j = return_j(call, call->modes - 1), least_j = INFINITY, left_j;
    double most_j = above_w(call, 0) * fmin(idle_ns, share->timeout_ns[EXPERTS - 1]) * 1e-9 + back_j;
    if (most_j <= 0) return;
    for (unsigned mode = 0; mode < call->modes; mode++)
        least_j = fmin(least_j, above_w(call, mode) * idle_ns * 1e-9 + return_j(call, mode));
    double per_j = 1 / most_j, rest = (back_j - least_j) * per_j, waited_j = descent(call, idle_ns, &left_j);
    struct verdict late = verdict(call, clamped((waited_j + left_j - least_j) * per_j));
    struct verdict first = verdict(call, rest);
    struct verdict waiting = verdict(call, descent(call, share->timeout_ns[1], &left_j) * per_j);
    double weights[4] = {0}, kept[4] = {0}, kept_ns[4] = {0};
    for (int i = 0; i < EXPERTS; i++) {
        struct verdict found = late;
        if (share->timeout_ns[i] < idle_ns && call->modes > 2) {
            found = verdict(call, clamped(rest + descent(call, share->timeout_ns[i], &left_j) * per_j));
        } else if (share->timeout_ns[i] < idle_ns) {
            found = first;
            if (i > 0) {
                found = (struct verdict){first.factor * waiting.factor, first.keep * waiting.keep};
                waiting = (struct verdict){waiting.factor * waiting.factor, waiting.keep * waiting.keep};
            }
        }
        double weight = (share->kept[i] + share->portion) * share->scale * found.factor;
        share->kept[i] = weight * found.keep;
        weights[i % 4] += weight;
        kept[i % 4] += share->kept[i];
        kept_ns[i % 4] += share->kept[i] * share->timeout_ns[i];
    }
    double weight = (weights[0] + weights[1]) + (weights[2] + weights[3]);
    if (weight < 2.2250738585072014e-308) { weigh_evenly(share); return; }
    share->portion = (weight - ((kept[0] + kept[1]) + (kept[2] + kept[3]))) / EXPERTS;
    share->scale = 1 / weight;
    double sum_ns = (kept_ns[0] + kept_ns[1]) + (kept_ns[2] + kept_ns[3]);
    share->average_ns = (sum_ns + share->portion * share->total_ns) * share->scale;
}

int64_t adaptive(const struct sledsim_idle *call) {
    struct share *share = call->state;
    if (call->what == SLEDSIM_AFTER && share->total_ns == 0) begin(call, share);
    if (call->what == SLEDSIM_ENDED) learn(call, share);
    return stop_after(call, (int64_t)(fmin(share->average_ns, share->timeout_ns[EXPERTS - 1]) + 0.5));
}
"""

CLASSES = """
from sledsim.spin_down import SpinDown

class Mine(SpinDown):
    limit_s = 0.3
    answer: int | None = 0
    after: int = 0

    def __post_init__(self):
        self.requests, self.free_ns, self.idle_ns = 0, 0, 0

    def served(self, now_ns, request):
        assert now_ns >= self.free_ns
        self.requests += 1
        self.free_ns = now_ns

    def ended(self, now_ns, idle_ns, modes):
        assert 0 < idle_ns <= now_ns - self.free_ns
        self.idle_ns += idle_ns

    def after_ns(self, now_ns, mode, modes):
        assert now_ns == self.free_ns
        assert 0 < mode < len(modes) == len(modes.names) == len(modes.power_w)
        return self.wrong() if self.requests > self.after > 0 else self.answer

    def wrong(self):
        return -5

class Raises(Mine):
    def wrong(self):
        raise ValueError("no idea")

class Words(Mine):
    def wrong(self):
        return "soon"

class Hangs(Mine):
    def wrong(self):
        while True:
            pass

class Shares(Mine):
    calls = 0

    def after_ns(self, now_ns, mode, modes):
        Shares.calls += 1
        return 0 if Shares.calls % 7 else None

class Deaf(Mine):
    def ended(self, now_ns, idle_ns, modes):
        raise KeyError(idle_ns)

class AtOnce(Mine):
    def after_ns(self, now_ns, mode, modes):
        raise ValueError("no idea at all")
"""

#: Devices that stop, and how many requests a second leave some of their idle periods long enough for it.
DEVICES: dict[str, tuple[dict[str, Any], float]] = {
    "a sled": ({"device": "g2"}, 100.0),
    "tips that go on": ({"device": {"name": "g2", "idle_tips": "last-access"}, "scheduler": "sptf"}, 50.0),
    "two sleds, batches": ({"device": {"name": "g3", "sleds": 2}, "batch_max": 4}, 200.0),
    "a disk": ({"device": "travelstar"}, 0.3),
    "delayed": ({"device": "g2", "delayed_startup": {"requests": 3, "wait_ms": 20}, "merge": {}}, 100.0),
}
#: Built-in policies, and the same as classes and functions.
TIMEOUT = {"after_ms": 9.0}
REWRITTEN: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "immediate": ("Immediate", {}, {}),
    "timeout": ("Timeout", TIMEOUT, TIMEOUT),
    "never": ("Never", {}, {}),
    "adaptive": ("Adaptive", {}, {"learning_rate": 4.0, "sharing": 0.08, "state_bytes": 224}),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_policies(SOURCE, tmp_path_factory.mktemp("compiled"), "-lm")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with policies, which is the working folder."""
    shutil.copy(ROOT / "examples" / "custom_spin_down.py", tmp_path)
    (tmp_path / "mine.py").write_text(CLASSES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scenario_with(spin_down: object, name: str = "a sled", requests: int = 300) -> dict[str, Any]:
    system, rate_per_s = DEVICES[name]
    workload = {"arrival": {"kind": "poisson", "rate_per_s": rate_per_s}, "read_fraction": 0.7}
    limits = {"requests": requests, "warmup_requests": 20}
    return {"seed": 5, "workload": workload, "system": {**system, "spin_down": spin_down}, "run": limits}


def found_by(spin_down: object, name: str) -> tuple[bytes, object, object]:
    result = sledsim.run(scenario_with(spin_down, name), log=True, check=True)
    log = b"".join(key.encode() + column.tobytes() for key, column in sorted(result.log.items()))
    return log, result.summary["energy"], result.summary["state_time"]


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("policy", REWRITTEN)
def test_a_rewritten_policy_gives_the_same_log_and_energy(policy: str, name: str, folder: Path, library: Path) -> None:
    kind, given, numbers = REWRITTEN[policy]
    expected = found_by({"name": policy, **given}, name)
    assert found_by({"python": f"custom_spin_down:{kind}", **given}, name) == expected
    assert found_by({"library": str(library), "symbol": policy, **numbers}, name) == expected
    assert found_by(compiled(getattr(ctypes.CDLL(str(library)), policy), **numbers), name) == expected


@pytest.mark.parametrize("name", DEVICES)
def test_hooks_are_called_for_every_request_and_idle_period(name: str, folder: Path) -> None:
    assert sledsim.run(scenario_with({"python": "mine:Mine", "answer": None}, name), check=True).complete


def test_every_output_names_it_with_the_hash_of_its_source(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    scenario = scenario_with({"python": "custom_spin_down:Timeout", "after_ms": 2})
    result = sledsim.run(scenario)
    own = result.summary["scenario"]["system"]["spin_down"]
    assert (own["python"], own["parameters"]) == ("custom_spin_down:Timeout", {"after_ms": 2.0})
    assert own["source"] == hashlib.sha256(Path("custom_spin_down.py").read_bytes()).hexdigest()
    assert sledsim.run(result.summary["scenario"]).summary["energy"] == result.summary["energy"]
    (folder / "stops.json").write_text(json.dumps(scenario_with("never")))
    for sets in (
        ["spin_down.python=custom_spin_down:Timeout", "spin_down.after_ms=2"],
        ['spin_down={ python = "custom_spin_down:Timeout", after_ms = 2 }'],
    ):
        printed = sledsim_cli("run", "stops.json", *(word for text in sets for word in ("--set", text)), "--json")
        assert printed.status == 0, printed.err
        assert json.loads(printed.out)["energy"] == result.summary["energy"]
    both = sledsim.compare({"built in": scenario_with({"name": "timeout", "after_ms": 2}), "own": scenario})
    assert both.results["own"].energy == both.results["built in"].energy
    axes = {"spin_down.after_ms": [1, 5]}
    assert run(Sweep(scenario, axes), folder / "s.sweep").done == 2
    found = [row["metrics"]["energy.total_j"]["mean"] for row in results(folder / "s.sweep").rows(["energy.total_j"])]
    listed = [sledsim.run(scenario_with({"name": "timeout", "after_ms": after_ms})) for after_ms in (1, 5)]
    assert found == [result.energy.total_j for result in listed]


def test_comparisons_include_built_in_policies(folder: Path) -> None:
    found = sledsim.power(scenario_with("custom_spin_down:Adaptive"), policies=True)
    assert found["custom_spin_down:Adaptive"].energy == found["adaptive"].energy


def test_objective_tests_accept_it(folder: Path) -> None:
    sampling: dict[str, Any] = {"requests": 200, "replications": 2}
    own, built_in = (
        sledsim.studies.specificity(scenario_with(policy), **sampling).to_dict()
        for policy in ("custom_spin_down:Immediate", "immediate")
    )
    assert own["decisive"] == built_in["decisive"]


def test_sessions_continue_from_a_snapshot(folder: Path) -> None:
    def served(spin_down: object) -> list[tuple[int, int]]:
        session = sledsim.Session({"device": "g2", "spin_down": spin_down})
        for number in range(100):
            session.submit(number * 7919 % 40_000 * 8, 8, at_ns=number * 3_000_000 + number // 7 * 30_000_000)
        session.advance(200_000_000)
        snapshot = session.snapshot()
        rest = [(done.id, done.end_ns) for done in session.drain()]
        assert [(done.id, done.end_ns) for done in snapshot.drain()] == rest
        return rest

    assert served("custom_spin_down:Adaptive") == served("adaptive")


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("Mine", r"mine:Mine.after_ns returned -5: expected None or a whole number"),
        ("Words", r"mine:Words.after_ns returned 'soon': expected"),
        ("Raises", r"mine:Raises.after_ns raised ValueError: no idea"),
        ("Hangs", r"mine:Hangs.after_ns did not return within 0.3 s"),
        ("Deaf", r"mine:Deaf.ended raised KeyError"),
        ("AtOnce", r"no idea at all"),
    ],
)
def test_policy_failure_ends_the_run(policy: str, says: str, folder: Path) -> None:
    with pytest.raises(RunError, match=says) as caught:
        sledsim.run(scenario_with({"python": f"mine:{policy}", "after": 50}))
    error = caught.value
    assert (error.kind, error.path) == ("policy", "system.spin_down")
    assert error.at_s is not None
    # The error has the request of the failed call; before the first request there is none.
    assert error.request == {"Deaf": 1, "AtOnce": None}.get(policy, 50)
    assert f"with {'no request' if policy == 'AtOnce' else f'request {error.request} ('}" in str(error)
    assert ("mine.py" in (error.traceback or "")) == ("returned" not in says)
    assert error.result.summary["run"]["end"] == "failed"
    # The request that the policy failed with is not served.
    assert error.result.requests.completed == {"Deaf": 1, "AtOnce": 0}.get(policy, 50)


@pytest.mark.parametrize(
    ("policy", "path", "says"),
    [
        ("custom_spin_down:Timout", "system.spin_down.python", "did you mean custom_spin_down:Timeout?"),
        ("custom_spin_down:Timeout", "system.spin_down.after_ms", "after_ms is missing"),
        ("custom_spin_down:Ladder", "system.spin_down.python", "no class made from sledsim.spin_down.SpinDown"),
        ({"python": "mine:Mine", "answer": "x"}, "system.spin_down.answer", "a number"),
        ({"library": "libmine.so", "symbol": "never", "arrived": "x"}, "system.spin_down.arrived", "not of a spin"),
    ],
)
def test_errors_name_the_invalid_value(policy: object, path: str, says: str, folder: Path, library: Path) -> None:
    shutil.copy(library, folder)
    with pytest.raises(ScenarioError) as caught:
        sledsim.scenario.resolve(scenario_with(policy))
    assert caught.value.path == path
    assert says in str(caught.value)


def test_devices_without_idle_modes_refuse_it(folder: Path) -> None:
    scenario = {**scenario_with("custom_spin_down:Never"), "system": {"device": "atlas10k", "spin_down": "mine:Mine"}}
    with pytest.raises(ScenarioError, match="no idle modes whose powers are known") as caught:
        sledsim.scenario.resolve(scenario)
    assert caught.value.path == "system.spin_down"


@pytest.mark.parametrize("name", ["adaptive", "offline", "custom_spin_down:Adaptive", "custom_spin_down:Immediate"])
def test_valid_plugins_pass_the_contract_check(name: str, folder: Path) -> None:
    found = sledsim.runs.check_policy(name, "spin-down")
    assert found.passed, found


def test_contract_violations_are_named(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    result = sledsim_cli("plugin-check", "mine:Raises", "--role", "spin-down", "--parameter", "after=99")
    assert result.status == 2
    assert "serves each request once: one sled" in result.err
    assert "with request 99 (" in result.err
    result = sledsim_cli("plugin-check", "mine:Shares", "--role", "spin-down", "--json")
    rules = {rule["rule"]: rule["fault"] for rule in json.loads(result.out)["rules"] if not rule["passed"]}
    assert "another time" in rules["decides the same again"] or "beside it" in rules["decides the same again"]


def test_class_of_the_page_passes_the_contract_check(folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    [module] = [block for block in re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL) if "AsLast" in block]
    (folder / "my_stop.py").write_text(module)
    found = sledsim.runs.check_policy("my_stop:AsLast", "spin-down")
    assert found.passed, found
