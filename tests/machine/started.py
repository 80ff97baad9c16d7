"""What instructions start: copies, asynchronous stores and reductions, by what their operands hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from machine import mbarriers
from machine.arithmetic import kind_of
from machine.copies import Change, Map, Move, Reduction, aligned
from machine.memory import OFFSETS, RANK, Fault
from machine.warps import lanes
from ptxmm.arith import atomic
from ptxmm.tensor_maps import INNER

if TYPE_CHECKING:
    from machine.grid import Thread

TILE = 128
"""What the shared address of a tensor copy is a multiple of (CUDA programming guide, asynchronous copies)."""


def small(thread: Thread, target: int, source: int, room: int, size: int | None) -> None:
    """Start a `cp.async`."""
    taken = room if size is None else size
    if taken > room or target % room or source % room:
        raise Fault(f"cp.async of {taken} of {room} bytes")
    thread.copies.move([Move(source, target, taken, room)], thread.copies.small, lambda: None, None)


def bulk(
    thread: Thread, into: str, out_of: str, target: int, source: int, size: int,
    mbarrier: int | None, mask: int | None, op: str, word: str,
) -> None:  # fmt: skip
    """Start a bulk copy."""
    aligned(size, target & OFFSETS, source & OFFSETS)
    start = source if out_of == "global" else thread.shared(source, own=True)
    ends = _ends(thread, into, target, mbarrier, mask)
    reduction = _reduction(thread, op, word) if op else None
    for place, told in ends:
        thread.copies.move(
            [Move(start, place, size, size)], None if mbarrier is not None else thread.copies.bulk,
            _completion(thread, told, size), reduction,
        )  # fmt: skip


def _ends(
    thread: Thread, into: str, target: int, mbarrier: int | None, mask: int | None
) -> list[tuple[int, int | None]]:
    """The places that a copy writes, each with the mbarrier that is told; both in each CTA of a mask."""
    if into == "global":
        return [(target, None)]
    ranks = [None] if mask is None else lanes(mask)
    found = []
    for rank in ranks:
        here = [
            None if each is None else thread.shared(_in_cta(each, rank), own=into == "shared::cta")
            for each in (target, mbarrier)
        ]
        assert here[0] is not None
        found.append((here[0], here[1]))
    return found


def _in_cta(address: int, rank: int | None) -> int:
    return address if rank is None else address & OFFSETS | rank + 1 << RANK


def _completion(thread: Thread, mbarrier: int | None, size: int) -> Callable[[], None]:
    if mbarrier is None:
        return lambda: None
    return lambda: mbarriers.complete(thread.memory, mbarrier, size)


def _reduction(thread: Thread, op: str, word: str) -> Reduction:
    """What a reduction does with each element of a type."""
    kind, memory = kind_of(word), thread.memory

    def change(place: int, value: int) -> None:
        stored = atomic(op, memory.load(place, kind.bits), (value,), kind)
        assert stored is not None
        memory.store(place, kind.bits, stored)

    return Reduction(kind.size, change)


def elements(
    thread: Thread, is_global: bool, target: int, values: list[int], mbarrier: int | None, op: str, word: str
) -> None:
    """Start an asynchronous store or reduction of registers."""
    kind, memory = kind_of(word), thread.memory
    change: Change = lambda place, value: memory.store(place, kind.bits, value)  # noqa: E731
    told = None if mbarrier is None else thread.shared(mbarrier)
    thread.copies.elements(
        target if is_global else thread.shared(target), values, kind.bits,
        _reduction(thread, op, word).change if op else change, _completion(thread, told, len(values) * kind.size),
    )  # fmt: skip


def tensor(
    thread: Thread, out: bool, map_: int, corner: tuple[int, ...], other: int, into: str,
    mbarrier: int | None, mask: int | None, op: str,
) -> None:  # fmt: skip
    """Start a copy of a box: what lies outside the array is not written, and reads as zeros."""
    if other & OFFSETS & TILE - 1:
        raise Fault(f"a tensor copy at {other:#x} of shared memory, no multiple of {TILE}")
    described = Map.read(thread.memory, thread.generic(map_))
    if len(corner) != len(described.shape.dims):
        raise Fault(f"{len(corner)} coordinates for a tensor map of {len(described.shape.dims)} dimensions")
    if corner[0] * described.shape.element % INNER:
        raise Fault(f"a tensor copy of a box that begins in the middle of {INNER} bytes: {corner}")
    if out:
        if min(corner) < 0:
            raise Fault(f"a tensor store of a box that begins at {corner}")
        reduction = _reduction(thread, op, described.element) if op else None
        moves = described.moves(corner, thread.shared(other, own=True), out=True)
        thread.copies.move(moves, thread.copies.bulk, lambda: None, reduction)
        return
    for near, told in _ends(thread, into, other, mbarrier, mask):
        moves = described.moves(corner, near, out=False)
        thread.copies.move(moves, None, _completion(thread, told, described.shape.bytes), None)


def copied(thread: Thread, target: int, source: int, size: int) -> None:
    """Copy a tensor map."""
    memory = thread.memory
    memory.piece(target, size)[:] = memory.piece(thread.shared(source, own=True), size)


CALLED = {each.__name__: each for each in (small, bulk, elements, tensor, copied)}
"""What the rows of the instructions call."""
