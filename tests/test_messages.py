"""The table of error messages: each input below with its whole message, in `__snapshots__/test_messages.ambr`.

After a message was changed on purpose, `pytest tests/test_messages.py --snapshot-update` writes the table again.
"""

from __future__ import annotations

import gzip
import io
import json
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from conftest import TOML
from sledsim import SledsimError, reliability, studies, sweep
from sledsim.reliability import load
from sledsim.studies.cache_cost import CostStudy
from sledsim.studies.objective import RoleTest
from sledsim.sweep import Sweep
from sledsim.sweep.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from syrupy.assertion import SnapshotAssertion

    from conftest import Outcome

HEADER = "t_ns,device,offset_bytes,bytes,op\n"
BARE = {
    "sweep": 'scenario = "small.toml"\naxes.scheduler = ["fcfs", "sptf"]\n',
    "search": 'scenario = "small.toml"\nobjectives = ["response"]\nparameters."device.tips" = [6400, 6000]\n',
    "enclosure": 'enclosure.data = 19\nenclosure.parity = 1\ndevice.mttf = "200000 h"\nrebuild.time = "15 min"\n',
    "cost": 'scenario = "small.toml"\nmems_bytes = "16 MiB"\n',
    "role": 'role = "sdf"\ndevice = "g3"\n',
}
LOADS: dict[str, Callable[..., Any]] = {
    "scenario": sledsim.run,
    "sweep": lambda path, **given: Sweep.load(path, **given).check(),
    "search": lambda path, **given: Search.load(path, **given).check(),
    "enclosure": load,
    "cost": CostStudy.load,
    "role": RoleTest.load,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a scenario, a trace and files of the wrong kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(TOML)
    (tmp_path / "cost-base.toml").write_text('workload = "tpcc-like"\nsystem = "atlas10k"\nrun.requests = 100\n')
    (tmp_path / "simple.diskspecs").write_text(DISKSIM)
    (tmp_path / "two.diskspecs").write_text(DISKSIM + DISKSIM.replace("simpledisk SD", "simpledisk SE"))
    (tmp_path / "small.csv").write_text(f"{HEADER}0,0,0,512,R\n1000000,0,4096,4096,W\n")
    (tmp_path / "bad.csv").write_text(f"{HEADER}0,0,0,none,R\n0,0,0,512,R\n")
    (tmp_path / "far.csv").write_text(f"{HEADER}0,0,{1 << 49},512,R\n1,1,{1 << 50},512,R\n")
    (tmp_path / "untimed.log").write_text("fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 0 4096\n")
    (tmp_path / "prose.txt").write_text("neither here nor there\n")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    whole = gzip.compress((tmp_path / "small.csv").read_bytes())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    return tmp_path


def message_of(call: Callable[[], object], folder: Path) -> str:
    with pytest.raises((SledsimError, ValueError)) as raised:
        call()
    return str(raised.value).replace(f"{folder}/", "").replace(str(folder), "FOLDER")


#: Documents of each kind: the kind, and lines that are added to a valid one, or a whole scenario.
DOCUMENTS = [
    ("scenario", "[workload\n"),
    ("scenario", "seed = 1\nrun = = 2\n"),
    ("scenario", "seed = 1\n"),
    ("scenario", TOML.replace('device = "g2"', "")),
    ("scenario", TOML + "[axes]\n"),
    ("scenario", TOML.replace("seed = 3", "sead = 3").replace("3000", '"many"').replace("g2", "g22")),
    ("scenario", TOML.replace('device = "g2"', "device = { bit_nm = 5 }")),
    ("scenario", TOML.replace('device = "g2"', 'device = { name = "g2", bit_nm = 0 }')),
    ("scenario", TOML.replace('device = "g2"', 'kind = "partition"\nchild = "g2"\nbytes = 100')),
    ("scenario", TOML.replace("poisson", "poison")),
    ("scenario", TOML + "warmup_requests = 3000\n"),
    ("scenario", "title = 2024-05-27\n" + TOML),
    ("scenario", 'base = "own.toml"\n' + TOML),
    ("scenario", 'base = "none.toml"\n' + TOML),
    ("scenario", '[workload]\npath = "far.csv"\n[system]\ndevice = "g2"\n'),
    ("scenario", 'axes.scheduler = ["fcfs"]\nscenario = "small.toml"\n'),
    ("scenario", "[1, 2]"),
    ("scenario", '{"seed": 1,\n "workload"'),
    ("scenario", 'base = "own"\n' + TOML),
    ("scenario", "base = 3\n" + TOML),
    ("scenario", 'parameters = {}\nobjectives = ["response"]\n'),
    ("scenario", "[enclosure]\nspares = 5\n"),
    ("scenario", 'role = "r.toml"\n'),
    ("scenario", 'mems_bytes = "1 MiB"\n'),
    ("scenario", 'axes = 1\nworkload = "cello-like"\nsystem.device = "g2"\n'),
    ("scenario", 'device = "g2"\nworkload = "cello-like"\n'),
    ("scenario", TOML.replace('device = "g2"', 'kind = "partition"\nchild = "g2"\nbytes = "10 GB"')),
    ("sweep", "replicatons = 2"),
    ("sweep", 'replications = "many"'),
    ("sweep", "replications = 0"),
    ("sweep", 'seed = "3 ms"'),
    (
        "sweep",
        """\
replicatons = 2
replications = 0
zip = { x = [1, 2], y = [1] }
axes."run.requests" = { from = 1, to = 9, scale = "log", step = 2 }
axes."device.bit_nm" = [1, { a = 1 }, 1, 1]
axes."device.tips" = { to = 9, counts = 3 }
sample = [{ count = 0, axes = { a = { from = 1, to = 2, count = 2 }, "device.bit_nm" = [1] } }]
""",
    ),
    (
        "sweep",
        """\
overrides."run.requests" = -4
axes."device.bit_nm" = [-1, 40, -2]
axes.workload.arrival.rate_per_s = { from = -7, to = 600, count = 3 }
axes.schedulr = ["fcfs"]
[[zip]]
"device.x_range_um" = [100, 90]
"device.settle_constants" = [0, "much"]
[[sample]]
count = 3
axes."device.tips" = [-3]
""",
    ),
    ("sweep", 'axes."device.bit_nm" = [30, 0]'),
    ("sweep", 'overrides = { "run.foo" = 1 }'),
    ("search", "trails = 7"),
    (
        "search",
        """\
trials = 0
parameters."device.bit_nm" = { from = 5, to = 1, count = 2 }
constraints = [{ metric = "energy", at_least = 1 }, { metric = "power" }]
""",
    ),
    ("search", 'parameters."device.width" = { from = -5, to = 60 }\nparameters."run.requests" = ["many", 10]'),
    ("search", "trials = true"),
    ("search", "trials = 0"),
    ("search", 'prices.mems_per_gb = "3 ms"'),
    ("enclosure", "enclosure.spare = 5"),
    ("enclosure", 'enclosure.spares = "few"'),
    ("enclosure", "enclosure.spares = -1"),
    ("enclosure", 'repair.preventive = "3 parsecs"'),
    ("enclosure", 'device.lifetime = { kind = "weibull", sigma = 1 }'),
    ("enclosure", "device.tips = { count = 3, tolerated = 3, mttf = 0 }"),
    ("enclosure", 'repair = { strategy = "mandatory", distribution = "fix" }'),
    ("cost", "replicatons = 2"),
    ("cost", "ratios = 3"),
    ("cost", "replications = 0"),
    ("cost", 'segment_bytes = "8 ms"'),
    ("cost", "budget = 1\nratios = [1]\nnvram_prices_per_gb = [1]"),
    ("cost", 'replications = 0\nmems = "g22"\noverrides = { "run.foo" = 1 }'),
    ("role", "replicatons = 3"),
    ("role", "fit_bytes = {}"),
    ("role", "replications = 1"),
    ("role", 'rate_per_s = "3 ms"'),
    ("role", 'without = "sdff"\ndisk = "nothing"\nfit_bytes = 0\n[overrides]\n"run.foo" = 1'),
]


@pytest.mark.parametrize(("kind", "lines"), DOCUMENTS)
def test_documents(kind: str, lines: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    text = BARE.get(kind, "") + lines
    (folder / "own.toml").write_text(text)
    found = message_of(lambda: LOADS[kind](folder / "own.toml"), folder)
    assert f"{text.strip()}\n\n{found}" == snapshot


#: Settings of each kind of document.
SETTINGS = [
    ("scenario", "run.requsts=5"),
    ("scenario", "sead=1"),
    ("scenario", "workload.arrivel.kind=closed"),
    ("scenario", "run.requests=many"),
    ("scenario", "run.requests=1.5"),
    ("scenario", "run.requests=0"),
    ("scenario", f"seed={'9' * 5_000}"),
    ("scenario", "seed=1e40"),
    ("scenario", "workload.arrival.rate_per_s=1e400"),
    ("scenario", "workload.read_fraction=1.5"),
    ("scenario", "workload=5"),
    ("scenario", "device.overhead_ms=1e400 s"),
    ("scenario", "device.overhead_ms=3 um"),
    ("scenario", "device.bidirectional=3"),
    ("scenario", "device.spring_factor=-1"),
    ("scenario", "device.seek_model=decompose"),
    ("scenario", "device=g22"),
    ("scenario", "device=grifin1999"),
    ("scenario", "scheduler=sptff"),
    ("scenario", "nothing"),
    ("scenario", "title=\udfff"),
    ("sweep", "sweep.replications=0"),
    ("sweep", "replications=1"),
    ("search", "search.trials=0"),
    ("enclosure", "enclosure.spares=-1"),
    *(
        ("enclosure", setting)
        for setting in (
            "enclosures.spares=3",
            "device.mttf=200000",
            "device.mttf=-3 years",
            "rebuild.time=0 s",
            "device.mttf=3 fortnights",
            "enclosure={devices = 4, parity = 5}",
            "enclosure.data=many",
            "enclosure.sparing=both",
            "repair.strategy=preventive",
            "device.lifetime={kind = 'weibull'}",
            "device.batches={size = 0, share = 0.1, mttf = '1 year'}",
            "device.latent_errors={every = 5}",
            "rebuild={bandwidth_share = 0.5}",
            "cost={device = -1.0}",
            "enclosure.data.count=3",
            "spares=3",
            "enclosure..spares=3",
            "enclosure=3",
        )
    ),
    *(
        ("scenario", setting)
        for setting in (
            "system.spin_down=adaptiv",
            "system.spin_down=timeout",
            "device=none.toml",
            "device=small.toml",
        )
    ),
    ("cost", "cost.replications=0"),
    ("role", "role.replications=1"),
]


@pytest.mark.parametrize(("kind", "setting"), SETTINGS, ids=lambda value: ascii(value[:40])[1:-1])
def test_settings(kind: str, setting: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "own.toml").write_text(BARE.get(kind, TOML))
    found = message_of(lambda: LOADS[kind](folder / "own.toml", overrides=[setting]), folder)
    assert f"{kind}: {ascii(setting[:60])[1:-1]}\n\n{found}" == snapshot


#: Traces, replayed on a device.
TRACES = {
    "empty": "",
    "no records": HEADER,
    "prose": "a line of prose\nand another one\n",
    "no number": f"{HEADER}5,0,0,4096,R\n6,0,4o96,4096,R\n",
    "missing column": f"{HEADER}5,0,0,4096,R\n6,0,4096",
    "further column": f"{HEADER}5,0,0,4096,R\n1,0,10,4096,R,extra\n",
    "zero length": f"{HEADER}5,0,0,0,R\n",
    "decreasing times": f"{HEADER}5,0,0,4096,R\n4,0,0,4096,W\n",
    "beyond the device": f"{HEADER}5,0,0,4096,R\n6,0,99999999995904,4096,R\n",
    "unknown operation": f"{HEADER}5,0,0,4096,R\n6,0,0,4096,X\n",
    "negative time": f"{HEADER}-5,0,0,4096,R\n",
    "duplicate column": "t_ns,t_ns,lbn,bytes,op\n0,8,16,512,R\n",
    "two times": "t_ns,timestamp_us,lbn,bytes,op\n0,8,16,512,R\n",
    "two offsets": "t_ns,offset_bytes,lbn,bytes,op\n0,8,16,512,R\n",
    "mixed formats": "".join(f"{i * 1000} 0 {i * 8} 8 1\n" for i in range(40)) + "0,1024,4096,R,0.5\n",
}


@pytest.mark.parametrize("name", TRACES)
def test_traces(name: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "own.csv").write_text(TRACES[name])
    assert message_of(lambda: sledsim.replay(folder / "own.csv", "g2"), folder) == snapshot


SEARCH: dict[str, Any] = {
    "scenario": "small.toml",
    "parameters": {"device.bit_nm": {"from": 30, "to": 60}},
    "objectives": ["response"],
}
FRAME: dict[str, Any] = {"time_ms": [0, 1, 2], "lbn": [0, 8, 16], "blocks": [1, 2, 3], "op": ["R", "R", "W"]}
#: Values that the calls below name.
NAMES: dict[str, Any] = {
    "np": np,
    "reliability": reliability,
    "sledsim": sledsim,
    "studies": studies,
    "sweep": sweep,
    "nan": float("nan"),
    "enclosure": {
        "enclosure": {"data": 19, "parity": 1, "spares": 3},
        "device": {"mttf": "200000 h"},
        "rebuild": {"time": "15 min"},
    },
    "scenario": {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 300.0}},
        "system": {"device": "g2"},
        "run": {"requests": 20},
    },
    "mems": sledsim.devices.MemsStorage("g2"),
    "disk": sledsim.devices.DiskDrive("cheetah73"),
    "interval": sledsim.runs.mean_interval,
    "jackknife": sledsim.runs.jackknife_interval,
    "rate": "workload.arrival.rate_per_s",
    "sweep_of": lambda **keys: Sweep.load({"scenario": NAMES["scenario"], **keys}).check(),
    "search_of": lambda **keys: Search.load({**SEARCH, **keys}).check(),
    "cost_of": lambda **keys: studies.cost("cost-base.toml", **keys),
    "frame_of": lambda **columns: sledsim.Trace.from_frame(
        {name: column for name, column in (FRAME | columns).items() if column is not None}
    ),
    "search": SEARCH,
    "LOSS": reliability.LOSS,
    "chain": reliability.Chain.of,
    "session": sledsim.Session("g2"),
    "trace": sledsim.Trace.from_columns(time_ms=[0, 1], lbn=[0, 8], blocks=8, is_read=[True, False]),
}
#: Calls of functions with wrong arguments.
CALLS = [
    "sledsim.run(3)",
    "sledsim.run('a.toml')",
    "sledsim.run({'device': 'g2', 'workload': {'requests': 100}})",
    "sledsim.run(scenario, timeline='x')",
    "sledsim.run(scenario, timeline=(0, 10**400))",
    "sledsim.run(scenario, overrides=5)",
    "sledsim.run(scenario, overrides={'seed': 'x'})",
    "sledsim.run({**scenario, 'seed': nan})",
    "sledsim.run({**scenario, 'seed': object})",
    "sledsim.run(scenario).plot('respons')",
    "sledsim.replay('none.csv')",
    "sledsim.replay('small.csv', scheduler='spf')",
    "sledsim.replay('small.csv', device='g22', fit='scal')",
    "sledsim.replay('small.csv', 'none:A')",
    "sledsim.replay('bad.csv')",
    "sledsim.replay('small.csv', overrides=['workload.fit=scal'])",
    "sledsim.compare('bogus')",
    "sledsim.compare({'a': 5})",
    "sledsim.power(scenario, policies=np.array([1, 2]))",
    "sledsim.optimise({'objectives': ['response']})",
    "sledsim.Device('g22')",
    "sledsim.Device('g2').plot('cruve')",
    "sledsim.device('g2', tipps=3)",
    "sledsim.device('g2', active_tips=9000)",
    "sledsim.device('none:A')",
    "sledsim.Scenario(workload=3, system=4, foo=1)",
    "sledsim.scenario.models.SyntheticWorkload(arrival={'kind': 'poison'})",
    "sledsim.scenario.models.DriveSystem(device='g2', schedulr='x', batch_max='y')",
    "sledsim.scenario.import_disksim('.')",
    "sledsim.scenario.import_disksim(nan)",
    "sledsim.scenario.import_disksim('a' * 5000)",
    "sledsim.traces.open_trace('smal.csv')",
    "sledsim.traces.open_trace(nan)",
    "sledsim.traces.open_trace('small.csv', skip_bad=-1)",
    "sledsim.traces.open_trace('small.csv', skip_bad=True)",
    "sledsim.traces.open_trace('small.csv', columns={'time': 1})",
    "sledsim.traces.open_trace('small.csv', format='mqsin')",
    "trace.convert('o.xyz')",
    "trace.convert('o.csv', to='exel')",
    "sledsim.Trace.from_frame(3)",
    "sledsim.Trace.from_columns(lbn=[0], blocks=8, is_read=True)",
    "sledsim.Trace.from_columns(time_ms=[0], lbn=[0], offset_bytes=[0], blocks=8, is_read=True)",
    "mems.positioning_ms([3, 10**9])",
    "mems.positioning_ms(0, read='yes')",
    "mems.serve([1.0, 0.5])",
    "mems.serve([0, 1, 2], [1, 2])",
    "mems.serve([[0, 1], [2, 3]])",
    "mems.serve_batches([0, 1], 1, [1])",
    "mems.seek_x_ms(0, 51)",
    "mems.seek_x_ms([1, 2, 3], [1, 2])",
    "mems.seek_y_ms(0, np.zeros(2**24 + 1))",
    "mems.seek_y_ms(0, 1, 1, 0)",
    "mems.place([1, 2])",
    "mems.plot(3)",
    "disk.seek_ms('one')",
    "disk.seek_curve(0)",
    "disk.seek_x_ms",
    "studies.hit_ratio('small.csv', 'lruu', 10)",
    "studies.hit_ratio('small.csv', 'lru', 0)",
    "studies.hit_ratio('small.csv', 'lru', 2.5)",
    "studies.hit_ratio('small.csv', ['lru'], ['3 q'])",
    "studies.hit_ratio('small.csv', [[1]])",
    "studies.hit_ratio(nan)",
    "studies.hit_ratio(trace, 'lru', 10).ratio('arc', 10)",
    "studies.specificity('sdff')",
    "studies.specificity('sdf', rate_per_s=-3)",
    "studies.specificity('sdf', without='none:A')",
    "studies.specificity('sdf', disk='uberdisc')",
    "studies.specificity('sdf', fit_bytes=-1)",
    "studies.specificity('sdf', replications=np.array([1, 2]))",
    "studies.merit('sdf', rate_per_s=1e99)",
    "studies.merit('equivalent', without='rows')",
    "studies.merit(np.array([1, 2]))",
    "studies.validate_drive('atlas10kk', 'small.csv')",
    "studies.validate_drive('barracuda', 'small.csv')",
    "studies.validate_drive('barracuda', 'none.trace')",
    "studies.validate_drive('barracuda', 'prose.txt')",
    "studies.validate_drive(nan, 'small.csv')",
    "studies.validate_drive('barracuda', nan)",
    "studies.matched_disk('g22')",
    "studies.matched_disk('g2', base='g3')",
    "studies.matched_disk('g2', size_bytes=10**9)",
    "studies.matched_disk({'name': 'g2', 'bit_nm': 0})",
    "studies.relation_times('none.toml')",
    "studies.relation_times('g2', layouts=['rows'])",
    "studies.Relation(1.5)",
    "studies.Relation(10, (10**400,))",
    "studies.Relation(10, None)",
    "studies.Relation(10, (8,), nan)",
    "studies.design('g22')",
    "studies.design('g2').sensitivity(1e-17)",
    "studies.cost(scenario, mems='g22')",
    "studies.cost(scenario, ratios='bogus')",
    "studies.cost(scenario, nvram_prices_per_gb=nan)",
    "reliability.failures_tolerated(1, 2, 'bogus')",
    "reliability.failures_tolerated(nan)",
    "reliability.failures_at_most(nan, 3, 1e5, 100.0)",
    "reliability.failures_at_most(1, 10**400, 1e5, 100.0)",
    "reliability.failures_at_most(1, 3, np.array([1, 2]), 100.0)",
    "reliability.failures_at_most(1, 3, 1e5, None)",
    "reliability.failures_at_most(1, 3, 1e5, 100.0, complement=3)",
    "reliability.failure_counts(enclosure, failures=5)",
    "reliability.failure_counts(enclosure, years=2**1100)",
    "reliability.analyse(enclosure, years=[1e306])",
    "reliability.analyse(enclosure, name=np.array([1, 2]))",
    "reliability.analyse(enclosure).save_plot(nan)",
    "reliability.survival_by_spares(enclosure, years=10**400)",
    "reliability.survival_by_spares(enclosure, disks_h=[np.array([1, 2])])",
    "reliability.survival_by_spares(enclosure, spares=5)",
    "reliability.mttf_by_maintenance(enclosure, repair_times=5)",
    "reliability.MarkovModel(enclosure).survival(10**400)",
    "reliability.Transient(reliability.MarkovModel(enclosure).chain, 'bogus')",
    "reliability.mean_time_to_loss_h(None)",
    "reliability.mean_rebuild_h(5)",
    "reliability.priced('no-such.toml')",
    "reliability.needs_simulation(5)",
    "reliability.simulate(enclosure, precision='bogus')",
    "reliability.report(enclosure, simulated=3)",
    "reliability.compare_enclosures('bogus')",
    "reliability.Duration.read(5)",
    "reliability.Duration('x')",
    "sweep.results('none.sweep')",
    "sweep.status('none')",
    "sweep.compare_pairs(5)",
    "sweep.Range(-1, 'x', scale='log', step=2)",
    "sweep.Sweep('small.toml', {'seed': [1]}, zip=[{'seed': [2]}], replications=2)",
    "sweep.Sweep('small.toml', {'run.requests': {'from': 1, 'to': 5, 'step': 1e-320}}).check()",
    "interval([1.0, 2.0], confidence=1.0)",
    "interval([1.0])",
    "interval('12')",
    "jackknife(lambda one: one, [1.0])",
    "jackknife(lambda one, other: one / other, [1.0, 2.0], [1.0, 2.0, 3.0])",
    "session.submit(2**64)",
    "session.submit(0, at_ns=-1)",
    "session.submit_all([0, 1.5])",
    "session.submit_all(np.array([0.0, 2.0**63]))",
    "session.submit_all([0, 1], [1, 2, 3])",
    "session.submit_all([0, 1], read=[True, 2])",
    "session.submit_all([0, 1], at_ns=[5, 4])",
    "frame_of(time_ms=[3.0, 4.0, 0.5])",
    "frame_of(lbn=[0, -8, 16])",
    "frame_of(lbn=[0, 8, 16.5])",
    "frame_of(lbn=[0, 8])",
    "frame_of(lbn=[[0], [8], [16]])",
    "frame_of(blocks=[1, 0, 1])",
    "frame_of(blocks=[1, None, 1])",
    "frame_of(blocks=[1, nan, 1])",
    "frame_of(op=['R', 'W', 'X'])",
    "frame_of(offset_bytes=[0, 8, 16])",
    "frame_of(op=None)",
    "frame_of(time_ms=None, time=[0, 1, 2])",
    "sledsim.Trace.from_columns(time_s=[0], lbn=[0], blocks=8, is_read=2)",
    "sledsim.compare('small.csv', devices=['g2', 'g22'])",
    "sledsim.compare([sledsim.run(scenario)]).plot('speed')",
    "sledsim.run(scenario).save_plot('a.gif')",
    "sledsim.run(scenario).timeline",
    "sledsim.run(scenario, overrides={'device': 'atlas10k'}, timeline=True)",
    "sledsim.power({**scenario, 'system': {'kind': 'partition', 'child': 'g2', 'bytes': 5120}})",
    "studies.hit_ratio('small.csv', 'lru:share=1', 10)",
    "studies.hit_ratio('small.csv', 'slru:protected_share', 10)",
    "studies.hit_ratio('small.csv', 'slru:protected_share=2', 10)",
    "studies.hit_ratio('small.csv', 'slru:protected_share=much', 10)",
    "studies.hit_ratio('small.csv', {'protected_share': 0.5}, 10)",
    "studies.hit_ratio('small.csv', [], 10)",
    "studies.hit_ratio('small.csv', 'lru', 2**31)",
    "studies.hit_ratio('small.csv', 'lru', 10, page_bytes=0)",
    "studies.matched_disk('uberdisk')",
    "studies.matched_disk('g2', base='hp_c2247a')",
    "studies.matched_disk('g2', base='atlas10k')",
    "cost_of(ratios=[0])",
    "cost_of(ratios=[nan])",
    "cost_of(ratios=['much'])",
    "cost_of(ratios=[])",
    "cost_of(ratios=[1e9])",
    "cost_of(ratios=[0.01])",
    "cost_of(ratios=[1], nvram_prices_per_gb=[1])",
    "cost_of(nvram_prices_per_gb=[-5])",
    "cost_of(ratios=[1], mems_price_per_gb=0)",
    "cost_of(ratios=[1], budget=0)",
    "cost_of(ratios=[1], budget=1e-9)",
    "cost_of(ratios=[1], mems_bytes='20 GB')",
    "cost_of(ratios=[1], mems_bytes='much')",
    "cost_of(ratios=[1], segment_bytes='3 B')",
    "cost_of(ratios=[1], controller_bytes='20 GB')",
    "cost_of(ratios=[1], mems='hong206')",
    "cost_of(ratios=[1], replications=1.5)",
    "cost_of(ratios=[1], overrides={'run.warmup_s': 1e6})",
    "chain('a', [('a', 'b', -1.0), ('b', LOSS, 1.0)])",
    "chain('a', [('a', LOSS, nan)])",
    "chain('a', [('a', 'b', 1.0), ('b', 'a', 1.0)])",
    "chain('a', [('a', LOSS, 1.0), ('a', 'b', 1.0)])",
    "chain('a', [('a', LOSS, 1.0), (LOSS, 'a', 1.0)])",
    "chain(0, [*((i, i + 1, 1.0) for i in range(301)), (301, LOSS, 1.0)])",
    "reliability.simulate(enclosure, years=[])",
    "reliability.simulate(enclosure, years=[1, -1])",
    "reliability.simulate(enclosure, lifetimes=999)",
    "reliability.simulate(enclosure, confidence=95)",
    "reliability.simulate(enclosure, seed=-1)",
    "reliability.simulate(enclosure, threads=0)",
    "reliability.simulate(enclosure, method='fast')",
    "reliability.simulate(enclosure, method='biased', to_loss=True)",
    "reliability.compare_enclosures([])",
    "reliability.Duration.read('200000')",
    "reliability.Duration.read('3 parsecs')",
    "reliability.Duration.read('-1 h')",
    "reliability.Duration.read('1,5 h')",
    "reliability.Duration.read('')",
    "reliability.Duration.read(None)",
    "sweep_of(axis={})",
    "sweep_of(scenario=3, axes={rate: [1]})",
    "sweep_of(random_numbers='comon')",
    "sweep_of(name='a/b')",
    "sweep_of(axes={rate: []})",
    "sweep_of(axes={rate: 5})",
    "sweep_of(axes={rate: [1, None]})",
    "sweep_of(axes={rate: [1, nan]})",
    "sweep_of(axes={rate: list(range(1, 100_002))})",
    "sweep_of(axes={rate: {'from': 1, 'to': 5}})",
    "sweep_of(axes={rate: {'from': 1, 'to': 5, 'count': 1}})",
    "sweep_of(axes={rate: {'from': 1, 'to': 5, 'step': -1}})",
    "sweep_of(axes={rate: {'from': 0, 'to': 5, 'count': 3, 'scale': 'log'}})",
    "sweep_of(axes={rate: {'from': 0, 'to': 1e9, 'step': 1e-3}})",
    "sweep_of(axes={rate: [1], 'seed': [1]}, replications=2)",
    "sweep_of(axes={'device': ['g2']}, zip={'system.device': ['g1']})",
    "sweep_of(sample={'axes': {rate: [1, 2]}})",
    "sweep_of(sample={'count': 2, 'axes': {rate: [1]}, 'method': 'sobol'})",
    "sledsim.optimise({**search, 'objectives': ['respnse'], 'trials': 1, 'overrides': {'run.requests': 20}})",
    "search_of(objectives=[{'metric': 'response', 'goal': 'maximize'}])",
    "search_of(objectives=[])",
    "search_of(objectives=['cost'])",
    "search_of(objectives=['cost'], prices={'mems_per_gib': 1})",
    "search_of(objectives=['cost'], prices={'mems_per_gb': -1})",
    "search_of(prices=3)",
    "search_of(constraints=[{'metric': 'energy', 'atmost': 1}])",
    "search_of(parameters={})",
    "search_of(parameters={'device.x_rnge_um': {'from': 1, 'to': 2}})",
    "search_of(parameters={'device.bit_nm': {'from': 60, 'to': 30}})",
    "search_of(parameters={'device.bit_nm': {'from': 30, 'to': 60, 'count': 3}})",
    "search_of(parameters={'device.bit_nm': [30], 'run.seed,system.device.bit_nm': [40]})",
    "search_of(sampler='tpee')",
]


@pytest.mark.parametrize("call", CALLS, ids=[call[:80] for call in CALLS])
def test_arguments(call: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    found = message_of(lambda: eval(call, NAMES), folder)
    assert f"{call}\n\n{found}" == snapshot


#: Commands with wrong arguments and options.
COMMANDS = [
    "frob",
    "run",
    "run ''",
    "run smal.toml",
    "run nowhere/a.toml",
    "run .",
    "run binary",
    "run g2",
    "run small.toml --frob",
    "run small.toml --set requests=20",
    "run small.toml --set members=4",
    "run small.toml --precision respons=1%",
    "run small.toml --set sead=1 --set run.requests=many",
    "run small.toml --set run.requests=20 --log log.xlsx",
    "run small.toml --set run.requests=20 --plot plot.gif",
    "run far.json",
    "compare small.toml --metric response.mean --plot out.svg",
    "device g99",
    "device g2-papr --seeks",
    "list workloads nothing",
    "schema sweeep",
    "trace none",
    "trace small.toml",
    "list",
    "trace prose.txt",
    "trace bad.csv",
    "replay small.csv --device g22",
    "replay small.csv --scheduler lok",
    "replay small.csv --device g2 --set device.seek_model=optimal",
    "replay small.csv --mode opn",
    "replay small.csv --mode closed",
    "replay untimed.log --set workload.mode=closed",
    "replay small.csv --set system.kind=zoned",
    "replay small.csv --fit scal",
    "replay small.csv --format mqsin",
    "replay small.csv --format parquet",
    "replay small.csv --time-scale -1",
    "replay small.csv --outstanding 2",
    "replay small.csv --devices one",
    "replay small.csv --set workload.start_s=5 --set workload.end_s=1",
    "replay small.csv --set workload.time_unit=us",
    "replay small.csv --log log.xlsx",
    "replay small.csv --log nowhere/log.csv",
    "replay small.csv --plot plot.gif",
    "replay small.csv --column x",
    "replay small.csv --column time=nothing",
    "replay small.csv --column foo=bar",
    "replay small.csv --column time=a --column time=b",
    "replay untimed.log --time-scale 0.5",
    "replay untimed.log --set workload.end_s=1",
    "replay far.csv --device g2",
    "replay cut.csv.gz",
    "hit-ratio small.csv --policy lruu --pages 10",
    "cost --workload tpcc-like --mems-size '1 foo'",
    "cost --workload tpcc-like --mems-size '1e400 MiB'",
    "relation --device g99",
    "role-test specificity sdf --rate -3",
    "role-test specificity sdf --disk uberdisc",
    "role-test merit sdf --rate -3",
    "sweep run small.toml",
    "sweep run sweep.toml --set sweep.replications=0",
    "optimise search.toml --set search.trials=0",
    "optimise search.toml --trials 0",
    "reliability enclosure.toml --set enclosure.spares=-1",
    "reliability small.toml",
    "import none.parv",
    "import simple.diskspecs --scenario",
    "import two.diskspecs",
    "validate-drive grifin1999 small.csv",
    "validate-drive . small.csv",
    "validate-drive small.csv small.csv",
    "calibrate",
    "calibrate .",
    "calibrate invalid",
    "calibrate nosuch.trace",
    "calibrate small.csv",
    "calibrate --jobs jobs",
    "calibrate --jobs jobs --capacity 2TB",
    "calibrate --jobs jobs --filename /dev/sdq --capacity 5",
    "calibrate --jobs jobs --filename /dev/sdq --capacity rubbish",
    "calibrate --jobs '' --filename /dev/sdq --capacity 2TB",
    "calibrate --jobs jobs --filename none.img",
    "calibrate --jobs jobs --scale 0.01",
    "calibrate small.csv --from two.diskspecs",
    "calibrate small.csv --from g2 --jobs jobs",
    "calibrate jobs --capacity 1000000000",
    "replay small.csv --mode open --fit wrap --mode=closed",
    "trace small.csv --head 3 --head 4",
    "hit-ratio small.csv --plot misses.gif",
    "hit-ratio small.csv --pages ten",
    "hit-ratio small.csv --pages 5,99999999999999999999999999999999999999",
    "hit-ratio small.csv --page-bytes 0",
    "hit-ratio small.csv --format vscsii",
    "hit-ratio small.csv --time-unit us",
    "power small.toml --set device=atlas10k",
    "power small.toml --plot plot.gif",
    "device atlas10k --break-even",
    "device g2 --set device.inactive_mw=200 --break-even",
    "run small.toml --set device.inactive_mw=200 --set system.spin_down=immediate",
    "run small.toml --set device=atlas10k --set 'system.delayed_startup={requests = 2, wait_ms = 5}'",
    "cost small.toml --disk atlas10k",
    "cost --trace small.csv --replications 2",
    "reliability enclosure.toml --figure survivl",
    "reliability enclosure.toml --figure cost --years 3",
    "reliability enclosure.toml --figure cost enclosure.toml",
    "reliability enclosure.toml --figure cost --seed 3",
    "reliability enclosure.toml --figure spares --simulate",
    "reliability enclosure.toml enclosure.toml --simulate",
    "reliability enclosure.toml --years one",
    "reliability enclosure.toml --years -1",
    "reliability enclosure.toml --lifetimes many",
    "reliability enclosure.toml --lifetimes 3",
    "reliability enclosure.toml --precision loss=-10%",
    "reliability enclosure.toml --precision 0.1",
    "reliability enclosure.toml --plot nowhere/plot.png",
    "machine g2 --machine .",
    "machine g2 --machine . --program nosuch",
    "machine g2 --machine . --program postmark --size foo=1",
    "machine g2 --machine . --program postmark --size files",
    "machine g2 --machine . --program postmark --size files=1 --size files=2",
    "machine g2 --machine . --program browse --size pages=100000 --size visits=20000",
    "machine g2 --machine . --program postmark jobs.fio",
    "machine g2 --machine . --program postmark --memory-mib 1",
    "machine g2 --machine . --program postmark --file-system ffs",
    "machine g2 --machine . --program postmark --device g1 --trace t.csv",
    "machine g2 --machine . --program postmark --device g1 --device g1",
    "machine g2 --machine . --program postmark --device nosuch",
    "machine g2 --machine . --program postmark --threads 2",
    "machine g2 --machine . --program postmark --limit-s 0",
    "machine g9 --machine . --program postmark",
    "machine g2 --machine . --size files=1 -- ls",
    "machine g2 --machine . --file nothing -- ls",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command: str, folder: Path, sledsim_cli: Callable[..., Outcome], snapshot: SnapshotAssertion) -> None:
    for kind, text in BARE.items():
        (folder / f"{kind}.toml").write_text(text)
    scenario = {"workload": {"path": "far.csv"}, "system": {"device": "g2"}}
    (folder / "far.json").write_text(json.dumps(scenario))
    (folder / "invalid").mkdir()
    (folder / "invalid" / "calibration.json").write_text("{}")
    found = sledsim_cli(*shlex.split(command))
    assert (found.status, found.out) == (2, "")
    assert f"$ sledsim {command}\n{found.err.replace(f'{folder}/', '')}" == snapshot


#: A DiskSim parameter file, and changes of it.
DISKSIM = """\
disksim_simpledisk SD {
  Block count = 100000,
  Access time = 9.5,
  Command overhead = 0.5,
  Bulk sector transfer time = 0.25,
  Never disconnect = 0,
  Print stats = 1,
  Max queue length = 1,
  Scheduler = disksim_ioqueue {
    Scheduling policy = 1, Cylinder mapping strategy = 0, Write initiation delay = 0.0, Read initiation delay = 0.0,
    Sequential stream scheme = 0, Maximum concat size = 0, Overlapping request scheme = 0,
    Sequential stream diff maximum = 0, Scheduling timeout scheme = 0, Timeout time/weight = 0,
    Timeout scheduling = 0, Scheduling priority scheme = 0, Priority scheduling = 0
  }
}
"""
CHANGES = [
    ("disksim_simpledisk", "disksim_simplydisk"),
    ("Block count", "Block number"),
    ("= 100000", "= 0"),
    ("= 9.5", "= quick"),
    ("  Never disconnect = 0,\n", ""),
    ("Never disconnect = 0", "source gone.specs"),
    ("Print stats = 1", "Never disconnect = 1"),
]


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_disksim_parameters(before: str, after: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    assert before in DISKSIM
    (folder / "own.diskspecs").write_text(DISKSIM.replace(before, after, 1))
    found = message_of(lambda: sledsim.scenario.import_disksim(folder / "own.diskspecs"), folder)
    assert f"{before.strip()} → {after}\n\n{found}" == snapshot


@pytest.mark.parametrize("text", ["", "\n  \n", "# only a remark\n"])
def test_empty_standard_input(
    text: str, monkeypatch: pytest.MonkeyPatch, folder: Path, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert message_of(lambda: sledsim.run("-"), folder) == snapshot
