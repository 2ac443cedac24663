"""The contract of policies of one's own: what they see, what they answer, what they are told."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from sledsim._core import Copies, Modes, Pending, Request

__all__ = [
    "Copies",
    "CopyChoice",
    "Mechanism",
    "Modes",
    "Own",
    "Pending",
    "Policy",
    "Replacement",
    "Request",
    "SpinDown",
]


@dataclass_transform(kw_only_default=True)
class Own:
    """What policies of every kind have in common: annotated attributes are their parameters."""

    limit_s: ClassVar[float] = 10.0
    """How many seconds of real time a call may take."""
    _is_written: ClassVar[bool] = False

    def __init_subclass__(cls, **keys: Any) -> None:
        """Make parameters of the annotated attributes, unless an ``__init__`` has been written, here or further up."""
        super().__init_subclass__(**keys)
        if "__init__" in vars(cls):
            cls._is_written = True
        dataclass(kw_only=True, eq=False, repr=False, init=not cls._is_written)(cls)


class Policy(Own):
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


class Replacement(Own):
    """A replacement policy of one's own: says whose slot of a cache is given to a key that comes in.

    Keys are the numbers of pages, lines or segments; each is in a slot, from 0 on, for as long as it is in the cache.
    A class has methods :meth:`victim`, :meth:`admitted` and :meth:`hit`, and is named in a scenario: ``policy = {
    python = "my_module:MyPolicy", weight = 2 }``. Parameters, copies and what happens where a method raises are those
    of :class:`sledsim.schedulers.Policy`. Each cache has an instance, made anew for each run and after a power cut in
    which the cache forgets everything.

    What a class remembers changes with what it is told (:meth:`admitted`, :meth:`hit`, :meth:`removed`); :meth:`victim`
    changes nothing.

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
        """Take note of the size of the cache, before all else; a class that does without need not have it.

        Parameters
        ----------
        slots
            How many slots it has, all of them free.
        """

    def victim(self, key: int, after: int | None) -> int:
        """Return the slot that is given to a key; every slot is in use. It must change nothing.

        Parameters
        ----------
        key
            What is to come in.
        after
            The slot that was chosen before: its key may not leave now, as something is under way with it or it has
            changes that are not written back. The next choice after it is asked for: sooner or later each slot has to
            be chosen.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method victim")

    def admitted(self, slot: int, key: int, evicted: int | None) -> None:
        """Take note of a key that has come in.

        Parameters
        ----------
        slot
            Where it is now.
        key
            The key.
        evicted
            The key that was in the slot and left for it; none if the slot was free.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method admitted")

    def hit(self, slot: int, key: int) -> None:
        """Take note of a reference to a key that is in the cache.

        Parameters
        ----------
        slot
            Where it is.
        key
            The key.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method hit")

    def removed(self, slot: int, key: int) -> None:
        """Take note of a key that left, and not for another; a class that does without need not have it.

        Parameters
        ----------
        slot
            Where it was; the slot is free now.
        key
            The key.
        """

    def admits(self, key: int) -> bool:
        """Return whether a key that is referenced and not there is to come in; a class that takes all need not have it.

        It is asked once for each such reference. A request one of whose keys is not to come in goes past the cache.

        Parameters
        ----------
        key
            The key.
        """
        return True


class CopyChoice(Own):
    """A choice of a mirror's copy of one's own: says which copy serves a read.

    A class has a method :meth:`pick`, and is named in a scenario: ``read = { python = "my_module:MyChoice", weight = 2
    }``. Parameters, copies and what happens where a method raises are those of :class:`sledsim.schedulers.Policy`. Each
    mirror has an instance, made anew for each run.

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
    """Whether it looks at :attr:`Copies.positioning_ns`; to find them takes longer than all else."""

    def pick(self, now_ns: int, request: Request, copies: Copies) -> int:
        """Return the row of the copy that serves a read: from 0, in the order of their numbers.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        request
            The read.
        copies
            The copies that may serve it, at least one: an array for each quantity. They are copies, valid during the
            call.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method pick")

    def arrived(self, now_ns: int, member: int, access: Request) -> None:
        """Take note of an access that is sent to a member; a class that does without need not have it.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        member
            Number of the member.
        access
            A read, or what a write or a rebuild reads and writes there. It has a number of its own.
        """

    def completed(self, now_ns: int, member: int, access: Request) -> None:
        """Take note of an access that has come back, served or not; a class that does without need not have it.

        Of accesses that a power cut ends it is not told.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        member
            Number of the member.
        access
            What had been sent there.
        """


class SpinDown(Own):
    """A spin-down policy of one's own: says when a device without work enters its lower modes.

    A class has a method :meth:`after_ns`, and is named in a scenario: ``spin_down = { python = "my_module:MyPolicy",
    weight = 2 }``. Parameters, copies and what happens where a method raises are those of
    :class:`sledsim.schedulers.Policy`. Each device, and each sled of one, has an instance, made anew for each run.

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
        """Return how long, ns, the device is idle before it enters a mode, if nothing comes; None for never.

        It is asked before all else, and after each request that the device has been given, of each mode below the ready
        one: the answers hold from the end of that request on, until the next one. A mode that would be entered later
        than one below it is passed over.

        Parameters
        ----------
        now_ns
            When the device will be free, ns.
        mode
            Number of the mode: from 1, the ready one being 0.
        modes
            All of them.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method after_ns")

    def ended(self, now_ns: int, idle_ns: int, modes: Modes) -> None:
        """Take note of an idle period that a request has ended; a class that does without need not have it.

        Parameters
        ----------
        now_ns
            When the request is dispatched, ns.
        idle_ns
            How long the device had been idle, ns.
        modes
            Its modes.
        """

    def served(self, now_ns: int, request: Request) -> None:
        """Take note of a request that the device has been given; a class that does without need not have it.

        It is called just before :meth:`after_ns`.

        Parameters
        ----------
        now_ns
            When the device will be free, ns.
        request
            The request; a flush neither reads nor has blocks.
        """


class Mechanism(Own):
    """A mechanism of one's own: tells how long a device takes to position and to transfer.

    A class has :attr:`capacity_blocks`, and methods :meth:`positioning_ns` and :meth:`serve`; it is named in a
    scenario: ``device = { python = "my_module:MyDevice", radius_mm = 2 }``. Parameters, copies and what happens where a
    method raises are those of :class:`sledsim.schedulers.Policy`. Each device has an instance, made anew for each run.

    What it remembers, such as where it stands, changes in :meth:`serve` alone.

    Attributes
    ----------
    capacity_blocks : int
        Number of addressable blocks, from 1 to 10^15: an attribute, a parameter or a property.
    block_bytes : int
        Size of a block, from 1 to 1,048,576 bytes; 512 where a class does not say.

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
        # Nothing that a parameter of the same name would take for its default.
        block_bytes = 512

    def positioning_ns(self, now_ns: int, lbn: int, read: bool) -> float:
        """Return the time from now on until the first bit of a block can pass, ns; at most 10^12. It changes nothing.

        It is asked of a request that is about to be served, and of each that a scheduler considers, when the mechanism
        is ready and has nothing to do.

        Parameters
        ----------
        now_ns
            Simulated time, ns.
        lbn
            The block.
        read
            Whether it is read; it is written otherwise.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method positioning_ns")

    def serve(self, now_ns: int, lbn: int, blocks: int, read: bool) -> float:
        """Serve a request: return how long its data take to pass, ns, and stand where that leaves the mechanism.

        Parameters
        ----------
        now_ns
            When the first bit passes, ns: the positioning is over.
        lbn
            First block.
        blocks
            How many.
        read
            Whether they are read; they are written otherwise.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method serve")
