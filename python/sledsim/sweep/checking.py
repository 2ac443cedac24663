"""Values of axes tried before anything runs: all that is wrong, each fault with the axis that it comes from."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.scenario.reading import Resolved, Setting, Written
from sledsim.scenario.source import Source
from sledsim.show.faults import facts_of, with_facts
from sledsim.sweep.axes import Assignment

__all__ = ["Checks", "beside", "order_settings", "own_path"]

#: Values of a group that are looked at before anything runs.
MOST_CHECKED = 200

#: Faults by kind, path and axis: two faults with the same of these are the same.
Found = dict[tuple[str, str | None, str | None], Fault]


def own_path(path: str) -> str:
    """Return a path of the base scenario, where a document may have it, without what may go without saying."""
    return path.strip().removeprefix("scenario.").removeprefix("system.")


def order_settings(settings: Sequence[Setting]) -> list[Setting]:
    """Return settings in the order in which they replace values: whole tables before the keys in them.

    Parameters
    ----------
    settings
        The settings.
    """

    def depth(setting: Setting) -> int:
        path = setting.partition("=")[0] if isinstance(setting, str) else setting[0]
        return own_path(path).count(".")

    return sorted(settings, key=depth)


@dataclass(frozen=True)
class Checks:
    """Tries the values of axes on a scenario.

    Parameters
    ----------
    base
        The scenario.
    settings
        What replaces its values at a point.
    key
        The key in the sweep's document of an axis, or of one of its values by its number.
    located
        Says where a key of that document stands.
    """

    base: Written
    settings: Callable[[Assignment], list[Setting]]
    key: Callable[[str, int | None], str]
    located: Callable[[Fault], Fault]

    def first(self, groups: Sequence[Sequence[Assignment]]) -> Resolved:
        """Resolve the first point of groups that are crossed."""
        return _right(*self._tried(_merge_groups(groups, 0), {}, {}))

    def every(self, groups: Sequence[Sequence[Assignment]]) -> Resolved:
        """Resolve the first point of groups that are crossed, and every value beside the first ones of the others.

        What is wrong there may be right beside their last ones, those at least that are right themselves.
        """
        first, right, last = _merge_groups(groups, 0), _merge_groups(groups, 0), _merge_groups(groups, -1)
        scenario, before = self._tried(first, {}, {})
        doubtful: list[tuple[Assignment, dict[str, int], Found]] = []
        for group in groups:
            for i in range(1, len(group), max(1, len(group) // MOST_CHECKED)):
                values, numbers = group[i], dict.fromkeys(group[i], i)
                found = self._tried(first | values, numbers, before)[1]
                if found.keys() <= before.keys():
                    right |= values
                else:
                    doubtful.append((values, numbers, found))
        known = dict(before)
        others = [right, last] if doubtful and self._tried(last, {}, {})[0] else [right]
        for values, numbers, found in doubtful:
            still = [self._tried(other | values, numbers, before)[1] for other in others]
            for each in found:
                if all(each in every for every in still):
                    known.setdefault(each, found[each])
        return _right(scenario, known)

    def _tried(self, values: Assignment, numbers: Mapping[str, int], before: Found) -> tuple[Resolved | None, Found]:
        """Resolve a point; values on trial have numbers, the others are the first of their axes."""
        try:
            resolved = self.base.resolve(self.settings(values))
            if resolved.values["workload"]["kind"] == "session":
                # A workload without requests: no run would begin.
                _core.run(resolved)
            return resolved, {}
        except ScenarioError as error:
            found: Found = {}
            for fault in error.faults:
                axis = _axis_of(fault, values, numbers)
                if axis is None and len(numbers) == 1 and (fault.kind, fault.path, None) not in before:
                    # Wrong only since this value is there: a key that another kind does not have.
                    (axis,) = numbers
                key, named = None, self.located(fault)
                if axis is not None:
                    key, named = self._of_axis(fault, axis, numbers.get(axis, 0), values[axis])
                found.setdefault((fault.kind, fault.path, key), named)
            return None, found

    def _of_axis(self, fault: Fault, axis: str, number: int, value: Any) -> tuple[str, Fault]:
        """Return the key of what an axis says, and a fault of it with its place: the scenario's file is right."""
        below = _below(own_path(fault.path or ""), own_path(axis))
        unknown = fault.kind == "unknown-key" and _below(own_path(axis), own_path(fault.path or "")) is not None
        key = self.key(axis, None if unknown else number)
        at = self.located(Fault("conflict", path=key))
        place = {"setting": at.setting, "file": at.file, "line": at.line}
        if unknown:
            table = own_path(axis).rpartition(".")[0]
            if fault.suggestion and "drawing" in table.split("."):
                # The values of a resolved scenario have no drawing; the drawing has the nearest key.
                nearest: str | None = f"{table}.{fault.suggestion}"
            else:
                nearest = self._nearest(axis) or fault.suggestion
            return key, with_facts(fault, path=key.split("."), suggestion=nearest, **place)
        within = isinstance(value, Mapping | list)
        if facts_of(fault)["location"]["used_by"] is None:
            if below is not None and (within or below in ([], ["name"])):
                return key, with_facts(fault, path=[*key.split("."), *(below if within else [])], **place)
            fault = with_facts(fault, **place)
        kind = "parameter" if key.startswith("parameters.") else "axis"
        return key, fault.about(f"{kind} {axis!r} = {json.dumps(value)}")

    def _nearest(self, axis: str) -> str | None:
        """Return the parameter whose name is most like that of an axis."""
        try:
            values = self.base.resolve(self.settings({})).values
        except SledsimError:
            return None
        known = [own_path(each) for each in _leaf_paths(values)]
        # A part of a name is nearer to the whole than another name that happens to be as short.
        last = axis.strip().rpartition(".")[2]
        longer = [each for each in known if last in each.rpartition(".")[2]]
        return next(iter(_core.most_like(own_path(axis), longer or known, 1)), None)


def beside(
    source: Source,
    settings: Sequence[str],
    groups: Sequence[Sequence[Assignment]],
    key: Callable[[str, int | None], str],
    untried: Iterable[str],
) -> list[Fault]:
    """Return the faults of the base scenario of a document, and of values of its axes, if other axes are wrong.

    Parameters
    ----------
    source
        The source of the document.
    settings
        Values that replace those of the scenario.
    groups
        For each axis that is right by itself, its assignments.
    key
        As for :class:`Checks`.
    untried
        Paths of the other axes. Faults that may depend on them are left out.
    """
    try:
        base = source.written(source.scenario("scenario"), "scenario")
        Checks(base, lambda values: order_settings([*settings, *values.items()]), key, source.located).every(groups)
    except SledsimError as error:
        hung = [_table_of(path.strip().removeprefix("scenario.")) for path in untried]
        return [fault for fault in error.faults if not any(_hangs(fault, path) for path in hung)]
    return []


def _table_of(path: str) -> str:
    """Return the path of what is another where an axis has another value: of a kind or a name, of what has it."""
    table, _, key = path.rpartition(".")
    return (table or "system") if key in ("kind", "name", "mechanism") else path


def _hangs(fault: Fault, path: str) -> bool:
    """Return true if what is wrong may be so because nothing is set at a path."""
    keys = [key.removeprefix("scenario.") for key in fault.keys]
    return any(_meet(own_path(path), own_path(key)) or _meet(path, key) for key in keys)


def _right(scenario: Resolved | None, found: Found) -> Resolved:
    """Raise all that is wrong, if anything is."""
    if scenario is None or found:
        raise _core.error_of(ScenarioError, list(found.values()))
    return scenario


def _merge_groups(groups: Sequence[Sequence[Assignment]], number: int) -> Assignment:
    return {path: value for group in groups for path, value in group[number].items()}


def _axis_of(fault: Fault, values: Assignment, numbers: Mapping[str, int]) -> str | None:
    """Return the axis that says what is wrong; else one that a key leads to which the sentence names."""
    own = [axis for axis in values if _below(own_path(fault.path or ""), own_path(axis)) is not None]
    keys = [own_path(key) for key in fault.keys]
    meeting = [axis for axis in (*numbers, *values) if any(_meet(own_path(axis), key) for key in keys)]
    return max(own, key=len) if own else next(iter(meeting), None)


def _below(path: str, axis: str) -> list[str] | None:
    """Return the keys of a path from the end of an axis on, if it leads there."""
    return f"{path}.".removeprefix(f"{axis}.").split(".")[:-1] if f"{path}.".startswith(f"{axis}.") else None


def _meet(axis: str, key: str) -> bool:
    """Return true if one of two paths leads to the other."""
    return f"{axis}.".startswith(f"{key}.") or f"{key}.".startswith(f"{axis}.")


def _leaf_paths(values: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _leaf_paths(value, f"{before}{key}.")
