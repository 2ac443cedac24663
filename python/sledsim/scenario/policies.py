"""The contracts of custom policies and mechanisms: a base class for each role."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from sledsim._core import Copies, Modes, Pending, Request

__all__ = [
    "Copies",
    "CopyChoice",
    "Mechanism",
    "Modes",
    "Pending",
    "Plugin",
    "Policy",
    "Replacement",
    "Request",
    "SpinDown",
]


@dataclass_transform(kw_only_default=True)
class Plugin:
    """The base of all roles: annotated attributes are parameters."""

    limit_s: ClassVar[float] = 10.0
    """Time limit of a call in seconds of real time."""
    _is_written: ClassVar[bool] = False

    def __init_subclass__(cls, **keys: Any) -> None:
        """Make parameters of the annotated attributes, unless the class or a base defines ``__init__``."""
        super().__init_subclass__(**keys)
        if "__init__" in vars(cls):
            cls._is_written = True
        dataclass(kw_only=True, eq=False, repr=False, init=not cls._is_written)(cls)


class Policy(Plugin):
    """A custom scheduling policy: picks the next of the pending requests.

    Write a class with a method :meth:`pick`, and name it in a scenario: ``scheduler = { python =
    "my_module:MyPolicy", weight = 2 }``. Annotated attributes are its parameters, with their defaults. Values in a
    scenario are checked against the annotations, which may be pydantic's, such as ``Annotated[float, Field(ge=0)]``. A
    class may define ``__init__`` instead; its arguments are then the parameters.

    Each run makes a new instance for each device, and for each sled of a device. A snapshot of a session copies it with
    :func:`copy.deepcopy`. A policy that draws random numbers needs its own generator with a fixed seed, or results
    can't be reproduced.

    An exception, an answer that is not a row, or a call that exceeds :attr:`limit_s` ends the run. The error has the
    time, the request, and in ``result`` the results until then.

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
    """True if it uses :attr:`Pending.positioning_ns`, which are expensive to compute."""

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Return the row of the request to dispatch: from 0, in the order of arrival.

        It is called when the device is free and requests are pending.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        pending
            The pending requests: an array for each quantity, valid during the call.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method pick")

    def arrived(self, ready_ns: int, request: Request) -> None:
        """Take note of a request that joins the queue (optional).

        Parameters
        ----------
        ready_ns
            When it became ready, ns: after its arrival and command processing.
        request
            The request.
        """

    def completed(self, now_ns: int, request: Request) -> None:
        """Take note of a request that has been served (optional).

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        request
            The request.
        """


class Replacement(Plugin):
    """A custom replacement policy: chooses the slot of a cache to evict.

    Keys are the numbers of pages, lines or segments. A key keeps its slot, numbered from 0, while it is in the cache. A
    class has methods :meth:`victim`, :meth:`admitted` and :meth:`hit`, and is named in a scenario: ``policy = {
    python = "my_module:MyPolicy", weight = 2 }``. Parameters, copies and errors are as for
    :class:`sledsim.schedulers.Policy`. Each run makes a new instance for each cache, and another after a power cut that
    empties the cache.

    Only :meth:`admitted`, :meth:`hit` and :meth:`removed` may change the state of the policy; :meth:`victim` must not.

    Examples
    --------
    >>> class Oldest(Replacement):
    ...     def __post_init__(self):
    ...         self.queue = {}
    ...
    ...     def victim(self, key, after):
    ...         slots = iter(self.queue)
    ...         if after is not None:
    ...             next(slot for slot in slots if slot == after)
    ...         return next(slots)
    ...
    ...     def admitted(self, slot, key, evicted):
    ...         self.queue.pop(slot, None)
    ...         self.queue[slot] = key
    ...
    ...     def hit(self, slot, key):
    ...         pass
    >>> fifo = Oldest()
    >>> fifo.admitted(0, 70, None), fifo.admitted(1, 80, None)
    (None, None)
    >>> fifo.victim(90, None), fifo.victim(90, 0)
    (0, 1)
    """

    def started(self, slots: int) -> None:
        """Take note of the size of the cache (optional); called first.

        Parameters
        ----------
        slots
            Number of slots, all free.
        """

    def victim(self, key: int, after: int | None) -> int:
        """Return the slot to give to a key when every slot is in use. It must not change state.

        Parameters
        ----------
        key
            The key to admit.
        after
            The slot returned before, whose key can't be evicted now: it is in use or dirty. Return the next choice;
            sooner or later each slot has to be returned.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method victim")

    def admitted(self, slot: int, key: int, evicted: int | None) -> None:
        """Take note of an admitted key.

        Parameters
        ----------
        slot
            Its slot.
        key
            The key.
        evicted
            The key that was evicted from the slot; None if the slot was free.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method admitted")

    def hit(self, slot: int, key: int) -> None:
        """Take note of a reference to a key that is in the cache.

        Parameters
        ----------
        slot
            Its slot.
        key
            The key.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method hit")

    def removed(self, slot: int, key: int) -> None:
        """Take note of a key that left other than by eviction (optional).

        Parameters
        ----------
        slot
            Its slot, now free.
        key
            The key.
        """

    def admits(self, key: int) -> bool:
        """Return whether to admit a key that is referenced and not in the cache (optional; default: all).

        It is called once for each such reference. A request with a key that is not admitted bypasses the cache.

        Parameters
        ----------
        key
            The key.
        """
        return True


class CopyChoice(Plugin):
    """A custom policy for a mirror: chooses the copy that serves a read.

    A class has a method :meth:`pick`, and is named in a scenario: ``read = { python = "my_module:MyChoice", weight = 2
    }``. Parameters, copies and errors are as for :class:`sledsim.schedulers.Policy`. Each run makes a new instance for
    each mirror.

    Examples
    --------
    >>> class Fewest(CopyChoice):
    ...     positioning = False
    ...
    ...     def pick(self, now_ns, request, copies):
    ...         return copies.pending.argmin()
    >>> Fewest.positioning
    False
    """

    positioning: ClassVar[bool] = True
    """True if it uses :attr:`Copies.positioning_ns`, which are expensive to compute."""

    def pick(self, now_ns: int, request: Request, copies: Copies) -> int:
        """Return the row of the copy that serves a read: from 0, in the order of their numbers.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        request
            The read.
        copies
            The copies that may serve it, at least one: an array for each quantity, valid during the call.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method pick")

    def arrived(self, now_ns: int, member: int, access: Request) -> None:
        """Take note of an access that is sent to a member (optional).

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        member
            Number of the member.
        access
            A read, or an access for a write or a rebuild. Its id differs from the request's.
        """

    def completed(self, now_ns: int, member: int, access: Request) -> None:
        """Take note of an access that a member completed, successfully or not (optional).

        An access that a power cut ends is not reported.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        member
            Number of the member.
        access
            The access.
        """


class SpinDown(Plugin):
    """A custom spin-down policy: decides when an idle device enters its lower modes.

    A class has a method :meth:`after_ns`, and is named in a scenario: ``spin_down = { python = "my_module:MyPolicy",
    weight = 2 }``. Parameters, copies and errors are as for :class:`sledsim.schedulers.Policy`. Each run makes a new
    instance for each device, and for each sled of a device.

    Examples
    --------
    >>> class HalfOfTheLast(SpinDown):
    ...     last_ns: int = 0
    ...
    ...     def ended(self, now_ns, idle_ns, modes):
    ...         self.last_ns = idle_ns
    ...
    ...     def after_ns(self, now_ns, mode, modes):
    ...         return self.last_ns // 2
    >>> policy = HalfOfTheLast()
    >>> policy.ended(5_000, 900, None)
    >>> policy.after_ns(6_000, 1, None)
    450
    """

    def after_ns(self, now_ns: int, mode: int, modes: Modes) -> int | None:
        """Return the idle time, ns, after which the device enters a mode; None for never.

        It is called for each mode below the ready one, first of all and after each request that the device serves. The
        answers hold from the end of that request until the next. A mode that would be entered later than a lower one is
        skipped.

        Parameters
        ----------
        now_ns
            When the device will be free, ns.
        mode
            Number of the mode from 1; the ready mode is 0.
        modes
            All modes.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method after_ns")

    def ended(self, now_ns: int, idle_ns: int, modes: Modes) -> None:
        """Take note of an idle period that a request ended (optional).

        Parameters
        ----------
        now_ns
            When the request is dispatched, ns.
        idle_ns
            Length of the idle period, ns.
        modes
            The modes of the device.
        """

    def served(self, now_ns: int, request: Request) -> None:
        """Take note of a request that the device serves (optional).

        It is called just before :meth:`after_ns`.

        Parameters
        ----------
        now_ns
            When the device will be free, ns.
        request
            The request; a flush is no read and has no blocks.
        """


class Mechanism(Plugin):
    """A custom mechanism: returns the positioning and transfer times of a device.

    A class has :attr:`capacity_blocks`, and methods :meth:`positioning_ns` and :meth:`serve`. Name it in a scenario:
    ``device = { python = "my_module:MyDevice", radius_mm = 2 }``. Parameters, copies and errors are as for
    :class:`sledsim.schedulers.Policy`. Each run makes a new instance for each device.

    Only :meth:`serve` and :meth:`power_cut` may change its state, such as its position.

    Attributes
    ----------
    capacity_blocks : int
        Number of addressable blocks, from 1 to 10^15: an attribute, a parameter or a property.
    block_bytes : int
        Size of a block, from 1 to 1,048,576 bytes; 512 by default.

    Examples
    --------
    >>> class Tape(Mechanism):
    ...     ns_per_block: float = 2000.0
    ...
    ...     capacity_blocks = 1_000_000
    ...     next_lbn = 0
    ...
    ...     def positioning_ns(self, now_ns, lbn, read):
    ...         return abs(lbn - self.next_lbn) * self.ns_per_block / 50
    ...
    ...     def serve(self, now_ns, lbn, blocks, read):
    ...         self.next_lbn = lbn + blocks
    ...         return blocks * self.ns_per_block
    >>> tape = Tape()
    >>> tape.serve(0, 70, 8, True), tape.positioning_ns(16_000, 78, False)
    (16000.0, 0.0)
    """

    if TYPE_CHECKING:

        @property
        def capacity_blocks(self) -> int:
            """Number of addressable blocks."""

        @property
        def block_bytes(self) -> int:
            """Size of a block."""
    else:
        # Not annotated: it is a default, not a parameter.
        block_bytes = 512

    def positioning_ns(self, now_ns: int, lbn: int, read: bool) -> float:
        """Return the time from now until the first bit of a block can pass, ns, at most 10^12. Must not change state.

        It is called before a request is served, and for each request that a scheduler considers, when the mechanism is
        ready and free.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        lbn
            The block.
        read
            True for a read, False for a write.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method positioning_ns")

    def serve(self, now_ns: int, lbn: int, blocks: int, read: bool) -> float:
        """Serve a request: return its transfer time, ns, and update the position.

        Parameters
        ----------
        now_ns
            When the first bit passes, after positioning, ns.
        lbn
            First block.
        blocks
            Number of blocks.
        read
            True for a read, False for a write.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method serve")

    def power_cut(self, now_ns: int) -> None:
        """Empty volatile memory, such as a read buffer, when power fails (optional).

        The data of completed writes are on the medium.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        """
