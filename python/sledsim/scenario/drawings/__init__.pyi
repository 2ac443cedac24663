"""Public names of ``sledsim.scenario.drawings``, each loaded on first use."""

from sledsim.scenario.drawings.loading import load_drawing as load_drawing

__all__: list[str]
