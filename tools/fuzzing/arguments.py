"""Calls of public Python functions, each argument valid or arbitrary."""

from __future__ import annotations

import math
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fuzzing.invariants import require
from fuzzing.running import interrupted_in_time, stopper

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from fuzzing.targets import Given

DEVICES = (
    "g1",
    "g2",
    "g2-paper",
    "hong2006",
    "griffin1999",
    "cheetah73",
    "atlas10k",
    "travelstar",
    "simpledisk-linear",
)
SCENARIO = (
    '{"workload": {"arrival": {"kind": "poisson", "rate_per_s": 300.0}}, "system": {"device": "g2"}, '
    '"run": {"requests": 30}}'
)
#: Values for any argument, as Python text.
ANYTHING = (
    *(
        "None",
        "True",
        "0",
        "1",
        "-1",
        "0.5",
        "-0.0",
        "1e308",
        "float('nan')",
        "float('inf')",
        "2**31",
        "2**32",
        "2**63",
    ),
    *(
        "2**64",
        "-(2**64)",
        "10**400",
        "'x'",
        "''",
        "b'x'",
        "[]",
        "[0]",
        "[0, 1, 2]",
        "[[0]]",
        "[0.5]",
        "[None]",
        "['a']",
    ),
    *("{}", "{'a': 1}", "{1}", "object()", "(1, 2)", "range(3)", "np.array([1, 2])", "np.array([1.5])", "np.array(3)"),
    *("np.array([], dtype=float)", "np.zeros((2, 2))", "np.float64('nan')", "np.uint64(2**64 - 1)", "np.array([None])"),
    *(
        "1j",
        "lambda: 0",
        "Path('/nowhere')",
        "Path('.')",
        "'\\ud800'",
        "'\\x00'",
        "'a' * 5000",
        "iter([1])",
        "type",
        "...",
    ),
)
LBNS = (
    "0",
    "5",
    "[0, 100, 7]",
    "range(20)",
    "np.arange(5)",
    "device.capacity_blocks - 1",
    "[device.capacity_blocks]",
    "[]",
)
COUNTS = ("1", "8", "[1, 2, 3]", "200", "device.capacity_blocks", "2**17", "2**20")
TRUTHS = ("True", "False", "[True, False, True]")
TIMES = ("0.0", "5", "[0.0, 1.0, 2.0]", "1e6", "1e12", "1e15")
SETS = (
    "{}",
    "{'run.requests': 20}",
    "['run.requests=20']",
    "'run.requests=20'",
    "['scheduler=sptf', 'seed=9']",
    "['device=g3']",
)
RUNS = (SCENARIO, "sledsim.Scenario.load(scenario)", "'g2'", "Path('examples/first.toml')", f"[{SCENARIO}]", "result")
MICRONS = ("0.0", "10", "-50", "[0, 25, 50]", "50.0001", "np.linspace(-50, 50, 5)")

#: A session and a database in their initial state.
SESSION = "sledsim.Session(scenario, log=True)"
DATABASE = "connect(Path(folder, 'a.db'), 'g2')"
INSTANTS = ("None", "0", "10**6", "5 * 10**9", "10**18", "[0, 10, 20]")
DRAWINGS = ("'g2'", "{'based_on': 'g2'}", "{'based_on': 'g2', 'bit_nm': 40}", "'cheetah73'")

#: A machine that does not exist, so that valid calls end before a machine boots.
NO_MACHINE = "machine=Path(folder, 'none')"
#: Functions that refuse arguments of a wrong type with an error of Sledsim.
OWN_WORDS = ("device.", "machine.", "partial(machine.")

#: Functions that simulate any number of lifetimes; after Ctrl-C they return those so far.
ENDS_EARLY = "reliability.simulate("

#: Calls by name: function, required arguments, optional arguments.
CALLS: dict[str, tuple[str, tuple[tuple[str, ...], ...], dict[str, tuple[str, ...]]]] = {
    "positioning": ("device.positioning_ms", (LBNS,), {"read": TRUTHS, "at_ms": TIMES}),
    "serve": ("device.serve", (LBNS, COUNTS), {"read": TRUTHS, "due_ms": TIMES}),
    "batch": ("device.serve_batch", (LBNS, COUNTS), {"read": TRUTHS}),
    "batches": ("device.serve_batches", (LBNS, COUNTS, ("1", "[1, 2]", "[3]", "[0, 3]")), {"read": TRUTHS}),
    "place": ("device.place", (LBNS,), {}),
    "equivalent": ("device.equivalent", (LBNS,), {}),
    "seek": ("device.seek_ms", (("0", "1", "[1, 100]", "device.cylinders"),), {"read": TRUTHS}),
    "seek_x": ("device.seek_x_ms", (MICRONS, MICRONS), {}),
    "seek_y": (
        "device.seek_y_ms",
        (MICRONS, MICRONS),
        {"from_direction": ("1", "-1", "0"), "to_direction": ("1", "-1")},
    ),
    "curve": ("device.seek_curve", (), {"points": ("2", "10", "1000", "1")}),
    "surface": ("device.seek_surface", (), {"points": ("2", "10", "30")}),
    "break_even": ("device.break_even", (), {}),
    "facts": ("device.facts", (), {}),
    "device": (
        "sledsim.Device",
        (("'g2'", "'cheetah73'", "{'name': 'g2'}", "device.parameters"),),
        {"settle_constants": ("0", "2")},
    ),
    "run": (
        "sledsim.run",
        (RUNS,),
        {
            "overrides": SETS,
            "log": TRUTHS,
            "timeline": ("True", "(0.0, 1.0)", "(1, 0)"),
            "check": TRUTHS,
            "progress": ("None", "stop"),
        },
    ),
    "compare": (
        "sledsim.compare",
        ((f"[{SCENARIO}, {SCENARIO}]", f"{{'a': {SCENARIO}}}", "[result]", "[]"),),
        {"overrides": SETS},
    ),
    "load": ("sledsim.Scenario.load", (RUNS,), {"overrides": SETS}),
    "explain": ("sledsim.scenario.explain", (RUNS,), {"overrides": SETS}),
    "histogram": ("result.histogram", (("'response'", "'wait'"), ("'all'", "'reads'")), {}),
    "frame": (
        "result.write_log",
        (("Path(folder, 'a.parquet')", "Path(folder, 'a.csv')", "'/nowhere/a.csv'", "''"),),
        {},
    ),
    "plot": ("result.plot", (("'response'", "'phases'", "'energy'", "'timeline'"),), {}),
    "device_plot": ("device.plot", (("'seek'", "'zones'", "'seek-surface'"),), {}),
    "hit_ratio": (
        "sledsim.studies.hit_ratio",
        (
            ("'examples/office.csv'",),
            ("'lru'", "['arc', 'lru']", "'2q:in_share=0.3'", "{'name': 'lru'}"),
            ("10", "[1, 100]", "10**12"),
        ),
        {
            "page_bytes": ("4096", "512", "1"),
            "format": ("'csv'", "'msr'"),
            "skip_bad": ("0", "5"),
            "sector_bytes": ("512",),
        },
    ),
    "open_trace": (
        "sledsim.traces.open_trace",
        (("'examples/office.csv'", "Path('examples')"),),
        {"format": ("'csv'",), "skip_bad": ("0",), "columns": ("{'time': 't_ns'}",)},
    ),
    "head": ("sledsim.traces.open_trace('examples/office.csv').head", (("1", "5", "10**9"),), {}),
    "sweep": (
        "sledsim.sweep.Sweep",
        (
            (SCENARIO,),
            ("{'seed': [1, 2]}", "{'run.requests': sledsim.sweep.Range(1, 9, count=3)}", "{'scheduler': ['sptf']}"),
        ),
        {
            "replications": ("1", "3"),
            "seed": ("1", "0"),
            "random_numbers": ("'common'",),
            "name": ("'a'",),
            "zip": ("()", "[{'a': [1]}]"),
        },
    ),
    "range": (
        "sledsim.sweep.Range",
        (("0", "1", "0.1"), ("10", "1e3", "0.3")),
        {"step": ("1", "0.1", "1e-9"), "count": ("2", "5"), "scale": ("'log'", "'linear'")},
    ),
    "tolerated": ("sledsim.reliability.failures_tolerated", (("1", "3"),), {"repairs": ("1",), "parity": ("2",)}),
    "at_most": ("sledsim.reliability.failures_at_most", (("1", "3"), ("20",), ("1e5",), ("9.0", "'1 year'")), {}),
    "mttf": (
        "sledsim.reliability.mttf_h",
        (("Path('examples/hong2006.toml')",),),
        {"overrides": ("['enclosure.spares=1']", "{'enclosure.parity': 2}")},
    ),
    "lifetimes": (
        "sledsim.reliability.simulate",
        (("Path('examples/raid6.toml')",),),
        {
            "years": ("(1.0,)", "[1, 3]", "()"),
            "lifetimes": ("1000", "2000"),
            "seed": ("1",),
            "precision": ("0.5",),
            "confidence": ("0.9",),
            "method": ("'plain'", "'biased'"),
            "threads": ("1", "2"),
            "progress": ("stop",),
        },
    ),
    "relation": (
        "sledsim.studies.relation_times",
        (("'g2'", "'hong2006'"), ("sledsim.studies.Relation()", "None")),
        {"fetches": ("3", "10"), "seed": ("1",), "layouts": ("['row']", "[]")},
    ),
    "replay": (
        "sledsim.replay",
        (("'examples/office.csv'", "Path('examples/office.csv')"),),
        {"device": ("'g2'",), "fit": ("'wrap'", "'scale'"), "scheduler": ("'sptf'",), "log": TRUTHS},
    ),
    "matched": (
        "sledsim.studies.matched_disk",
        (("'g2'", "'g1'"), ("'uberdisk'", "'cheetah73'")),
        {"bytes": ("4096", "512")},
    ),
    "catalogue": ("sledsim.device", (("'g2'", "'cheetah73'"),), {}),
    "workload": ("sledsim.workloads.catalog", (), {}),
    "power": ("sledsim.power", (RUNS,), {"overrides": SETS, "progress": ("stop",)}),
    "session": ("sledsim.Session", (RUNS,), {"overrides": SETS, "log": TRUTHS, "timeline": ("True", "(0.0, 1.0)")}),
    "submit": (f"{SESSION}.submit", (("0", "5"), ("1", "8")), {"read": TRUTHS, "fua": TRUTHS, "at_ns": INSTANTS}),
    "flush": (f"{SESSION}.flush", (), {"at_ns": INSTANTS}),
    "advance": (f"{SESSION}.advance", (INSTANTS,), {}),
    "serve_session": (
        f"{SESSION}.serve",
        (LBNS, COUNTS),
        {"read": TRUTHS, "fua": TRUTHS, "flush": TRUTHS, "at_ns": INSTANTS, "until_ns": INSTANTS},
    ),
    "design": ("sledsim.studies.design", (DRAWINGS,), {"overrides": ("['bit_nm=40']", "{'tips': 6400}", "()")}),
    "drawn": (
        "sledsim.run",
        ((SCENARIO,),),
        {"overrides": ("{'device': {'drawing': 'g2'}}", "['device.drawing.bit_nm=40']")},
    ),
    "connect": (
        "connect",
        (("Path(folder, 'a.db')", "'/nowhere/a.db'", "folder"), ("'g2'", "scenario", SESSION)),
        {"overrides": SETS, "cache_kib": ("2000", "1", "0")},
    ),
    "execute": (
        f"{DATABASE}.execute",
        (("'create table a(b)'", "'select 1'", "'select ?'", "'pragma page_size'", "'vacuum'", "'selec'"),),
        {"values": ("()", "(1,)", "{'a': 1}")},
    ),
    "machine": (
        f"partial(machine.run, {NO_MACHINE})",
        (("'g2'", "scenario"), ("'command'", "'postmark'", "'browse'", "'fio'")),
        {
            "command": ("'ls'", "' '"),
            "job": ("'examples/office.csv'", "folder"),
            "files": ("[folder]", "['examples', 'docs']", "('examples/office.csv',)"),
            "sizes": ("{'files': 5}", "{'pages': 10}", "{'files': 2.5}"),
            "guest": ("machine.Guest(cpu=2)",),
            "overrides": SETS,
            "limit_s": ("5",),
        },
    ),
    "machines": (
        f"partial(machine.run_each, {NO_MACHINE})",
        (("{'a': 'g2'}", "{'a': 'g2', 'b': scenario}"), ("'command'", "'link'")),
        {"command": ("'ls'",), "overrides": ("{'a': ['device=g3']}",), "threads": ("1", "2"), "limit_s": ("5",)},
    ),
    "guest": (
        "machine.Guest",
        (),
        {
            "memory_mib": ("128", "16"),
            "cpu": ("1", "0.3", "64"),
            "file_system": ("'xfs'", "'ext2'"),
            "mount": ("'noatime'", "'a=1,b'"),
            "read_ahead_kib": ("0", "64"),
            "cache": ("'warm'",),
        },
    ),
    "served": (
        "partial(sledsim.runs.serve, socket=Path(folder, 'none', 'socket'))",
        (RUNS,),
        {
            "overrides": SETS,
            "tcp": ("0", "'127.0.0.1:1'"),
            "once": ("True",),
        },
    ),
}


class Arguments:
    """Calls of public functions."""

    def make(self, random: Random) -> Given:
        """Draw a call."""
        name = random.choice([*CALLS])
        called, places, keywords = CALLS[name]
        wrong = random.choice([0.0, 0.15, 0.4])

        def drawn(usual: tuple[str, ...]) -> str:
            return random.choice(ANYTHING) if random.random() < wrong else random.choice(usual)

        given = [drawn(usual) for usual in places]
        given += [f"{key}={drawn(usual)}" for key, usual in keywords.items() if random.random() < 0.35]
        return {"device": random.choice(DEVICES), "call": f"{called}({', '.join(given)})"}

    def attempt(self, given: Given, folder: Path) -> None:
        """Call it."""
        from functools import partial
        from pathlib import Path as _Path

        import numpy as np

        import sledsim

        device = sledsim.Device(given["device"])
        names: dict[str, Any] = {
            "np": np,
            "sledsim": sledsim,
            "Path": _Path,
            "device": device,
            "partial": partial,
            "folder": str(folder),
            "stop": stopper(),
        }
        names["scenario"] = eval(SCENARIO)
        if "connect(" in given["call"]:
            from sledsim.sqlite import connect

            names["connect"] = connect
        if "machine." in given["call"]:
            names["machine"] = import_module("sledsim.machine")
        if "result" in given["call"]:
            names["result"] = sledsim.run(names["scenario"], log=True)
        try:
            with interrupted_in_time() if ENDS_EARLY in given["call"] else nullcontext():
                found = eval(given["call"], names)
        except TypeError as error:
            if given["call"].startswith(OWN_WORDS):
                raise
            # Python refuses arguments of a wrong type with TypeError.
            raise sledsim.SledsimError(str(error)) from None
        except Exception as error:
            if ".execute(" in given["call"] and type(error).__module__.startswith("apsw"):
                # Errors of SQLite are documented.
                raise sledsim.SledsimError(str(error)) from None
            raise
        if isinstance(found, float):
            require(not math.isnan(found), "a result that is not a number")
        elif isinstance(found, np.ndarray) and found.dtype.kind == "f":
            require(np.isfinite(found).all(), "a result that is not finite")
