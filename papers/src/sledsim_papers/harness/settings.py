"""Settings laid over an experiment: over each scenario, device, enclosure and drawing that it asks for."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sledsim import SledsimError
from sledsim.devices import Device
from sledsim.reliability import Description, load
from sledsim.scenario import Resolved, Sets, resolve
from sledsim.show import wrong
from sledsim.studies.sled_design import Drawing, design
from sledsim_papers.harness.motion import Given, is_sled, table_of, with_devices

__all__ = ["Settings"]


Made = TypeVar("Made")


class Settings:
    """Values that replace those of an experiment, and which of them have changed anything.

    ``device.KEY=VALUE`` changes every device that has such a key, whatever the experiment itself sets, and
    ``device=NAME`` puts a device in the place of every sled. Any other path is one of a scenario, an enclosure or a
    drawing, and changes those that have it. All methods may be called from any thread.

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
        """Whether any of them is of devices."""
        return any(setting.partition("=")[0].strip().partition(".")[0] == "device" for setting in self.settings)

    def device(self, given: Given) -> Given:
        """Return a device with the settings laid over it.

        Parameters
        ----------
        given
            Entry of the catalogue, or one with values that replace its own.

        Raises
        ------
        SledsimError
            Where a setting does not fit.
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
        """Return a scenario with the settings laid over it.

        Parameters
        ----------
        scenario
            Nested keys.
        own
            The experiment's own settings; those laid over it count after them.

        Raises
        ------
        ScenarioError
            Where a setting does not fit.
        """
        laid, kept = with_devices(scenario, self.device), _texts(own)
        # Devices have been changed already, unless the experiment then sets keys of theirs itself.
        again = any(each.startswith("device") for each in kept)
        settings = [each for each in self.settings if again or not each.startswith("device")]
        return self._over(lambda sets: resolve(laid, sets), settings, kept)

    def enclosure(self, tables: Mapping[str, Any]) -> Description:
        """Return an enclosure of devices with the settings laid over it.

        Parameters
        ----------
        tables
            Its tables, as in a file.

        Raises
        ------
        SledsimError
            Where a setting does not fit.
        """
        given = Description.load(tables)
        return self._over(lambda sets: load(given, overrides=sets), self.settings)

    def drawing(self, name: str, own: Mapping[str, Any]) -> Drawing:
        """Return a drawing of a device with the settings laid over it.

        Parameters
        ----------
        name
            Which.
        own
            The experiment's own values; those laid over it count after them.

        Raises
        ------
        SledsimError
            Where a setting does not fit.
        """
        return self._over(lambda sets: design(name, overrides=sets).drawing, self.settings, _texts(own))

    def require_changes(self, name: str) -> None:
        """Refuse settings that have changed nothing in an experiment that is over.

        Parameters
        ----------
        name
            What was done, such as a claim's name.

        Raises
        ------
        SledsimError
            Where there is such a setting.
        """
        for setting in self.settings:
            if setting in self._changed:
                continue
            if setting in self._refused:
                raise self._refused[setting]
            says = f"--set {setting} changes nothing in {name}: what it runs has this value already, or it runs nothing"
            raise wrong(SledsimError, "unsupported", says, path="overrides", value=setting)

    def _replaced(self, setting: str, given: Given, name: str) -> Given:
        """Put another device in the place of a sled; what the experiment changes of it stays."""
        Device("g2", overrides=[setting])  # for a name that there is not, in words that have the setting
        self._note(setting, changed=table_of(given)["name"] != name)
        placed = {**table_of(given), "name": name}
        if not is_sled(placed):
            placed.pop("seek_model", None)
        return placed

    def _with(self, settings: Sequence[str], given: Given) -> Given:
        """Set keys of a device, those that it has, together: one may fit with another alone."""
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
        """Make what is set by texts, each setting in turn that has a place; last what fits with others alone."""
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
        """Keep the reason why a setting does not fit where there is no such key; elsewhere it fits nowhere."""
        path, place = setting.partition("=")[0].strip(), str(error.path)
        here = place.startswith(path) or any(each.startswith(place) for each in (path, f"system.{path}"))
        if error.kind != "unknown-key" or not here:
            raise error
        with self._lock:
            # That of a device with a key of nearly this name says most.
            if setting not in self._refused or error.suggestion:
                self._refused[setting] = error

    def _note(self, setting: str, *, changed: bool) -> None:
        if changed:
            with self._lock:
                self._changed.add(setting)


def _texts(sets: Sets) -> list[str]:
    """Return settings as texts of the form ``path=value``."""
    return [f"{path}={json.dumps(value)}" for path, value in sets.items()] if isinstance(sets, Mapping) else [*sets]
