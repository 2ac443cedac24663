"""The command `sledsim reproduce`: entry point and requirements."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from sledsim import SledsimError
from sledsim_papers.harness import reproduction
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

#: Claims of each paper: formulas, drawings, chains, single accesses, a stand-in, runs on whole machines.
CLAIMS = (
    *("griffin1999.settle-time", "schlosser2000.bit-size-power", "schlosser2000.tpcd-q6-cpu-bound"),
    *("lin2002.snake-startup", "schlosser2004.contract-near", "schlosser2004.table-mems-layout"),
    *("hong2006.mttf-no-repair", "hong2006.survival-crossing-by-spares", "hong2006.preventive-gain"),
    *("hong2006.durability-2-spares-1-year", "hong2006.repairs-preventive", "hong2006.instant-rebuild"),
)


#: Modules of the extras of Sledsim, which checking a claim needs none of.
EXTRAS = ("altair", "jinja2", "vl_convert", "pandas", "polars", "pyarrow", "scipy", "distributed", "optuna", "apsw")


def test_the_command_is_an_entry_point_of_this_distribution() -> None:
    found = [each for each in entry_points(group="sledsim.commands") if each.name == "reproduce"]
    assert "sledsim-papers" in {each.dist.name for each in found if each.dist}


def test_claims_need_no_extra_of_sledsim(
    sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in EXTRAS:
        monkeypatch.setitem(sys.modules, name, None)
    for name in CLAIMS:
        found = sledsim_cli("reproduce", name)
        assert found.status == 0, found.err
        assert "not done  why" not in found.out, found.out
    refused = sledsim_cli("reproduce", CLAIMS[0], "--report", str(tmp_path / "report"))
    assert refused.status == 2
    assert "pip install 'altair" in refused.err


def test_probes_run_only_for_json_and_reports(
    sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    probed = []

    def settling(study: Study) -> Finding:
        probes = study.probes(lambda: (Probe("no springs", 1.8),))
        probed.append(bool(probes))
        return Finding(0.72, "formula", probes=probes)

    monkeypatch.setattr(reproduction, "experiments", lambda: {CLAIMS[0]: settling})
    for options in ([], ["--json"]):
        assert sledsim_cli("reproduce", CLAIMS[0], *options).status == 0
    # With JSON also once with time-optimal motion, which needs no probes.
    assert probed == [False, True, False]


@pytest.mark.parametrize("workers", [0, -1, 2**64])
def test_workers_out_of_range_are_refused(workers: int) -> None:
    with pytest.raises(SledsimError, match="workers = ") as caught:
        Study(workers=workers)
    [fault] = caught.value.faults
    assert (fault.kind, fault.path) == ("out-of-range", "workers")
