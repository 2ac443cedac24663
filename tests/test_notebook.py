"""Display of objects in notebooks: tables of results, charts without a network."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

import altair
import pytest

import sledsim
from conftest import SCENARIO
from html_outline import Outline
from sledsim import workloads
from sledsim.show import Section

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def result() -> sledsim.Result:
    return sledsim.run(SCENARIO, timeline=True)


@pytest.fixture
def renderers() -> Iterator[Any]:
    """Yield Altair's renderers, set to the default."""
    with altair.renderers.enable("default"):
        yield altair.renderers


def shown(thing: Any) -> str:
    """Return the displayed text of an object; its HTML must be well formed and load nothing."""
    html = thing._repr_html_()
    outline = Outline(html)
    assert outline.links == []
    return " ".join(outline.text.split())


def test_a_result_shows_its_headline_and_every_figure(result: sledsim.Result) -> None:
    text = shown(result)
    assert text.startswith("g2, sptf")
    assert "response (ms)" in text
    assert "every figure" in text
    assert len(text) > len(shown(result.brief())) + 1000


def test_comparisons_are_shown_as_tables(result: sledsim.Result) -> None:
    assert "ratio" in shown(sledsim.compare({"one": result, "other": result}))


def test_a_section_shows_its_values(result: sledsim.Result) -> None:
    text = shown(result.response)
    assert text.startswith("response count 3,000 mean_ms")
    assert f"mean_ms {result.response.mean_ms:.3f}" in text
    nested = shown(Section({"a": {"b": 1.5, "c": [1, 2], "d": [{}]}, "<e>": True, "f": None}, "all"))
    assert nested == "all a b 1.500 c 1, 2 d 1 entries <e> True f –"
    long = Section({f"key{i}": i for i in range(500)})
    assert "and 400 more" in shown(long)


def test_timelines_show_states_and_charts(result: sledsim.Result) -> None:
    timeline = result.timeline
    assert "state spans time (s) energy (J)" in shown(timeline)
    rows = {row[0]: float(row[3].replace(",", "")) for row in timeline.table().rows}
    assert sum(rows.values()) == pytest.approx(result.energy.total_j, rel=1e-3)
    assert timeline.plot().to_dict() == result.plot("timeline").to_dict()


@pytest.mark.parametrize(("name", "fact"), [("g2", "access speed"), ("atlas10k", "capacity")])
def test_devices_show_their_figures(name: str, fact: str) -> None:
    text = shown(sledsim.Device(name))
    assert text.startswith(name)
    assert fact in text


def test_lists_of_the_catalogue_are_tables() -> None:
    devices = sledsim.devices.catalog()
    assert "g2" in devices
    text = shown(devices)
    assert all(name in text for name in devices)
    assert all(name in shown(workloads.catalog()) for name in workloads.catalog())


def test_a_trace_shows_its_first_records(trace_file: Path) -> None:
    text = shown(sledsim.traces.open_trace(trace_file))
    assert "small.csv (csv): the first records" in text
    assert text.count("4,096") == 10


def test_a_chart_in_a_notebook_needs_no_network(renderers: Any) -> None:
    chart: Any = sledsim.Device("g2").plot()
    assert renderers.active == "default"
    html = chart._repr_mimebundle_(None, None)["text/html"]
    assert Outline(html).links == re.findall(r'src="(data:image/svg\+xml;base64,[^"]+)"', html)
    [picture] = re.findall(r"base64,([^\"]+)", html)
    assert b"Seek time (ms)" in base64.b64decode(picture)
    # A page that draws charts itself, as the site does, has the definition.
    [held] = re.findall(r'<script type="application/json" id="chart-\w+">(.+)</script>', html)
    assert json.loads(held)["title"]["text"].startswith("Seek time of g2")


def test_a_chosen_renderer_shows_charts() -> None:
    chart: Any = sledsim.Device("g2").plot()
    with altair.renderers.enable("json"):
        assert "application/json" in chart._repr_mimebundle_(None, None)[0]


def test_html_pictures_are_complete_pages(result: sledsim.Result, tmp_path: Path) -> None:
    result.save_plot(tmp_path / "response.html")
    text = (tmp_path / "response.html").read_text(encoding="utf-8")
    head = text.partition("</head>")[0]
    assert re.search(r"<title>[^<]*response[^<]*</title>", head, flags=re.IGNORECASE)
    assert 'name="viewport"' in head
    assert "prefers-color-scheme: dark" in head
    assert not re.search(r"""<(?:script|link|img)[^>]+(?:src|href)=["']?(?:https?:)?//""", text)
