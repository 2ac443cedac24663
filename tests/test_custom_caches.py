"""Custom replacement policies: hit ratios, admission, and failures that no other role has."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from c_programs import SOURCES, compiled_policies
from conftest import ROOT, size
from custom_policies import ROLES
from sledsim import RunError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

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

class Late(Lru):
    def started(self, slots):
        assert slots < 0

class Insists(Lru):
    def victim(self, key, after):
        return 0

class First(Lru):
    def admits(self, key):
        return key < 4

class Bare(Replacement):
    pass
"""

#: State of the compiled policies.
BYTES: dict[str, Any] = {"state_bytes": 8, "slot_bytes": 16}
ROLE = ROLES["replacement"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(compiled_policies((SOURCES / "policies.c").read_text(), tmp_path_factory.mktemp("compiled")))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which has the policies."""
    shutil.copy(ROOT / "examples" / "custom_caches.py", tmp_path)
    (tmp_path / "mine.py").write_text(CLASSES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def trace(folder: Path, sledsim_cli: Callable[..., Outcome]) -> Path:
    assert sledsim_cli("example", "my-trace.gz").status == 0
    return folder / "my-trace.gz"


def ran(policy: object, system: str = "back", **run: Any) -> sledsim.Result:
    return sledsim.run(ROLE.scenario(policy, system, **{"requests": 1200, **run}), check=True)


def test_hit_ratios_equal_those_of_the_built_in_policy(trace: Path, library: str) -> None:
    own: list[Any] = ["custom_caches:Lru", {"library": library, "symbol": "lru", **BYTES}, "custom_caches:Arc"]
    found = sledsim.studies.hit_ratio(trace, ["lru", *own, "arc"], [100, 300])
    hits = {(cache.label, cache.pages): cache.hits for cache in found.caches}
    for pages in (100, 300):
        assert hits["custom_caches:Arc", pages] == hits["arc", pages]
        assert len({cache.hits for cache in found.caches if cache.pages == pages}) == 2
        assert hits["custom_caches:Lru", pages] == hits["lru", pages]


def test_policies_decide_admission(trace: Path, library: str) -> None:
    found = sledsim.studies.hit_ratio(trace, ["lru", "mine:Second", "mine:Second,times=1"], 300)
    whole, second, first = (cache.hits for cache in found.caches)
    assert first == whole != second
    assert [cache.label for cache in found.caches][1:] == ["mine:Second,times=2", "mine:Second,times=1"]
    # If all pages fit, a page with n references has n - 2 hits, or n - 1 if every page is admitted.
    roomy = sledsim.studies.hit_ratio(trace, ["lru", "mine:Second"], 20_000)
    whole, second = (cache.hits for cache in roomy.caches)
    distinct = roomy.references - whole
    assert roomy.references - 2 * distinct < second < whole


@pytest.mark.parametrize("system", ROLE.systems)
def test_refused_lines_bypass_the_cache(folder: Path, library: str, system: str) -> None:
    def count(result: sledsim.Result, name: str) -> float:
        [found] = [each["value"] for each in result.components[0]["counts"] if each["name"] == name]
        return float(found)

    # Every key is a multiple of 1.
    none = {"library": library, "symbol": "choosy", "one": 1, **BYTES}
    found = ran(none, system)
    assert found.requests.completed == 1200
    assert count(found, "read_hits") == count(found, "write_hits") == 0
    assert 0 < count(ran("mine:Second", system), "read_hits") != count(ran("lru", system), "read_hits")
    # Acknowledged data survives power cuts, admitted to the cache or not.
    for policy in (none, "mine:Second"):
        survived = ran(policy, system, requests=400, power_cuts={"random": 2})
        assert survived.power_cuts
        for each in survived.power_cuts:
            assert each["written_blocks"] > 0
            assert each["lost_durable_blocks"] == each["unreadable_blocks"] == 0


def test_refused_lines_are_not_read_ahead(folder: Path) -> None:
    rows = [f"{line * 10_000_000},0,{line * 4096},4096,R" for line in range(8)]
    (folder / "lines.csv").write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    ahead = {"kind": "sequential", "most_bytes": 32_768}
    cache = {"kind": "ram-cache", "bytes": 1 << 20, "line_bytes": 4096, "read_ahead": ahead, "policy": "mine:First"}
    workload = {"kind": "trace", "path": "lines.csv"}
    result = sledsim.run({"workload": workload, "system": {**cache, "child": "g2"}})
    counts = {each["name"]: each["value"] for each in result.components[0]["counts"]}
    # The first two of the four admitted lines start the stream, and the other two are read ahead.
    assert (counts["read_ahead_blocks"], counts["read_ahead_used_blocks"]) == (16, 16)


def test_failures_name_the_line_or_page(folder: Path, trace: Path) -> None:
    expected = "mine:Bare.admitted raised NotImplementedError: Bare has no method admitted"
    for run, place in (
        (lambda: ran("mine:Bare"), " s, with line "),
        (lambda: sledsim.studies.hit_ratio(trace, "mine:Bare", 300), "with page "),
    ):
        with pytest.raises(RunError) as raised:
            run()
        assert expected in str(raised.value)
        assert place in str(raised.value)


@pytest.mark.parametrize("system", ROLE.systems)
def test_failure_of_the_constructor_has_no_key(folder: Path, trace: Path, system: str) -> None:
    with pytest.raises(RunError) as raised:
        ran("mine:Late", system)
    place = rf"system.policy at [\d.]+ s, with request {raised.value.request} \("
    assert re.match(place, str(raised.value)), raised.value
    with pytest.raises(RunError, match=r"^mine:Late raised AssertionError"):
        sledsim.studies.hit_ratio(trace, "mine:Late", 300)


def test_policy_errors_include_the_request(folder: Path) -> None:
    """Also when the policy is called again for a request that waited for space or other requests."""
    later = 0
    for name in ROLE.systems:
        for after in range(5, 405, size(100, 8)):
            scenario = ROLE.scenario({"python": "mine:Tires", "after": after}, name, requests=1200)
            scenario["workload"]["arrival"]["rate_per_s"] = 5000.0
            if name != "mcd":
                scenario["system"]["bytes"] = 8 * 4096
            with pytest.raises(RunError, match=r"mine:Tires\.\w+ raised ValueError: no more") as raised:
                sledsim.run(scenario)
            assert raised.value.request is not None, (name, after, str(raised.value))
            assert f" and request {raised.value.request} (" in str(raised.value)
            later += raised.value.request < raised.value.result.requests.submitted - 1
    assert later > 1


def test_repeated_choice_of_a_pinned_line_ends_the_run(folder: Path) -> None:
    with pytest.raises(RunError, match="mine:Insists chose slot 0 of 400, which can't be evicted, a second time"):
        ran("mine:Insists")


def test_parameters_of_a_policy_in_text_are_checked(folder: Path) -> None:
    with pytest.raises(ScenarioError, match="mine"):
        ran("mine:Second,times=x")
    with pytest.raises(ScenarioError, match="replacement"):
        sledsim.runs.check_policy("lru", "replacment")
