"""Mbarriers: 64 bits in shared memory with pending and expected arrivals, pending bytes, and the phase."""

from __future__ import annotations

from dataclasses import dataclass, replace

from machine.memory import Fault, Memory

MOST = (1 << 20) - 1
BYTES = 21
"""Bits of the transaction count, with its sign."""

VALID = 1 << 63


@dataclass(frozen=True, slots=True)
class State:
    """The state of an mbarrier as PTX ISA 9.7.15.16 has it; of the number of its phase, the last two bits."""

    phase: int
    pending: int
    expected: int
    bytes: int

    @classmethod
    def of(cls, word: int) -> State:
        """What the bits say."""
        if not word & VALID:
            raise Fault("an operation on memory that holds no mbarrier")
        tx = word >> 42 & (1 << BYTES) - 1
        signed = tx - (1 << BYTES) if tx >> (BYTES - 1) else tx
        return cls(word & 3, word >> 2 & MOST, word >> 22 & MOST, signed)

    @property
    def word(self) -> int:
        if not 0 <= self.pending <= MOST or not 0 <= self.expected <= MOST or abs(self.bytes) > MOST:
            raise Fault(f"an mbarrier with {self.pending} pending arrivals and {self.bytes} pending bytes")
        return VALID | (self.bytes & (1 << BYTES) - 1) << 42 | self.expected << 22 | self.pending << 2 | self.phase


def init(memory: Memory, address: int, count: int) -> None:
    """`mbarrier.init`."""
    if not 1 <= count <= MOST:
        raise Fault(f"an mbarrier for {count} arrivals")
    memory.store(address, 64, State(0, count, count, 0).word)


def inval(memory: Memory, address: int) -> None:
    """`mbarrier.inval`."""
    State.of(memory.load(address, 64))
    memory.store(address, 64, 0)


def arrive(
    memory: Memory, address: int, count: int = 1, *, expect: int = 0, drop: bool = False, ends: bool = True
) -> int:
    """`mbarrier.arrive` and `arrive_drop`; the state before it. Without `ends` it must not end the phase."""
    word = memory.load(address, 64)
    before = State.of(word)
    dropped = count if drop else 0
    if not ends and count == before.pending:
        raise Fault("an arrival with .noComplete that ends a phase")
    if count > before.pending:
        raise Fault(f"{count} arrivals at an mbarrier with {before.pending} pending")
    now = replace(before, bytes=before.bytes + expect)
    _end(memory, address, replace(now, pending=now.pending - count, expected=now.expected - dropped))
    return word


def more(memory: Memory, address: int) -> None:
    """One more pending arrival, which `cp.async.mbarrier.arrive` without `.noinc` asks for."""
    state = State.of(memory.load(address, 64))
    memory.store(address, 64, replace(state, pending=state.pending + 1).word)


def expect(memory: Memory, address: int, size: int) -> None:
    """`mbarrier.expect_tx`."""
    state = State.of(memory.load(address, 64))
    _end(memory, address, replace(state, bytes=state.bytes + size))


def complete(memory: Memory, address: int, size: int) -> None:
    """`complete_tx`, by an instruction or by a copy."""
    state = State.of(memory.load(address, 64))
    _end(memory, address, replace(state, bytes=state.bytes - size))


def _end(memory: Memory, address: int, state: State) -> None:
    """A phase ends when nothing is pending."""
    if not state.pending and not state.bytes:
        if not state.expected:
            raise Fault("a phase of an mbarrier that expects no arrivals")
        state = replace(state, phase=state.phase + 1 & 3, pending=state.expected)
    memory.store(address, 64, state.word)


def over(memory: Memory, address: int, token: int) -> bool:
    """Whether the phase of a token has ended: it is the current one, or the one before it."""
    ended = State.of(memory.load(address, 64)).phase - State.of(token).phase & 3
    if ended > 1:
        raise Fault("a wait for a phase of an mbarrier that is not the last one")
    return bool(ended)


def over_parity(memory: Memory, address: int, parity: int) -> bool:
    """Whether the phase of a parity has ended: the current one is of the other."""
    return State.of(memory.load(address, 64)).phase & 1 != parity & 1


def pending(token: int) -> int:
    """`mbarrier.pending_count`."""
    return State.of(token).pending
