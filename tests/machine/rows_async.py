"""The rows of mbarriers, asynchronous copies and tensor maps: each writes a call, here is what is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from machine import mbarriers
from machine.arithmetic import kind_of
from machine.copies import Change, Map, Move, aligned
from machine.memory import OFFSETS, RANK, WINDOW, Fault
from machine.text import Instruction, Unknown
from machine.translate import Row, Writer
from machine.warps import lanes
from ptxmm.arith import atomic

if TYPE_CHECKING:
    from machine.grid import Thread

REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def _shared(words: tuple[str, ...], address: str) -> str:
    spaces = [word for word in words if word.startswith("shared")]
    if not spaces:
        return f"t.generic({address})"
    return f"t.shared({address}, own={spaces[0] != 'shared::cluster'})"


# --- mbarriers -------------------------------------------------------------------------------------------------------


def _mbarrier(instruction: Instruction, writer: Writer) -> None:
    words, operands = instruction.words, list(instruction.operands)
    action = words[1]
    if action == "pending_count":
        writer.line(f"{writer.write(operands[0])} = mbarriers.pending({writer.read(operands[1])})")
        return
    target = operands.pop(0) if action in ("arrive", "arrive_drop", "test_wait", "try_wait") else "_"
    at = _shared(words, writer.address(operands[0]))
    rest = [writer.read(each) for each in operands[1:]]
    writer.line("yield")
    writer.line(f"{writer.write(target)} = mbarriers.{_CALLS[action](words, at, rest)}")


def _arrival(words: tuple[str, ...], at: str, rest: list[str]) -> str:
    drop = words[1] == "arrive_drop"
    if "expect_tx" in words:
        return f"arrive(t.memory, {at}, 1, expect={rest[0]}, drop={drop})"
    if "noComplete" in words:
        return f"arrive(t.memory, {at}, {rest[0]}, drop={drop}, ends=False)"
    return f"arrive(t.memory, {at}, {rest[0] if rest else 1}, drop={drop})"


def _wait(words: tuple[str, ...], at: str, rest: list[str]) -> str:
    return f"{'over_parity' if 'parity' in words else 'over'}(t.memory, {at}, {rest[0]})"


_CALLS: dict[str, Any] = {
    "init": lambda words, at, rest: f"init(t.memory, {at}, {rest[0]})",
    "inval": lambda words, at, rest: f"inval(t.memory, {at})",
    "expect_tx": lambda words, at, rest: f"expect(t.memory, {at}, {rest[0]})",
    "complete_tx": lambda words, at, rest: f"complete(t.memory, {at}, {rest[0]})",
    "arrive": _arrival,
    "arrive_drop": _arrival,
    "test_wait": _wait,
    "try_wait": _wait,
}


# --- groups of copies ------------------------------------------------------------------------------------------------


def _groups(words: tuple[str, ...]) -> str:
    return "t.copies.bulk" if "bulk" in words else "t.copies.small"


def _commit(instruction: Instruction, writer: Writer) -> None:
    writer.line(f"{_groups(instruction.words)}.commit()")


def _wait_group(instruction: Instruction, writer: Writer) -> None:
    words = instruction.words
    most = "None" if "wait_all" in words else writer.read(instruction.operands[0])
    writer.line(f"yield from {_groups(words)}.wait({most}, read={'read' in words})")


def _copy_arrive(instruction: Instruction, writer: Writer) -> None:
    words = instruction.words
    at = _shared(words[4:], writer.address(instruction.operands[0]))
    writer.line("yield")
    writer.line(f"t.copies.arrive({at}, increments={'noinc' not in words})")


# --- copies ----------------------------------------------------------------------------------------------------------


def _small(instruction: Instruction, writer: Writer) -> None:
    """`cp.async` of 4, 8 or 16 bytes: of the source as many as are asked for, zeros behind them."""
    target, source, room, *read = instruction.operands
    left = "None"
    if read:
        given = writer.read(read[0])
        ignored = read[0].lstrip("!") in writer.entry.registers and not writer.width(read[0].lstrip("!"))
        left = f"(0 if {given} else {writer.read(room)})" if ignored else given
    writer.line("yield")
    writer.line(f"small(t, t.shared({writer.address(target)}), {writer.address(source)}, {writer.read(room)}, {left})")


def small(thread: Thread, target: int, source: int, room: int, size: int | None) -> None:
    """Start a `cp.async`."""
    taken = room if size is None else size
    if taken > room or target % room or source % room:
        raise Fault(f"cp.async of {taken} of {room} bytes")
    thread.copies.move([Move(source, target, taken, room)], thread.copies.small, lambda: None, None)


def _bulk(instruction: Instruction, writer: Writer) -> None:
    """`cp.async.bulk` and `cp.reduce.async.bulk`: the two state spaces, then how its end is told."""
    words, operands = instruction.words, list(instruction.operands)
    spaces = [word for word in words if word in ("global", "shared::cta", "shared::cluster")]
    target, source, size, *told = operands
    mbarrier = writer.address(told[0]) if "mbarrier::complete_tx::bytes" in words else "None"
    mask = writer.read(told[1]) if "multicast::cluster" in words else "None"
    op = next((word for word in words[3:] if word in REDUCTIONS), "")
    writer.line("yield")
    writer.line(
        f"bulk(t, {spaces[0]!r}, {spaces[1]!r}, {writer.address(target)}, {writer.address(source)}, "
        f"{writer.read(size)}, {mbarrier}, {mask}, {op!r}, {words[-1]!r})"
    )


def bulk(
    thread: Thread, into: str, out_of: str, target: int, source: int, size: int,
    mbarrier: int | None, mask: int | None, op: str, word: str,
) -> None:  # fmt: skip
    """Start a bulk copy."""
    aligned(size, target & OFFSETS, source & OFFSETS)
    start = source if out_of == "global" else thread.shared(source, own=True)
    ends = _ends(thread, into, target, mbarrier, mask)
    change = _reduction(thread, op, word) if op else None
    for place, told in ends:
        thread.copies.move(
            [Move(start, place, size, size)], None if mbarrier is not None else thread.copies.bulk,
            _completion(thread, told, size), change,
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


def _completion(thread: Thread, mbarrier: int | None, size: int) -> Any:
    if mbarrier is None:
        return lambda: None
    return lambda: mbarriers.complete(thread.memory, mbarrier, size)


def _reduction(thread: Thread, op: str, word: str) -> Change:
    """What a reduction does with a piece: one atomic operation for each of its elements."""
    kind, memory = kind_of(word), thread.memory

    def change(place: int, piece: int) -> None:
        for element in range(max(1, 4 // kind.size)):
            at, value = place + element * kind.size, piece >> element * kind.bits & (1 << kind.bits) - 1
            stored = atomic(op, memory.load(at, kind.bits), (value,), kind)
            assert stored is not None
            memory.store(at, kind.bits, stored)

    return change


def _elements(instruction: Instruction, writer: Writer) -> None:
    """`st.async` and `red.async`."""
    words = instruction.words
    target, source, *told = instruction.operands
    op = next((word for word in words[2:] if word in REDUCTIONS), "") if words[0] == "red" else ""
    mbarrier = writer.address(told[0]) if told else "None"
    values = ", ".join(writer.reads(source))
    writer.line("yield")
    writer.line(
        f"elements(t, {'global' in words}, {writer.address(target)}, [{values}], {mbarrier}, {op!r}, {words[-1]!r})"
    )


def elements(
    thread: Thread, is_global: bool, target: int, values: list[int], mbarrier: int | None, op: str, word: str
) -> None:
    """Start an asynchronous store or reduction of registers."""
    kind, memory = kind_of(word), thread.memory
    change: Change = lambda place, value: memory.store(place, kind.bits, value)  # noqa: E731
    told = None if mbarrier is None else thread.shared(mbarrier)
    thread.copies.elements(
        target if is_global else thread.shared(target), values, kind.bits,
        _reduction(thread, op, word) if op else change, _completion(thread, told, len(values) * kind.size),
    )  # fmt: skip


# --- tensor maps -----------------------------------------------------------------------------------------------------


def _tensor(instruction: Instruction, writer: Writer) -> None:
    """Copies through a tensor map of one dimension, into shared memory or out of it."""
    words, operands = instruction.words, list(instruction.operands)
    if "1d" not in words:
        raise Unknown("a tensor map of several dimensions")
    out = words[words.index("1d") + 1] == "global"
    box, other = (operands[0], operands[1]) if out else (operands[1], operands[0])
    map_, _, place = box.strip("[]").partition(",")
    told = "mbarrier::complete_tx::bytes" in words
    mbarrier = writer.address(operands[2]) if told else "None"
    mask = writer.read(operands[3]) if "multicast::cluster" in words else "None"
    op = next((word for word in words[3:] if word in REDUCTIONS), "")
    into = "shared::cluster" if "shared::cluster" in words else "shared::cta"
    writer.line("yield")
    writer.line(
        f"tensor(t, {out}, {writer.address(map_)}, number({writer.read(place.strip('{} '), 32)}, 32), "
        f"{writer.address(other)}, {into!r}, {mbarrier}, {mask}, {op!r})"
    )


def tensor(
    thread: Thread, out: bool, map_: int, first: int, other: int, into: str,
    mbarrier: int | None, mask: int | None, op: str,
) -> None:  # fmt: skip
    """Start a copy of a box: what lies outside the vector is not written, and reads as zeros."""
    described = Map.read(thread.memory, thread.generic(map_))
    start, count, missing = described.inside(first)
    size, there = described.size, described.address + start * described.size
    if out:
        near = thread.shared(other, own=True) + missing * size
        change = _reduction(thread, op, f"u{8 * size}") if op else None
        moves = [Move(near, there, count * size, count * size)]
        thread.copies.move(moves, thread.copies.bulk, lambda: None, change)
        return
    box = described.box * size
    for near, told in _ends(thread, into, other, mbarrier, mask):
        behind = near + missing * size
        moves = [Move(there, behind, count * size, box - missing * size), Move(there, near, 0, missing * size)]
        thread.copies.move(moves, None, _completion(thread, told, box), None)


def _replace(instruction: Instruction, writer: Writer) -> None:
    words = instruction.words
    if words[3] != "global_address":
        raise Unknown(f"the instruction `{instruction.mnemonic}`")
    address, value = instruction.operands
    at = writer.address(address)
    at = at if "global" in words else f"t.shared({at}, own=True)" if "shared::cta" in words else f"t.generic({at})"
    writer.line("yield")
    writer.line(f"store({at}, 64, {writer.read(value)})")


def _map_copy(instruction: Instruction, writer: Writer) -> None:
    """`tensormap.cp_fenceproxy`: one copy by the warp."""
    target, source, size = instruction.operands
    met = writer.name()
    writer.line(f"{met} = yield from t.warp.together(t.lane, {(1 << 32) - 1}, ('aligned', {instruction.number}))")
    writer.line("yield")
    writer.line(
        f"if t.lane == min({met}.values): copied(t, {writer.address(target)}, {writer.address(source)}, {size})"
    )
    writer.line(f"yield from t.warp.together(t.lane, {(1 << 32) - 1}, ('copied', {instruction.number}))")


def copied(thread: Thread, target: int, source: int, size: int) -> None:
    """Copy a tensor map."""
    memory = thread.memory
    memory.piece(target, size)[:] = memory.piece(thread.shared(source, own=True), size)


CALLED = {
    each.__name__: each for each in (small, bulk, elements, tensor, copied)
}  # fmt: skip

ASYNCHRONOUS: dict[str, Row] = {
    "mbarrier": _mbarrier,
    "cp.async.mbarrier.arrive": _copy_arrive,
    "cp.async.commit_group": _commit,
    "cp.async.bulk.commit_group": _commit,
    "cp.async.wait_all": _wait_group,
    "cp.async.wait_group": _wait_group,
    "cp.async.bulk.wait_group": _wait_group,
    "cp.async.bulk.tensor": _tensor,
    "cp.reduce.async.bulk.tensor": _tensor,
    "cp.async.bulk": _bulk,
    "cp.reduce.async.bulk": _bulk,
    "cp.async": _small,
    "st.async": _elements,
    "red.async": _elements,
    "tensormap.replace.tile": _replace,
    "tensormap.cp_fenceproxy": _map_copy,
}
"""By the words that an instruction begins with, the longest first."""

__all__ = ["ASYNCHRONOUS", "CALLED", "WINDOW"]
