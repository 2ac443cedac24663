"""The package: public names and import cost."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sledsim
from conftest import ROOT


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = {"numpy", "duckdb", "altair", "pydantic", "typer", "rich", "pandas", "polars", "sledsim._core"}
    assert not loaded_by("import sledsim") & heavy


def test_the_command_line_loads_only_modules_for_parsing() -> None:
    heavy = {"numpy", "duckdb", "altair", "pandas", "polars", "pyarrow", "sledsim.scenario"}
    assert not loaded_by("import sledsim.cli.app") & heavy


#: All packages, each of which has public names.
PACKAGES = sorted(
    ".".join(file.relative_to(Path(sledsim.__file__).parents[1]).parts[:-1])
    for file in Path(sledsim.__file__).parent.rglob("__init__.py")
)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_export_only_public_names(package: str) -> None:
    module = importlib.import_module(package)
    assert dir(module) == sorted(module.__all__)
    submodules = {found.name for found in pkgutil.iter_modules(module.__path__)}
    for name in module.__all__:
        value = getattr(module, name)
        assert name in submodules if inspect.ismodule(value) else name not in submodules, f"{package}.{name} is hidden"


@pytest.mark.parametrize("name", sledsim.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    value = getattr(sledsim, name)
    assert isinstance(value, str) or (value.__doc__ or "").strip()


#: Public names that several packages have on purpose: each package lists its entries and runs its simulations.
SHARED = {"catalog", "run"}


def test_public_names_are_unique() -> None:
    found: dict[str, list[object]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if not any(value is other for other in found.setdefault(name, [])):
                found[name].append(value)
    assert {name for name, values in found.items() if len(values) > 1} <= SHARED


def test_missing_attributes_raise_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulate'"):
        getattr(sledsim, "simulate")  # noqa: B009


DOCUMENTED = [
    "sledsim",
    "sledsim.devices.device",
    "sledsim.reliability.analysis",
    "sledsim.reliability.comparison",
    "sledsim.reliability.cost",
    "sledsim.reliability.curves",
    "sledsim.reliability.failures",
    "sledsim.reliability.maintenance",
    "sledsim.reliability.reading",
    "sledsim.reliability.reporting",
    "sledsim.runs.comparison",
    "sledsim.runs.confidence",
    "sledsim.runs.running",
    "sledsim.scenario.typed",
    "sledsim.studies.calibration.fitted_disk",
    "sledsim.studies.objective.objective_tests",
    "sledsim.studies.power_saving.strategies",
    "sledsim.studies.relations.access",
    "sledsim.studies.relations.equivalent_blocks",
    "sledsim.studies.relations.layouts",
    "sledsim.sweep.axes",
    "sledsim.sweep.description",
    "sledsim.sweep.evaluation",
    "sledsim.sweep.running",
]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_all_errors_have_one_base_class() -> None:
    for error in (sledsim.ScenarioError, sledsim.TraceError, sledsim.RunError):
        assert issubclass(error, sledsim.SledsimError)


#: Import names of the user extras.
EXTRAS = {
    "plots": ("altair", "jinja2", "vl_convert"),
    "frames": ("pandas", "polars", "pyarrow"),
    "reliability": ("scipy",),
    "cluster": ("distributed",),
    "optimise": ("optuna",),
    "sqlite": ("apsw",),
    "notebook": ("anywidget",),
}


def test_the_extras_of_a_user_are_those_listed_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = {name: len(needs) for name, needs in project["optional-dependencies"].items()}
    developing = {"build", "wheel", "docs", "lite", "test", "dev"}
    assert {name: len(modules) for name, modules in EXTRAS.items()} == {
        name: count for name, count in brought.items() if name not in developing
    }
