"""Interleavings that go on for ever: a way to a circle, and a circle in which every promise of the scheduler is kept.

Where threads go round in a circle of states, no thread starts and none ends, so that what a progress model promises
says of each thread on its own whether it must be among those that move (`docs/progress.md`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ptxmm.closure import components
from ptxmm.interleaving import Interleavings, Step
from ptxmm.program import Program


@dataclass(frozen=True, slots=True)
class Members:
    """A thread, or the groups that share a device, a cluster or a CTA, in the order of their numbers."""

    threads: frozenset[int]
    below: tuple[Members, ...] = ()


@dataclass(frozen=True, slots=True)
class Promised:
    """How the groups of one group stand: which can go on, and which have started."""

    able: tuple[bool, ...]
    started: tuple[bool, ...]


PROMISES: dict[str, Callable[[Promised, int], bool]] = {
    "fair": lambda group, at: True,
    "hsa": lambda group, at: not any(group.able[:at]),
    "obe": lambda group, at: group.started[at],
    "hsa-obe": lambda group, at: group.started[at] or not any(group.able[:at]),
    "lobe": lambda group, at: any(group.started[at:]),
    "unfair": lambda group, at: False,
}


@dataclass(frozen=True, slots=True)
class Lasso:
    """The steps to a state, and those from there back to it, in which `moving` are the threads that move."""

    stem: tuple[Step, ...]
    circle: tuple[Step, ...]
    moving: frozenset[int]


def hierarchy(program: Program) -> Members:
    """Devices, their clusters, their CTAs, their threads; a group of one is its only member."""
    level: dict[tuple[int, ...], list[Members]] = {}
    for index, thread in enumerate(program.threads):
        place = thread.place
        level.setdefault((place.device, place.cluster, place.cta), []).append(Members(frozenset({index})))
    for depth in (2, 1, 0):
        above: dict[tuple[int, ...], list[Members]] = {}
        for key in sorted(level):
            above.setdefault(key[:depth], []).append(_joined(level[key]))
        level = above
    return _joined(level[()])


def _joined(groups: Sequence[Members]) -> Members:
    if len(groups) == 1:
        return groups[0]
    return Members(frozenset[int]().union(*(group.threads for group in groups)), tuple(groups))


def lasso(found: Interleavings, model: str) -> Lasso | None:
    """An interleaving that never ends and keeps the promises of a progress model, if there is one."""
    root = hierarchy(found.program)
    everybody = frozenset(range(len(found.program.threads)))
    work = [(list(range(len(found.states))), everybody)]
    while work:
        found.deadline.check()
        states, threads = work.pop()
        for circle, moving in sorted(_circles(found, states, threads)):
            able, started = frozenset(found.going(circle[0])), found.started(circle[0])
            kept = fairest(root, model, moving, able, started)
            if kept == moving:
                return _shown(found, set(circle), moving)
            if kept:
                work.append((circle, kept))
    return None


def fairest(
    group: Members, model: str, moving: frozenset[int], able: frozenset[int], started: frozenset[int]
) -> frozenset[int]:
    """The most of the threads that move which may go on without the others, as far as a group makes progress.

    None may where the group owes progress to one of its groups that can go on, and nobody of that is left. The most is
    well-defined, since two sets for which all promises are kept make another one together.
    """
    if not group.below:
        return group.threads & moving
    standing = Promised(
        tuple(not able.isdisjoint(one.threads) for one in group.below),
        tuple(not started.isdisjoint(one.threads) for one in group.below),
    )
    found = [fairest(one, model, moving, able, started) for one in group.below]
    for at, mine in enumerate(found):
        if standing.able[at] and not mine and PROMISES[model](standing, at):
            return frozenset()
    return frozenset[int]().union(*found)


def _circles(
    found: Interleavings, states: list[int], threads: frozenset[int]
) -> Iterator[tuple[list[int], frozenset[int]]]:
    """The strong components of some states by the steps of some threads, each with the threads that move in it."""
    number = {state: place for place, state in enumerate(states)}
    masks = [0] * len(states)
    for place, state in enumerate(states):
        found.deadline.check()
        for step in found.steps[state]:
            if step.thread in threads and step.target in number:
                masks[place] |= 1 << number[step.target]
    for part in components(masks):
        circle = sorted(states[place] for place in part)
        inside = set(circle)
        moving = {s.thread for state in circle for s in found.steps[state] if s.target in inside} & threads
        if moving:
            yield circle, frozenset(moving)


def _shown(found: Interleavings, inside: set[int], moving: frozenset[int]) -> Lasso:
    """The shortest way to a circle, and a round in it in which each of the threads moves."""

    def everywhere(state: int) -> Iterable[Step]:
        return found.steps[state]

    def around(state: int) -> Iterable[Step]:
        return (step for step in found.steps[state] if step.thread in moving and step.target in inside)

    stem = _way(0, everywhere, lambda step: step.target in inside) if 0 not in inside else []
    start = here = stem[-1].target if stem else 0
    circle: list[Step] = []
    for thread in sorted(moving):
        if all(step.thread != thread for step in circle):
            circle += _way(here, around, lambda step, mine=thread: step.thread == mine)  # type: ignore[misc]
            here = circle[-1].target
    if here != start:
        circle += _way(here, around, lambda step: step.target == start)
    return Lasso(tuple(stem), tuple(circle), moving)


def _way(start: int, steps: Callable[[int], Iterable[Step]], wanted: Callable[[Step], bool]) -> list[Step]:
    """The shortest way from a state that ends with a wanted step."""
    came: dict[int, Step] = {}
    work = deque([start])
    while work:
        here = work.popleft()
        for step in steps(here):
            if wanted(step):
                way = [step]
                while way[-1].source != start:
                    way.append(came[way[-1].source])
                return way[::-1]
            if step.target != start and step.target not in came:
                came[step.target] = step
                work.append(step.target)
    raise ValueError("there is no such step")
