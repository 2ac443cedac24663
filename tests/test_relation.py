"""Relations laid out over devices: blocks read, times, and errors."""

from __future__ import annotations

import json
from math import ceil, gcd
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sledsim
from conftest import ROOT
from sledsim import SledsimError
from sledsim.studies import Relation
from sledsim.studies.relations.access import fetch_rows, scan_relation
from sledsim.studies.relations.equivalent_blocks import EquivalentBlocks, best_share
from sledsim.studies.relations.layouts import Layout, Runs, layout_named, layouts_of
from test_bad_input import assert_refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

LAYOUTS = ["row-major", "column-major", "tip-subset", "equivalent"]
G2, G1 = sledsim.devices.MemsStorage("g2"), sledsim.devices.MemsStorage("g1")
#: A device that reads on along either axis from any point, without a bus limit.
POINTS = sledsim.devices.MemsStorage("g2", transfer="points", active_tips=5120, bus_ms_per_block=0.0)
LAID = [*((name, device) for name in LAYOUTS for device in (G2, G1)), ("row-major", POINTS), ("two-axes", POINTS)]

relations = st.builds(
    Relation,
    records=st.integers(1, 20_000),
    attributes=st.lists(st.integers(1, 700), min_size=1, max_size=8).map(tuple),
)


def made(name: str, relation: Relation, device: sledsim.Device = G2) -> Layout:
    return layout_named(name)(relation, device)


def blocks_of(runs: Runs) -> set[int]:
    return {lbn + i for lbn, count in zip(runs.lbns.tolist(), runs.blocks.tolist(), strict=True) for i in range(count)}


@settings(max_examples=40, deadline=None)
@given(relations, st.sampled_from(LAID))
def test_a_scan_reads_every_block_of_every_row_once(relation: Relation, laid: tuple[str, sledsim.Device]) -> None:
    name, device = laid
    # A record has to fit the device side by side.
    assume(name != "two-axes" or relation.record_bytes // gcd(*relation.attributes) <= device.cylinders)
    layout = made(name, relation, device)
    scanned = layout.scan()
    whole = blocks_of(scanned)
    assert len(whole) == scanned.total, "a block is read once"
    assert max(whole) < layout.blocks <= device.capacity_blocks
    attributes = [blocks_of(layout.scan(i)) for i in range(len(relation.attributes))]
    assert set().union(*attributes) == whole
    if name != "row-major":
        assert sum(map(len, attributes)) == len(whole), "attributes have blocks of their own"
    records = np.unique(np.array([0, relation.records // 2, relation.records - 1], dtype=np.uint64))
    pieces = layout.rows(records)
    assert int(pieces.sizes.sum()) == len(pieces.lbns)
    firsts = np.concatenate([[0], np.cumsum(pieces.sizes)]).astype(int)
    for i in range(len(records)):
        row = slice(firsts[i], firsts[i + 1])
        held = blocks_of(Runs(pieces.lbns[row], pieces.blocks[row]))
        assert held <= whole
        assert all(held & one for one in attributes), "a row has a value of every attribute"


@settings(max_examples=25, deadline=None)
@given(relations)
def test_values_fill_their_blocks(relation: Relation) -> None:
    # Each position holds the values of its records in as few blocks as possible.
    small = Relation(min(relation.records, 2000), relation.attributes)
    layout = made("equivalent", small)
    assert isinstance(layout, EquivalentBlocks)
    for attribute, size in enumerate(small.attributes):
        blocks = sum(each.blocks for each in layout.share.segments if each.attribute == attribute)
        assert (blocks - 1) * 512 < layout.share.records * size <= blocks * 512


@pytest.mark.parametrize("device", [G2, G1], ids=["g2", "g1"])
def test_rows_use_equivalent_blocks(device: sledsim.devices.MemsStorage) -> None:
    layout = made("equivalent", Relation(records=100_000), device)
    for record in range(0, 100_000, 7_919):
        pieces = layout.rows(np.array([record], dtype=np.uint64))
        places = [device.place(lbn) for lbn in pieces.lbns.tolist()]
        assert len({(cylinder, row) for cylinder, _, row, _ in places}) == 1
        others = set(device.equivalent(int(pieces.lbns[0])).tolist())
        assert set(pieces.lbns[1:].tolist()) <= others


def test_a_row_of_equivalent_blocks_takes_one_pass() -> None:
    layout = made("equivalent", Relation())
    records = np.arange(0, 10_000_000, 99_991, dtype=np.uint64)
    pieces = layout.rows(records)
    served = G2.serve_batches(pieces.lbns, pieces.blocks, pieces.sizes)
    lasts = np.cumsum(pieces.sizes).astype(int) - 1
    # 90 bits at 700 kbit/s.
    passing_ns = served["servo_ns"].astype(float) + served["transfer_ns"].astype(float)
    passes = passing_ns[lasts] / (90 / 700e3 * 1e9)
    assert passes == pytest.approx(np.ones(len(records)), rel=1e-4)  # times are whole nanoseconds


def test_pages_of_relations_are_counted() -> None:
    relation = Relation(records=1_000_000)
    assert made("row-major", relation).scan().total == ceil(1_000_000 / 115) * 16
    column = made("column-major", relation)
    pages = [ceil(1_000_000 / (8192 // size)) for size in relation.attributes]
    assert [column.scan(i).total for i in range(4)] == [16 * each for each in pages]
    assert column.scan().total == 16 * sum(pages)


def test_tracks_are_distributed_by_bytes() -> None:
    layout = made("tip-subset", Relation())
    stripes = ceil(10_000_000 / (540 * 512))
    assert [layout.scan(i).total for i in range(4)] == [stripes * size * 540 for size in (8, 32, 15, 16)]
    assert made("tip-subset", Relation(1, (16, 32))).blocks == 3 * 540, "sizes are divided by what they have in common"


def test_tips_are_shared_so_that_scans_take_the_fewest_passes() -> None:
    # 640 records take 10, 40, 19 and 20 blocks: one pass, two, one and one.
    share = best_share([8, 32, 15, 16], 512, 5, 20)
    assert share is not None
    assert share.records == 640
    assert [share.passes(i) for i in range(4)] == [1, 2, 1, 1]
    assert share.passes() == 5
    # With more attributes than groups of tips some of them share one.
    many = best_share([4] * 8, 512, 5, 20)
    assert many is not None
    assert [many.passes(i) for i in range(8)] == [1] * 8
    assert many.passes() <= 5
    assert best_share([60_000], 512, 5, 20) is None


def test_scan_time_follows_from_the_blocks_read() -> None:
    times = sledsim.studies.relation_times("g2", Relation(records=2_000_000), fetches=0)
    for name in ("column-major", "tip-subset"):
        full_s = times[name, "scan"].time_s
        for i, size in enumerate((8, 32, 15, 16), 1):
            # The paper's own allowance; each run of tracks costs a seek.
            assert times[name, f"scan of a{i}"].time_s / full_s == pytest.approx(size / 71, rel=0.1)
        # Pages have 8,165 of 8,192 bytes used, stripes a last one that is not full, 8 at most.
        assert times[name, "scan"].effective_mb_s == pytest.approx(G2.streaming_bandwidth_mb_s, rel=0.15)
    passes = [times["equivalent", f"scan of a{i}"].time_s for i in range(1, 5)]
    assert np.array(passes) / passes[0] == pytest.approx([1, 2, 1, 1], rel=0.05)


def test_rows_are_fetched_in_the_order_of_their_seeks() -> None:
    times = sledsim.studies.relation_times("g2", Relation(records=2_000_000), fetches=600)
    means = {name: times[name, "fetch"].time_s for name in LAYOUTS}
    assert sorted(means, key=means.__getitem__) == ["equivalent", "row-major", "tip-subset", "column-major"]
    for name in LAYOUTS:
        found = times[name, "fetch"]
        assert found.ci95_s is not None
        assert found.ci95_s[0] < found.time_s < found.ci95_s[1]
    assert times["row-major", "fetch"].read_bytes == 8192
    assert times["column-major", "fetch"].read_bytes == 4 * 8192


def test_a_table_of_points_is_read_as_quickly_by_rows_as_by_columns() -> None:
    relation = Relation(records=2_000_000)
    times = sledsim.studies.relation_times(POINTS, relation, fetches=300)
    assert list(times.layouts) == ["row-major", "column-major", "two-axes"]
    layout = times.layouts["two-axes"]
    lines = layout.scan()
    assert lines.sizes is not None
    # 512 records take 71 blocks side by side, 7 times on a line: 558 lines of 497 points.
    assert lines.sizes.tolist()[:-1] == [497] * 558
    full_s = times["two-axes", "scan"].time_s
    single_s = [times["two-axes", f"scan of a{i}"].time_s for i in range(1, 5)]
    assert sum(single_s) / full_s == pytest.approx(1, rel=0.06)
    assert np.array(single_s) / sum(single_s) == pytest.approx(np.array([8, 32, 15, 16]) / 71, rel=0.05)
    # Transfer time, and a few tenths of a millisecond per line for turnaround and settling.
    passing_s = lines.total * 9 / 8 / 700e3
    assert 0.2e-3 < (full_s - passing_s) / len(lines.sizes) < 0.35e-3
    # A row is on one line and takes one seek; columns take one for each attribute.
    assert times["two-axes", "fetch"].time_s < times["column-major", "fetch"].time_s / 2


def test_only_points_have_two_axes() -> None:
    with pytest.raises(SledsimError, match=r"two-axes: g2 does not go on along X.* transfer = points"):
        made("two-axes", Relation())
    assert layouts_of(POINTS) == ["row-major", "column-major", "two-axes"]
    with pytest.raises(SledsimError, match="fewer records or a larger device"):
        made("two-axes", Relation(attributes=(1, 2160)), POINTS)


def test_large_scans_take_the_sum_of_their_parts() -> None:
    disk = sledsim.Device("cheetah73")
    small, large = (
        scan_relation(layout_named("row-major")(Relation(records, (100,)), disk))
        for records in (40_000_000, 200_000_000)
    )
    assert large.read_bytes > 8192 * 2**21 > small.read_bytes
    # Tracks hold less towards the end of a disk.
    assert 1 < large.time_s / small.time_s / (large.read_bytes / small.read_bytes) < 1.2


def test_a_device_of_constant_time_has_closed_forms() -> None:
    simple = sledsim.Device("simpledisk-constant")
    relation = Relation(records=100_000)
    scan = scan_relation(made("row-major", relation, simple))
    assert scan.time_s == pytest.approx(870 * 0.88e-3, rel=1e-9)
    assert scan.effective_mb_s == pytest.approx(7.1 / (870 * 0.88e-3), rel=1e-9)
    assert fetch_rows(made("row-major", relation, simple), 10).time_s == pytest.approx(0.88e-3, rel=1e-9)
    assert fetch_rows(made("column-major", relation, simple), 10).time_s == pytest.approx(4 * 0.88e-3, rel=1e-9)


def test_fetches_are_the_same_with_the_same_seed() -> None:
    layout = made("equivalent", Relation(records=50_000))
    assert fetch_rows(layout, 100, seed=4) == fetch_rows(layout, 100, seed=4) != fetch_rows(layout, 100, seed=5)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 50)), min_size=1, max_size=8), st.integers(1, 20))
def test_splitting_runs_keeps_every_block(runs: list[tuple[int, int]], most: int) -> None:
    lbns, blocks = (np.array(column, dtype=np.uint64) for column in zip(*runs, strict=True))
    cut = Runs(lbns, blocks).cut(most)
    expected = [(lbn + done, min(most, size - done)) for lbn, size in runs for done in range(0, size, most)]
    assert list(zip(cut.lbns.tolist(), cut.blocks.tolist(), strict=True)) == expected


def test_batches_follow_each_other() -> None:
    lbns = np.array([0, 2_000_000, 40, 5_000_000])
    alone = G2.serve_batches(lbns, 4, [1, 1, 1, 1])
    # A sled begins the next request before the bus has carried the last; here it waits, so only phases compare.
    assert alone["seek_ns"].tolist() == G2.serve(lbns, 4, due_ms=[0, 10, 20, 30])["seek_ns"].tolist()
    whole, once = G2.serve_batches(lbns, 4, [4]), G2.serve_batch(lbns, 4)
    assert all((whole[key] == once[key]).all() for key in once)
    assert (alone["start_ns"][1:] == alone["end_ns"][:-1]).all()
    with pytest.raises(SledsimError, match=r"sizes = \[3\]: expected one row of numbers that add up to the 4"):
        G2.serve_batches(lbns, 4, [3])


def test_a_disk_has_no_equivalent_blocks(sledsim_cli: Callable[..., Outcome]) -> None:
    assert layouts_of(sledsim.Device("uberdisk")) == ["row-major", "column-major"]
    for name in ("tip-subset", "equivalent"):
        refused = sledsim_cli("relation", "--device", "uberdisk", "--layout", name)
        assert_refused(refused, name, "uberdisk is a disk drive", "equivalent blocks", "row-major, column-major")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--records", "100000000"], ["7.123 GB", "g2 has 3.456 GB", "fewer records"]),
        (["--records", "0"], ["--records = 0", "from 1 to"]),
        (["--attributes", "8,0,4"], ["attribute 2 has 0 bytes"]),
        (["--attributes", "8,x"], ['--attributes "8,x" is of the wrong type', "numbers between commas"]),
        (["--attributes", ""], ["--attributes", "numbers between commas"]),
        (["--page-bytes", "64"], ["--page-bytes: 64 is too few", "71 bytes"]),
        (["--page-bytes", "700"], ["--page-bytes: 700 is not a multiple of the block size", "512"]),
        (["--layout", "tip-subsets"], ["tip-subsets", "did you mean tip-subset?"]),
        (["--layout", "equivalent", "--attributes", "60000", "--page-bytes", "65536"], ["60000", "100 blocks"]),
        (["--fetches", "1"], ["--fetches: 1 is too few", "at least 2"]),
        (["--device", "g22"], ["g22", '"g2"']),
        (["--plot", "table.gif"], ["table.gif", ".png"]),
    ],
)
def test_wrong_relations_are_refused(
    sledsim_cli: Callable[..., Outcome], arguments: list[str], words: list[str]
) -> None:
    assert_refused(sledsim_cli("relation", *arguments), *words)


def test_the_command_prints_tables_json_and_a_picture(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    asked = ["relation", "--records", "100000", "--fetches", "50"]
    printed = sledsim_cli(*asked, "--plot", tmp_path / "table.json")
    assert printed.status == 0
    assert "100,000 records of 71 bytes (8, 32, 15, 16) on g2" in printed.out
    assert all(name in printed.out for name in LAYOUTS)
    assert "A relation under several layouts" in (tmp_path / "table.json").read_text()
    found = json.loads(sledsim_cli(*asked, "--json").out)
    assert [each["name"] for each in found["layouts"]] == LAYOUTS
    times = sledsim.studies.relation_times("g2", Relation(records=100_000), fetches=50)
    assert [each["time_s"] for each in found["accesses"]] == [each.time_s for each in times.accesses]
    assert {each["operation"] for each in found["accesses"]} == {
        "scan",
        "fetch",
        *(f"scan of a{i}" for i in range(1, 5)),
    }


def test_the_page_has_the_output_of_the_command(sledsim_cli: Callable[..., Outcome]) -> None:
    page = (ROOT / "docs" / "how-to" / "relation.md").read_text()
    block = next(part for part in page.split("```") if "records of 71 bytes" in part)
    shown = [line for line in block.strip().splitlines() if line != "…"]
    printed = sledsim_cli("relation").out.splitlines()
    assert len(shown) > 20
    assert [line for line in shown if line not in printed] == []
