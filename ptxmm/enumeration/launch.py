"""Several kernels in one test: which of them wait for others to end, and what that orders (PTX ISA 8.9.4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ptxmm.enumeration.path import Step
from ptxmm.enumeration.scopes import cta
from ptxmm.enumeration.skeleton import Skeleton
from ptxmm.program import Fence, GridDependency, Order, Program, Scope

Groups = list[list[int]]


def several(program: Program) -> bool:
    """Whether a test has more than one kernel."""
    return len({thread.place.kernel for thread in program.threads}) > 1


def ended_before(program: Program, kernel: int) -> list[int]:
    """The kernels of the stream that have ended when one starts: all before it that it is not launched beside.

    A dependent launch may come as soon as the kernel that it depends on runs: it waits for no more than that did.
    """
    beside = {first for second, _, first in program.launches if second == kernel}
    over = {t.place.kernel for t in program.threads if t.place.kernel < kernel} - beside
    first = depends_on(program, kernel)
    return sorted(over if first is None else over & set(ended_before(program, first)))


def depends_on(program: Program, kernel: int) -> int | None:
    """The kernel on which a dependent launch depends."""
    return next((first for second, kind, first in program.launches if second == kernel and kind == "dependent"), None)


def members(program: Program, kernel: int | None) -> list[int]:
    """The threads of a kernel."""
    return [number for number, thread in enumerate(program.threads) if thread.place.kernel == kernel]


def blocks(program: Program, kernel: int) -> Groups:
    """The threads of a kernel, CTA by CTA."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for thread in members(program, kernel):
        found.setdefault(cta(program.threads[thread].place), []).append(thread)
    return list(found.values())


def triggers(step: Step) -> bool:
    """Whether a step is `griddepcontrol.launch_dependents`."""
    return isinstance(step.item, GridDependency) and not step.item.wait


def waits(step: Step) -> bool:
    """Whether a step is `griddepcontrol.wait`."""
    return isinstance(step.item, GridDependency) and step.item.wait


def firsts(skeleton: Skeleton) -> Iterator[frozenset[int]]:
    """The ways to say which `launch_dependents` is the first of each CTA: in each thread, the first may be it."""
    primaries = {first for _, kind, first in skeleton.program.launches if kind == "dependent"}
    ways: list[list[int]] = []
    for kernel in sorted(primaries):
        for block in blocks(skeleton.program, kernel):
            found: dict[int, int] = {}
            for event, step in skeleton.steps():
                if event.thread is not None and event.thread in block and triggers(step):
                    found.setdefault(event.thread, event.id)
            ways.append(list(found.values()))
    return map(frozenset, product(*filter(None, ways)))


def api(skeleton: Skeleton, first: frozenset[int]) -> Iterator[tuple[int, int]]:
    """From all that a kernel did to what comes after its end, and from what the first triggers publish."""
    program, steps = skeleton.program, skeleton.steps()
    for later, step in steps:
        if later.thread is None or step.late:
            continue
        kernel = program.threads[later.thread].place.kernel
        over = set(ended_before(program, kernel))
        primary = depends_on(program, kernel)
        if primary is not None and waits(step):
            over.add(primary)
        for earlier, _ in steps:
            if earlier.thread is not None and program.threads[earlier.thread].place.kernel in over:
                yield earlier.id, later.id
        for fence in published(skeleton, first & launchers(skeleton, primary)):
            yield fence, later.id


def launchers(skeleton: Skeleton, kernel: int | None) -> set[int]:
    """The `launch_dependents` of a kernel."""
    mine = members(skeleton.program, kernel)
    return {event.id for event, step in skeleton.steps() if event.thread in mine and triggers(step)}


def published(skeleton: Skeleton, found: frozenset[int]) -> Iterator[int]:
    """The release fences before some triggers in their threads."""
    for trigger in (skeleton.events[one] for one in found):
        for event, step in skeleton.steps():
            if event.thread == trigger.thread and event.position < trigger.position and publishes(step):
                yield event.id


def publishes(step: Step) -> bool:
    """Whether a step is a release fence that reaches another grid."""
    item = step.item
    if not isinstance(item, Fence) or item.window is not None:
        return False
    return item.scope in (Scope.GPU, Scope.SYS) and item.order in (Order.RELEASE, Order.ACQ_REL, Order.SC)
