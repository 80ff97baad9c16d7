"""From what a kernel counted to what the log holds: words become values of columns, and formulas are evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ptxmm.arith import binary, unary
from ptxmm.errors import PtxmmError
from ptxmm.gpu.columns import Column
from ptxmm.gpu.kernel import Kernel
from ptxmm.gpu.log import Counted, Outcome
from ptxmm.program import Addr, Binary, Const, Expr, FinalMem, FinalReg, Program, Select, Unary


@dataclass(frozen=True, slots=True)
class Tally:
    """What a kernel counted: states as words of 64 bits, and the other counters of `harness.COUNTERS` by name.

    `expected` is how many instances were launched, `failed_meetings` how often a team did not come together.
    """

    states: tuple[tuple[tuple[int, ...], int], ...]
    counters: dict[str, int]
    expected: int
    failed_meetings: int
    launches: int

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        states = Counter(dict(self.states))
        states.update(dict(other.states))
        counters = {name: number + other.counters[name] for name, number in self.counters.items()}
        failed, launches = self.failed_meetings + other.failed_meetings, self.launches + other.launches
        return Tally(tuple(states.items()), counters, self.expected + other.expected, failed, launches)


def counted(program: Program, kernel: Kernel, tally: Tally) -> Counted:
    """What was counted, checked: every instance once, and the condition as often as the GPU says that it held."""
    outcomes = []
    for words, number in tally.states:
        state = _state(kernel, words)
        holds = program.condition is not None and bool(evaluate(program.condition.formula, program, state))
        outcomes.append(Outcome(values=tuple(state.values()), holds=holds, count=number))
    counters = tally.counters
    found = Counted(
        instances=tally.expected,
        outcomes=tuple(sorted(outcomes, key=lambda outcome: outcome.values)),
        stuck=counters["stuck"],
        filtered=counters["filtered"],
        unlisted=counters["unlisted"],
        groups=tally.expected // kernel.layout.copies,
        squares=counters["squares"],
    )
    if tally.failed_meetings:
        raise PtxmmError("a thread was stuck while others waited for it at a barrier")
    if counters["instances"] != tally.expected or not found.adds_up:
        raise PtxmmError(f"the counts do not add up: {found.finished} final states of {tally.expected} instances")
    if not found.unlisted and found.holding != counters["holding"]:
        raise PtxmmError(f"the condition held {found.holding} times here, and {counters['holding']} on the GPU")
    return found


def _state(kernel: Kernel, words: tuple[int, ...]) -> dict[Column, int]:
    state, at = {}, 0
    for column, number in zip(kernel.columns, kernel.words, strict=True):
        state[column] = sum(word << 64 * place for place, word in enumerate(words[at : at + number]))
        at += number
    return state


def evaluate(expr: Expr, program: Program, state: Mapping[Column, int]) -> int:
    """The value of a formula in a final state."""
    match expr:
        case Const(value):
            return value
        case FinalReg() | FinalMem():
            return state[expr]
        case Addr():
            return program.address(expr)
        case Unary(op, arg, type_):
            return unary(op, evaluate(arg, program, state), type_)
        case Binary(op, left, right, type_):
            return binary(op, evaluate(left, program, state), evaluate(right, program, state), type_)
        case Select(cond, then, other):
            return evaluate(then if evaluate(cond, program, state) else other, program, state)
    raise PtxmmError("a condition reads a register of no thread")
