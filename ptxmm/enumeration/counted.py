"""The state of an mbarrier, and what one operation does to it.

PTX ISA, "mbarrier: contents of the mbarrier object", "Phase of the mbarrier object", and the instructions `mbarrier.*`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_COUNT = (1 << 20) - 1
TOKEN = 1 << 32


@dataclass(frozen=True, slots=True)
class Operation:
    """What an operation does: `kind` is `init`, `inval`, `expect`, `complete`, `arrive`, `drop`, `more` or `wait`.

    `count` arrivals, `bytes` more (or, negative, fewer) to come. `ends` is false for an arrival that promises to end no
    phase. A wait asks by `parity` or token, `asked`; one that `tries` may fail too early; `tells` says that the thread
    goes on with the result.
    """

    kind: str
    count: int = 0
    bytes: int = 0
    ends: bool = True
    parity: bool = False
    asked: int = 0
    tries: bool = False
    tells: bool = False
    detailed: bool = False


@dataclass(frozen=True, slots=True)
class Object:
    """An mbarrier object: its incomplete phase, the arrivals that each phase needs and this one still does, bytes."""

    phase: int
    needed: int
    pending: int
    bytes: int = 0

    def token(self, *, detailed: bool) -> int:
        """What an arrival returns: the phase, and in a test that asks for it the pending count."""
        return self.phase + (TOKEN * self.pending if detailed else 0)

    def complete(self, operation: Operation) -> bool:
        """Whether a wait succeeds."""
        if operation.parity:
            return (self.phase - operation.asked) % 2 == 1
        return self.phase > operation.asked % TOKEN


State = Object | None


def apply(state: State, operation: Operation, *, expect_ends: bool = True) -> State | str:
    """The object after an operation (None where it is no mbarrier), or why that is undefined.

    With `expect_ends`, more bytes to come end a phase in which no arrival is pending, if nothing is then to come.

    >>> apply(Object(0, 1, 1), Operation("arrive", 1))
    Object(phase=1, needed=1, pending=1, bytes=0)
    >>> apply(Object(0, 1, 1, 16), Operation("arrive", 1))
    Object(phase=0, needed=1, pending=0, bytes=16)
    >>> apply(Object(0, 1, 0, -16), Operation("expect", bytes=16))
    Object(phase=1, needed=1, pending=1, bytes=0)
    >>> apply(None, Operation("wait"))
    'uses an object that is no mbarrier'
    """
    if operation.kind == "init":
        if state is not None:
            return "initialises an mbarrier that is one already"
        valid = 1 <= operation.count <= MOST_COUNT
        return Object(0, operation.count, operation.count) if valid else "initialises an mbarrier with a bad count"
    if state is None:
        return "uses an object that is no mbarrier"
    match operation.kind:
        case "inval":
            return None
        case "wait":
            known = operation.parity or operation.asked % TOKEN in (state.phase - 1, state.phase)
            return state if known else f"asks in phase {state.phase} for another one than that and the one before"
        case "more":
            more = replace(state, pending=state.pending + 1)
            return more if more.pending <= MOST_COUNT else "makes too many arrivals pending"
        case "drop" if operation.count >= state.needed:
            return "drops the number of arrivals to zero"
        case "drop":
            state = replace(state, needed=state.needed - operation.count)
    if operation.kind in ("arrive", "drop") and not 1 <= operation.count <= state.pending:
        return "arrives more often than is pending"
    after = replace(state, bytes=state.bytes + operation.bytes, pending=state.pending - operation.count)
    if abs(after.bytes) > MOST_COUNT:
        return "makes the transaction count too large"
    over = after.pending == 0 and after.bytes == 0
    if over and not operation.ends:
        return "ends a phase with .noComplete"
    if operation.kind == "expect" and not expect_ends:
        return after
    return Object(after.phase + 1, after.needed, after.needed) if over else after
