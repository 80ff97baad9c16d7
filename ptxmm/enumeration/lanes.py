"""The lanes of a warp together: one of them is elected, and aligned instructions are executed by all or by none.

PTX ISA, "elect.sync", and `.aligned` of "bar, barrier", "barrier.cluster", "tensormap.cp_fenceproxy".
"""

from __future__ import annotations

from ptxmm.enumeration.asynchronous import OTHER, electorate
from ptxmm.enumeration.path import Path
from ptxmm.enumeration.scopes import cta
from ptxmm.enumeration.skeleton import Skeleton
from ptxmm.program import Barrier, ClusterBarrier, Elect, Program, Statement, TensormapCopy

Group = tuple[tuple[int, int, int], int | None, tuple[int, ...]]
ALIGNED = (Barrier, ClusterBarrier, TensormapCopy)


def elected(skeleton: Skeleton) -> bool:
    """Whether the paths agree on who is elected: one lane for each group of lanes that take part."""
    program, votes = skeleton.program, dict[Group, dict[int, int]]()
    for thread, path in enumerate(skeleton.paths):
        place = program.threads[thread].place
        for step in path.steps:
            if isinstance(step.item, Elect) and step.barrier is not None and step.barrier.mask is not None:
                warp = thread if place.lane is None else place.warp
                group = electorate(program, program.threads[thread], step.barrier.mask)
                votes.setdefault((cta(place), warp, group), {})[place.lane or 0] = step.value
    return all(agreed(group, given) for (_, _, group), given in votes.items())


def agreed(group: tuple[int, ...], given: dict[int, int]) -> bool:
    """Whether what some lanes know of who is elected can be true of one of a group."""
    named = {leader for leader in given.values() if leader != OTHER}
    if not named:
        return not set(group) <= set(given)
    (leader, *others) = named
    return not others and given.get(leader, leader) == leader


def divergent(skeleton: Skeleton) -> str:
    """Why an aligned instruction is undefined in a candidate: a lane of the warp has ended without it; or nothing."""
    program = skeleton.program
    for one, path in enumerate(skeleton.paths):
        for other, beside in enumerate(skeleton.paths):
            if one != other and beside.end == "end" and same_warp(program, one, other):
                for kind in ALIGNED:
                    mine, theirs = aligned(path, kind), aligned(beside, kind)
                    if len(mine) > len(theirs):
                        text = mine[len(theirs)].text
                        name = program.threads[one].name
                        return f"thread {name}: `{text}` is executed by some lanes of its warp and not by others"
    return ""


def aligned(path: Path, kind: type) -> list[Statement]:
    """The aligned instructions of a kind that a thread has executed."""
    return [
        step.item for step in path.steps
        if isinstance(step.item, kind) and getattr(step.item, "aligned", True) and (step.kind == "B" or step.closes)
    ]  # fmt: skip


def same_warp(program: Program, one: int, other: int) -> bool:
    """Whether two threads are lanes of one warp."""
    here, there = program.threads[one].place, program.threads[other].place
    return None not in (here.lane, there.lane) and cta(here) == cta(there) and here.warp == there.warp
