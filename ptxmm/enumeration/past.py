"""What was over in an order of operations on an mbarrier when a phase began, and who shows that it has begun.

A wait or a returned state tells which phase is the current one (PTX ISA 9.7.15.16, "Phase of the mbarrier object"), and
so that all is done that the phases before it needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.enumeration.counted import Object, Operation, State
from ptxmm.enumeration.rows import Pairs, bits
from ptxmm.enumeration.skeleton import Event


@dataclass(frozen=True)
class Past:
    """What was `placed` in an order, what of it was `over` when the current phase began, and the pairs of `reached`.

    A phase begins as the one before it ends, as an object is made or made invalid, and where nothing is defined any
    more.
    """

    placed: int = 0
    over: int = 0
    waits: int = 0
    reached: Pairs = frozenset()

    def then(self, event: Event, operation: Operation, own: int, *, turned: bool) -> Past:
        """With one operation more, after its `own` thread's, by which another phase has begun if it `turned`."""
        placed, waits = self.placed | 1 << event.id, self.waits | (operation.kind == "wait") << event.id
        shown = self.over | own if operation.kind == "wait" else self.placed
        pairs = {(one, event.id) for one in bits(shown & ~self.waits)} if shows(event, operation) else ()
        return Past(placed, placed if turned else self.over, waits, self.reached.union(pairs))


def shows(event: Event, operation: Operation) -> bool:
    """Whether a thread goes on with what an operation found: a `try_wait` may fail whatever it finds."""
    return operation.tells if operation.kind != "wait" else bool(event.value) or not operation.tries


def phase_after(after: State | str) -> int | str | None:
    """What changes as a phase begins, an object is made or made invalid, or nothing is defined any more."""
    return after.phase if isinstance(after, Object) else after
