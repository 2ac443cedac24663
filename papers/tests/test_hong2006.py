"""Hong et al. 2006: enclosures, and MEMS storage in the hierarchy."""

from __future__ import annotations

from dataclasses import replace
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from conftest import EXAMPLES, reference
from documented_claims import documented
from sledsim import reliability
from sledsim.reliability.duration import YEAR_H
from sledsim_papers.harness import Study, claims, experiments, pictures
from sledsim_papers.hong2006.experiments import REPAIR_TIMES, SPARES, enclosure, mttf_years
from sledsim_papers.hong2006.hierarchies import crossing
from sledsim_papers.hong2006.systems import (
    ARCHITECTURES,
    CACHE_BYTES,
    LABELS,
    LOADS,
    MIB,
    Load,
    cost_curve,
    responses,
    scenario,
    streams_of,
    systems,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sledsim_papers.harness import Finding

CLAIMS = claims("hong2006")
#: Those that need no simulation.
MODEL = [name.partition(".")[2] for name, claim in CLAIMS.items() if claim.data == "model"]
#: Figures recorded earlier with the same models.
OURS = {
    "capacity": ["3.219"],
    "avg-seek": ["0.576"],
    "max-seek": ["0.783"],
    "max-throughput": ["89.6"],
    "enclosure-capacity": ["61.2"],
    "rebuild-bandwidth": ["0.0429"],
    "survival-crossing": ["5.58"],
    "replication-hour": ["0.980"],
    "replication-share": ["0.0095"],
    "instant-rebuild": ["0.01400"],
    "mttf-no-repair": ["2.34", "3.48", "4.63", "5.77", "6.91", "8.05"],
    "loss-5-spares-3-years": ["0.0175"],
    "loss-disk-3-years": ["0.1231"],
    "loss-without-spares-1-year": ["0.2106"],
    "preventive-gain": ["1", "2"],
    "thousand-years": ["15140"],
    "disk-survival": ["0.9571", "0.8769", "0.8033"],
    "durability-2-spares-1-year": ["0.9877"],
    "durability-5-spares-5-years": ["0.8461"],
    "repairs-preventive": ["0.1539"],
    "repairs-mandatory": ["0.0350"],
    "distributed-sparing": ["0.123"],
}


def figures(ours: Any) -> list[float]:
    return [float(each) for each in (ours if isinstance(ours, tuple) else (ours,))]


@pytest.mark.parametrize("claim", [claim for claim in MODEL if CLAIMS[f"hong2006.{claim}"].kind in {"value", "range"}])
def test_claims_of_the_model_keep_their_figures(study: Study, claim: str) -> None:
    found = experiments()[f"hong2006.{claim}"](study)
    assert CLAIMS[f"hong2006.{claim}"].verdict(found) == "reproduced"
    for figure, printed in zip(figures(found.ours), OURS[claim], strict=True):
        # Printed rounded.
        assert f"{figure:.{len(printed.partition('.')[2])}f}" == printed


def test_preventive_repair_is_better_everywhere(study: Study) -> None:
    found = experiments()["hong2006.preventive-beats-mandatory"](study)
    assert found.ours == ("preventive", "mandatory")


def test_more_spares_last_longer(study: Study) -> None:
    found = experiments()["hong2006.survival-crossing-by-spares"](study)
    assert found.ours == "+"
    years = [row["years"] for row in found.curve]
    assert years == sorted(years)


def test_equation_1_differs_from_the_chain_by_the_last_device(study: Study) -> None:
    found = experiments()["hong2006.instant-rebuild"](study)
    more_spares, nineteen = (figures(probe.ours)[0] for probe in found.probes)
    assert more_spares < 0.01 < figures(found.ours)[0]
    # The rest are rebuilds of a quarter of an hour.
    assert nineteen < 1e-3


def least_gain(found: Finding) -> float:
    """Return the least gain of preventive repair with spares."""
    return min(float(row["gain"]) for row in found.curve if row["strategy"] == "preventive" and row["spares"])


def test_parameters_that_change_the_gain_of_preventive_repair(study: Study) -> None:
    found = experiments()["hong2006.preventive-gain"](study)
    quicker, more, rebuilt = (10 ** figures(probe.ours)[0] for probe in found.probes)
    least = least_gain(found)
    assert least < 10 <= min(quicker, more)
    # Rebuilding takes no part in it: 0.1 % of the risk is that of rebuilds.
    assert rebuilt == pytest.approx(least, rel=2e-3)


def test_the_least_gain_follows_from_three_equations(study: Study) -> None:
    found = experiments()["hong2006.preventive-gain"](study)
    rate, repair = 1 / 200_000, 1 / (YEAR_H / 4)
    normal, spareless, degraded = np.linalg.solve(
        [
            [20 * rate, -20 * rate, 0],
            [-repair, 20 * rate + repair, -20 * rate],
            [-repair, 0, 19 * rate + repair],
        ],
        [1, 1, 1],
    )
    without = np.linalg.solve([[20 * rate, -20 * rate], [-repair, 19 * rate + repair]], [1, 1])[0]
    assert normal > spareless > degraded
    # Without rebuilds, which are 0.1 % of the risk.
    assert least_gain(found) == pytest.approx(normal / without, rel=2e-3)


def test_without_spares_the_strategies_are_the_same(study: Study) -> None:
    for time in REPAIR_TIMES:
        preventive, mandatory = (enclosure(0, strategy, time) for strategy in ("preventive", "mandatory"))
        assert mttf_years(study, preventive) == mttf_years(study, mandatory)
    assert list(SPARES) == [0, 1, 2, 3, 4, 5]


def test_figures_and_tables_are_those_of_the_paper() -> None:
    drawn = {each.where: each.draw is not None for each in pictures("hong2006")}
    sketches = {f"Figure {number}": False for number in (1, 2, 6, 7)}
    panels = {f"Figure 8({panel})": True for panel in "abcd"}
    assert drawn == sketches | panels | {f"Figure {number}": True for number in (3, 4, 5, 9)} | {"Table I": True}


@pytest.mark.parametrize("where", ["Table I", "Figure 3", "Figure 4", "Figure 5"])
def test_pictures_without_simulation_are_drawn(study: Study, where: str) -> None:
    draw = next(each.draw for each in pictures("hong2006") if each.where == where)
    assert draw is not None
    found = draw(study)
    assert found.how
    assert not found.stand_in


def sizes_of(system: Mapping[str, Any]) -> dict[str, int]:
    """Return keys in bytes of all components, with the capacities of those that have names of devices."""
    found: dict[str, int] = {}
    pending = [sledsim.scenario.explain({"workload": "tpcd-like", "system": system}).tree]
    while pending:
        node = pending.pop()
        found |= {f"{node['kind']}.{key}": value for key, value in node["parameters"].items() if "bytes" in key}
        found[f"{node['kind']} {node['name'] or ''}".strip()] = node["capacity_blocks"] * node["block_bytes"]
        pending += node["children"]
    return found


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS.keys())
def test_the_architectures_have_the_sizes_of_the_paper(load: Load) -> None:
    built = {name: sizes_of(system) for name, system in systems(load).items()}
    assert tuple(built) == ARCHITECTURES == tuple(LABELS)
    assert built["mems"]["concat"] >= 8.6e9
    assert built["disk_ram"]["ram-cache.bytes"] == CACHE_BYTES
    for name in ("mwb", "mcd_none", "mcd_all"):
        assert built[name][f"{name[:3]}.mems_bytes"] == 256 * MIB
        assert built[name][f"{name[:3]}.buffer_bytes"] == 2 * MIB
        assert built[name]["ram-cache.bytes"] == 4 * MIB
    assert built["mwb"]["mwb.log_bytes"] == 128 * 1024
    assert built["mcd_all"]["mcd.segment_bytes"] == load.segment_bytes
    assert [LOADS[name].segment_bytes >> 10 for name in ("tpcd", "tpcc", "cello", "hplajw")] == [256, 8, 8, 64]


def test_a_write_buffer_has_no_effect_without_writes(study: Study) -> None:
    load = replace(LOADS["tpcd"], requests=(200, 200))
    chosen = {name: systems(load)[name] for name in ("disk", "mwb", "mcd_all")}
    found = responses(study, load, chosen)
    assert found["mwb"].means_ms == found["disk"].means_ms
    assert found["mcd_all"].mean_ms > found["disk"].mean_ms


def test_the_trace_is_replayed_on_its_busy_disk(study: Study) -> None:
    path = reference("traces/hplajw-1992-1week.srt")
    with Study(quick=True, workers=1, reference=path.parent.parent) as there:
        once = scenario(there, LOADS["hplajw"], systems(LOADS["hplajw"])["mems"])
        twice = scenario(there, LOADS["hplajw"], systems(LOADS["hplajw"])["mems"], repeat=2)
    assert once["workload"]["devices"] == [0]
    records = twice["run"]["warmup_requests"]
    # 95 % of the requests are those of disk 0.
    assert 0.94 < records / 44_519 < 0.96
    assert once["run"]["warmup_requests"] == records // 10
    result = sledsim.run(once)
    assert result.requests.measured == records - records // 10


def test_database_size_is_the_same_on_every_device(study: Study) -> None:
    load = LOADS["tpcc"]
    paper = sledsim.devices.DiskDrive("atlas10k-50mb").capacity_blocks
    changed = [{**stream, "read_fraction": 0.5} for stream in streams_of("tpcc")]
    whole = [scenario(study, load, systems(load)[name]) for name in ("disk", "mems")]
    other = scenario(study, load, systems(load)["mems"], streams=changed)
    small = scenario(study, load, {"device": "griffin1999"})
    for each in (*whole, other, small):
        log = sledsim.run(each, overrides={"run.requests": 10_000, "run.warmup_requests": 0}, log=True).log
        last = max(int(lbn) + int(blocks) for lbn, blocks in zip(log["lbn"], log["blocks"], strict=True))
        # Its end is asked for within a thousandth, and nothing beyond it.
        assert 0.1099 * paper < last <= 0.11 * paper


def test_equal_money_at_equal_prices_buys_equal_caches(study: Study) -> None:
    load = replace(LOADS["tpcc"], requests=(3_000, 3_000))
    found = cost_curve(study, load, 8 * MIB, (1.0, 4.0))
    same = responses(study, load, {"ram": systems(load)["disk_ram"]})
    assert [row["bytes"] for row in found.rows()] == [8 * MIB, 2 * MIB]
    assert found.mems.bytes == 8 * MIB
    # RAM of 256 MiB holds what RAM of 8 MiB does, and more.
    assert same["ram"].mean_ms < found.nvram[0].mean_ms
    assert 1 <= crossing(found) <= 4


@pytest.mark.parametrize(("where", "key", "points"), [("Figure 3", "survival", 6), ("Figure 5", "probability", 2)])
def test_published_points_are_drawn_over_the_curves(where: str, key: str, points: int) -> None:
    [picture] = [each for each in pictures("hong2006") if each.where == where]
    assert picture.draw is not None
    with Study() as study:
        shown: Any = picture.draw(study).shown
    rows = [row for rows in shown.to_dict()["datasets"].values() for row in rows]
    stated = [row for row in rows if row.get("of") == "published"]
    assert len(stated) == points
    ours = [row for row in rows if key in row and "of" not in row]
    for row in stated:
        near = [abs(each[key] - row[key]) for each in ours if abs(each["years"] - row["years"]) < 0.02]
        assert min(near) < 0.005, row


def test_the_record_has_the_figures_of_enclosures() -> None:
    said = {row.claim: row.ours for row in documented("hong2006")}

    base = reliability.load(EXAMPLES / "hong2006.toml")
    spares = {k: base.replace(enclosure={"spares": k}) for k in range(6)}
    counts = {k: reliability.failure_counts(spares[k]) for k in (2, 3, 5)}

    def need(k: int, what: str, years: int) -> float:
        [row] = [row for row in counts[k].repairs if (row["need"], row["years"]) == (what, years)]
        return float(row["probability"])

    maintained = {
        sparing: {
            (row["strategy"], row["spares"], row["repair"]): row["mttf_years"]
            for row in reliability.mttf_by_maintenance(base, overrides={"enclosure.sparing": sparing}).rows
        }
        for sparing in ("dedicated", "distributed")
    }
    mttf = maintained["dedicated"]
    gains = [
        mttf["preventive", k, time] / mttf["preventive", 0, time]
        for strategy, k, time in mttf
        if strategy == "preventive" and k
    ]
    apart = [abs(maintained["distributed"][key] / mttf[key] - 1) for key in mttf if key[2] not in (None, "3 months")]
    disk = [1 - row["device_loss"] for row in reliability.analyse(base).rows]
    assert len(gains) == 25
    assert len([gain for gain in gains if gain < 10]) == 1
    ours = {
        "mttf-no-repair": ", ".join(f"{reliability.mttf_h(each) / 8760:.2f}" for each in spares.values()),
        "loss-5-spares-3-years": f"{reliability.MarkovModel(spares[5]).loss_probability('3 years'):.4f}",
        "loss-disk-3-years": f"{1 - disk[1]:.4f}",
        "loss-without-spares-1-year": f"{reliability.MarkovModel(spares[0]).loss_probability('1 year'):.4f}",
        "preventive-gain": f"{log10(min(gains)):.0f}, {log10(max(gains)):.0f}",
        "preventive-beats-mandatory": "preventive, mandatory",
        "thousand-years": f"{mttf['preventive', 5, '1 week']:.0f}",
        "disk-survival": ", ".join(f"{each:.4f}" for each in disk),
        "durability-2-spares-1-year": f"{need(2, 'none to survive', 1):.4f}",
        "durability-5-spares-5-years": f"{need(5, 'none to survive', 5):.4f}",
        "repairs-preventive": f"{need(3, 'more than one, preventive', 5):.4f}",
        "repairs-mandatory": f"{need(3, 'more than one, mandatory', 5):.4f}",
        "distributed-sparing": f"{max(apart):.3f}",
    }
    assert said.items() >= ours.items()
    for strategy, k, time in mttf:
        if strategy == "mandatory" and k:
            assert mttf["preventive", k, time] > mttf["mandatory", k, time]
