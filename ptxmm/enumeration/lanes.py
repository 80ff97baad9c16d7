"""The lanes of a warp together: one of them is elected, and aligned instructions are executed by all or by none.

PTX ISA, "elect.sync", and `.aligned` of "bar, barrier", "barrier.cluster", "tensormap.cp_fenceproxy".
"""

from __future__ import annotations

from ptxmm.enumeration.asynchronous import electorate
from ptxmm.enumeration.path import Path
from ptxmm.enumeration.scopes import cta
from ptxmm.enumeration.skeleton import Skeleton
from ptxmm.program import Barrier, ClusterBarrier, Elect, Expr, Program, Statement, TensormapCopy

Group = tuple[tuple[int, int, int], int | None, Expr | None]
ALIGNED = (Barrier, ClusterBarrier, TensormapCopy)


def elected(skeleton: Skeleton) -> bool:
    """Whether the paths agree on who is elected: one lane for each group of lanes that take part."""
    program, votes = skeleton.program, dict[Group, dict[int, int]]()
    for thread, path in enumerate(skeleton.paths):
        place = program.threads[thread].place
        for step in path.steps:
            if isinstance(step.item, Elect) and place.lane is not None:
                key = cta(place), place.warp, step.item.mask
                votes.setdefault(key, {})[place.lane] = step.value
    for (block, warp, mask), given in votes.items():
        beside = [one for one in program.threads if (cta(one.place), one.place.warp) == (block, warp)]
        group = electorate(program, beside[0], getattr(mask, "value", None))
        chosen = [lane for lane in group if given.get(lane)]
        if len(chosen) > 1 or (not chosen and set(group) <= set(given)):
            return False
    return True


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
