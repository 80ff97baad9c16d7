"""Execution barriers: which arrivals form a generation together, and which pairs of events that synchronises.

PTX ISA, "Parallel Synchronization and Communication Instructions": bar and barrier, bar.warp.sync, barrier.cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, product

from ptxmm.enumeration.arrivals import (
    Rows,
    arrival,
    bar_key,
    between,
    cluster_key,
    election_key,
    grouped,
    ids,
    is_wait,
    item_of,
    members,
    own_place,
    passed,
    warp_key,
)
from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.rows import Pairs
from ptxmm.enumeration.scopes import cluster, cta
from ptxmm.enumeration.skeleton import Event, Skeleton
from ptxmm.enumeration.threads import weight
from ptxmm.program import Bar, Barrier, Const, Order

MOST_GROUPINGS = 10_000
RELATIONS = ("syncbar", "syncwarp", "syncbarcl", "execbarcl", "execwarp")


@dataclass(frozen=True)
class Generation:
    """Arrivals that complete one phase of a barrier together.

    It is complete when `enough` of them (all, where None) have happened and the threads of `ended` have ended, unless
    it is not `possible`. `previous` is the number of the generation that must be complete before.
    """

    arrivals: frozenset[int]
    ended: frozenset[int] = frozenset()
    enough: int | None = None
    previous: int | None = None
    possible: bool = True


@dataclass(frozen=True)
class Plan:
    """One way to group arrivals: the generations, that of each event, and what they relate."""

    generations: tuple[Generation, ...] = ()
    generation: dict[int, int] = field(default_factory=dict)
    relations: dict[str, Pairs] = field(default_factory=lambda: dict.fromkeys(RELATIONS, frozenset()))
    undefined: str = ""

    def __add__(self, other: Plan) -> Plan:
        shift = len(self.generations)
        moved = (replace(g, previous=None if g.previous is None else g.previous + shift) for g in other.generations)
        return Plan(
            (*self.generations, *moved),
            self.generation | {event: number + shift for event, number in other.generation.items()},
            {name: self.relations[name] | other.relations[name] for name in RELATIONS},
            self.undefined or other.undefined,
        )


def plans(skeleton: Skeleton) -> Iterator[Plan]:
    """Every way to group the arrivals of a candidate at its barriers."""
    named = skeleton.program.conventions.named_instances
    alternatives: list[list[Plan]] = []
    for (place, *_), rows in grouped(skeleton, bar_key).items():
        ways = instance_plans(skeleton, rows) if named else bar_plans(skeleton, members(skeleton, cta, place), rows)
        alternatives.append(list(ways))
    for (place,), rows in grouped(skeleton, cluster_key).items():
        alternatives.append([cluster_plan(skeleton, members(skeleton, cluster, place), rows)])
    for (_, lanes), rows in grouped(skeleton, warp_key).items():
        alternatives.append([warp_plan(skeleton, lanes, rows, "syncwarp")])
    for (_, lanes), rows in grouped(skeleton, election_key).items():
        alternatives.append([warp_plan(skeleton, lanes, rows, "execwarp")])
    for chosen in product(*alternatives):
        yield sum(chosen, Plan())


# --- bar and barrier -------------------------------------------------------------------------------------------------


def bar_plans(skeleton: Skeleton, threads: frozenset[int], rows: Rows) -> Iterator[Plan]:
    """The plans of one barrier of a CTA: the k-th arrivals meet, or as many as the count says."""
    events = [event for row in rows.values() for event in row]
    counts = {arrival(event).count for event in events}
    if len(counts) > 1:
        yield Plan(undefined="threads use one barrier with different counts")
        return
    (count,) = counts
    if count is None:
        longest = max(len(row) for row in rows.values())
        groups = [[row[k] for row in rows.values() if len(row) > k] for k in range(longest)]
        ended = [frozenset(t for t in threads if len(rows.get(t, [])) <= k) for k in range(longest)]
        yield from checked(skeleton, groups, ended, [True] * longest)
        return
    weights = {thread: weight(skeleton.program.threads[thread]) for thread in rows}
    total = sum(weights[thread] * len(row) for thread, row in rows.items())
    uneven = len(set(weights.values())) > 1 or count % max(weights.values())
    if count <= 0 or (uneven and total > count):
        yield Plan(undefined="more threads may arrive at a barrier than its count says")
        return
    for groups in groupings(list(rows.values()), range(-(-total // count))):
        sums = [sum(weights[event.thread or 0] for event in group) for group in groups]
        if all(one == count for one in sums[:-1]) and sums[-1] <= count:
            yield from checked(skeleton, groups, [frozenset()] * len(groups), [one == count for one in sums])


def groupings(rows: list[list[Event]], numbers: range) -> Iterator[list[list[Event]]]:
    """All ways to give each arrival a generation."""
    options = [list(numberings(row, numbers)) for row in rows]
    for tried, chosen in enumerate(product(*options)):
        if tried > MOST_GROUPINGS:
            raise GaveUp("there are too many ways for arrivals to meet at a barrier")
        groups: list[list[Event]] = [[] for _ in numbers]
        for row, given in zip(rows, chosen, strict=True):
            for event, number in zip(row, given, strict=True):
                groups[number].append(event)
        yield groups


def numberings(row: list[Event], numbers: range) -> Iterator[tuple[int, ...]]:
    """Generations that never fall along a thread, and rise after a wait."""
    for given in product(numbers, repeat=len(row)):
        steps = zip(row, pairwise(given), strict=False)
        if all(
            after > before if event.step and event.step.waits else after >= before for event, (before, after) in steps
        ):
            yield given


def checked(
    skeleton: Skeleton, groups: list[list[Event]], ended: list[frozenset[int]], full: list[bool]
) -> Iterator[Plan]:
    """The plan of these generations, unless a reduction returned something else than its participants give."""
    plan = Plan()
    edges: Pairs = frozenset()
    for number, group in enumerate(groups):
        items = [item for event in group if isinstance(item := item_of(event), Barrier)]
        if len({(item.kind is Bar.RED, item.op) for item in items}) > 1:
            yield Plan(undefined="a barrier mixes a reduction with something else")
            return
        total = reduced(skeleton, items[0].op, group) if items and items[0].kind is Bar.RED else None
        if any(passed(skeleton, event) and arrival(event).result != total for event in group):
            return
        edges |= between(skeleton, group, group)
        plan += Plan((Generation(ids(group), ended[number], None, None, full[number]),), dict.fromkeys(ids(group), 0))
    chained = tuple(replace(g, previous=n - 1 if n else None) for n, g in enumerate(plan.generations))
    yield Plan(chained, plan.generation, plan.relations | {"syncbar": edges})


def reduced(skeleton: Skeleton, op: str | None, group: list[Event]) -> int:
    """What a barrier reduction gives: how many predicates are true, whether all are, or whether any is."""
    true = [event for event in group if arrival(event).pred]
    if op == "popc":
        return sum(weight(skeleton.program.threads[event.thread]) for event in true if event.thread is not None)
    return int(len(true) == len(group)) if op == "and" else int(bool(true))


def instance_plans(skeleton: Skeleton, rows: Rows) -> Iterator[Plan]:
    """Dartagnan's barriers: all instructions of one instance and number must be reached, or as many as the count says.

    With a count, any choice of so many of those reached is what the others synchronise with.
    """
    events = [event for row in rows.values() for event in row]
    counts = {arrival(event).count for event in events}
    if len(counts) > 1:
        yield Plan(undefined="threads use one barrier with different counts")
        return
    (count,) = counts
    everyone = dict.fromkeys(ids(events), 0)
    if count is None:
        group = Generation(ids(events), possible=not missed(skeleton, events[0], rows))
        yield Plan((group,), everyone, Plan().relations | {"syncbar": between(skeleton, events, events)})
        return
    group = Generation(ids(events), enough=count, possible=len(events) >= count)
    if len(events) < count:
        yield Plan((group,), everyone)
    for size in range(count, len(events) + 1):
        for chosen in combinations(events, size):
            yield Plan((group,), everyone, Plan().relations | {"syncbar": between(skeleton, chosen, events)})


def missed(skeleton: Skeleton, like: Event, rows: Rows) -> bool:
    """Whether some thread of the CTA has a barrier instruction of this instance and number that it did not reach."""
    own, place = item_of(like), own_place(skeleton, like)
    assert isinstance(own, Barrier)
    for index, thread in enumerate(skeleton.program.threads):
        if cta(thread.place) != cta(place):
            continue
        reached = {event.step.node.pc for event in skeleton.events if event.thread == index and event.step is not None}
        for pc, item in enumerate(thread.body):
            if not isinstance(item, Barrier) or item.instance != own.instance or pc in reached:
                continue
            if not isinstance(item.id, Const) or item.id.value == arrival(like).id:
                return True
    return False


# --- barrier.cluster and bar.warp.sync -------------------------------------------------------------------------------


def cluster_plan(skeleton: Skeleton, threads: frozenset[int], rows: Rows) -> Plan:
    """The k-th arrivals of all threads of a cluster complete the k-th generation, which the k-th waits wait for."""
    arrives = {thread: [event for event in row if not is_wait(event)] for thread, row in rows.items()}
    waits = {thread: [event for event in row if is_wait(event)] for thread, row in rows.items()}
    for row in rows.values():
        if any(is_wait(event) != bool(at % 2) for at, event in enumerate(row)):
            return Plan(undefined="a thread does not arrive at and wait for the cluster barrier by turns")
    plan = Plan()
    for k in range(max(len(row) for row in arrives.values())):
        came = [row[k] for row in arrives.values() if len(row) > k]
        over = [row[k] for row in waits.values() if len(row) > k]
        ended = frozenset(thread for thread in threads if len(arrives.get(thread, [])) <= k)
        ordered = [
            event for event in came if event.step and getattr(event.step.item, "order", None) is not Order.RELAXED
        ]
        relations = {"syncbarcl": between(skeleton, ordered, over), "execbarcl": between(skeleton, came, over)}
        generation = dict.fromkeys(ids(came) | ids(over), 0)
        plan += Plan((Generation(ids(came), ended),), generation, Plan().relations | relations)
    return plan


def warp_plan(skeleton: Skeleton, lanes: frozenset[int], rows: Rows, relation: str) -> Plan:
    """The k-th executions by the participants meet, and are related so."""
    if not set(rows) <= lanes:
        return Plan(undefined="a thread executes bar.warp.sync with a mask that lacks its own lane")
    plan = Plan()
    for k in range(max(len(row) for row in rows.values())):
        group = [row[k] for row in rows.values() if len(row) > k]
        ended = frozenset(thread for thread in lanes if len(rows.get(thread, [])) <= k)
        relations = Plan().relations | {relation: between(skeleton, group, group)}
        plan += Plan((Generation(ids(group), ended),), dict.fromkeys(ids(group), 0), relations)
    return plan
