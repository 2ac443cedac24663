"""Texts of enclosures and probabilities for headings and tables."""

import re

from sledsim.reliability.description import Description, EnclosureDevice
from sledsim.reliability.duration import YEAR_H, Duration
from sledsim.reliability.rebuild import mean_rebuild_h
from sledsim.show.naming import label_of, with_count
from sledsim.show.tables import Table, number

__all__ = [
    "device_count_text",
    "devices_text",
    "duration_text",
    "enclosure_table",
    "enclosure_text",
    "hours_text",
    "money",
    "rebuild_text",
    "repair_text",
    "survival_text",
    "years_text",
]

#: Survival is written as ``1 − loss`` below this probability of loss, as it would round to 1.0000.
TINY = 1e-4


def years_text(years: float) -> str:
    """Write a number of years: ``1 year``, ``2.5 years``."""
    return f"{years:g} year" if years == 1 else f"{years:g} years"


def devices_text(description: Description) -> str:
    """Return the devices of an enclosure in words: ``19 + 1 devices, 5 dedicated spares``."""
    enclosure = description.enclosure
    spares = with_count(enclosure.spares, f"{enclosure.sparing} spare" if enclosure.spares else "spare")
    fail = " that fail" if enclosure.spares and enclosure.spares_fail and enclosure.sparing == "dedicated" else ""
    return f"{device_count_text(description)}, {spares}{fail}"


def money(amount: float) -> str:
    """Write an amount of money: without decimals from a thousand on, with two below."""
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:,.2f}"


def device_count_text(description: Description) -> str:
    """Return the number of devices without spares in words: ``19 + 1 devices``, ``4 devices without redundancy``."""
    enclosure = description.enclosure
    if not enclosure.parity:
        return f"{with_count(enclosure.data, 'device')} without redundancy"
    return f"{enclosure.data:,} + {enclosure.parity:,} devices"


def duration_text(time: Duration) -> str:
    """Write a duration in its own unit, with commas between thousands: ``200,000 h``."""
    return re.sub(r"(?<![\d.,])\d{5,}", lambda digits: f"{int(digits[0]):,}", str(time))


def enclosure_table(description: Description, name: str | None, mttf: str | None) -> Table:
    """Return a table of the enclosure's parameters.

    Parameters
    ----------
    description
        The enclosure.
    name
        The name in the heading.
    mttf
        Its mean time to loss of data, as text; ``None`` if unknown.
    """
    rows = [
        ["devices", devices_text(description)],
        ["MTTF of a device", duration_text(description.device.mttf)],
        *_life_rows(description.device),
        ["rebuild", rebuild_text(description)],
        ["repair", repair_text(description)],
        *([["MTTF", mttf]] if mttf else []),
    ]
    return Table([name or "enclosure", ""], rows, left=frozenset({1}))


def _life_rows(device: EnclosureDevice) -> list[list[str]]:
    """Return table rows of the lifetime distribution and failure modes of a device, without its MTTF."""
    rows = []
    if device.lifetime and device.lifetime.kind != "exponential":
        life = device.lifetime
        shape = f"shape {life.shape:g}" if life.shape is not None else f"sigma {life.sigma:g}"
        rows.append(["lifetimes", f"{life.kind}, {shape}"])
    if infants := device.infant_mortality:
        rows.append(["weak from birth", f"{100 * infants.share:g} %, MTTF {duration_text(infants.mttf)}"])
    if batches := device.batches:
        bad = f"{100 * batches.share:g} % bad with an MTTF of {duration_text(batches.mttf)}"
        rows.append(["batches", f"of {batches.size:,}, {bad}"])
    if errors := device.latent_errors:
        scrub = f"scrubbed every {duration_text(errors.scrub)}" if errors.scrub else "never scrubbed"
        rows.append(["latent errors", f"one in {duration_text(errors.every)}, {scrub}"])
    if tips := device.tips:
        rows.append(["tips", f"{tips.count:,} and {with_count(tips.spares, 'spare')}, MTTF {duration_text(tips.mttf)}"])
    return rows


def rebuild_text(description: Description) -> str:
    """Return the mean rebuild time in words, with its source if it is computed."""
    rebuild = description.rebuild
    if rebuild.time is not None:
        return duration_text(rebuild.time)
    found, of = hours_text(mean_rebuild_h(description)), label_of(description.device.name or "")
    if rebuild.bandwidth_share is not None:
        return f"{found}, at {100 * rebuild.bandwidth_share:g} % of the bandwidth of {of}"
    return f"{found}, at the bandwidth of {of} left by {label_of(rebuild.load or '')}"


def hours_text(hours: float) -> str:
    """Write a number of hours in a suitable unit: ``14.8 min``."""
    for unit, size in (("years", YEAR_H), ("days", 24.0), ("h", 1.0), ("min", 1 / 60)):
        if hours >= size:
            return f"{hours / size:.3g} {unit}"
    return f"{hours * 3600:.3g} s"


def repair_text(description: Description) -> str:
    """Return the repair strategy in words: ``preventive, 1 week``."""
    repair = description.repair
    first = repair.mandatory if repair.strategy == "mandatory" else repair.preventive
    if repair.strategy == "none" or first is None:
        return "none"
    text = f"{repair.strategy}, {duration_text(first)}"
    if repair.mandatory and repair.mandatory != first:
        return f"{text} ({duration_text(repair.mandatory)} in degraded mode)"
    return text


def enclosure_text(description: Description) -> str:
    """Return a one-line summary of an enclosure and its maintenance."""
    repair = repair_text(description)
    return f"{devices_text(description)}; {'no repair' if repair == 'none' else 'repair ' + repair}"


def survival_text(loss: float, survival: float | None = None) -> str:
    """Write a probability of survival, as ``1 − loss`` if loss is rare.

    Parameters
    ----------
    loss
        The probability of loss, from 0 to 1.
    survival
        The probability of survival, if computed directly; otherwise 1 - loss, which is inexact for small values.
    """
    return f"1 − {number(loss, 3)}" if 0 < loss < TINY else number(1 - loss if survival is None else survival)
