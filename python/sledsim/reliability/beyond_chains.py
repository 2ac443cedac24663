"""The parts of a description that need Monte Carlo simulation."""

from sledsim.reliability.reading import DescriptionLike, load

__all__ = ["needs_simulation"]


def needs_simulation(description: DescriptionLike) -> list[str]:
    """Return the keys of a description that a Markov chain cannot represent, such as ``device.batches``.

    Parameters
    ----------
    description
        The enclosure and its maintenance, as for :func:`sledsim.reliability.load`.

    Examples
    --------
    >>> needs_simulation({
    ...     "enclosure": {"data": 4, "parity": 1},
    ...     "device": {"mttf": "200000 h", "lifetime": {"kind": "weibull", "shape": 0.7}},
    ...     "rebuild": {"time": "6 h", "distribution": "fixed"},
    ... })
    ['device.lifetime', 'rebuild.distribution']
    """
    description = load(description)
    device = description.device
    ages = device.lifetime is not None and device.lifetime.kind != "exponential"
    needed = ["device.lifetime"] if ages else []
    for key in ("infant_mortality", "batches", "latent_errors", "tips"):
        if getattr(device, key) is not None:
            needed.append(f"device.{key}")
    if description.rebuild.distribution != "exponential":
        needed.append("rebuild.distribution")
    if description.repair.strategy != "none" and description.repair.distribution != "exponential":
        needed.append("repair.distribution")
    return needed
