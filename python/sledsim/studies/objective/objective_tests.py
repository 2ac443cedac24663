"""The objective tests of Schlosser and Ganger 2004, sections 1 and 5: specificity and merit, by the 10 % rule."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from sledsim._core import SledsimError
from sledsim.devices.headings import device_heading
from sledsim.runs.confidence import Interval, jackknife_interval, mean_interval
from sledsim.scenario.reading import ScenarioLike, Written
from sledsim.show.faults import by_arguments, make_error
from sledsim.show.naming import label_of
from sledsim.show.shown import Shown
from sledsim.show.tables import Table, number
from sledsim.studies.calibration.fitted_disk import FittedDisk, matched_disk
from sledsim.studies.objective.role_test import RoleTest
from sledsim.studies.objective.roles import Change, Role, role_named

if TYPE_CHECKING:
    import altair

__all__ = ["RULE", "Case", "ObjectiveTest", "merit", "role_of", "specificity"]

#: The gain above which a role needs its own abstraction (schlosser2004, section 1).
RULE = 0.10


@dataclass(frozen=True)
class Case:
    """A role or its baseline on one device.

    Parameters
    ----------
    device
        Name of the device.
    role
        Name of the role or of the baseline.
    mean
        Mean of the metric; by default the response time in ms.
    gain
        Relative saving over the baseline on the same device; ``None`` for the baseline.
    """

    device: str
    role: str
    mean: Interval
    gain: Interval | None = None


class ObjectiveTest(Shown):
    """The result of a test.

    Parameters
    ----------
    kind
        The test.
    role
        Name of the role.
    cases
        The measured cases.
    decisive
        The gain or difference of gains that decides the test, as a share.
    meaning
        Description of the decisive figure.
    sampled_by
        Kind and number of samples.
    measure
        Label of the metric.
    fits
        The fitted disks.
    """

    def __init__(
        self,
        kind: Literal["specificity", "merit"],
        role: str,
        cases: Sequence[Case],
        decisive: Interval,
        *,
        meaning: str,
        sampled_by: str,
        measure: str,
        fits: Sequence[FittedDisk] = (),
    ) -> None:
        self.kind, self.role, self.cases, self.decisive = kind, role, list(cases), decisive
        self.meaning, self.sampled_by, self.measure, self.fits = meaning, sampled_by, measure, list(fits)

    @property
    def verdict(self) -> str:
        """``specific`` or ``has merit``; ``not specific`` or ``no merit``; ``undecided`` if the interval spans 10 %."""
        passed, failed = VERDICTS[self.kind]
        if self.decisive.low > RULE:
            return passed
        return failed if self.decisive.high <= RULE else "undecided"

    def table(self) -> Table:
        """Return a table of the measured cases."""
        rows = []
        for case in self.cases:
            gain = ["–", ""] if case.gain is None else [percent(case.gain.mean), _range(case.gain, percent)]
            rows.append([case.device, case.role, number(case.mean.mean), _range(case.mean, number), *gain])
        headers = [self.kind, "with", self.measure, "95 %", "gain", "95 %"]
        title = f"{self.role}, {self.sampled_by}"
        return Table(headers, rows, title=title, left=frozenset({1}), names=2, notes=[f"note: {NOTES[self.kind]}"])

    def tables(self) -> list[Table]:
        """Return tables of the cases, the verdict, and the fitted disks."""
        decisive = self.decisive
        row = [self.verdict, self.meaning, percent(decisive.mean), _range(decisive, percent), f"over {percent(RULE)}"]
        verdict = Table(["verdict", "what decides", "", "95 %", "rule"], [row], left=frozenset({1}))
        return [self.table(), verdict, *([self._fitted()] if self.fits else [])]

    def _fitted(self) -> Table:
        headers = ["fitted disk", "made from", "times", "rpm", "random reads of (bytes)", "mean (ms)", "MEMS (ms)"]
        rows = [
            [
                label_of(fit.device["name"]),
                fit.base,
                f"×{fit.factor:.4f}",
                f"{fit.device['rotation_rpm']:,.0f}",
                number(fit.size_bytes),
                number(fit.disk_ms),
                number(fit.mems_ms),
            ]
            for fit in self.fits
        ]
        return Table(headers, rows, left=frozenset({1}))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain dictionaries, lists, numbers and texts."""
        return {
            "test": self.kind,
            "role": self.role,
            "verdict": self.verdict,
            "meaning": self.meaning,
            "note": NOTES[self.kind],
            "decisive": asdict(self.decisive),
            "rule": RULE,
            "measure": self.measure,
            "sampled_by": self.sampled_by,
            "cases": [asdict(case) for case in self.cases],
            "fitted": [asdict(fit) for fit in self.fits],
        }

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the gains with their intervals, and the 10 % rule."""
        from sledsim.studies.objective.chart import gain_chart

        return gain_chart(self)

    def __repr__(self) -> str:
        return f"<ObjectiveTest {self.kind} of {self.role}: {self.verdict}>"


#: Notes on the command overhead, in which the two tests differ for the same device.
NOTES: dict[Literal["specificity", "merit"], str] = {
    "specificity": "MEMS storage has no command overhead here, as the fitted disk has none; in merit it has its own",
    "merit": "the device has its command overhead; in specificity it has none, because the fitted disk has none",
}
#: Verdicts of each test: passed, and failed.
VERDICTS: dict[Literal["specificity", "merit"], tuple[str, str]] = {
    "specificity": ("specific", "not specific"),
    "merit": ("has merit", "no merit"),
}


def specificity(role: ScenarioLike | Written | RoleTest, *, progress: bool = False, **keys: Any) -> ObjectiveTest:
    """Test whether a role or policy gains from the properties of MEMS storage, or only from its speed.

    The role runs on MEMS storage, and on a disk fitted to the same mean time of random reads. With a baseline, the test
    compares the gains over the baseline on the two devices. Without one, it uses the share of the disk's mean response
    time that MEMS storage saves. The command overhead of MEMS storage is left out, as the disk has none.

    Parameters
    ----------
    role
        A scenario with MEMS storage in its system; the name of a scheduler, tested with random reads of 8 KB; the name
        of a layout of relations; or a :class:`RoleTest`, such as ``RoleTest.load("role.toml")``.
    progress
        True for a progress bar on a terminal.
    **keys
        The other keys of a :class:`RoleTest`: ``without``, ``device``, ``rate_per_s``, ``disk``, ``fit_bytes``,
        ``replications``, ``requests``, ``seed``, ``metric``, ``overrides``.

    Raises
    ------
    SledsimError
        If the role does not exist or has no MEMS storage, or no disk can be fitted.

    Examples
    --------
    >>> read = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 300}}, "system": {"device": "g2"}}
    >>> specificity(read, replications=5, requests=4000).verdict
    'not specific'
    """
    sampling = _test_of(role, keys)
    tested = role_of(sampling)
    disk, fit_bytes = sampling.disk, sampling.fit_bytes
    measure = tested.measure(sampling)
    fitted = _FittedDisks(disk, fit_bytes)
    changes: tuple[Change, ...] = (_without_overhead, fitted)
    measured = [tested.samples(sampling, change, progress=progress) for change in changes]
    if tested.baseline is None:
        decisive = jackknife_interval(_gain, *reversed(measured))
        cases = [
            Case(_names(tested, change), _title(tested, change), mean_interval(each))
            for change, each in zip(changes, measured, strict=True)
        ]
        meaning = "share of the time on the fitted disk that MEMS storage saves"
    else:
        bases = [tested.samples(sampling, change, role=False, progress=progress) for change in changes]
        cases = []
        for change, base, each in zip(changes, bases, measured, strict=True):
            cases += _pair(tested, change, base, each)
        decisive = jackknife_interval(_difference, bases[0], measured[0], bases[1], measured[1])
        meaning = "gain on MEMS storage less gain on the fitted disk"
    return ObjectiveTest(
        "specificity",
        tested.title,
        cases,
        decisive,
        meaning=meaning,
        sampled_by=tested.sampled_by(sampling),
        measure=measure,
        fits=fitted.disks,
    )


def merit(role: ScenarioLike | Written | RoleTest, *, progress: bool = False, **keys: Any) -> ObjectiveTest:
    """Test whether a role or policy gains enough to deserve its own abstraction.

    Parameters
    ----------
    role, progress, **keys
        As for :func:`specificity`, without ``disk`` and ``fit_bytes``. A scenario needs a baseline, ``without``.

    Raises
    ------
    SledsimError
        If the role does not exist or has no baseline.

    Examples
    --------
    >>> merit("sdf", replications=3, requests=4000).verdict
    'no merit'
    """
    for key in ("disk", "fit_bytes"):
        if key in keys:
            message = ": no disk is fitted to test merit; leave it out, or test specificity"
            raise make_error(SledsimError, "unsupported", message, path=key, value=keys[key])
    sampling = _test_of(role, keys)
    tested = role_of(sampling)
    measure = tested.measure(sampling)
    base = tested.samples(sampling, role=False, progress=progress)
    measured = tested.samples(sampling, progress=progress)
    cases = _pair(tested, dict, base, measured)
    return ObjectiveTest(
        "merit",
        tested.title,
        cases,
        jackknife_interval(_gain, base, measured),
        meaning=f"gain over {tested.baseline}",
        sampled_by=tested.sampled_by(sampling),
        measure=measure,
    )


def _test_of(role: ScenarioLike | Written | RoleTest, keys: dict[str, Any]) -> RoleTest:
    if not isinstance(role, RoleTest):
        return RoleTest(role=role, **keys)
    return role.changed(**keys) if keys else role


def role_of(test: RoleTest) -> Role:
    """Return the role of a test.

    Parameters
    ----------
    test
        The test.
    """
    return role_named(
        test.role, test.without, device=test.device, rate_per_s=test.rate_per_s, sets=list(test.overrides)
    )


def percent(share: float) -> str:
    """Write a share as a percentage with one decimal, or with two significant digits below 0.1 %.

    Parameters
    ----------
    share
        The share.
    """
    value = 100 * share
    return f"{value:.2g} %" if abs(value) < 0.1 else f"{value:.1f} %"


def _gain(without: float, measured: float) -> float:
    if without == 0:
        raise make_error(
            SledsimError, "out-of-range", "the metric is 0 without the role, so that there is no relative gain"
        )
    return 1 - measured / without


def _difference(mems_without: float, mems: float, disk_without: float, disk: float) -> float:
    return _gain(mems_without, mems) - _gain(disk_without, disk)


class _FittedDisks:
    """Replaces MEMS devices by disks fitted to their mean times of random reads, and caches the disks."""

    def __init__(self, base: str, size_bytes: int) -> None:
        self._base, self._size_bytes = base, size_bytes
        self._fits: dict[str, FittedDisk] = {}

    @property
    def disks(self) -> list[FittedDisk]:
        """The fitted disks, in order of creation."""
        return list(self._fits.values())

    def __call__(self, device: dict[str, Any]) -> dict[str, Any]:
        """Return the disk for a MEMS device."""
        key = json.dumps(device, sort_keys=True)
        if key not in self._fits:
            with by_arguments({"base": "disk", "size_bytes": "fit_bytes"}):
                self._fits[key] = matched_disk(device, base=self._base, size_bytes=self._size_bytes)
        return dict(self._fits[key].device)


def _without_overhead(device: dict[str, Any]) -> dict[str, Any]:
    return {**device, "overhead_ms": 0.0}


def _names(role: Role, change: Change) -> str:
    """Return the names of the devices of a role after a change."""
    return ", ".join(device_heading(change(each)) for each in role.mems_devices())


def _title(role: Role, change: Change) -> str:
    """Return the title of a role on its first device after a change."""
    return role.title_on(change(role.mems_devices()[0]))


def _pair(role: Role, change: Change, base: Sequence[float], measured: Sequence[float]) -> list[Case]:
    """Return the cases of the baseline and of the role on a device."""
    device = _names(role, change)
    return [
        Case(device, str(role.baseline), mean_interval(base)),
        Case(device, _title(role, change), mean_interval(measured), jackknife_interval(_gain, base, measured)),
    ]


def _range(interval: Interval, write: Any) -> str:
    return f"{write(interval.low)} to {write(interval.high)}"
