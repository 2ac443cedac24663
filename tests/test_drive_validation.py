"""Measured against modelled service times of a drive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import sledsim
from sledsim import SledsimError
from sledsim.studies.validation.drive import demerit_ms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome


def test_the_demerit_is_the_distance_between_quantiles() -> None:
    measured = np.array([4.0, 1.0, 2.0, 3.0])
    assert demerit_ms(measured, measured[::-1]) == 0
    # A horizontal shift by a constant has that constant as demerit, in any order.
    assert demerit_ms(measured, np.array([1.5, 2.5, 3.5, 4.5])) == pytest.approx(0.5)
    assert demerit_ms(measured, np.array([1.0, 2.0, 3.0, 6.0])) == pytest.approx(1.0)


def test_requests_are_paired_with_measured_times(disk_file: Path, measured_file: Path) -> None:
    found = sledsim.studies.validate_drive(disk_file, measured_file)
    lines = [line.split() for line in measured_file.read_text().splitlines()]
    columns = found.columns
    assert columns["lbn"].tolist() == [int(line[2]) for line in lines]
    assert columns["blocks"].tolist() == [4] * 60
    assert columns["read"].tolist() == [line[0] == "R" for line in lines]
    assert columns["outcome"].tolist() == [line[1] for line in lines]
    assert columns["measured_ms"].tolist() == pytest.approx([float(line[4]) / 1e3 for line in lines])
    modelled, measured = columns["modelled_ms"].astype(float), columns["measured_ms"].astype(float)
    everything = found.agreement
    assert everything.requests == 60
    assert everything.measured_mean_ms == pytest.approx(measured.mean())
    assert everything.modelled_mean_ms == pytest.approx(modelled.mean())
    assert found.demerit_ms == pytest.approx(np.sqrt(np.mean((np.sort(modelled) - np.sort(measured)) ** 2)))
    assert everything.demerit_percent == pytest.approx(100 * found.demerit_ms / measured.mean())
    assert found.median_absolute_error_ms == pytest.approx(np.median(np.abs(modelled - measured)))


def test_the_replay_is_closed(disk_file: Path, measured_file: Path) -> None:
    found = sledsim.studies.validate_drive(disk_file, measured_file)
    gaps_ms = [float(line.split()[5]) / 1e3 for line in measured_file.read_text().splitlines()]
    ends = np.cumsum(found.columns["modelled_ms"].astype(float) + gaps_ms)
    drive = sledsim.Device(str(disk_file))
    due_ms = np.append(0.0, ends[:-1])
    served = drive.serve(found.columns["lbn"], found.columns["blocks"], read=found.columns["read"], due_ms=due_ms)
    alone = (served["end_ns"].astype(np.int64) - served["start_ns"].astype(np.int64)) / 1e6
    assert found.columns["modelled_ms"].astype(float) == pytest.approx(alone, abs=1e-5)  # due times are rounded


def test_groups_are_by_operation_and_outcome(disk_file: Path, measured_file: Path) -> None:
    groups = sledsim.studies.validate_drive(disk_file, measured_file).groups
    # Writes have one outcome only: no rows that say the same again.
    assert list(groups) == ["all", "reads", "writes", "reads, Hit", "reads, Miss"]
    assert groups["reads"].requests + groups["writes"].requests == 60
    assert groups["reads, Hit"].requests + groups["reads, Miss"].requests == groups["reads"].requests


def test_it_can_be_shown_written_and_drawn(disk_file: Path, measured_file: Path, tmp_path: Path) -> None:
    found = sledsim.studies.validate_drive(disk_file, measured_file)
    assert "small-disk against measured.trace" in str(found)
    assert "<table>" in found._repr_html_()
    assert json.loads(found.to_json())["groups"]["all"]["requests"] == 60
    found.write(tmp_path / "rows.parquet")
    assert found.relation().aggregate("count(*)").fetchall() == [(60,)]
    definition: Any = found.plot().to_dict()
    assert len(json.dumps(definition)) < 200_000
    rows = next(iter(definition["datasets"].values()))
    assert {"share", "measured_ms", "modelled_ms", "apart_ms"} <= set(rows[0])
    for suffix in ("svg", "png", "html"):
        found.save_plot(tmp_path / f"picture.{suffix}")
        assert (tmp_path / f"picture.{suffix}").stat().st_size > 1000


def test_values_and_devices_can_be_replaced(disk_file: Path, measured_file: Path) -> None:
    slower = sledsim.studies.validate_drive(disk_file, measured_file, overrides=["device.rotation_rpm=3000"])
    as_it_is = sledsim.studies.validate_drive({"name": str(disk_file)}, measured_file)
    assert slower.agreement.modelled_mean_ms > as_it_is.agreement.modelled_mean_ms
    assert sledsim.studies.validate_drive("g2", measured_file).device == "g2"


def test_the_command_prints_json_and_tables(
    sledsim_cli: Callable[..., Outcome], disk_file: Path, measured_file: Path, tmp_path: Path
) -> None:
    plot, data = tmp_path / "plot.svg", tmp_path / "rows.csv"
    found = sledsim_cli("validate-drive", disk_file, measured_file, "--plot", plot, "--out", data)
    assert found.status == 0
    assert "demerit and error in ms" in found.out
    assert "reads, Miss" in found.out
    assert "<svg" in plot.read_text()
    assert data.read_text().startswith("lbn,blocks,read,outcome,measured_ms,modelled_ms\n")
    answer = json.loads(sledsim_cli("validate-drive", disk_file, measured_file, "--json").out)
    assert answer == sledsim.studies.validate_drive(disk_file, measured_file).to_dict()


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ("", "contains no records"),
        ("t_ns,device,offset_bytes,bytes,op\n0,0,0,4096,R\n", "csv, has no measured service times"),
        ("once upon a time\n", "not a trace; expected DiskSim's validation format"),
        ("R Hit 0 4 1.0 2.0\nR Hit x 4 1.0 2.0\n", "line 2: field `lbn`"),
        ("R Hit 0 4 1.0 2.0\nR Hit 23999 2 1.0 2.0\n", "record 2, lbn 23,999, reaches beyond small-disk"),
    ],
)
def test_a_wrong_trace_is_an_error(
    sledsim_cli: Callable[..., Outcome], disk_file: Path, tmp_path: Path, trace: str, message: str
) -> None:
    path = tmp_path / "wrong.trace"
    path.write_text(trace)
    found = sledsim_cli("validate-drive", disk_file, path)
    assert found.status == 2
    assert message in found.err
    assert str(path) in found.err
    assert found.out == ""


def test_bad_records_can_be_skipped(disk_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.trace"
    path.write_text("R Hit 0 4 1.0 2.0\nR Hit x 4 1.0 2.0\nW Hit 8 4 1.0 2.0\n")
    found = sledsim.studies.validate_drive(disk_file, path, skip_bad=1)
    assert found.columns["lbn"].tolist() == [0, 8]
    with pytest.raises(SledsimError, match="line 2"):
        sledsim.studies.validate_drive(disk_file, path)


def test_traces_show_measured_times(sledsim_cli: Callable[..., Outcome], measured_file: Path) -> None:
    head = sledsim.traces.open_trace(measured_file).head(2)
    assert head["service_ns"].tolist() == [8_000_500, 8_100_500]
    assert head["gap_ns"].tolist() == [0, 1_000_000]
    assert head["outcome"].tolist() == ["Miss", "Miss"]
    assert "service (ms)" in sledsim_cli("trace", measured_file, "--head", "10").out
    rows = sledsim.traces.open_trace(measured_file).relation()
    assert rows.aggregate("count(*), max(service_ns)").fetchall() == [(60, 13_900_500)]


def test_the_table_fits_a_terminal(disk_file: Path, measured_file: Path) -> None:
    found = sledsim.studies.validate_drive(disk_file, measured_file)
    assert max(map(len, str(found).splitlines())) <= 80


def test_traces_in_memory_are_validated_as_their_file(disk_file: Path, tmp_path: Path) -> None:
    columns = {"t_us": [0, 30_000, 60_000], "lbn": [0, 800, 16], "blocks": [8, 8, 16], "op": ["R", "W", "R"]}
    frame = pd.DataFrame({**columns, "response_us": [5_000.0, 9_000.0, 7_500.0]})
    frame.to_csv(tmp_path / "responses.csv", index=False)
    opened = sledsim.traces.open_trace(tmp_path / "responses.csv")
    of_file = sledsim.studies.validate_drive(disk_file, tmp_path / "responses.csv")
    assert of_file.agreement.requests == 3
    for trace in (opened, frame, sledsim.Trace.from_frame(frame)):
        found = sledsim.studies.validate_drive(disk_file, trace)
        assert found.groups == of_file.groups
    assert found.trace.startswith("memory:")
