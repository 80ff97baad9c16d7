"""What became of instructions in a control, in words."""

from __future__ import annotations

from collections.abc import Collection

from ptxmm.errors import Unsupported
from ptxmm.isa_text import mnemonic
from ptxmm.program import Branch, Load, MbarrierWait, Statement, Thread, read_by


def told(statement: Statement) -> str:
    """An instruction's opcode and qualifiers, where PTX spells it."""
    try:
        return mnemonic(statement)
    except Unsupported:
        return statement.text or type(statement).__name__


def became(statement: Statement, new: Statement | None) -> str:
    """What became of an instruction: another one, the same without registers that it read, or nothing."""
    if new is None:
        return "dropped"
    lost = read_by(statement) - read_by(new)
    return f"without {', '.join(sorted(lost))}" if lost else told(new)


def wait_told(thread: Thread, index: int, gone: Collection[int]) -> list[str]:
    """What becomes of a wait, told where it ends, with the numbers of the instructions that are `gone`."""
    if not isinstance(thread.body[index], Branch):
        return []
    test = next(n for n in range(index, -1, -1) if isinstance(thread.body[n], Load | MbarrierWait))
    what = "dropped" if test in gone else "once"
    return [f"{thread.name}: {told(thread.body[test])} again and again -> {what}"]
