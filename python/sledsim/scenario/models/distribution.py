"""The tables of a scenario as typed classes: distribution.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.model import Model

__all__ = [
    "Distribution",
    "EmpiricalDistribution",
    "ErlangDistribution",
    "ExponentialDistribution",
    "ExponentialMixtureDistribution",
    "FixedDistribution",
    "GammaDistribution",
    "HyperexponentialDistribution",
    "LognormalDistribution",
    "ParetoDistribution",
    "UniformDistribution",
    "WeibullDistribution",
    "WeightedValue",
]


class FixedDistribution(Model):
    """Always the same value.

    Attributes
    ----------
    value
        The value (at least 0, at most 1e+15).
    """

    kind: Literal["fixed"] = "fixed"
    value: float | str


class UniformDistribution(Model):
    """Every value between two bounds is equally likely.

    Attributes
    ----------
    min
        Lower bound (at least 0, at most 1e+15).
    max
        Upper bound, not below `min` (at least 0, at most 1e+15).
    """

    kind: Literal["uniform"] = "uniform"
    min: float | str
    max: float | str


class ExponentialDistribution(Model):
    """Exponential; scv 1.

    Attributes
    ----------
    mean
        Mean (above 0, at most 1e+15).
    """

    kind: Literal["exponential"] = "exponential"
    mean: float | str


class LognormalDistribution(Model):
    """Lognormal, by its mean and variability.

    Attributes
    ----------
    mean
        Mean (above 0, at most 1e+15).
    scv
        Squared coefficient of variation (above 0, at most 1,000,000).
    """

    kind: Literal["lognormal"] = "lognormal"
    mean: float | str
    scv: float | str


class ErlangDistribution(Model):
    """Sum of `k` independent exponentials; scv 1 / k.

    Attributes
    ----------
    mean
        Mean of the sum (above 0, at most 1e+15).
    k
        Number of exponentials (at least 1, at most 1,000).
    """

    kind: Literal["erlang"] = "erlang"
    mean: float | str
    k: int


class HyperexponentialDistribution(Model):
    """One of two exponentials, chosen so that both contribute half of the mean ("balanced means"); scv at least 1.

    Attributes
    ----------
    mean
        Mean (above 0, at most 1e+15).
    scv
        Squared coefficient of variation (at least 1, at most 1,000,000).
    """

    kind: Literal["hyperexponential"] = "hyperexponential"
    mean: float | str
    scv: float | str


class WeightedValue(Model):
    """A value and its weight among others.

    Attributes
    ----------
    value
        The value (at least 0, at most 1e+15).
    weight
        Relative frequency; the weights need not add up to 1 (at least 0, at most 1e+15).
    """

    value: float | str
    weight: float | str


class ExponentialMixtureDistribution(Model):
    """One of listed exponentials, by weight: short gaps within bursts, long ones between them.

    Attributes
    ----------
    means
        Means of the exponentials and their weights.
    """

    kind: Literal["exponential-mixture"] = "exponential-mixture"
    means: list[WeightedValue]


class GammaDistribution(Model):
    """Gamma, by its mean and variability.

    Attributes
    ----------
    mean
        Mean (above 0, at most 1e+15).
    scv
        Squared coefficient of variation: 1 / shape (above 0, at most 1,000).
    """

    kind: Literal["gamma"] = "gamma"
    mean: float | str
    scv: float | str


class WeibullDistribution(Model):
    """Weibull: heavier than exponential for shapes below 1, lighter above.

    Attributes
    ----------
    mean
        Mean (above 0, at most 1e+15).
    shape
        Shape (at least 0.1, at most 100).
    """

    kind: Literal["weibull"] = "weibull"
    mean: float | str
    shape: float | str


class ParetoDistribution(Model):
    """Pareto: the probability of a value above x falls as x to the power of minus the shape.

    The variance is infinite for shapes up to 2.

    Attributes
    ----------
    mean
        Mean (above 0, at most 1e+15).
    shape
        Shape (above 1, at most 1,000).
    """

    kind: Literal["pareto"] = "pareto"
    mean: float | str
    shape: float | str


class EmpiricalDistribution(Model):
    """One of listed values, by weight.

    Attributes
    ----------
    points
        The values and their weights.
    """

    kind: Literal["empirical"] = "empirical"
    points: list[WeightedValue]


# Distribution of a non-negative quantity. Values are in the unit of the key that holds the distribution.
Distribution = (
    FixedDistribution
    | UniformDistribution
    | ExponentialDistribution
    | LognormalDistribution
    | ErlangDistribution
    | HyperexponentialDistribution
    | ExponentialMixtureDistribution
    | GammaDistribution
    | WeibullDistribution
    | ParetoDistribution
    | EmpiricalDistribution
)
