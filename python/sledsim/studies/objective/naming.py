"""Names of roles and the options of each kind of role."""

from pathlib import Path
from typing import TYPE_CHECKING

from sledsim import schedulers
from sledsim._core import Fault, ScenarioError, SledsimError, error_of
from sledsim.devices.device import Device
from sledsim.devices.entries import wrong_device
from sledsim.scenario.policy_loading import CLASS_NAME
from sledsim.scenario.reading import ScenarioLike, Written
from sledsim.show.faults import Sentence, by_arguments, is_there, make_error
from sledsim.studies.relations.layouts import all_layouts, layout_named, layouts_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["is_layout", "is_scheduler", "require_layout", "wrongly_named"]


def is_scheduler(name: object) -> bool:
    """Return true for the name of a scheduler, or a name in the form of a class.

    Parameters
    ----------
    name
        The name.
    """
    return isinstance(name, str) and (name in _schedulers() or CLASS_NAME.fullmatch(name) is not None)


def is_layout(name: object) -> bool:
    """Return true for the name of a layout.

    Parameters
    ----------
    name
        The name.
    """
    return isinstance(name, str) and name in all_layouts()


def _schedulers() -> list[str]:
    return list(schedulers.catalog())


def wrongly_named(
    role: ScenarioLike | Written,
    without: ScenarioLike | Written | None = None,
    *,
    device: str | None = None,
    rate_per_s: float | None = None,
) -> list[Fault]:
    """Return the faults of a role's names, and of keys without effect for it.

    Parameters
    ----------
    role, without, device, rate_per_s
        As for :func:`~sledsim.studies.objective.roles.role_named`.
    """
    found: list[Fault] = []
    checks: tuple[Callable[[], None], ...] = (
        lambda: _require_role(role),
        lambda: _require_rival(role, without),
        lambda: _require_rate(role, rate_per_s),
        lambda: _require_device(role, device),
    )
    for check in checks:
        try:
            check()
        except SledsimError as error:
            found += error.faults
    return found


def _require_role(role: ScenarioLike | Written) -> None:
    """Raise if the name of a role is unknown."""
    if not isinstance(role, str) or is_scheduler(role) or is_layout(role):
        return
    if "\n" not in role and role != "-" and not Path(role).suffix and not is_there(Path(role)):
        message = f"no role {role!r}: neither a file nor a policy"
        known = [*_schedulers(), *all_layouts()]
        raise make_error(SledsimError, "unknown-name", message, path="role", value=role, known=known)


def _require_rival(role: ScenarioLike | Written, without: ScenarioLike | Written | None) -> None:
    """Raise if the baseline is not a policy of the same kind."""
    if without is None:
        return
    if is_scheduler(role) and not is_scheduler(without):
        message = f"no scheduler {without!r} to compare {role} with"
        raise make_error(SledsimError, "unknown-name", message, path="without", value=without, known=_schedulers())
    if is_layout(role):
        with by_arguments({"layout": "without"}):
            layout_named(str(without))


def _require_rate(role: ScenarioLike | Written, rate_per_s: float | None) -> None:
    if rate_per_s is not None and not is_scheduler(role):
        message = ": applies only to schedulers; leave it out"
        raise make_error(SledsimError, "unsupported", message, path="rate_per_s", value=rate_per_s)


def _require_device(role: ScenarioLike | Written, device: str | None) -> None:
    if device is None:
        return
    is_policy = is_scheduler(role) or is_layout(role)
    if is_policy or (isinstance(role, str) and not Path(role).suffix):
        if found := wrong_device(device, "device"):
            raise error_of(ScenarioError, found)
        if is_layout(role):
            require_layout(str(role), Device(device))
    else:
        message: Sentence = [
            f"device {device}: a scenario has its own devices; replace them with ",
            ("overrides",),
            " system.…",
        ]
        raise make_error(SledsimError, "unsupported", message, path="device", value=device)


def require_layout(role: str, device: Device) -> None:
    """Raise if a device does not support a layout.

    Parameters
    ----------
    role
        The layout.
    device
        The device.
    """
    if role not in layouts_of(device):
        message = f"device {device.name}: can't have the layout {role}; it has {', '.join(layouts_of(device))}"
        raise make_error(SledsimError, "unsupported", message, path="role", value=role)
