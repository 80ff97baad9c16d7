"""The rows of mbarriers: each writes a call."""

from __future__ import annotations

from collections.abc import Callable

from machine.text import Instruction
from machine.translate import Writer


def shared(words: tuple[str, ...], address: str) -> str:
    """Where the operand is in memory: in the state space that is named, or by its generic address."""
    spaces = [word for word in words if word.startswith("shared")]
    if not spaces:
        return f"t.generic({address})"
    return f"t.shared({address}, own={spaces[0] != 'shared::cluster'})"


def mbarrier(instruction: Instruction, writer: Writer) -> None:
    """An operation on an mbarrier."""
    words, operands = instruction.words, list(instruction.operands)
    action = words[1]
    if action == "pending_count":
        writer.line(f"{writer.write(operands[0])} = mbarriers.pending({writer.read(operands[1])})")
        return
    target = operands.pop(0) if action in ("arrive", "arrive_drop", "test_wait", "try_wait") else "_"
    at = shared(words, writer.address(operands[0]))
    rest = [writer.read(each) for each in operands[1:]]
    writer.line("yield")
    writer.line(f"{writer.write(target)} = mbarriers.{CALLS[action](words, at, rest)}")


def _arrival(words: tuple[str, ...], at: str, rest: list[str]) -> str:
    drop = words[1] == "arrive_drop"
    if "expect_tx" in words:
        return f"arrive(t.memory, {at}, 1, expect={rest[0]}, drop={drop})"
    if "noComplete" in words:
        return f"arrive(t.memory, {at}, {rest[0]}, drop={drop}, ends=False)"
    return f"arrive(t.memory, {at}, {rest[0] if rest else 1}, drop={drop})"


def _wait(words: tuple[str, ...], at: str, rest: list[str]) -> str:
    return f"{'over_parity' if 'parity' in words else 'over'}(t.memory, {at}, {rest[0]})"


CALLS: dict[str, Callable[[tuple[str, ...], str, list[str]], str]] = {
    "init": lambda words, at, rest: f"init(t.memory, {at}, {rest[0]})",
    "inval": lambda words, at, rest: f"inval(t.memory, {at})",
    "expect_tx": lambda words, at, rest: f"expect(t.memory, {at}, {rest[0]})",
    "complete_tx": lambda words, at, rest: f"complete(t.memory, {at}, {rest[0]})",
    "arrive": _arrival,
    "arrive_drop": _arrival,
    "test_wait": _wait,
    "try_wait": _wait,
}
