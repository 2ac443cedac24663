"""The contract of policies of one's own: what they see, what they answer, what they are told."""

from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

from sledsim._core import Pending, Request

__all__ = ["Pending", "Policy", "Request"]


@dataclass_transform(kw_only_default=True)
class Policy:
    """A scheduling policy of one's own: picks the next of the pending requests.

    Write a class with a method :meth:`pick`, and name it in a scenario: ``scheduler = { python =
    "my_module:MyPolicy", weight = 2 }``. Annotated attributes are its parameters, with their defaults; values that a
    scenario gives are checked against the annotations, ``Annotated[float, Field(ge=0)]`` of pydantic among them. A
    class may have an ``__init__`` of its own instead, whose arguments are then the parameters.

    Each device, and each sled of one, has an instance, made anew for each run, so what it remembers belongs to that
    queue. A snapshot of a session copies it with :func:`copy.deepcopy`. A policy that draws random numbers has to keep
    a generator with a seed of its own, or results can't be repeated.

    What a method raises ends the run, and so does an answer that is no row, or none within :attr:`limit_s`: the error
    says when and with which request, and its ``result`` has what had been found until then.

    Examples
    --------
    >>> class Shortest(Policy):
    ...     age_weight: float = 0.0
    ...
    ...     def pick(self, now_ns, pending):
    ...         return (pending.positioning_ns - self.age_weight * pending.age_ns).argmin()
    >>> Shortest(age_weight=0.5).age_weight
    0.5
    """

    positioning: ClassVar[bool] = True
    """Whether it looks at :attr:`Pending.positioning_ns`; to find them takes longer than all else."""
    limit_s: ClassVar[float] = 10.0
    """How many seconds of real time a call may take."""

    def __init_subclass__(cls, **keys: Any) -> None:
        """Make parameters of the annotated attributes."""
        super().__init_subclass__(**keys)
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Return the row of the request to dispatch: from 0, in the order of arrival.

        It is asked whenever the device is free and requests are pending, and has to choose one of them.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        pending
            What is pending: an array for each quantity. They are copies, valid during the call.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method pick")

    def arrived(self, ready_ns: int, request: Request) -> None:
        """Take note of a request that joins the queue; a class that does without need not have it.

        Parameters
        ----------
        ready_ns
            When it became ready, ns: when it arrived, and its command had been processed.
        request
            The request.
        """

    def completed(self, now_ns: int, request: Request) -> None:
        """Take note of a request that has been served; a class that does without need not have it.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        request
            The request.
        """
