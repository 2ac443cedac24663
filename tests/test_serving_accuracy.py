"""The tool that measures the accuracy of a served device: times of fio and of the server."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

import serving_accuracy
from conftest import ROOT, missing
from serving_accuracy import Measuring, Seen, served

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a block device is served on Linux")


def seen(took_us: list[float], others: float = 0.0, bare_us: list[float] | None = None) -> Seen:
    delivery = {"median_error_us": 1.0, "p99_error_us": 2.0, "on_time": 0.75}
    return Seen(delivery, took_us, took_us, 1.0, others, took_us if bare_us is None else bare_us)


@pytest.mark.slow
def test_fio_and_the_server_report_the_same_requests(tmp_path: Path) -> None:
    if lacks := serving_accuracy.requirement():
        missing(lacks)
    # Other processes may hold up a program between a reply and its clock: such a measurement is repeated.
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        found = served(folder, Measuring(seconds=1), access_ms=1.0, dilation=2)
        if min(found.whole_us) > 1000 and min(found.bare_us) > 2000:
            break
    assert found.delivery["reads"] == len(found.took_us) > 10
    # Under any other load, no reply is much too early.
    assert min(found.whole_us) > 1000
    assert len(found.whole_us) == len(found.took_us)
    assert sum(found.whole_us) > sum(found.took_us)
    assert found.rate < 500
    assert found.others >= 0
    many = served(tmp_path, Measuring(seconds=1), access_ms=0.0, dilation=1, under_way=4)
    assert many.took_us == many.whole_us == many.bare_us == []
    # Two programs that only pass it on wait as long.
    assert len(found.bare_us) > 10
    assert min(found.bare_us) > 2000
    assert many.delivery["reads"] >= many.rate > found.rate
    assert json.loads((tmp_path / "found.json").read_text())["jobs"][0]["error"] == 0


def test_error_of_missing_fio_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["serving_accuracy.py"])
    assert serving_accuracy.main() == 2
    assert "fio is missing" in capsys.readouterr().err


def test_the_page_has_the_table_that_the_tool_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if lacks := serving_accuracy.requirement():
        missing(lacks)

    def on_time(_folder: Path, _measuring: Measuring, access_ms: float, dilation: float, _under_way: int) -> Seen:
        return seen([1e3 * access_ms * dilation])

    monkeypatch.setattr(serving_accuracy, "served", on_time)
    monkeypatch.setattr(sys, "argv", ["serving_accuracy.py"])
    assert serving_accuracy.main() == 0
    header, rule, *rows = capsys.readouterr().out.splitlines()
    page = (ROOT / "docs" / "how-to" / "serve.md").read_text(encoding="utf-8").splitlines()
    at = page.index(header)
    assert page[at + 1] == rule
    cases = [line.split("|")[1:3] for line in rows if line.startswith("|")]
    assert [line.split("|")[1:3] for line in page[at + 2 : at + 2 + len(cases)]] == cases
