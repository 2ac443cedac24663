"""Hit ratios of caches from Python and the command line."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from ctrl_c import interrupted
from sledsim import SledsimError, TraceError
from test_trace import parquet_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from conftest import Outcome

SLOW = pytest.mark.slow
POLICIES = ["lru", "fifo", "clock", "lfuda", "arc", "2q", "slru", "s3-fifo", "sieve", "w-tinylfu"]


def lru_hits(references: list[tuple[int, int]], pages: int) -> int:
    """Count the hits of an LRU cache the plain way."""
    cached: OrderedDict[tuple[int, int], None] = OrderedDict()
    hits = 0
    for page in references:
        if page in cached:
            hits += 1
            cached.move_to_end(page)
        else:
            cached[page] = None
            if len(cached) > pages:
                cached.popitem(last=False)
    return hits


@pytest.fixture
def mixed_file(tmp_path: Path) -> Path:
    """Return a trace of three devices whose requests begin and end anywhere, one far beyond the others."""
    rows = []
    for i in range(4000):
        offset = (i * i * 37 % 97) * 3000 + (2**45 if i % 11 == 0 else 0)
        rows.append(f"{i},{i % 3},{offset},{1 + i * 7 % 9000},{'RW'[i % 2]}")
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
    return path


def references_of(path: Path, page_bytes: int) -> list[tuple[int, int]]:
    """Return the pages, with their devices, that a trace touches."""
    found = []
    for line in path.read_text().splitlines()[1:]:
        _, device, offset, size, _ = line.split(",")
        first, last = int(offset) // page_bytes, (int(offset) + int(size) - 1) // page_bytes
        found += [(int(device), page) for page in range(first, last + 1)]
    return found


# Pages of a byte are 18 million in all the requests, and half a million in some.
@pytest.mark.parametrize(
    ("page_bytes", "requests"), [(1, 100), (512, 4000), (4096, 4000), (5000, 4000), pytest.param(1, 1500, marks=SLOW)]
)
def test_hits_equal_a_plain_count(mixed_file: Path, page_bytes: int, requests: int) -> None:
    mixed_file.write_text("\n".join([*mixed_file.read_text().splitlines()[: 1 + requests], ""]))
    references = references_of(mixed_file, page_bytes)
    found = sledsim.studies.hit_ratio(mixed_file, pages=[10, 100, 100_000], page_bytes=page_bytes)
    assert (found.requests, found.references, found.page_bytes) == (requests, len(references), page_bytes)
    assert found.format == "csv"
    for cache in found.caches:
        assert cache.hits == lru_hits(references, cache.pages)
        assert cache.hit_ratio == cache.hits / found.references


def test_one_pass_serves_every_cache(mixed_file: Path) -> None:
    together = sledsim.studies.hit_ratio(mixed_file, POLICIES, [20, 200])
    assert [(cache.label, cache.pages) for cache in together.caches] == [(p, n) for n in (20, 200) for p in POLICIES]
    for policy in POLICIES:
        alone = sledsim.studies.hit_ratio(mixed_file, policy, 200)
        assert alone.caches[0].hit_ratio == together.ratio(policy, 200)
    # Everything fits: with every policy, only first references miss.
    misses = len(set(references_of(mixed_file, 4096)))
    everything = sledsim.studies.hit_ratio(mixed_file, POLICIES, 10 * misses)
    assert {cache.hits for cache in everything.caches} == {everything.references - misses}


def test_parameters_are_part_of_a_policys_name(mixed_file: Path) -> None:
    policies: list[str | Mapping[str, Any]] = ["2q", "2q:in_share=0.5", {"name": "slru", "protected_share": 0.0}, "lru"]
    found = sledsim.studies.hit_ratio(mixed_file, policies, 50)
    assert [cache.label for cache in found.caches] == ["2q", "2q:in_share=0.5", "slru:protected_share=0", "lru"]
    assert found.caches[1].policy == {"name": "2q", "in_share": 0.5, "out_share": 0.5}
    # A cache without a protected segment is an LRU cache.
    assert found.ratio("slru:protected_share=0", 50) == found.ratio("lru", 50)


def test_duplicate_caches_are_simulated_once(mixed_file: Path) -> None:
    assert len(sledsim.studies.hit_ratio(mixed_file, ["lru", "lru"], [5, 5]).caches) == 1


def test_parquet_traces(mixed_file: Path) -> None:
    plain, columnar = sledsim.studies.hit_ratio(mixed_file), sledsim.studies.hit_ratio(parquet_of(mixed_file))
    assert columnar.format == "parquet"
    assert columnar.caches == plain.caches


def test_progress_is_reported(mixed_file: Path) -> None:
    calls: list[tuple[int, int | None, float, float | None]] = []
    sledsim.studies.hit_ratio(mixed_file, page_bytes=16, progress=lambda *now: calls.append(now))
    requests = [now[0] for now in calls]
    assert requests == sorted(requests)
    assert requests[-1] == 4000


def test_error_of_the_progress_function_ends_the_count(mixed_file: Path) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        sledsim.studies.hit_ratio(mixed_file, progress=refuse)


def test_unreadable_traces_are_refused(tmp_path: Path, trace_file: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        sledsim.studies.hit_ratio(tmp_path / "none.csv")
    trace_file.write_text(trace_file.read_text() + "1,0,x,1,R\n")
    with pytest.raises(TraceError, match="line 52"):
        sledsim.studies.hit_ratio(trace_file)
    assert sledsim.studies.hit_ratio(trace_file, skip_bad=1).skipped == 1


def test_caches_that_were_not_simulated_are_errors(trace_file: Path) -> None:
    with pytest.raises(SledsimError, match="lru of 1000"):
        sledsim.studies.hit_ratio(trace_file).ratio("arc", 1000)


def test_the_table_has_a_row_for_each_size(sledsim_cli: Callable[..., Outcome], trace_file: Path) -> None:
    command = ["hit-ratio", trace_file, "--policy", "lru", "--policy", "2q:in_share=0.5", "--pages", "10,2000"]
    done = sledsim_cli(*command, "--page-bytes", 512)
    assert done.status == 0
    assert "400 references" in done.out
    assert "50 requests" in done.out
    head, *rows = [line.split() for line in done.out.splitlines()[1:] if "─" not in line]
    assert head == ["pages", "MB", "lru", "2q:in_share=0.5"]
    assert [row[0] for row in rows] == ["10", "2,000"]


def test_json(sledsim_cli: Callable[..., Outcome], trace_file: Path) -> None:
    found = json.loads(sledsim_cli("hit-ratio", trace_file, "--pages", 5, "--pages", 6, "--json").out)
    assert (found["requests"], found["references"], found["page_bytes"]) == (50, 50, 4096)
    assert [cache["pages"] for cache in found["caches"]] == [5, 6]
    assert found["caches"][0]["policy"] == {"name": "lru"}


def test_the_miss_ratio_curve_shows_one_minus_the_hit_ratio(
    sledsim_cli: Callable[..., Outcome], trace_file: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "misses.svg"
    asked = ["--policy", "lru", "--policy", "arc", "--pages", "1,5,20", "--plot", picture]
    assert sledsim_cli("hit-ratio", trace_file, *asked).status == 0
    assert "<svg" in picture.read_text()
    found = sledsim.studies.hit_ratio(trace_file, ["lru", "arc"], [1, 5, 20])
    chart = found.plot().to_dict()
    [rows] = chart["datasets"].values()
    assert [(row["policy"], row["pages"]) for row in rows] == [(each.label, each.pages) for each in found.caches]
    hits = [each.hit_ratio for each in found.caches if each.hit_ratio is not None]
    assert [row["miss"] for row in rows] == [pytest.approx(1 - hit, abs=1e-6) for hit in hits]
    assert chart["encoding"]["x"]["title"] == "Size of the cache (pages)"
    assert chart["encoding"]["x"]["scale"]["type"] == "log"


def test_error_of_too_many_pages_suggests_the_option(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    trace = tmp_path / "long.csv"
    trace.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,0,8589934592000,R\n")
    done = sledsim_cli("hit-ratio", trace)
    assert done.status == 2
    assert "--page-bytes 4096: request 1 of the trace has 2097152000 pages" in done.err
    assert "use larger pages" in done.err
    assert sledsim_cli("hit-ratio", trace, "--page-bytes", 2**23).status == 0


def test_a_trace_of_flushes_alone_has_no_hit_ratio(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    trace = tmp_path / "flushes.csv"
    trace.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,0,0,F\n5,0,0,0,F\n")
    done = sledsim_cli("hit-ratio", trace)
    assert done.status == 0
    assert done.out.splitlines()[-1].split()[-1] == "–"
    drawn = sledsim_cli("hit-ratio", trace, "--plot", tmp_path / "x.html")
    assert drawn.status == 2
    assert "there is nothing to draw: no request of the trace touches a page" in drawn.err


def test_policies_are_listed(sledsim_cli: Callable[..., Outcome]) -> None:
    assert list(sledsim.caches.catalog()) == POLICIES
    assert json.loads(sledsim_cli("list", "cache-policies", "--json").out) == sledsim.caches.catalog().to_dict()
    table = sledsim_cli("list", "cache-policies").out
    assert "in_share = 0.25, out_share = 0.5" in table


def test_a_count_is_interrupted(tmp_path: Path) -> None:
    """Requests of 2^20 pages each, as many as may be, take minutes."""
    path = tmp_path / "endless.csv"
    path.write_text("t_ns,device,offset_bytes,bytes,op\n" + f"0,0,0,{2**32},R\n" * 6400)
    status, out, err = interrupted("hit-ratio", path, "--policy", "arc")
    assert (status, out) == (130, "")
    assert "interrupted" in err
    assert "Traceback" not in err
