"""Monte Carlo estimates of enclosure lifetimes, for effects that Markov chains cannot represent."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from sledsim import _core
from sledsim.reliability.curves import require_times
from sledsim.reliability.description import Description, ReliabilityError
from sledsim.reliability.duration import YEAR_H
from sledsim.reliability.reading import DescriptionLike, Sets, load
from sledsim.reliability.rebuild import mean_rebuild_h
from sledsim.reliability.shown import Shown
from sledsim.reliability.wording import enclosure_text, survival_text, years_text
from sledsim.runs.threads import MOST_THREADS
from sledsim.show.arguments import require_integer, require_number
from sledsim.show.faults import convert_error, is_one_of, make_error
from sledsim.show.progress import reporting
from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    import altair

__all__ = ["Estimate", "Method", "MonteCarlo", "MonteCarloLoss", "simulate"]

Method = Literal["auto", "plain", "biased"]
#: Called several times a second with the number of lifetimes simulated so far and its maximum.
LifetimesCallback = Callable[[int, int], object]

#: Default numbers of lifetimes by method, plain and biased: a biased lifetime costs more and is more precise.
LIFETIMES, FORCED_LIFETIMES = 200_000, 20_000
#: Minimum number of lifetimes of a simulation.
LEAST_LIFETIMES = 1_000
#: Default maximum number of lifetimes if a precision is given.
MOST_LIFETIMES = 100_000_000
#: The finest precision.
LEAST_PRECISION = 1e-6
#: Losses that plain sampling needs: the relative half-width of the 95 % interval of their number is then about 20 %.
ENOUGH_LOSSES = 100


class Estimate(TypedDict):
    """A quantity with its confidence interval; ``estimate`` is ``None`` if no event was observed."""

    estimate: float | None
    low: float
    high: float


class MonteCarloLoss(TypedDict):
    """Probability of loss within a number of years, with its sample size and method."""

    years: float
    estimate: float | None
    low: float
    high: float
    observed: int
    lifetimes: int
    method: str


class MonteCarlo(Shown):
    """The result of simulated lifetimes of an enclosure, see :func:`simulate`.

    Parameters
    ----------
    description
        The enclosure.
    loss
        For each time, in ``years``: the probability of loss as ``estimate``, ``low`` and ``high``, the numbers of
        ``observed`` losses and of ``lifetimes``, and the ``method``. If no loss was observed, ``estimate`` is ``None``
        and ``high`` an upper bound.
    repairs
        For each time, the mean number of repairs by then or until the loss; ``None`` for biased sampling. If there is a
        repair strategy but no repair was observed, ``estimate`` is ``None`` and ``high`` an upper bound.
    replaced
        The same for devices replaced by repairs.
    mttf_h
        Mean time to loss of data in hours; ``None`` if lifetimes were not simulated until the loss.
    lifetimes
        Total number of simulated lifetimes.
    confidence
        Confidence level of the intervals.
    seed
        Seed of the random numbers.
    complete
        True if all requested lifetimes were simulated; false after an interruption.
    """

    def __init__(
        self,
        description: Description,
        *,
        loss: Sequence[MonteCarloLoss],
        repairs: Sequence[Estimate | None],
        replaced: Sequence[Estimate | None],
        mttf_h: Estimate | None,
        lifetimes: int,
        confidence: float,
        seed: int,
        complete: bool,
    ) -> None:
        self.description = description
        self.loss = list(loss)
        self.repairs = list(repairs)
        self.replaced = list(replaced)
        self.mttf_h = mttf_h
        self.lifetimes = lifetimes
        self.confidence = confidence
        self.seed = seed
        self.complete = complete

    def tables(self) -> list[Table]:
        """Return a table of survival, loss, repairs and MTTF with their intervals."""
        level = f"{100 * self.confidence:g} %"
        title = None if self.complete else "INCOMPLETE: interrupted"
        rows: list[list[str]] = []
        for index, loss in enumerate(self.loss):
            within = years_text(loss["years"])
            seen = f"{loss['observed']:,} in {loss['lifetimes']:,}{', forced' if loss['method'] == 'biased' else ''}"
            rows.append([f"survival of {within}", *_survival_cells(loss), ""])
            rows.append([f"loss of data within {within}", *_cells(loss), seen])
            for what, counts in (("repairs", self.repairs), ("devices replaced", self.replaced)):
                mean = counts[index] if self.description.repair.strategy != "none" else None
                if mean is not None:
                    rows.append([f"{what} within {within}, mean", *_cells(mean), ""])
        if self.mttf_h is not None:
            rows.append(["MTTF (years)", *_cells(self.mttf_h, 1 / YEAR_H), ""])
        return [Table([f"seed {self.seed}", "estimate", f"{level} from", "to", "losses seen"], rows, title=title)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "description": self.description.to_dict(),
            "loss": self.loss,
            "repairs": self.repairs,
            "replaced": self.replaced,
            "mttf_h": self.mttf_h,
            "lifetimes": self.lifetimes,
            "confidence": self.confidence,
            "seed": self.seed,
            "complete": self.complete,
        }

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the probabilities of loss with their intervals over time, on a logarithmic axis."""
        from sledsim.reliability.loss_chart import loss_intervals

        return loss_intervals(self)

    def __repr__(self) -> str:
        return f"<MonteCarlo of {enclosure_text(self.description)}: {self.lifetimes:,} lifetimes>"


def simulate(
    description: DescriptionLike,
    *,
    overrides: Sets = (),
    years: Sequence[float] = (1.0, 3.0, 5.0),
    lifetimes: int | None = None,
    precision: float | None = None,
    method: Method = "auto",
    confidence: float = 0.95,
    seed: int = 1,
    threads: int | None = None,
    to_loss: bool = False,
    progress: LifetimesCallback | bool | None = None,
) -> MonteCarlo:
    """Simulate lifetimes of an enclosure, from failure to failure.

    States and rates are those of :class:`~sledsim.reliability.MarkovModel`. In addition, lifetimes and delays may have
    other distributions, devices may come from bad batches, tips may fail, and latent errors may occur.

    Rare losses are estimated by importance sampling: for each requested time, a separate simulation biases failures
    towards losses, makes weak devices and bad batches more frequent, and weights each loss by its likelihood ratio.
    Failures of tips are not biased: importance sampling may miss losses that begin with devices lost by their tips.

    The result depends on the seed, not on the number of threads. An interruption (Ctrl-C) returns the result of the
    lifetimes so far.

    Parameters
    ----------
    description
        The enclosure: a file, a text, a dictionary or a :class:`~sledsim.reliability.Description`.
    overrides
        Values that replace those of the description.
    years
        Times by which losses are counted, in years of 8,760 h.
    lifetimes
        Number of lifetimes of each simulation, at least 1,000. By default, 200,000 plain or 20,000 biased lifetimes, or
        with a ``precision`` at most 100 million; fewer if that exceeds the limits in docs/reference/scenario.md.
    precision
        Simulate until the half-width of every interval of a loss, relative to its estimate, is at most this.
    method
        ``plain`` samples without bias, ``biased`` uses importance sampling, and ``auto`` uses importance sampling for
        the times at which plain sampling observed too few losses. ``auto`` uses plain sampling alone, with upper bounds
        for unobserved losses, if devices have tips that fail or the enclosure exceeds the limits in
        docs/reference/scenario.md.
    confidence
        Confidence level of the intervals, from 0.5 to 0.9999.
    seed
        Seed of the random numbers, from 0.
    threads
        Number of threads; by default, the number of cores.
    to_loss
        True to simulate plain lifetimes until the loss, which gives the MTTF. With repairs this may take very long.
    progress
        A function called with the number of lifetimes so far and its maximum, or true for a progress bar on a terminal.

    Raises
    ------
    ReliabilityError
        If the description or an argument is invalid.

    Examples
    --------
    >>> description = {
    ...     "enclosure": {"data": 19, "parity": 1, "spares": 5},
    ...     "device": {"mttf": "200000 h", "lifetime": {"kind": "weibull", "shape": 0.7}},
    ...     "rebuild": {"time": "15 min"},
    ... }
    >>> found = simulate(description, years=[3], lifetimes=20_000)
    >>> found.loss[0]["low"] < found.loss[0]["estimate"] < found.loss[0]["high"]
    True
    """
    described = load(description, overrides=overrides)
    years = require_times(years)
    if not is_one_of(method, ("auto", "plain", "biased")):
        raise make_error(
            ReliabilityError, "unknown-name", path="method", value=method, known=("auto", "plain", "biased")
        )
    if method == "biased" and to_loss:
        message = "to_loss: biased lifetimes end at the last of the given years; use method plain or auto"
        raise make_error(ReliabilityError, "conflict", message, path="method")
    seed = require_integer(ReliabilityError, "seed", seed, 0)
    if lifetimes is not None:
        lifetimes = require_integer(ReliabilityError, "lifetimes", lifetimes, LEAST_LIFETIMES)
    if threads is not None:
        threads = require_integer(ReliabilityError, "threads", threads, 1, MOST_THREADS)
    if precision is not None:
        precision = require_number(ReliabilityError, "precision", precision, least=LEAST_PRECISION, most=1)
    bar = reporting(progress, what="lifetimes")
    with bar as report:
        runs = _Runs(described, {"confidence": confidence, "seed": seed, "threads": threads}, report)
        horizons_h = _horizons_h(years)
        can_be_forced, most = runs.reach(horizons_h, to_loss=to_loss)
        if method == "auto" and not can_be_forced:
            method = "plain"
        usual = (LIFETIMES, FORCED_LIFETIMES) if precision is None else (MOST_LIFETIMES, MOST_LIFETIMES)
        plain, forced = (lifetimes or max(min(number, most), LEAST_LIFETIMES) for number in usual)
        # If biased sampling may follow, plain sampling need not reach the precision.
        if method == "plain":
            runs.plain(horizons_h, lifetimes=plain, precision=precision, to_loss=to_loss)
        elif method == "auto":
            # A number of lifetimes above the limit is passed on, so that the core reports the error at once.
            first = min(plain, LIFETIMES) if plain <= most else plain
            runs.plain(horizons_h, lifetimes=first, precision=None, to_loss=to_loss)
        for horizon_h in horizons_h if method != "plain" else []:
            if not runs.complete or runs.is_precise(horizon_h, precision):
                continue
            runs.forced(horizon_h, lifetimes=forced, precision=precision)
    return runs.result(years)


class _Runs:
    """Simulations of one enclosure, and their results by horizon (hours)."""

    def __init__(self, description: Description, common: Mapping[str, Any], progress: Any) -> None:
        self.description = description
        self.common = common
        self.progress = progress
        self.enclosure = _to_core(description)
        self.lifetimes = 0
        self.complete = True
        self.mttf_h: Estimate | None = None
        self.found: dict[float, dict[str, Any]] = {}

    def reach(self, horizons_h: Sequence[float], *, to_loss: bool) -> tuple[bool, int]:
        """Return true if importance sampling is possible, and the maximum number of lifetimes."""
        experiment = self._experiment(horizons_h, LEAST_LIFETIMES, None, forced=False, to_loss=to_loss)
        try:
            can_be_forced, most = _core.enclosure_reach(self.enclosure, experiment)
        except _core.ScenarioError as error:
            raise convert_error(ReliabilityError, error) from None
        return can_be_forced and self.description.device.tips is None, most

    def plain(self, horizons_h: Sequence[float], *, lifetimes: int, precision: float | None, to_loss: bool) -> None:
        """Simulate lifetimes without bias."""
        outcome = self._run(horizons_h, lifetimes, precision, forced=False, to_loss=to_loss)
        self.mttf_h = _estimate(outcome["mttf_h"])
        for at in outcome["horizons"]:
            counted = {"method": "plain", "lifetimes": outcome["lifetimes"], **self._repairs(at, outcome["lifetimes"])}
            self.found[at["horizon_h"]] = at | counted

    def _repairs(self, at: Mapping[str, Any], lifetimes: int) -> dict[str, Any]:
        """Return the mean numbers of repairs and replaced devices, or upper bounds if no repair was observed.

        Rare repairs are a Poisson process: the probability of none in n lifetimes is exp(-n mean). The bound is the
        mean at which this probability is 1 - confidence. A repair replaces at most parity + spares devices.
        """
        found = {key: at[key] for key in ("visits", "replaced")}
        if self.description.repair.strategy == "none" or found["visits"] is None or found["visits"]["value"] > 0:
            return found
        bound = -math.log1p(-self.common["confidence"]) / lifetimes
        enclosure = self.description.enclosure
        most = {"visits": bound, "replaced": bound * (enclosure.parity + enclosure.spares)}
        return {key: {"value": None, "low": 0.0, "high": high} for key, high in most.items()}

    def forced(self, horizon_h: float, *, lifetimes: int, precision: float | None) -> None:
        """Estimate losses by one horizon by importance sampling; results of repairs from plain sampling are kept."""
        outcome = self._run([horizon_h], lifetimes, precision, forced=True, to_loss=False)
        known = self.found.get(horizon_h)
        if known is None:
            known = {"visits": None, "replaced": None}
        elif not outcome["lifetimes"]:
            return
        at = {key: outcome["horizons"][0][key] for key in ("horizon_h", "observed", "loss")}
        self.found[horizon_h] = known | at | {"method": "biased", "lifetimes": outcome["lifetimes"]}

    def is_precise(self, horizon_h: float, precision: float | None) -> bool:
        """Return true if enough losses by a horizon were observed for the precision."""
        at = self.found.get(horizon_h)
        if at is None or at["observed"] < ENOUGH_LOSSES:
            return False
        loss = at["loss"]
        return precision is None or 0.5 * (loss["high"] - loss["low"]) <= precision * loss["value"]

    def result(self, years: Sequence[float]) -> MonteCarlo:
        """Return the results of these times, in their order."""
        found = [self.found[time * YEAR_H] | {"years": time} for time in years if time * YEAR_H in self.found]
        return MonteCarlo(
            self.description,
            loss=[_loss(at) for at in found],
            repairs=[_estimate(at["visits"]) for at in found],
            replaced=[_estimate(at["replaced"]) for at in found],
            mttf_h=self.mttf_h,
            lifetimes=self.lifetimes,
            confidence=self.common["confidence"],
            seed=self.common["seed"],
            complete=self.complete,
        )

    def _experiment(
        self, horizons_h: Sequence[float], lifetimes: int, precision: float | None, *, forced: bool, to_loss: bool
    ) -> dict[str, Any]:
        """Return the arguments of a simulation in the format of the core."""
        return {
            **self.common,
            "horizons_h": list(horizons_h),
            "lifetimes": lifetimes,
            "precision": precision,
            "forced": forced,
            "to_loss": to_loss,
        }

    def _run(
        self, horizons_h: Sequence[float], lifetimes: int, precision: float | None, *, forced: bool, to_loss: bool
    ) -> dict[str, Any]:
        experiment = self._experiment(horizons_h, lifetimes, precision, forced=forced, to_loss=to_loss)
        report = self.progress
        progress = None if report is None else lambda done: report(done, lifetimes)
        try:
            outcome = _core.enclosure_lifetimes(self.enclosure, experiment, progress=progress)
        except _core.ScenarioError as error:
            raise convert_error(ReliabilityError, error) from None
        self.lifetimes += outcome["lifetimes"]
        self.complete = self.complete and not outcome["interrupted"]
        return outcome


def _to_core(description: Description) -> dict[str, Any]:
    """Return a description in the format of the core, with times in hours."""
    enclosure, device, rebuild = description.enclosure, description.device, description.rebuild
    lifetime = device.lifetime.model_dump(exclude_none=True) if device.lifetime else {"kind": "exponential"}
    life: dict[str, Any] = {"mttf_h": device.mttf.h, "lifetime": lifetime}
    if infants := device.infant_mortality:
        life["infant_mortality"] = {"share": infants.share, "mttf_h": infants.mttf.h}
    if batches := device.batches:
        life["batches"] = {"size": batches.size, "share": batches.share, "mttf_h": batches.mttf.h}
    if errors := device.latent_errors:
        life["latent_errors"] = {"every_h": errors.every.h, "scrub_h": errors.scrub.h if errors.scrub else None}
    if device.tips:
        life["tips"] = device.tips.to_core()
    return {
        "data": enclosure.data,
        "parity": enclosure.parity,
        "spares": enclosure.spares,
        "sparing": enclosure.sparing,
        "spares_fail": enclosure.spares_fail,
        "device": life,
        "rebuild": {
            "time": {"mean_h": mean_rebuild_h(description), "distribution": rebuild.distribution},
            "at_once": rebuild.at_once,
            "spread": rebuild.spread,
        },
        "repair": _repair_to_core(description),
    }


def _repair_to_core(description: Description) -> dict[str, Any]:
    repair = description.repair
    rates = {"preventive": repair.preventive_rate_per_h, "mandatory": repair.mandatory_rate_per_h}
    distribution = repair.distribution
    return {key: {"mean_h": 1 / rate, "distribution": distribution} for key, rate in rates.items() if rate > 0}


def _horizons_h(years: Sequence[float]) -> list[float]:
    """Return the unique times in hours, in increasing order."""
    return sorted({time * YEAR_H for time in years})


def _estimate(found: Mapping[str, Any] | None) -> Estimate | None:
    return None if found is None else {"estimate": found["value"], "low": found["low"], "high": found["high"]}


def _loss(at: Mapping[str, Any]) -> MonteCarloLoss:
    loss = at["loss"]
    return {
        "years": at["years"],
        "estimate": loss["value"],
        "low": loss["low"],
        "high": loss["high"],
        "observed": at["observed"],
        "lifetimes": at["lifetimes"],
        "method": at["method"],
    }


def _survival_cells(loss: MonteCarloLoss) -> list[str]:
    """Return cells of the probability of survival and its interval, or of a bound if no loss was observed."""
    low, high = survival_text(loss["high"]), survival_text(loss["low"])
    return [f"> {low}", low, ""] if loss["estimate"] is None else [survival_text(loss["estimate"]), low, high]


def _cells(found: Mapping[str, Any], scale: float = 1.0) -> list[str]:
    """Return cells of an estimate and its interval, or of a bound if no event was observed."""
    if found["estimate"] is None:
        return [f"< {number(found['high'] * scale, 3)}", "", number(found["high"] * scale, 3)]
    return [number(found[key] * scale, 3) for key in ("estimate", "low", "high")]
