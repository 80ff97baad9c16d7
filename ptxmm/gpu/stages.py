"""Several kernels in one test: which of them one launch plays, and which launches follow each other.

Kernels run in a stream in the order of their numbers, each after all of those before it; `with` puts one beside the
one before it, in the same launch; `dependent` lets one start when the one before it says so. CTAs that start after
others of their kernel have ended are a launch of their own too: a launch in which they are not resident at first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxmm.errors import Unsupported
from ptxmm.program import Place, Program

MOST = 8
"""Launches of a pass at most: each has a meeting point of its own."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Kernels, or CTAs, that one launch plays: the numbers of their threads.

    A `dependent` launch may start before the one before it has ended.
    """

    threads: tuple[int, ...]
    dependent: bool = False


def stages(program: Program) -> tuple[Stage, ...]:
    """The launches that play a test, in order; Unsupported where they are in no such order."""
    kernels = sorted({thread.place.kernel for thread in program.threads})
    told = {second: (kind, first) for second, kind, first in program.launches}
    groups: list[tuple[list[int], bool]] = []
    for kernel in kernels:
        kind, first = told.get(kernel, ("", -1))
        if kind and (not groups or first not in groups[-1][0]):
            raise Unsupported("its kernels are launched in an order that is not one of launches of one stream")
        if kind == "with":
            groups[-1][0].append(kernel)
        else:
            groups.append(([kernel], kind == "dependent"))
    found = [one for group, dependent in groups for one in _starting(program, group, dependent=dependent)]
    if len(found) > MOST:
        raise Unsupported(f"it needs more than {MOST} launches")
    return tuple(found)


def _starting(program: Program, kernels: list[int], *, dependent: bool) -> Iterator[Stage]:
    """The launches that play some kernels: clusters whose CTAs start after others, then those that start after them."""
    first = {thread.name: thread.place for thread in program.threads if thread.place.kernel in kernels}
    left = {_cluster(place) for place in first.values()}
    while left:
        waits = {
            _cluster(thread.place)
            for thread in program.threads
            if thread.after in first and _cluster(first[thread.after]) in left
        }
        now = left - waits
        if not now:
            raise Unsupported("a CTA starts after itself, or after another of its cluster")
        threads = enumerate(program.threads)
        yield Stage(tuple(n for n, t in threads if _cluster(t.place) in now), dependent)
        left, dependent = left & waits, False


def _cluster(place: Place) -> tuple[int, int, int]:
    return (place.device, place.kernel, place.cluster)
