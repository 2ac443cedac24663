"""Simulated enclosures: agreement with the chains, units, bounds, interruption, errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from conftest import size
from sledsim.reliability import (
    Description,
    MarkovModel,
    MonteCarlo,
    ReliabilityError,
    load,
    mean_rebuild_h,
    needs_simulation,
    simulate,
)
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sledsim.reliability.monte_carlo import Method

HONG2006: dict[str, Any] = {
    "enclosure": {"data": 19, "parity": 1, "spares": 5},
    "device": {"mttf": "200000 h"},
    "rebuild": {"time": "15 min"},
}
WEEKLY = {"strategy": "preventive", "preventive": "1 week", "mandatory": "1 day"}

#: Enclosures for both chains and simulation, with the years and the method of sampling.
BOTH: dict[str, tuple[dict[str, Any], float, Literal["plain", "biased"]]] = {
    "no repair": ({}, 3.0, "plain"),
    "mandatory": ({"enclosure.spares": 1, "repair": {"strategy": "mandatory", "mandatory": "1 month"}}, 3.0, "plain"),
    "spread": (
        {
            "enclosure": {"data": 6, "parity": 2, "spares": 3, "sparing": "distributed"},
            "device.mttf": "1 year",
            "rebuild": {"time": "10 days", "at_once": 2},
            "repair": WEEKLY,
        },
        0.5,
        "plain",
    ),
    "preventive, 5 spares": ({"repair": WEEKLY}, 1.0, "biased"),
    "RAID-6": ({"enclosure.parity": 2, "enclosure.spares": 1, "repair": WEEKLY}, 1.0, "biased"),
    "spares that fail": ({"enclosure": {"data": 2, "parity": 1, "spares": 6, "spares_fail": True}}, 0.5, "biased"),
    "long-lived mirror": (
        {
            "enclosure": {"data": 1, "parity": 1, "spares": 1},
            "device.mttf": "1e7 h",
            "rebuild.time": "36 s",
            "repair": WEEKLY | {"preventive": "1 day"},
        },
        1.0,
        "biased",
    ),
}


def between(low: float, value: float, high: float) -> bool:
    return low <= value <= high


@pytest.mark.parametrize("name", BOTH)
def test_intervals_contain_the_chain_result(name: str) -> None:
    # Each interval contains the exact value with 99 %. The probability that fewer than 97 of 100 do is 2 %;
    # that fewer than 38 of 40 do, 0.7 %. Seeds are fixed.
    sets, years, method = BOTH[name]
    description = load(HONG2006, overrides=sets)
    exact = float(MarkovModel(description).loss_probability(years * 8760))
    lifetimes = 2000 if method == "plain" else 5000
    seeds, held = size(40, 100), 0
    for seed in range(seeds):
        found = simulate(description, years=[years], method=method, lifetimes=lifetimes, confidence=0.99, seed=seed)
        held += between(found.loss[0]["low"], exact, found.loss[0]["high"])
    assert held >= size(38, 97), f"{held} of {seeds} intervals contain {exact:.3e}"


def test_the_least_likely_of_these_is_1e_minus_12() -> None:
    sets, years, _ = BOTH["long-lived mirror"]
    assert 1e-12 < float(MarkovModel(load(HONG2006, overrides=sets)).loss_probability(years * 8760)) < 1e-11


def test_lifetimes_repairs_and_replaced_devices_agree_with_the_chain() -> None:
    description = load(HONG2006, overrides={"enclosure.spares": 2, "device.mttf": "3 years", "repair": WEEKLY})
    model = MarkovModel(description)
    years = [0.5, 1.0]
    found = simulate(description, years=years, to_loss=True, method="plain", lifetimes=10_000, confidence=0.9999)
    assert found.mttf_h is not None
    assert between(found.mttf_h["low"], model.mttf_h, found.mttf_h["high"])
    assert found.mttf_h["high"] / found.mttf_h["low"] < 1.1
    for index, time_h in enumerate(np.array(years) * 8760):
        repairs, replaced = found.repairs[index], found.replaced[index]
        assert repairs is not None
        assert replaced is not None
        assert between(repairs["low"], float(model.repairs(time_h)), repairs["high"])
        assert between(replaced["low"], float(model.replaced(time_h)), replaced["high"])
        assert repairs["high"] / repairs["low"] < 1.1


def test_automatic_method_forces_only_rare_losses() -> None:
    found = simulate(HONG2006, years=[5, 0.5], lifetimes=20_000)
    assert [loss["years"] for loss in found.loss] == [5, 0.5]
    assert [loss["method"] for loss in found.loss] == ["plain", "biased"]
    model = MarkovModel(Description.load(HONG2006))
    for loss in found.loss:
        assert loss["estimate"] == pytest.approx(float(model.loss_probability(loss["years"] * 8760)), rel=0.05)
    assert found.lifetimes == 40_000
    assert "forced" in str(found)
    # Events that are common enough for plain sampling are still forced for higher precision.
    precise = simulate(HONG2006, years=[5], precision=0.004)
    assert precise.loss[0]["method"] == "biased"
    assert precise.loss[0]["high"] - precise.loss[0]["low"] <= 2 * 0.004 * (precise.loss[0]["estimate"] or 0)


def test_an_enclosure_too_large_to_be_forced_is_sampled_plainly() -> None:
    large = {"enclosure.data": 1100, "enclosure.parity": 3, "enclosure.spares": 20}
    found = simulate(HONG2006, overrides=large, years=[0.1, 0.2], lifetimes=1000)
    assert [loss["method"] for loss in found.loss] == ["plain", "plain"]
    assert found.loss[0]["high"] < 0.01
    with pytest.raises(ReliabilityError, match="times 1123 devices and spares is more than 4096") as caught:
        simulate(HONG2006, overrides=large, years=[0.1], lifetimes=1000, method="biased")
    assert (caught.value.kind, caught.value.path) == ("out-of-range", "enclosure.parity")
    # At the limit it is forced.
    widest = {"enclosure.data": 2042, "enclosure.parity": 1, "enclosure.spares": 5}
    assert simulate(HONG2006, overrides=widest, years=[1e-6], lifetimes=1000).loss[0]["method"] == "biased"


def test_too_many_lifetimes_are_refused_before_simulation() -> None:
    most = 2**36 // (HONG2006["enclosure"]["data"] + 1 + 5 + 1)

    def fail(done: int, _: int) -> None:
        raise AssertionError(f"{done} lifetimes were simulated")

    methods: tuple[Method, ...] = ("plain", "biased", "auto")
    for method in methods:
        with pytest.raises(ReliabilityError, match=f"ask for at most {most}; rare") as caught:
            simulate(HONG2006, years=[1], lifetimes=most + 1, method=method, progress=fail)
        assert (caught.value.kind, caught.value.path) == ("out-of-range", "lifetimes")
    with pytest.raises(ReliabilityError, match="10006 devices and spares are more than 10000"):
        simulate(HONG2006, overrides={"enclosure.data": 10_000}, lifetimes=1000)
    # Without a number the maximum is used: a hundred million lifetimes of this many devices would be too many.
    large = simulate(
        HONG2006, overrides={"enclosure.data": 9_000}, years=[1e-7], precision=1.0, progress=_stop_at_first_report()
    )
    assert not large.complete


def _stop_at_first_report() -> Callable[[int, int], None]:
    """Return a callback that ends a simulation when it first reports the number of lifetimes."""

    def stop(_: int, most: int) -> None:
        assert most == 2**36 // 9_007
        raise KeyboardInterrupt

    return stop


def test_losses_by_tips_are_counted() -> None:
    tips = {"count": 10, "mttf": "1000 years", "spares": 1}
    found = simulate(HONG2006, overrides={"device.mttf": "1e9 h", "device.tips": tips}, years=[0.1], lifetimes=2000)
    # A device fails with its second tip, with probability 5e-7 within a tenth of a year, so no loss is observed.
    assert found.loss[0]["method"] == "plain"
    assert found.loss[0]["estimate"] is None


def test_a_seed_gives_the_same_on_any_number_of_threads() -> None:
    def found(seed: int, threads: int) -> dict[str, Any]:
        return simulate(HONG2006, lifetimes=5000, seed=seed, threads=threads, to_loss=True).to_dict()

    assert found(7, 1) == found(7, 2) == found(7, 5)
    assert found(7, 1) != found(8, 1)


def test_unobserved_events_are_printed_as_bounds() -> None:
    found = simulate(HONG2006, years=[0.1], method="plain", lifetimes=1000)
    loss = found.loss[0]
    assert loss["estimate"] is None
    assert loss["low"] == 0
    # With this probability of loss, a thousand trials without a loss have a probability of 5 %.
    assert (1 - loss["high"]) ** 1000 == pytest.approx(0.05, rel=1e-9)
    assert "< 0.00299" in str(found)
    assert found.to_dict()["loss"][0]["estimate"] is None


@pytest.mark.parametrize(
    ("key", "value", "worse"),
    [
        ("device.lifetime", {"kind": "weibull", "shape": 0.6}, True),
        ("device.lifetime", {"kind": "lognormal", "sigma": 0.5}, False),
        ("device.infant_mortality", {"share": 0.1, "mttf": "1 year"}, True),
        ("device.batches", {"size": 5, "share": 0.1, "mttf": "1 year"}, True),
        ("device.latent_errors", {"every": "1 year", "scrub": "1 month"}, True),
        ("device.tips", {"count": 1000, "mttf": "5000 years", "spares": 1, "tolerated": 1}, True),
    ],
)
def test_effects_without_a_chain_change_the_loss(key: str, value: dict[str, Any], worse: bool) -> None:
    plain = simulate(HONG2006, years=[3], lifetimes=20_000, confidence=0.99).loss[0]
    changed = load(HONG2006, overrides={key: value})
    assert needs_simulation(changed) == [key]
    assert changed.to_dict() == load(changed.to_dict()).to_dict()
    loss = simulate(changed, years=[3], lifetimes=20_000, confidence=0.99).loss[0]
    assert loss["low"] > plain["high"] if worse else loss["high"] < plain["low"]


def test_fixed_times_are_simulated_and_need_it() -> None:
    fixed = {"distribution": "fixed"}
    description = load(HONG2006, overrides={"rebuild.distribution": "fixed", "repair": WEEKLY | fixed})
    assert needs_simulation(description) == ["rebuild.distribution", "repair.distribution"]
    assert needs_simulation(load(HONG2006, overrides={"device.lifetime": {"kind": "exponential"}})) == []
    with pytest.raises(ReliabilityError, match=r"rebuild\.distribution: "):
        MarkovModel(description)
    # Two failures while a third device is missing go with the square of that time: its mean is half as large where the
    # time is fixed as where it is exponential.
    raid_6: dict[str, Any] = {
        "enclosure": {"data": 19, "parity": 2},
        "repair": {"strategy": "mandatory", "mandatory": "1 week"},
    }
    exact = float(MarkovModel(load(HONG2006, overrides=raid_6)).loss_probability(8760))
    raid_6["repair"] |= fixed
    found = simulate(HONG2006, overrides=raid_6, years=[1], precision=0.02).loss[0]
    assert found["estimate"] == pytest.approx(exact / 2, rel=0.05)


def test_a_rebuild_takes_its_time_from_the_device() -> None:
    named = HONG2006 | {"device": {"mttf": "200000 h", "name": "g2"}}
    half, tenth = (mean_rebuild_h(load(named | {"rebuild": {"bandwidth_share": share}})) for share in (0.5, 0.1))
    assert tenth == pytest.approx(5 * half)
    # hong2006, section 3.2.1: 15 minutes are a bandwidth of less than 5 %.
    assert mean_rebuild_h(load(named | {"rebuild": {"bandwidth_share": 0.05}})) < 0.25


def test_rebuilds_use_the_remaining_bandwidth(tmp_path: Path) -> None:
    def rebuild_h(rate_per_s: float) -> float:
        path = tmp_path / f"{rate_per_s:g}.toml"
        path.write_text(
            f'[workload]\narrival = {{kind = "poisson", rate_per_s = {rate_per_s}}}\n'
            '[system]\ndevice = "g1"\n[run]\nrequests = 2000\n'
        )
        tables = HONG2006 | {"device": {"mttf": "200000 h", "name": "g2"}, "rebuild": {"load": str(path)}}
        return mean_rebuild_h(load(tables))

    alone_h = mean_rebuild_h(
        load(HONG2006 | {"device": {"mttf": "200000 h", "name": "g2"}, "rebuild": {"bandwidth_share": 1.0}})
    )
    # A random request keeps g2 busy for about 0.8 ms: 500 a second leave 0.6 of its time.
    assert rebuild_h(500) == pytest.approx(alone_h / 0.6, rel=0.1)
    with pytest.raises(ReliabilityError, match=r"rebuild\.load: .*g2 busy .* lighter load"):
        rebuild_h(5000)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no shape": (
        {"device.lifetime": {"kind": "weibull"}},
        'device.lifetime.shape is missing: the kind "weibull" needs it',
    ),
    "shape of none": (
        {"device.lifetime": {"kind": "exponential", "shape": 2}},
        "device.lifetime.shape = 2 has no meaning",
    ),
    "other kind": ({"device.lifetime": {"kind": "gamma"}}, 'device.lifetime.kind = "gamma" is not known'),
    "shape below 0": (
        {"device.lifetime": {"kind": "weibull", "shape": -1}},
        "device.lifetime.shape = -1 is out of range",
    ),
    "no unit": (
        {"device.infant_mortality": {"share": 0.1, "mttf": 100}},
        "device.infant_mortality.mttf = 100 is .* expected a number with a unit",
    ),
    "share": (
        {"device.batches": {"size": 4, "share": 1.5, "mttf": "1 year"}},
        "device.batches.share = 1.5 is out of range",
    ),
    "typing error": (
        {"device.tips": {"count": 4, "mttf": "1 year", "spears": 1}},
        'unknown key device.tips.spears: did you mean "spares"',
    ),
    "tolerant tips": (
        {"device.tips": {"count": 4, "mttf": "1 year", "tolerated": 4}},
        "device.tips.tolerated = 4 of 4 tips: tolerate fewer than all of them",
    ),
    "scrub": (
        {"device.latent_errors": {"every": "1 year", "scrub": "-1 h"}},
        'device.latent_errors.scrub = "-1 h" is out of range',
    ),
    "distribution": ({"rebuild.distribution": "uniform"}, 'rebuild.distribution = "uniform" is not known'),
    "no such file": (
        {"rebuild": {"load": "none.toml"}, "device.name": "g2"},
        "none.toml: rebuild.load: No such file",
    ),
    "no such device": ({"rebuild": {"bandwidth_share": 0.1}, "device.name": "g9"}, "device.name = .g9. is not known"),
    "no bandwidth": (
        {"rebuild": {"bandwidth_share": 0.1}, "device.name": "simpledisk-linear"},
        "device.name: simpledisk-linear .*no bandwidth",
    ),
    "long-lived": ({"device.mttf": "1e13 h"}, r"device.mttf = .* is out of range: expected .*\(h\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_description_is_refused_by_key(name: str) -> None:
    sets, message = BAD[name]
    with pytest.raises(ReliabilityError, match=message):
        simulate(HONG2006, overrides=sets, lifetimes=1000)


def test_progress_is_reported_and_its_errors_are_passed_on() -> None:
    calls: list[tuple[int, int]] = []
    simulate(HONG2006, method="plain", lifetimes=1_000_000, progress=lambda *lives: calls.append(lives))
    assert calls
    assert all(0 <= done <= total == 1_000_000 for done, total in calls)

    def fails(done: int, total: int) -> None:
        raise LookupError(f"{done} of {total}")

    with pytest.raises(LookupError, match="of 1000000000"):
        simulate(HONG2006, method="plain", lifetimes=1_000_000_000, progress=fails)


def test_ctrl_c_ends_a_simulation_with_the_lifetimes_so_far() -> None:
    code = (
        "import json, sys, threading\nfrom sledsim.reliability import simulate\n"
        "started = threading.Event()\n"
        # A thread writes after the report has returned, as Ctrl-C within a report would be an error of the report.
        "threading.Thread(target=lambda: started.wait() and print('simulating', flush=True), daemon=True).start()\n"
        "sys.setswitchinterval(1)\n"
        f"found = simulate({HONG2006!r}, lifetimes=1_000_000_000, method='plain', progress=lambda *_: started.set())\n"
        "print(found.to_json(indent=None)); print(found, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "simulating\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert '"complete": false' in out
    assert "INCOMPLETE" in err


def test_simulations_stopped_at_once_have_no_results() -> None:
    found = MonteCarlo(
        Description.load(HONG2006),
        loss=[{"years": 1, "estimate": None, "low": 0, "high": 1, "observed": 0, "lifetimes": 0, "method": "plain"}],
        repairs=[None],
        replaced=[None],
        mttf_h=None,
        lifetimes=0,
        confidence=0.95,
        seed=1,
        complete=False,
    )
    assert "< 1" in str(found)
    assert str(found).startswith("INCOMPLETE")
