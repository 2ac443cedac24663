"""Caches of a disk for equal cost: sizes, crossover points and refused input."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import EXAMPLES, ROOT
from sledsim.studies.cache_cost.cached_disk import CachedDisk, CacheDesign
from sledsim.studies.cache_cost.comparison import CostComparison

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conftest import Outcome

MIB = 1 << 20
SCENARIO: dict[str, Any] = {
    "workload": "tpcc-like",
    "system": {"device": "atlas10k-50mb"},
    "run": {"requests": 2000, "warmup_requests": 200},
}
SMALL: dict[str, Any] = {"mems_bytes": "8 MiB", "segment_bytes": "8 KiB"}


def cached(kind: str, price: float, means_ms: Sequence[float]) -> CachedDisk:
    return CachedDisk(kind, int(MIB / price), price, tuple(means_ms), None, None)


def prices_and_means(mems_ms: Sequence[float], *nvram: tuple[float, Sequence[float]]) -> CostComparison:
    return CostComparison(cached("MEMS", 1.0, mems_ms), [cached("NVRAM", price, means) for price, means in nvram])


def test_equal_budget_buys_less_of_a_dearer_medium() -> None:
    found = sledsim.studies.cost(SCENARIO, **SMALL, ratios=[8, 1, 2])
    assert found.ratios == [1, 2, 8]
    assert [row["bytes"] for row in found.rows()] == [8 * MIB, 4 * MIB, MIB]
    assert [row["price"] for row in found.rows()] == pytest.approx([found.mems.price] * 3, rel=1e-12)
    assert found.mems.bytes == 8 * MIB


def test_prices_and_budget_are_equivalent_to_ratios_and_size() -> None:
    by_ratio = sledsim.studies.cost(SCENARIO, **SMALL, ratios=[1, 4])
    by_price = sledsim.studies.cost(
        SCENARIO,
        segment_bytes="8 KiB",
        mems_price_per_gb=10.0,
        nvram_prices_per_gb=[10.0, 40.0],
        budget=8 * MIB / 1e9 * 10.0,
    )
    assert by_price.ratios == by_ratio.ratios
    assert [row["mean_ms"] for row in by_price.rows()] == [row["mean_ms"] for row in by_ratio.rows()]
    assert by_price.mems.means_ms == by_ratio.mems.means_ms


def test_cache_results_equal_those_of_a_scenario() -> None:
    found = sledsim.studies.cost(SCENARIO, **SMALL, ratios=[2])
    design = CacheDesign(SCENARIO["system"], segment_bytes="8 KiB")
    for each, system in [
        (found.mems, design.mems_system("8 MiB")),
        (found.nvram[0], design.nvram_system("4 MiB")),
    ]:
        result = sledsim.run(SCENARIO | {"system": system})
        assert each.means_ms == (result.response.mean_ms,)
        cache = next(one for one in result.components if one["path"] == design.cache_path)
        assert each.hit_ratio == next(count["value"] for count in cache["counts"] if count["name"] == "hit_ratio")


def test_the_crossover_lies_on_the_line_between_its_neighbours() -> None:
    found = prices_and_means([2.0], (1.0, [1.0]), (2.0, [1.5]), (4.0, [3.5]))
    assert found.crossover == pytest.approx(2.5)
    assert found.crossover_interval is None
    assert "more than 2.50 times as much" in found.conclusion


def test_crossover_has_an_interval_over_seeds() -> None:
    found = prices_and_means([2.0, 2.0, 2.0], (1.0, [1.0, 1.0, 1.0]), (3.0, [3.0, 2.8, 3.2]))
    assert found.crossover == pytest.approx(2.0)
    between = found.crossover_interval
    assert between is not None
    # Crossovers of the seeds: 2, 2.111 and 1.909.
    assert between.mean == pytest.approx((2 + 19 / 9 + 21 / 11) / 3)
    assert between.low < 1.909 < 2.111 < between.high


@pytest.mark.parametrize(
    ("nvram_ms", "said"),
    [
        ([1.0, 1.5], "NVRAM is faster for the money at every ratio from 1.00 to 2.00"),
        ([2.5, 3.0], "MEMS is faster for the money at every ratio from 1.00 to 2.00"),
        ([2.5, 1.5], "neither is faster throughout"),
    ],
)
def test_curves_that_do_not_cross_have_no_crossover(nvram_ms: list[float], said: str) -> None:
    found = prices_and_means([2.0], *zip([1.0, 2.0], [[each] for each in nvram_ms], strict=True))
    assert found.crossover is None
    assert said in found.conclusion


def test_seeds_give_an_interval() -> None:
    found = sledsim.studies.cost(SCENARIO, **SMALL, ratios=[1], replications=3)
    each = found.nvram[0]
    assert len(set(each.means_ms)) == 3
    assert each.interval is not None
    assert each.interval.low < each.mean_ms < each.interval.high
    first = sledsim.studies.cost(SCENARIO, **SMALL, ratios=[1])
    assert first.nvram[0].means_ms[0] == each.means_ms[0]


def test_json_table_and_picture_agree(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    arguments = ["cost", "--workload", "tpcc-like", "--segment", "8 KiB", "--mems-size", "8 MiB", "--ratio", "1,2"]
    arguments += ["--set", "run.requests=2000", "--controller", "none"]
    found = json.loads(sledsim_cli(*arguments, "--json").out)
    assert found["stand_in"] == "tpcc-like"
    assert [row["ratio"] for row in found["nvram"]] == [1.0, 2.0]
    picture = tmp_path / "cost.json"
    table = sledsim_cli(*arguments, "--plot", picture).out
    assert found["conclusion"] in table
    assert "8 MiB" in table
    drawn = json.loads(picture.read_text())
    assert "Price of NVRAM over that of MEMS" in json.dumps(drawn)


def test_cache_cost_of_a_trace(sledsim_cli: Callable[..., Outcome], trace_file: Path) -> None:
    arguments = ["cost", "--trace", trace_file, "--disk", "atlas10k", "--mems-size", "1 MiB", "--ratio", "2", "--json"]
    found = json.loads(sledsim_cli(*arguments).out)
    assert trace_file.name in found["subject"]
    assert "atlas10k" in found["subject"]
    assert found["nvram"][0]["bytes"] == MIB // 2


@pytest.mark.slow
def test_the_page_has_the_output_of_the_command(sledsim_cli: Callable[..., Outcome]) -> None:
    page = (ROOT / "docs" / "how-to" / "cost.md").read_text()
    command = next(line for line in page.splitlines() if line.startswith("sledsim cost "))
    arguments = shlex.split(command)[1:]
    example = str(EXAMPLES / "database.toml")
    found = sledsim_cli(*(example if each == "database.toml" else each for each in arguments))
    assert found.out.strip() == page.partition("```\n\n```\n")[2].partition("\n```")[0].strip()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["SCENARIO", "--workload", "--trace"]),
        (["a.toml", "--workload", "tpcc-like"], ["give one of"]),
        (["--workload", "tpc-like"], ["tpc-like", "tpcc-like"]),
        (["--workload", "tpcc-like", "--ratio", "1,x"], ["--ratio", "1,x"]),
        (["--workload", "tpcc-like", "--ratio", "0"], ["--ratio 0 is out of range"]),
        (["--workload", "tpcc-like", "--ratio", "1,nan"], ["--ratio = nan: expected a finite number"]),
        (["--workload", "tpcc-like", "--budget", "inf"], ["--budget = inf: expected a finite number"]),
        (["--workload", "tpcc-like", "--mems-price", "0"], ["--mems-price 0 is out of range"]),
        (["--workload", "tpcc-like", "--controller", "0"], ["--controller 0 is out of range"]),
        (["--workload", "tpcc-like", "--budget", "1", "--mems-size", "1 MiB"], ["--budget", "--mems-size"]),
        (["--workload", "tpcc-like", "--disk", "atlas"], ["atlas", "atlas10k"]),
        (["--workload", "tpcc-like", "--plot", "cost.gif"], ["cost.gif"]),
        (["--trace", "nowhere.srt"], ["nowhere.srt", "no such file"]),
        (["nowhere.toml"], ["nowhere.toml", "no such file"]),
    ],
)
def test_the_command_refuses_with_status_2(
    sledsim_cli: Callable[..., Outcome], arguments: list[str], words: list[str]
) -> None:
    found = sledsim_cli("cost", *arguments)
    assert found.status == 2
    assert found.out == ""
    for word in words:
        assert word in found.err
