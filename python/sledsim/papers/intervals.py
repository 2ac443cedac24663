"""Where a figure lies with a confidence of 95 %."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sledsim.papers.finding import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SEEDS", "batched", "over_seeds"]

#: Seeds of runs that are made several times.
SEEDS = (1, 2, 3)

#: Batches that a long series is cut into.
BATCHES = 30

#: Student's t for 95 %, both sides, by the number of values.
STUDENT_T = {len(SEEDS): 4.303, BATCHES: 2.045}


def over_seeds(figures: Sequence[float]) -> Interval:
    """Return the interval of the mean of a figure that was found with each of the seeds.

    Parameters
    ----------
    figures
        One for each of :data:`SEEDS`.
    """
    import numpy as np

    return _of(np.asarray(figures, dtype=np.float64))


def batched(sample: "NDArray[np.float64]") -> Interval:
    """Return the interval of the mean of a series, by the means of batches of it.

    Parameters
    ----------
    sample
        One quantity of many requests, in the order in which they were served.
    """
    import numpy as np

    return _of(np.array([float(batch.mean()) for batch in np.array_split(sample, BATCHES)]))


def _of(values: "NDArray[np.float64]") -> Interval:
    middle = float(values.mean())
    half = STUDENT_T[len(values)] * float(values.std(ddof=1)) / len(values) ** 0.5
    return middle - half, middle + half
