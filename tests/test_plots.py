"""Pictures: every kind, in every format, small, with titles and units."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from conftest import SCENARIO, size
from sledsim import SledsimError
from sledsim.runs.distribution_chart import share_up_to

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Bytes of a chart's definition: far below those of a log.
SMALL = 400_000
SIGNATURES = {"png": b"\x89PNG", "svg": b"<svg", "html": b"<!DOCTYPE html>", "json": b"{"}


@pytest.fixture(scope="module")
def result() -> sledsim.Result:
    return sledsim.run(SCENARIO)


@pytest.fixture(scope="module")
def charts(result: sledsim.Result) -> dict[str, Any]:
    device = sledsim.Device("g2")
    comparison = sledsim.compare({"one": result, "other": result})
    return {
        **{kind: result.plot(kind) for kind in ("response", "wait", "service", "phases", "energy")},
        **{kind: device.plot(kind) for kind in ("curve", "surface")},
        "break-even": device.break_even().plot(),
        "power strategies": sledsim.power(SCENARIO).plot(),
        "spin-down policies": sledsim.power(SCENARIO, policies=True).plot(),
        "comparison": comparison.plot(),
        "comparison of energy": comparison.plot("energy.total_j"),
    }


@pytest.mark.parametrize(
    ("requests", "device"), size([(800, "g2"), (900, "atlas10k")], [(800, "g2"), (9000, "g2"), (900, "atlas10k")])
)
def test_run_charts_have_every_series(requests: int, device: str, tmp_path: Path) -> None:
    sets = {"run.requests": requests, "device": device, "workload.arrival.rate_per_s": 90.0}
    result = sledsim.run(SCENARIO, overrides=sets, log=True, timeline=device == "g2")
    definition: dict[str, Any] = result.plot("course").to_dict()
    assert len(json.dumps(definition)) < SMALL
    along, below = definition["vconcat"]
    drawn = [next(parts(panel, "y"))["title"] for panel in along["vconcat"]]
    assert drawn == ["Response time (ms)", "Requests in the system", *(["Power (W)"] if device == "g2" else [])]
    assert len(below["vconcat"]) == 2
    # One selection moves all that have time to the right.
    [zoom] = [each for each in definition["params"] if each["name"] == "zoom"]
    assert zoom["bind"] == "scales"
    assert all(set(parts(panel, "name")) & set(zoom["views"]) for panel in along["vconcat"])
    rows = {
        (row["line"], row["time"]): row["value"]
        for name, rows in definition["datasets"].items()
        for row in rows
        if "line" in row and name == along["vconcat"][1]["layer"][-1]["data"]["name"]
    }
    # The mean queue over all slots equals that of the run: requests times response over time.
    log = result.log
    span_s = (log["end_ns"].max() - log["arrival_ns"].min()) * 1e-9
    mean = float(log["response_ns"].sum()) * 1e-9 / span_s
    assert np.mean(list(rows.values())) == pytest.approx(mean, rel=1e-3)
    assert {line for line, _ in rows} == {"mean"}


def test_a_picture_of_a_run_needs_its_log(result: sledsim.Result) -> None:
    with pytest.raises(SledsimError, match="log=True"):
        result.plot("course")


def test_states_have_one_label_and_colour() -> None:
    result = sledsim.run(SCENARIO, overrides={"system.spin_down": "immediate"}, timeline=True)
    pictures = [result.plot("timeline"), result.plot("energy"), sledsim.power(SCENARIO).plot()]
    colours: dict[str, set[str]] = {}
    for picture in pictures:
        for channel in parts(picture.to_dict(), "color"):
            scale = channel.get("scale") if isinstance(channel, dict) else None
            if scale and "startup" not in scale["domain"]:
                for word, colour in zip(scale["domain"], scale["range"], strict=True):
                    colours.setdefault(word, set()).add(colour)
            assert not (scale and "startup" in scale["domain"])
    assert {"start-up", "seek", "servo", "data", "idle", "inactive"} <= set(colours)
    assert all(len(each) == 1 for each in colours.values()), colours
    printed = str(result)
    assert "start-up" in printed


def parts(value: Any, key: str) -> Iterator[Any]:
    """Yield all values of a key in a chart."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name == key:
                yield item
            yield from parts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from parts(item, key)


def test_charts_are_small_and_labelled(charts: dict[str, Any]) -> None:
    for name, chart in charts.items():
        definition = chart.to_dict()
        assert len(json.dumps(definition)) < SMALL, name
        assert definition["title"]["text"], name
        axes = [axis for channel in ("x", "y") for axis in parts(definition, channel) if isinstance(axis, dict)]
        titles = [axis["title"] for axis in axes if axis.get("title")]
        assert titles, name
        assert any("(" in title or "Share" in title for title in titles), f"{name}: units in {titles}"


@pytest.mark.parametrize("suffix", SIGNATURES)
def test_one_definition_makes_every_kind_of_file(charts: dict[str, Any], tmp_path: Path, suffix: str) -> None:
    from sledsim.show.saving import save

    for name in ("response", "curve", "comparison", "power strategies", "break-even"):
        path = tmp_path / f"{name}.{suffix}"
        save(charts[name], path)
        content = path.read_bytes()
        assert content.lstrip().startswith(SIGNATURES[suffix])
        assert len(content) > 1000


def test_results_devices_and_comparisons_save_themselves(result: sledsim.Result, tmp_path: Path) -> None:
    result.save_plot(tmp_path / "a.svg")
    sledsim.Device("g2").save_plot(tmp_path / "b.svg", "surface")
    sledsim.compare([result, result]).save_plot(str(tmp_path / "c.svg"), "energy.total_j")
    assert len(list(tmp_path.glob("*.svg"))) == 3


def test_html_needs_no_network(result: sledsim.Result, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    result.save_plot(path)
    assert 'src="http' not in path.read_text()


def test_cumulative_shares_rise_to_one() -> None:
    edges = np.array([1.0, 2.0, 4.0, 8.0])
    counts = np.array([1, 0, 3], dtype=np.uint64)
    shares = share_up_to(np.linspace(0.0, 10.0, 101), edges, counts)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert np.all(np.diff(shares) >= 0)
    assert share_up_to(np.array([2.0, 6.0]), edges, counts).tolist() == [0.25, 0.625]


def test_pictures_of_reads_mention_no_writes() -> None:
    chart: Any = sledsim.run(SCENARIO, overrides=["workload.read_fraction=1", "run.requests=500"]).plot()
    rows = [row for data in chart.to_dict()["datasets"].values() for row in data]
    assert {row["op"] for row in rows} == {"reads"}


def test_empty_runs_can_be_shown() -> None:
    result = sledsim.run(SCENARIO, overrides=["run.time_s=1e-9"])
    assert result.requests.measured == 0
    assert result.response is None
    assert "–" in str(result)
    assert "<table>" in result._repr_html_()
    for kind in ("response", "phases", "energy"):
        assert result.plot(kind).to_dict()["title"]
    assert str(sledsim.compare([result, result]))
