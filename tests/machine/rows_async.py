"""The rows of asynchronous copies and tensor maps: each writes a call."""

from __future__ import annotations

from machine.copies import LEFT_OUT
from machine.rows_mbarrier import mbarrier, shared
from machine.text import Instruction, Unknown
from machine.translate import Row, Writer
from ptxmm.tensor_maps import FIRST

REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


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
    at = shared(words[4:], writer.address(instruction.operands[0]))
    writer.line("yield")
    writer.line(f"t.copies.arrive({at}, increments={'noinc' not in words})")


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


def _tensor(instruction: Instruction, writer: Writer) -> None:
    """Copies through a tensor map, into shared memory or out of it."""
    words, operands = instruction.words, list(instruction.operands)
    dimensions = next(place for place, word in enumerate(words) if word in ("1d", "2d", "3d", "4d", "5d"))
    out = words[dimensions + 1] == "global"
    box, other = (operands[0], operands[1]) if out else (operands[1], operands[0])
    map_, _, place = box.strip("[]").partition(",")
    told = "mbarrier::complete_tx::bytes" in words
    mbarrier = writer.address(operands[2]) if told else "None"
    mask = writer.read(operands[3]) if "multicast::cluster" in words else "None"
    op = next((word for word in words[3:] if word in REDUCTIONS), "")
    into = "shared::cluster" if "shared::cluster" in words else "shared::cta"
    corner = "".join(f"number({each}, 32), " for each in writer.reads(place, 32))
    writer.line("yield")
    writer.line(
        f"tensor(t, {out}, {writer.address(map_)}, ({corner}), "
        f"{writer.address(other)}, {into!r}, {mbarrier}, {mask}, {op!r})"
    )


def _replace(instruction: Instruction, writer: Writer) -> None:
    """`tensormap.replace`: the address and the shape."""
    words, (address, *ordinal, value) = instruction.words, instruction.operands
    if words[3] not in FIRST and words[3] not in LEFT_OUT:
        raise Unknown(f"the instruction `{instruction.mnemonic}` of tensor maps")
    first, bits = (8 * FIRST[words[3]], 64) if words[3] in FIRST else (LEFT_OUT[words[3]], 8)
    place = first + 8 * sum(int(each, 0) for each in ordinal)
    at = writer.address(address)
    at = at if "global" in words else f"t.shared({at}, own=True)" if "shared::cta" in words else f"t.generic({at})"
    writer.line("yield")
    writer.line(f"store({at} + {place}, {bits}, {writer.read(value)})")


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


ASYNCHRONOUS: dict[str, Row] = {
    "mbarrier": mbarrier,
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
