"""Settings of `--set`, applied to every scenario, device, enclosure and drawing of an experiment."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sledsim import SledsimError
from sledsim.devices import Device
from sledsim.reliability import Description, load
from sledsim.scenario import Resolved, Sets, resolve
from sledsim.show import make_error
from sledsim.studies.sled_design import Drawing, design
from sledsim_papers.harness.motion import Given, is_sled, table_of, with_devices

__all__ = ["Settings"]


Made = TypeVar("Made")


class Settings:
    """Values that replace those of an experiment, with a record of which changed something.

    ``device.KEY=VALUE`` changes every device that has the key, also if the experiment sets it. ``device=NAME`` replaces
    every sled. Any other path changes the scenarios, enclosures and drawings that have it. All methods may be called
    from any thread.

    Parameters
    ----------
    settings
        Texts of the form ``path=value``.
    """

    def __init__(self, settings: Sequence[str]) -> None:
        self.settings = tuple(settings)
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._refused: dict[str, SledsimError] = {}

    @property
    def of_devices(self) -> bool:
        """True if a setting changes devices."""
        return any(setting.partition("=")[0].strip().partition(".")[0] == "device" for setting in self.settings)

    def device(self, given: Given) -> Given:
        """Return a device with the settings applied.

        Parameters
        ----------
        given
            Name of a catalogue entry, or a mapping with ``name`` and values that replace those of the entry.

        Raises
        ------
        SledsimError
            If a setting is invalid.
        """
        keyed: list[str] = []
        for setting in self.settings:
            path, _, value = (part.strip() for part in setting.partition("="))
            if path == "device" and is_sled(given):
                given = self._replaced(setting, given, value.strip("\"'"))
            elif path.startswith("device."):
                keyed.append(setting)
        return self._with(keyed, given) if keyed else given

    def scenario(self, scenario: Mapping[str, Any], own: Sets = ()) -> Resolved:
        """Return a scenario with the settings applied.

        Parameters
        ----------
        scenario
            Nested keys.
        own
            The experiment's own settings, applied first.

        Raises
        ------
        ScenarioError
            If a setting is invalid.
        """
        laid, kept = with_devices(scenario, self.device), _texts(own)
        # Devices were changed above; again if the experiment sets keys of devices itself.
        again = any(each.startswith("device") for each in kept)
        settings = [each for each in self.settings if again or not each.startswith("device")]
        return self._over(lambda sets: resolve(laid, sets), settings, kept)

    def enclosure(self, tables: Mapping[str, Any]) -> Description:
        """Return an enclosure with the settings applied.

        Parameters
        ----------
        tables
            The tables of an enclosure file.

        Raises
        ------
        SledsimError
            If a setting is invalid.
        """
        given = Description.load(tables)
        return self._over(lambda sets: load(given, overrides=sets), self.settings)

    def drawing(self, name: str, own: Mapping[str, Any]) -> Drawing:
        """Return a drawing with the settings applied.

        Parameters
        ----------
        name
            Name of the drawing.
        own
            The experiment's own values, applied first.

        Raises
        ------
        SledsimError
            If a setting is invalid.
        """
        return self._over(lambda sets: design(name, overrides=sets).drawing, self.settings, _texts(own))

    def require_changes(self, name: str) -> None:
        """Raise an error for a setting that changed nothing in a finished experiment.

        Parameters
        ----------
        name
            Name of the claim.

        Raises
        ------
        SledsimError
            If there is such a setting.
        """
        for setting in self.settings:
            if setting in self._changed:
                continue
            if setting in self._refused:
                raise self._refused[setting]
            message = f"--set {setting} changes nothing in {name}: its runs have this value already, or it has no runs"
            raise make_error(SledsimError, "unsupported", message, path="overrides", value=setting)

    def _replaced(self, setting: str, given: Given, name: str) -> Given:
        """Replace a sled by another device, keeping the values that the experiment sets."""
        Device("g2", overrides=[setting])  # an unknown name raises an error that names the setting
        self._note(setting, changed=table_of(given)["name"] != name)
        placed = {**table_of(given), "name": name}
        if not is_sled(placed):
            placed.pop("seek_model", None)
        return placed

    def _with(self, settings: Sequence[str], given: Given) -> Given:
        """Set the keys that a device has, all together because one may be valid only with another."""
        fitting = []
        for setting in settings:
            try:
                Device(table_of(given), overrides=[setting])
            except SledsimError as error:
                if error.kind == "unknown-key":
                    self._refuse(setting, error)
                    continue
            fitting.append(setting)
        if not fitting:
            return given
        before, after = Device(table_of(given)).parameters, Device(table_of(given), overrides=fitting).parameters
        keys = {setting: setting.partition("=")[0].strip().split(".")[1] for setting in fitting}
        for setting, key in keys.items():
            self._note(setting, changed=after.get(key) != before.get(key))
        return {**table_of(given), **{key: after[key] for key in keys.values()}}

    def _over(self, make: Callable[[list[str]], Made], settings: Sequence[str], own: Sequence[str] = ()) -> Made:
        """Apply settings one by one; those valid only together with others are applied at the end."""
        kept, waiting = [*own], []
        found = make(kept)
        for setting in settings:
            try:
                changed = make([*kept, setting])
            except SledsimError as error:
                if error.kind != "unknown-key":
                    waiting.append(setting)
                    continue
                self._refuse(setting, error)
                continue
            self._note(setting, changed=changed != found)
            kept, found = [*kept, setting], changed
        if waiting:
            found = make([*kept, *waiting])
            for setting in waiting:
                self._note(setting, changed=True)
        return found

    def _refuse(self, setting: str, error: SledsimError) -> None:
        """Record the error of a setting whose key does not exist here; raise any other error."""
        path, place = setting.partition("=")[0].strip(), str(error.path)
        here = place.startswith(path) or any(each.startswith(place) for each in (path, f"system.{path}"))
        if error.kind != "unknown-key" or not here:
            raise error
        with self._lock:
            # Prefer an error that suggests a similar key.
            if setting not in self._refused or error.suggestion:
                self._refused[setting] = error

    def _note(self, setting: str, *, changed: bool) -> None:
        if changed:
            with self._lock:
                self._changed.add(setting)


def _texts(sets: Sets) -> list[str]:
    """Return settings as texts of the form ``path=value``."""
    return [f"{path}={json.dumps(value)}" for path, value in sets.items()] if isinstance(sets, Mapping) else [*sets]
