"""Break-even: the idle time beyond which a device saves energy in a lower idle mode, with the arithmetic."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.shown import Shown
from sledsim.show.tables import Table, duration, number

if TYPE_CHECKING:
    import altair

__all__ = ["BreakEven", "powers_unknown"]


def powers_unknown(device: str) -> SledsimError:
    """Return the error for a device without known powers.

    Parameters
    ----------
    device
        The name of the device in headings.
    """
    from sledsim.devices.device import Device
    from sledsim.devices.entries import catalog

    known = [name for name in catalog() if Device(name).has_powers]
    message = (
        f"the powers of {device} are not known: take a device that has them ({', '.join(known)}), "
        "or give them in a device file (docs/reference/scenario.md has the keys)"
    )
    return make_error(SledsimError, "missing", message, path="device", value=device, allowed=known)


class BreakEven(Shown):
    """The idle times beyond which lower idle modes of a device save energy; created by :meth:`Device.break_even`.

    An idle time lasts from the end of a service to the next request. A mode saves energy if its savings exceed the
    energy of the return to the ready mode. There are two figures: ``idle_s`` is the energy of the return divided by the
    power saved. ``fixed_span_s`` also accounts for the duration of the return: within a fixed span of time it replaces
    time in the lowest idle mode.

    Parameters
    ----------
    device
        The name of the device in headings.
    parameters
        Its parameters.
    cases
        Results of the core for each number of tips that stay on while idle.
    """

    def __init__(self, device: str, parameters: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]) -> None:
        self.device = device
        self.parameters = parameters
        self.cases = [dict(case) for case in cases]

    @property
    def modes(self) -> list[dict[str, Any]]:
        """The idle modes of the case with the fewest tips on, the ready mode first; in s, W and J."""
        return list(self.cases[0]["modes"])

    @property
    def idle_s(self) -> float | None:
        """Idle time beyond which the lowest mode saves energy; ``None`` if it never does."""
        lowest = self.modes[-1]["idle_s"]
        return None if lowest is None else float(lowest)

    @property
    def fixed_span_s(self) -> float | None:
        """Idle time beyond which the lowest mode saves energy over a fixed span of time; ``None`` if it never does."""
        lowest = self.modes[-1]["fixed_span_s"]
        return None if lowest is None else float(lowest)

    def tables(self) -> list[Table]:
        """Return tables of the modes, the arithmetic of each, and the best mode by length of the idle time."""
        tables = []
        for case in self.cases:
            modes = case["modes"]
            tables.append(_modes(self._heading(case), modes))
            tables += [_arithmetic(mode, modes[0], modes[-1], self._idle_power(case, modes[0])) for mode in modes[1:]]
            if len(modes) > 2:
                tables.append(_envelope(modes))
        return tables

    def to_dict(self) -> dict[str, Any]:
        """Return modes and break-even times as plain dictionaries, lists, numbers and texts."""
        return {"device": self.device, "cases": self.cases}

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the energy of an idle period against its length, for each mode."""
        from sledsim.devices.break_even_chart import break_even_lines

        return break_even_lines(self)

    def __repr__(self) -> str:
        return f"<BreakEven of {self.device}: {duration(self.idle_s)}>"

    def _heading(self, case: Mapping[str, Any]) -> str:
        lowest = case["modes"][-1]
        parts = [self.device]
        if case["idle_tips"]:
            parts.append(f"{case['idle_tips']:,} tips on while idle")
        if self.parameters.get("sleds", 1) > 1:
            parts.append("each sled")
        saves = (
            f"{lowest['mode']} never saves energy"
            if lowest["idle_s"] is None
            else f"{lowest['mode']} saves energy against {case['modes'][0]['mode']} in idle times longer than "
            f"{duration(lowest['idle_s'])}"
        )
        return f"{', '.join(parts)}: {saves}"

    def _idle_power(self, case: Mapping[str, Any], ready: Mapping[str, Any]) -> list[str] | None:
        """Return a row with the arithmetic of the ready mode's power; ``None`` without tips on."""
        tips = case["idle_tips"]
        if not tips:
            return None
        values = self.parameters
        servo = values["servo_bits"]
        bits = servo + values["tip_sector_bytes"] * values["encoded_bits_per_byte"]
        sled_w, tip_w = values["sled_mw"] * 1e-3, values["tip_mw"] * 1e-3
        sum_of = f"{_si(sled_w)} W + {tips} × {_si(tip_w)} W × {servo} ÷ {bits}"
        return ["power of the sled and its tips", sum_of, f"{_si(ready['power_w'])} W"]


def _modes(title: str, modes: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        [
            mode["mode"],
            number(mode["power_w"]),
            number(None if mode["after_s"] is None or mode is modes[0] else mode["after_s"] * 1e3),
            number(mode["wake_s"] * 1e3),
            number(mode["wake_j"]),
            number(None if mode["idle_s"] is None else mode["idle_s"] * 1e3),
        ]
        for mode in modes
    ]
    headers = ["idle mode", "power (W)", "after (ms)", "return (ms)", "return (J)", "break-even (ms)"]
    return Table(headers, rows, title=title)


def _arithmetic(
    mode: Mapping[str, Any], ready: Mapping[str, Any], lowest: Mapping[str, Any], idle_power: list[str] | None
) -> Table:
    """Return a table with the arithmetic of a mode's break-even times, in SI units."""
    wake_s, wake_w, wake_j = (_si(mode[key]) for key in ("wake_s", "wake_w", "wake_j"))
    ready_w, power_w, lowest_w = (_si(each["power_w"]) for each in (ready, mode, lowest))
    saved_w = _si(ready["power_w"] - mode["power_w"])
    rows = [
        ["energy of the return", f"{wake_w} W × {wake_s} s", f"{wake_j} J"],
        ["power saved", f"{ready_w} W − {power_w} W", f"{saved_w} W"],
    ]
    if mode["idle_s"] is None:
        rows.append(["break-even", "none: the mode saves no power", "–"])
    else:
        displaced = f"({wake_w} W − {lowest_w} W) × {wake_s} s ÷ {saved_w} W"
        if mode["wake_w"] < lowest["power_w"]:
            displaced = f"{wake_w} W is less than {lowest_w} W: a return costs nothing"
        rows += [
            ["break-even", f"{wake_j} J ÷ {saved_w} W", f"{_si(mode['idle_s'])} s"],
            ["  over a fixed span", displaced, f"{_si(mode['fixed_span_s'])} s"],
        ]
    if mode["equal_idle_s"] is not None:
        rows.append(["idle time of equal energy", f"{wake_j} J ÷ {ready_w} W", f"{_si(mode['equal_idle_s'])} s"])
    headers = [f"{mode['mode']} against {ready['mode']}", "arithmetic", "result"]
    return Table(headers, [*([idle_power] if idle_power else []), *rows], left=frozenset({1}))


def _envelope(modes: Sequence[Mapping[str, Any]]) -> Table:
    rows = [[mode["mode"], _interval(mode["best"]), _interval(mode["best_fixed_span"])] for mode in modes]
    return Table(["lowest energy", "idle time", "over a fixed span"], rows)


def _interval(interval: Mapping[str, Any] | None) -> str:
    if interval is None:
        return "never"
    start, end = interval["from_s"], interval["to_s"]
    if end is None:
        return f"more than {duration(start)}" if start else "any length"
    return f"{duration(start)} to {duration(end)}" if start else f"less than {duration(end)}"


def _si(value: float) -> str:
    """Write a number with four significant digits, as many as the parameters have."""
    return f"{value:.4g}"
