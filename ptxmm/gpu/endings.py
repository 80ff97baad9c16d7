"""Tests whose threads end for good: others pass a barrier only since they have exited, or one is left half-way.

Such a test plays one round a launch: where the next would need a thread again, the next launch has it.
"""

from __future__ import annotations

from ptxmm.errors import Unsupported
from ptxmm.instructions import labels
from ptxmm.program import Barrier, Branch, ClusterBarrier, Exit, Program, Statement

Cluster = tuple[int, int, int]


def plays_once(program: Program) -> bool:
    """Whether a launch plays one round; Unsupported where the barrier of a cluster is used as PTX does not define.

    PTX ISA, "barrier.cluster": a wait follows an arrival, an arrival a wait, and nobody waits for threads that exited.
    """
    halves = [one for times in _meetings(program).values() for one in times.values()]
    for each in halves:
        if any(waits != bool(place % 2) for place, waits in enumerate(each)):
            raise Unsupported("a thread waits at the barrier of its cluster before it arrives there, or arrives twice")
    return bool(leaving(program)) or any(len(each) % 2 for each in halves)


def leaving(program: Program) -> frozenset[int]:
    """The threads for whose exit others wait: one has an `exit`, or others of its cluster meet more often."""
    meets = any(isinstance(s, Barrier | ClusterBarrier) for thread in program.threads for s in thread.body)
    exits = {n for n, thread in enumerate(program.threads) if any(isinstance(s, Exit) for s in thread.body)}
    found = exits if meets else set()
    for times in _meetings(program).values():
        most = max(len(each) + 1 for each in times.values()) // 2
        found |= {number for number, each in times.items() if (len(each) + 1) // 2 < most}
    return frozenset(found)


def _meetings(program: Program) -> dict[Cluster, dict[int, list[bool]]]:
    """The halves of cluster barriers that each thread passes, those that wait as True; without uncertain ones."""
    found: dict[Cluster, dict[int, list[bool]]] = {}
    for number, thread in enumerate(program.threads):
        here = [n for n, s in enumerate(thread.body) if isinstance(s, ClusterBarrier)]
        if not any(doubtful(thread.body, n) for n in here):
            halves = [s.wait for s in thread.body if isinstance(s, ClusterBarrier)]
            place = thread.place
            found.setdefault((place.device, place.kernel, place.cluster), {})[number] = halves
    return found


def doubtful(body: tuple[Statement, ...], place: int) -> bool:
    """Whether an instruction may be left out or repeated."""
    places = labels(body)
    jumps = [(n, places[s.target]) for n, s in enumerate(body) if isinstance(s, Branch)]
    over = any(min(jump) <= place <= max(jump) for jump in jumps)
    return over or body[place].guard is not None or any(isinstance(s, Exit) for s in body[:place])
