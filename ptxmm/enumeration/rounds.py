"""The mbarriers of one candidate: the orders in which the operations on each may happen, and what each order means.

PTX ISA, "mbarrier": operations on one mbarrier are atomic and come one after another, whatever scopes they name. An
order is possible where every operation finds what its thread goes on with: a wait that the phase is complete, an
arrival the state that it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from ptxmm.enumeration.counted import TOKEN, Object, Operation, State, apply
from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.past import Past, phase_after
from ptxmm.enumeration.rows import Pairs, Rows, mask
from ptxmm.enumeration.skeleton import Event, Skeleton

MOST_ORDERS = 40_000
OF_A_PHASE = ("arrive", "drop", "expect", "complete")
Place = tuple[str, int]
Phase = tuple[int, int]


@dataclass(frozen=True)
class Round:
    """Orders of the operations on one mbarrier that mean the same: their phases, and what is undefined in them.

    `reached` leads to what shows that a phase has begun, from all that was done before it did.
    `last` holds, for each order, the waits that come after all changes and find their phase incomplete.
    """

    phase: Pairs
    reached: Pairs
    following: Pairs
    undefined: str
    orders: tuple[tuple[int, ...], ...]
    last: tuple[frozenset[int], ...]


@dataclass(frozen=True)
class Rounds:
    """What the orders of all mbarriers mean; `waits` are the operations that change nothing."""

    each: tuple[Round, ...] = ()
    waits: frozenset[int] = frozenset()

    @property
    def phase(self) -> Pairs:
        return frozenset[tuple[int, int]]().union(*(one.phase for one in self.each))

    @property
    def reached(self) -> Pairs:
        return frozenset[tuple[int, int]]().union(*(one.reached for one in self.each))

    @property
    def following(self) -> Pairs:
        return frozenset[tuple[int, int]]().union(*(one.following for one in self.each))

    @property
    def undefined(self) -> str:
        return next((one.undefined for one in self.each if one.undefined), "")

    @property
    def before(self) -> Pairs:
        """The order of the operations on each mbarrier, where each has one order."""
        return frozenset(pair for one in self.each for pair in self.pairs(one.orders[0]))

    def pairs(self, order: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The pairs of an order, one of each pair a change."""
        for at, one in enumerate(order):
            for other in order[at + 1 :]:
                if one not in self.waits or other not in self.waits:
                    yield one, other

    def agrees(self, first: Rows, ending: frozenset[int] = frozenset()) -> bool:
        """Whether there are orders that agree with what comes `first`, and in which the waits in `ending` are last."""
        return all(
            any(
                ending.intersection(order) <= last and not any(first[b] >> a & 1 for a, b in self.pairs(order))
                for order, last in zip(one.orders, one.last, strict=True)
            )
            for one in self.each
        )


NO_ROUNDS = Rounds()


def rounds(skeleton: Skeleton, *, told_apart: bool, followed: bool, expect_ends: bool) -> Iterator[Rounds]:
    """Every meaning that the orders of the operations on the mbarriers of a candidate can have.

    With `followed`, it matters which operation finds what another left, with `told_apart` the order itself;
    `expect_ends` is what the model says (`Model.expect_ends`).
    """
    groups: dict[Place, list[Event]] = {}
    for event, step in skeleton.steps():
        if step.operation is not None and step.mbarrier is not None:
            groups.setdefault((step.mbarrier.object, step.mbarrier.offset), []).append(event)
    waits = frozenset(e.id for group in groups.values() for e in group if operation_of(e).kind == "wait")
    if not groups:
        yield NO_ROUNDS
        return
    each = [list(Orders(skeleton, group, told_apart, followed, expect_ends).rounds()) for group in groups.values()]
    for chosen in product(*each):
        yield Rounds(chosen, waits)


def operation_of(event: Event) -> Operation:
    """The operation of an event on an mbarrier."""
    assert event.step is not None
    assert event.step.operation is not None
    return event.step.operation


@dataclass
class Orders:
    """All orders of the operations on one mbarrier that are possible."""

    skeleton: Skeleton
    events: list[Event]
    told_apart: bool
    followed: bool
    expect_ends: bool
    found: dict[tuple[object, ...], list[tuple[tuple[int, ...], frozenset[int]]]] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    count: int = 0

    def rounds(self) -> Iterator[Round]:
        """The orders, those together that mean the same."""
        self.before = {e.id: mask(one.id for one in self.earlier(e)) for e in self.events}
        self.extend([], Past(), self.start(), "", {})
        for (phase, reached, following, undefined, _), orders in self.found.items():
            assert isinstance(phase, frozenset)
            assert isinstance(reached, frozenset)
            assert isinstance(following, frozenset)
            first, last = (tuple(part) for part in zip(*orders, strict=True))
            yield Round(phase, reached, following, str(undefined), first, last)

    def start(self) -> State:
        """What the object is before the threads start."""
        step = self.events[0].step
        assert step is not None
        spot = step.mbarrier
        assert isinstance(spot, Spot)
        count = self.skeleton.program.physical(spot.object).mbarrier
        return None if count is None else Object(0, count, count)

    def extend(self, order: list[Event], past: Past, state: State, undefined: str, phases: dict[int, Phase]) -> None:
        """Go on with each operation that may come next; `phases` has the phase that each one found or waited for.

        A phase is told by the number of objects made before, and its number since then. Where there is no object, or
        after an undefined step, no wait succeeds: a thread that goes on from there could be what brought that about.
        """
        lives = sum(operation_of(event).kind == "init" for event in order)
        if len(order) == len(self.events):
            self.note(order, state, undefined, phases, past.reached)
            return
        for event in self.events:
            if past.placed >> event.id & 1 or self.before[event.id] & ~past.placed:
                continue
            then = [*order, event]
            operation = operation_of(event)
            after = None if undefined else apply(state, operation, expect_ends=self.expect_ends)
            if (undefined or state is None) and operation.kind == "wait" and event.value:
                continue
            turned = not undefined and phase_after(after) != phase_after(state)
            now = past.then(event, operation, self.before[event.id], turned=turned)
            if isinstance(after, str):
                self.extend(then, now, None, self.told(event, after), phases)
            elif undefined or state is None:
                self.extend(then, now, after, undefined, phases)
            elif self.fits(event, operation, state):
                self.extend(then, now, after, "", phases | phase_of(event, operation, state, lives))

    def earlier(self, event: Event) -> list[Event]:
        """The operations of its thread that surely come before one: a completion comes after the start of its copy."""
        assert event.step is not None
        start = event.position if event.step.issue is None else event.step.issue
        return [
            one for one in self.events
            if one.thread == event.thread and one.step is not None and one.step.issue is None and one.position < start
        ]  # fmt: skip

    def fits(self, event: Event, operation: Operation, state: Object) -> bool:
        """Whether an operation returns in a state what its thread went on with."""
        if operation.kind == "wait":
            return state.complete(operation) if event.value else operation.tries or not state.complete(operation)
        return not operation.tells or event.value == state.token(detailed=operation.detailed)

    def told(self, event: Event, why: str) -> str:
        assert event.thread is not None
        assert event.step is not None
        text = event.step.item.text or type(event.step.item).__name__
        return f"thread {self.skeleton.program.threads[event.thread].name}: `{text}` {why}"

    def note(self, order: list[Event], state: State, undefined: str, phases: dict[int, Phase], reached: Pairs) -> None:
        """Add a complete order to those that mean the same."""
        self.count += 1
        if self.count > MOST_ORDERS:
            raise GaveUp("the operations on an mbarrier have too many orders to enumerate")
        kinds = {event.id: operation_of(event).kind for event in order}
        phase = frozenset(
            (a.id, w.id) for w in order if kinds[w.id] == "wait" and w.value
            for a in order if kinds[a.id] in OF_A_PHASE and a.id in phases and phases[a.id] == phases.get(w.id)
        )  # fmt: skip
        following, changes = set(), list[int]()
        for event in order:
            if changes:
                following.add((changes[-1], event.id))
            if kinds[event.id] != "wait":
                changes.append(event.id)
        ids = tuple(event.id for event in order)
        done = ids.index(changes[-1]) if changes else -1
        last = frozenset(
            e.id for e in order[done + 1 :]
            if kinds[e.id] == "wait" and not undefined and state is not None and not state.complete(operation_of(e))
        )  # fmt: skip
        key = (phase, reached, frozenset(following if self.followed else ()), undefined, ids if self.told_apart else ())
        self.found.setdefault(key, []).append((ids, last))


def phase_of(event: Event, operation: Operation, state: Object, lives: int) -> dict[int, Phase]:
    """The phase that an operation is in, or that a successful wait found complete."""
    if operation.kind != "wait":
        return {event.id: (lives, state.phase)}
    if not event.value:
        return {}
    return {event.id: (lives, state.phase - 1 if operation.parity else operation.asked % TOKEN)}
