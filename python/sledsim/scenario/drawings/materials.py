"""Materials of sleds and springs: density and stiffness, with their sources."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from sledsim.show.shown import Catalog, OneTable, Plain
from sledsim.show.tables import Table, number

__all__ = ["MATERIALS", "Material", "MaterialName", "materials"]

#: Names of the materials.
MaterialName = Literal[
    "silicon", "polysilicon", "silicon-dioxide", "silicon-nitride", "silicon-carbide", "nickel", "aluminium", "tungsten"
]


@dataclass(frozen=True)
class Material(OneTable, Plain):
    """A material.

    Parameters
    ----------
    name
        The name of the material in a drawing.
    density_kg_m3
        Density, kg/m³.
    youngs_modulus_gpa
        Young's modulus, GPa.
    source
        Key of the citation, and the place in it.
    """

    name: str
    density_kg_m3: float
    youngs_modulus_gpa: float
    source: str

    def table(self) -> Table:
        """Return the material as a table of one row."""
        return _table([self])

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary."""
        return asdict(self)


_HANDBOOK = "osiander2006 Table 14.9"

_LISTED = (
    # The modulus of a crystal depends on the direction: 130 GPa along <100>, 188 GPa along <111>.
    Material("silicon", 2330.0, 169.0, f"{_HANDBOOK}; hopcroft2010, along <110>"),
    Material("polysilicon", 2330.0, 176.0, _HANDBOOK),
    Material("silicon-dioxide", 2200.0, 73.0, _HANDBOOK),
    Material("silicon-nitride", 3300.0, 304.0, _HANDBOOK),
    Material("silicon-carbide", 3300.0, 430.0, _HANDBOOK),
    Material("nickel", 8900.0, 207.0, _HANDBOOK),
    Material("aluminium", 2710.0, 69.0, _HANDBOOK),
    Material("tungsten", 19300.0, 410.0, _HANDBOOK),
)

#: The materials by name.
MATERIALS = {each.name: each for each in _LISTED}


def materials() -> Catalog[Material]:
    """Return the materials that a drawing can name, with density, Young's modulus and source.

    Examples
    --------
    >>> materials()["nickel"].density_kg_m3
    8900.0
    """
    return Catalog(MATERIALS, lambda: [_table(_LISTED)])


def _table(listed: "list[Material] | tuple[Material, ...]") -> Table:
    rows = [[each.name, number(each.density_kg_m3), number(each.youngs_modulus_gpa), each.source] for each in listed]
    return Table(["material", "density (kg/m³)", "Young's modulus (GPa)", "source"], rows, left=frozenset({3}))
