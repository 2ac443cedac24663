"""Energy and response time of one scenario with each power strategy or spin-down policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim._core import ScenarioError, SledsimError
from sledsim.devices.break_even import powers_unknown
from sledsim.devices.headings import device_heading
from sledsim.runs.comparison import Comparison
from sledsim.runs.labels import device_of_run
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run_resolved
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, resolve
from sledsim.scenario.system_tree import drive_of
from sledsim.show.arguments import require_flag
from sledsim.show.faults import make_error
from sledsim.show.naming import with_count
from sledsim.show.progress import ProgressBar
from sledsim.show.tables import Table, duration
from sledsim.studies.power_saving.notes import policy_notes, strategy_notes
from sledsim.studies.power_saving.tables import bar_table, energy_table, note_table, setting_table, time_table

if TYPE_CHECKING:
    import altair

__all__ = ["PowerComparison", "Variant", "power"]

#: The name of a custom policy in a resolved scenario.
CUSTOM = "custom"
#: Keys of a system set by the strategies, with the values that switch them off.
OFF: dict[str, Any] = {"spin_down": None, "delayed_startup": None, "merge": None, "subsector": False}
#: Default settings of the strategies.
IMMEDIATE = {"name": "immediate"}
LIN_MERGE = {"requests": 2, "anywhere": False, "writes": False, "rows": False}


@dataclass(frozen=True)
class Variant:
    """A variant of a scenario.

    Parameters
    ----------
    settings
        Keys of the system and their values.
    defaults
        The keys that the scenario itself does not set.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    defaults: frozenset[str] = frozenset()


class PowerComparison(Comparison):
    """Runs of one scenario with different power strategies or spin-down policies; ratios are to the first.

    Parameters
    ----------
    results
        The runs by name; the first is the reference.
    variants
        The variants of the scenario, by the same names.
    notes
        Notes on the runs.
    policies
        True for spin-down policies, false for strategies.
    """

    def __init__(
        self,
        results: Mapping[str, Result],
        variants: Mapping[str, Variant],
        notes: Sequence[str] = (),
        *,
        policies: bool = False,
    ) -> None:
        super().__init__(results)
        self.variants = {name: variants[name] for name in self.results}
        self.notes = list(notes)
        self.policies = policies

    @property
    def subject(self) -> str:
        """Summary of the runs: title, stand-in workload, device, scheduler, number of requests."""
        first = next(iter(self.results.values()))
        parts = [
            first["title"],
            f"{first['stand_in']} (stand-in)" if first["stand_in"] else None,
            f"{device_of_run(first)}, {first['scheduler']}",
            with_count(first["in_system"]["completed"], "request"),
        ]
        return " · ".join(part for part in parts if part)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each run: energies (J), response times (ms) and throughput, with ratios to the first run.

        ``saved_share`` is the share of the first run's energy that was saved. It and the ratios are ``None`` for the
        first run and for an interrupted run.
        """
        first = next(iter(self.results.values()))
        return [_row(name, result, None if result is first else first) for name, result in self.results.items()]

    def table(self) -> Table:
        """Return a table of the energies."""
        return energy_table(self.subject, self.rows(), policies=self.policies)

    def tables(self) -> list[Table]:
        """Return tables of energies, times, bars, settings and notes."""
        rows = self.rows()
        tables = [self.table(), time_table(rows), bar_table(rows)]
        if not self.policies:
            settings = setting_table(self.variants)
            tables += [settings] if settings.rows else []
        if self.notes:
            tables.append(note_table(self.notes))
        return tables

    def to_dict(self) -> dict[str, Any]:
        """Return the runs, their settings and the comparison as plain values."""
        runs = [
            {
                "name": name,
                "settings": dict(self.variants[name].settings),
                "defaults": sorted(self.variants[name].defaults),
                "summary": result.summary,
            }
            for name, result in self.results.items()
        ]
        return {"rows": self.rows(), "notes": self.notes, "metrics": self.metrics(), "runs": runs}

    def plot(self, key: str = "energy") -> "altair.TopLevelMixin":
        """Draw energies by state with response times and throughput, or one metric.

        Parameters
        ----------
        key
            ``"energy"``, or a metric's key in the summary, as in :meth:`metrics`.
        """
        if key != "energy":
            return super().plot(key)
        from sledsim.studies.power_saving.charts import power_bars

        return power_bars(self)

    def __repr__(self) -> str:
        return f"<PowerComparison of {', '.join(self.results)}>"


def power(
    scenario: ScenarioLike,
    *,
    policies: bool = False,
    overrides: Sets = (),
    progress: ProgressCallback | bool | None = None,
) -> PowerComparison:
    """Run a scenario without power strategies, with each strategy, and with all of them; or with each spin-down policy.

    The strategies are spin-down, request merging and subsector access. Settings of the scenario are used if it has any;
    otherwise spin-down is immediate, merging follows the rule of Lin et al. 2002, and subsector access is on. The
    device's own idle timeouts are part of the base. All runs have the same seed.

    With ``policies``, merging and subsector access are those of the scenario. The parameters of a policy are those of
    the scenario if it sets that policy; otherwise the timeout is the break-even time over a fixed span, with which a
    device of two idle modes uses at most twice the energy of the optimum with hindsight, for any idle times.

    Parameters
    ----------
    scenario
        As for :func:`sledsim.run`.
    policies
        True to compare the spin-down policies instead of the strategies.
    overrides
        Values that replace those of the scenario.
    progress
        As for :func:`sledsim.run`.

    Returns
    -------
    PowerComparison
        The runs ``base``, ``spin-down``, ``merging``, ``subsector`` and ``together``, or the runs by policy, ``never``
        first. Strategies that the device does not support are left out with a note; the runs after an interrupted run
        are left out, too.

    Raises
    ------
    SledsimError
        If the scenario is invalid, or the powers of its device are unknown.

    Examples
    --------
    >>> scenario = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 200.0}}, "system": {"device": "g2"}}
    >>> found = power(scenario, overrides={"run.requests": 1000})
    >>> list(found.results)
    ['base', 'spin-down', 'merging', 'subsector', 'together']
    >>> found["spin-down"].energy.total_j < found["base"].energy.total_j
    True
    >>> list(power(scenario, policies=True, overrides={"run.requests": 1000}).results)[:2]
    ['never', 'immediate']
    """
    require_flag(SledsimError, "policies", policies)
    resolved = _with_powers(scenario, overrides)
    variants, left_out = (_policies if policies else _strategies)(resolved.values)
    results = _run_all(resolved, variants, progress)
    notes = (policy_notes if policies else strategy_notes)(resolved.values, results)
    return PowerComparison(results, variants, [*left_out, *notes], policies=policies)


def _with_powers(scenario: ScenarioLike, sets: Sets) -> Resolved:
    """Resolve a scenario, and raise if the powers of its device are unknown."""
    resolved = resolve(scenario, sets)
    device = drive_of(resolved.values["system"])["device"]
    if resolved.unpowered:
        raise powers_unknown(device_heading(device))
    return resolved


def _strategies(values: Mapping[str, Any]) -> tuple[dict[str, Variant], list[str]]:
    """Return the variants of a scenario for the strategies, and notes on strategies that are left out."""
    system = values["system"]
    alone: dict[str, Variant] = {}
    notes = []
    if obstacle := _spin_down_obstacle(system["device"]):
        notes.append(f"spin-down is left out: {obstacle}")
    else:
        given = system["spin_down"]
        spin_down = {"spin_down": given or IMMEDIATE, "delayed_startup": system["delayed_startup"]}
        alone["spin-down"] = Variant(spin_down, frozenset() if given else frozenset({"spin_down"}))
    if system["batch_max"] > 1:
        notes.append(
            f"merging is left out: system.batch_max = {system['batch_max']} serves requests together in another way; "
            "set it to 1 to compare merging"
        )
    else:
        given = system["merge"]
        alone["merging"] = Variant({"merge": given or LIN_MERGE}, frozenset() if given else frozenset({"merge"}))
    if system["device"]["mechanism"] == "mems":
        given = system["subsector"]
        alone["subsector"] = Variant({"subsector": True}, frozenset() if given else frozenset({"subsector"}))
    else:
        notes.append("subsector access is left out: only MEMS storage can switch on single tips")
    together = Variant(
        {key: value for each in alone.values() for key, value in each.settings.items()},
        frozenset().union(*(each.defaults for each in alone.values())),
    )
    return {"base": Variant(), **alone, "together": together}, notes


def _spin_down_obstacle(device: Mapping[str, Any]) -> str | None:
    """Return the reason why a device does not support spin-down; ``None`` if it does."""
    try:
        [case, *_] = _core.Device(dict(device)).break_even()
    except ScenarioError as error:
        return str(error)
    alone = len(case["modes"]) == 1
    return f"{device_heading(device)} has no idle mode below the ready one" if alone else None


def _policies(values: Mapping[str, Any]) -> tuple[dict[str, Variant], list[str]]:
    """Return the variants of a scenario for the spin-down policies, and notes on policies that are left out."""
    system, notes = values["system"], []
    case = _core.Device(system["device"]).break_even()[0]
    own = [mode for mode in case["modes"][1:] if mode["after_s"] is not None]
    kept = {key: system[key] for key in ("merge", "subsector")}
    waiting = {**kept, "delayed_startup": system["delayed_startup"]}
    variants = {"never": Variant({**kept, "spin_down": {"name": "never"}})}
    if own:
        variants["device's own"] = Variant({**waiting, "spin_down": None})
    idle_s = case["modes"][-1]["fixed_span_s"]
    for name, required in _known_policies().items():
        policy: dict[str, Any] = {"name": name}
        given = system["spin_down"] or {}
        if given.get("name") == name:
            policy = given
        elif required == {"after_ms"} and idle_s is not None:
            policy["after_ms"] = idle_s * 1e3
        elif required:
            notes.append(f"{name} is left out: system.spin_down lacks its {', '.join(sorted(required))}")
            continue
        label = f"{name} {duration(policy['after_ms'] * 1e-3)}" if "after_ms" in policy else name
        variants.setdefault(label, Variant({**waiting, "spin_down": policy}))
    if (given := system["spin_down"]) and given["name"] == CUSTOM:
        variants[_core.policy_title(given)] = Variant({**waiting, "spin_down": given})
    return variants, notes


def _known_policies() -> dict[str, frozenset[str]]:
    """Return the built-in spin-down policies with their required parameters."""
    options = _core.schema()["$defs"]["SpinDownSpec"]["oneOf"]
    tables = [each["properties"] for each in options if "properties" in each]
    return {
        keys["name"]["const"]: frozenset(key for key, value in keys.items() if key != "name" and "default" not in value)
        for keys in tables
        if keys["name"]["const"] != CUSTOM
    }


def _run_all(
    resolved: Resolved, variants: Mapping[str, Variant], progress: ProgressCallback | bool | None
) -> dict[str, Result]:
    """Run each variant of a scenario until a run is interrupted."""
    results: dict[str, Result] = {}
    for name, variant in variants.items():
        system = {**resolved.values["system"], **OFF, **variant.settings}
        chosen = resolve({**resolved.values, "system": system})
        if progress is True:
            with ProgressBar(f"{name} ({len(results) + 1} of {len(variants)})") as bar:
                results[name] = run_resolved(chosen, progress=bar)
        else:
            results[name] = run_resolved(chosen, progress=progress)
        if not results[name].complete:
            break
    return results


def _row(name: str, result: Result, first: Result | None) -> dict[str, Any]:
    """Return the figures of a run, with their ratios to the first run."""
    energy = result["energy"]
    if energy is None:
        raise make_error(SledsimError, "missing", f"run {name!r} has no energies to compare", value=name)
    response = result["response"]
    row: dict[str, Any] = {
        "name": name,
        "complete": result.complete,
        "requests": result["in_system"]["completed"],
        **{key: energy[key] for key in ENERGIES},
        "response_mean_ms": response["mean_ms"] if response else None,
        "response_p99_ms": response["p99_ms"] if response else None,
        "throughput_per_s": result["throughput"]["requests_per_s"],
    }
    compared = _row("", first, None) if first and result.complete and first.complete else {}

    def ratio(key: str) -> float | None:
        value, of = row[key], compared.get(key)
        return value / of if value is not None and of else None

    total = ratio("total_j")
    row["saved_share"] = None if total is None else 1 - total
    row["response_ratio"] = ratio("response_mean_ms")
    row["throughput_ratio"] = ratio("throughput_per_s")
    return row


ENERGIES = (
    "total_j",
    "servicing_j",
    "startup_j",
    "idle_j",
    "inactive_j",
    "hindsight_j",
    "per_request_mj",
    "mean_power_w",
    "startups",
)
