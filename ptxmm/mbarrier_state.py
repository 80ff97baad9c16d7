"""What one operation does to the state of an mbarrier: counts, bytes and phases, and where PTX leaves it undefined.

PTX ISA, "mbarrier: contents of the mbarrier object", "Phase of the mbarrier object", and the instructions `mbarrier.*`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_ARRIVALS = (1 << 20) - 1
MOST_BYTES = (1 << 20) - 1
PHASES = 1 << 32
Phase = tuple[int, int]


@dataclass(frozen=True, slots=True)
class State:
    """An mbarrier object: the phase that is not complete, arrivals expected and pending, and bytes still to come.

    `life` counts the objects that were there before: phases of one have nothing to do with those of the next.
    """

    valid: bool = False
    phase: int = 0
    expected: int = 0
    pending: int = 0
    bytes: int = 0
    life: int = 0

    @property
    def current(self) -> Phase:
        """The phase that is not complete, told apart from those of other objects in this place."""
        return self.life, self.phase


@dataclass(frozen=True, slots=True)
class Operation:
    """One atomic step on an mbarrier; `kind` is a key of `STEPS`, or `wait`, which changes nothing.

    `count` is that of an init or of arrivals, `bytes` the transaction count. `completes` is false for `.noComplete`,
    and where a model has it that an `expect_tx` ends no phase (`Model.expect_ends`).
    """

    kind: str
    count: int = 0
    bytes: int = 0
    completes: bool = True


def fresh(count: int) -> State:
    """A live mbarrier that waits for `count` arrivals.

    >>> fresh(2).pending
    2
    """
    return State(True, 0, count, count, 0)


def token(state: State, *, pending: bool) -> int:
    """What an arrive returns for the state that it found: its phase, and with `pending` its pending count."""
    return state.phase + (PHASES * state.pending if pending else 0)


def phase_of(given: int) -> int:
    """The phase that a token names."""
    return given % PHASES


def passes(state: State, asked: int, *, parity: bool) -> bool:
    """Whether a wait finds the phase complete that it asks for, by a parity or by a token.

    Where there is no object it does not: a thread that goes on from there could be what brought that about.

    >>> passes(fresh(1), 1, parity=True), passes(fresh(1), 0, parity=True)
    (True, False)
    """
    complete = state.phase % 2 != asked % 2 if parity else state.phase > phase_of(asked)
    return state.valid and complete


def misasked(state: State, asked: int, *, parity: bool) -> str:
    """Why PTX leaves undefined what a wait says: its token is of neither the current phase nor the one before.

    A parity is of one of these two by its meaning.

    >>> misasked(State(True, phase=2, expected=1, pending=1), 0, parity=False)
    'asks for phase 0 when phase 2 is the current one: a state is good for the current phase and the one before'
    >>> misasked(State(True, phase=2, expected=1, pending=1), 1, parity=False)
    ''
    """
    phase = phase_of(asked)
    if parity or not state.valid or state.phase - 1 <= phase <= state.phase:
        return ""
    good = "a state is good for the current phase and the one before"
    return f"asks for phase {phase} when phase {state.phase} is the current one: {good}"


def step(state: State, operation: Operation) -> State | str:
    """The state after an operation, or in words why it is undefined.

    >>> step(fresh(1), Operation("arrive", 1)).phase
    1
    >>> step(fresh(1), Operation("arrive", 2))
    'arrives more often than is pending'

    Nothing is pending, and bytes have come that nobody has expected yet:

    >>> early = State(True, phase=0, expected=1, pending=0, bytes=-16)
    >>> step(early, Operation("expect", bytes=16)).phase
    1
    >>> step(early, Operation("expect", bytes=16, completes=False)).phase
    0
    >>> step(early, Operation("arrive", 1, bytes=16))
    'arrives more often than is pending'
    """
    if operation.kind == "init":
        return _init(state, operation)
    if not state.valid:
        return "uses an object that is no mbarrier: it is not initialised, or not valid any more"
    return STEPS[operation.kind](state, operation)


def _init(state: State, operation: Operation) -> State | str:
    if state.valid:
        return "initialises an mbarrier that is valid already"
    if not 0 < operation.count <= MOST_ARRIVALS:
        return f"initialises an mbarrier with a count of {operation.count}, which is not 1 to {MOST_ARRIVALS}"
    return replace(fresh(operation.count), life=state.life)


def _inval(state: State, operation: Operation) -> State:
    return State(life=state.life + 1)


def _expect(state: State, operation: Operation) -> State | str:
    after = _in_range(replace(state, bytes=state.bytes + operation.bytes))
    return _turned(after) if operation.completes and isinstance(after, State) else after


def _complete(state: State, operation: Operation) -> State | str:
    after = _in_range(replace(state, bytes=state.bytes - operation.bytes))
    return after if isinstance(after, str) else _turned(after)


def _arrive(state: State, operation: Operation) -> State | str:
    if operation.count < 1:
        return f"arrives {operation.count} times"
    if operation.count > state.pending:
        return "arrives more often than is pending"
    after = _in_range(replace(state, bytes=state.bytes + operation.bytes))
    if isinstance(after, str):
        return after
    after = replace(after, pending=after.pending - operation.count)
    if not operation.completes and after.pending == 0 and after.bytes == 0:
        return "completes the phase, which `.noComplete` promises not to do"
    return _turned(after)


def _drop(state: State, operation: Operation) -> State | str:
    if operation.count >= state.expected:
        return "drops the count of expected arrivals to zero"
    return _arrive(replace(state, expected=state.expected - operation.count), operation)


def _more(state: State, operation: Operation) -> State | str:
    if state.pending >= MOST_ARRIVALS:
        return f"makes more than {MOST_ARRIVALS} arrivals pending"
    return replace(state, pending=state.pending + 1)


def _wait(state: State, operation: Operation) -> State:
    return state


def _in_range(state: State) -> State | str:
    return state if abs(state.bytes) <= MOST_BYTES else f"makes the transaction count {state.bytes}, out of range"


def _turned(state: State) -> State:
    """The next phase begins where nothing is pending."""
    if state.pending or state.bytes:
        return state
    return replace(state, phase=state.phase + 1, pending=state.expected)


STEPS = {
    "inval": _inval,
    "expect": _expect,
    "complete": _complete,
    "arrive": _arrive,
    "drop": _drop,
    "more": _more,
    "wait": _wait,
}
