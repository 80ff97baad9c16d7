"""From PTX to Python: the code of a kernel becomes one generator, which gives up its turn before each access of memory.

Registers are local variables; reading one that was never written is an error of Python, and a fault. Labels that are
jumped to begin blocks, and the number of the next block is a variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from machine.arithmetic import NAMES
from machine.memory import MASKS
from machine.text import Entry, Instruction, Unknown, read_entry

if TYPE_CHECKING:
    from machine.grid import Thread
    from machine.scheduler import Steps

SPECIAL = {
    "%tid.x": "t.tid", "%ctaid.x": "t.cta.number", "%laneid": "t.lane", "%ntid.x": "t.grid.shape[1]",
    "%nctaid.x": "t.grid.shape[0]", "%lanemask_lt": "(1 << t.lane) - 1", "%lanemask_eq": "1 << t.lane",
    "%cluster_ctarank": "t.cta.rank", "%clusterid.x": "t.cta.number // t.grid.cluster",
    "%nclusterid.x": "t.grid.clusters", "%cluster_nctarank": "t.grid.cluster", "%warpid": "t.tid // 32",
    "%smid": "t.cta.number", "%clock": f"t.clock() & {MASKS[32]}", "%clock64": "t.clock()",
    "%globaltimer": "t.clock()", "%tid.y": "0", "%tid.z": "0", "%ctaid.y": "0", "%ctaid.z": "0",
}  # fmt: skip
"""Special registers."""

PLAIN = 64
"""Bits of a parameter that is a number: a larger one is in memory, and its address is the argument."""

GARBAGE = 0x5A5A_A5A5_C3C3_3C3C_5A5A_A5A5_C3C3_3C3C

Body = Callable[["Thread", tuple[int, ...]], "Steps"]


@dataclass(slots=True)
class Writer:
    """Python while it is written: the lines of one block after another."""

    entry: Entry
    blocks: list[list[str]] = field(default_factory=lambda: [[]])
    indent: int = 0
    fresh: int = 0

    def line(self, text: str) -> None:
        self.blocks[-1].append("    " * self.indent + text)

    def name(self) -> str:
        """A variable that no register has."""
        self.fresh += 1
        return f"x{self.fresh}"

    # --- operands ----------------------------------------------------------------------------------------------------

    def read(self, operand: str, bits: int = 64) -> str:
        """The value of an operand, as an expression."""
        if operand.startswith("!"):
            return f"(not {self.read(operand[1:])})"
        if operand in self.entry.registers:
            return f"r_{operand}"
        if operand in SPECIAL:
            if "clock" in SPECIAL[operand]:
                self.line("yield")
            return f"({SPECIAL[operand]})"
        places = [name for name, bits in self.entry.parameters if bits > PLAIN]
        if operand in places:
            return f"arguments[{[name for name, _ in self.entry.parameters].index(operand)}]"
        if operand and operand == self.entry.shared:
            return "DYNAMIC"
        if operand in self.entry.constants:
            return f"(CONSTANTS + {self.entry.constants[operand][0]})"
        try:
            return str(int(operand.rstrip("U"), 0) & MASKS[max(8, bits)])
        except ValueError:
            raise Unknown(f"the operand `{operand}`") from None

    def reads(self, operand: str, bits: int = 64) -> list[str]:
        """The values of an operand in braces, or of one that is none."""
        return [self.read(each.strip(), bits) for each in operand.strip("{} ").split(",")]

    def write(self, operand: str) -> str:
        """The variable of a destination."""
        if operand == "_":
            return self.name()
        if operand not in self.entry.registers:
            raise Unknown(f"the destination `{operand}`")
        return f"r_{operand}"

    def writes(self, operand: str) -> list[str]:
        return [self.write(each.strip()) for each in operand.strip("{} ").split(",")]

    def address(self, operand: str) -> str:
        """The address in brackets."""
        base, _, offset = operand.strip("[] ").partition("+")
        value = self.read(base.strip())
        if not offset or not int(offset, 0):
            return value
        return f"({value} + {int(offset, 0)} & {MASKS[64]})"

    def width(self, operand: str) -> int:
        """The width of the register of a destination."""
        return self.entry.registers.get(operand, 0)


Row = Callable[[Instruction, Writer], None]


def translated(text: str, rows: dict[str, Row], names: dict[str, Any]) -> tuple[Entry, Body]:
    """A kernel, and what each of its threads does."""
    entry = read_entry(text)
    writer = Writer(entry)
    targets = {i.operands[-1] for i in entry.code if isinstance(i, Instruction) and i.words[0] == "bra"}
    numbers: dict[str, int] = {}
    for item in entry.code:
        if isinstance(item, str) and item in targets:
            numbers[item] = len(writer.blocks)
            writer.line(f"at = {len(writer.blocks)}")
            writer.blocks.append([])
        elif isinstance(item, Instruction):
            _instruction(item, writer, rows)
    writer.line("return")
    for block in writer.blocks:
        for place, line in enumerate(block):
            if "goto " in line:
                before, _, label = line.partition("goto ")
                block[place] = f"{before}at = {numbers[label]}; continue"
    head = ["def entry(t, arguments):", "    load, store = t.memory.load, t.memory.store"]
    head += [f"    r_{name} = {GARBAGE & MASKS[max(8, entry.registers[name])]}" for name in sorted(_conditional(entry))]
    head += ["    yield", "    at = 0"]
    lines = [*head, "    while True:", *_tree(writer.blocks, 0, 2)]
    space = {**NAMES, **names}
    exec(compile("\n".join(lines), f"<kernel {entry.name}>", "exec"), space)
    body: Body = space["entry"]
    return entry, body


def _conditional(entry: Entry) -> set[str]:
    """Registers that an instruction with a guard writes: where it does not, they hold anything."""
    guarded = [i for i in entry.code if isinstance(i, Instruction) and i.guard and i.operands]
    names = {each.strip("{} ") for i in guarded for each in i.operands[0].split(",")}
    return names & entry.registers.keys()


def _instruction(instruction: Instruction, writer: Writer, rows: dict[str, Row]) -> None:
    if instruction.guard:
        guard = writer.read(("!" if instruction.negated else "") + instruction.guard)
        writer.line(f"if {guard}:")
        writer.indent += 1
    opcode = instruction.words[0]
    if opcode == "bra":
        writer.line(f"goto {instruction.operands[-1]}")
    elif opcode in ("ret", "exit"):
        writer.line("return")
    elif opcode in rows:
        before = len(writer.blocks[-1])
        rows[opcode](instruction, writer)
        if len(writer.blocks[-1]) == before:
            writer.line("pass")
    else:
        raise Unknown(f"the instruction `{instruction.mnemonic}`")
    writer.indent = 0


def _tree(blocks: list[list[str]], first: int, depth: int) -> list[str]:
    """Blocks found by halves."""
    space = "    " * depth
    if len(blocks) == 1:
        return [space + line for line in blocks[0]]
    half = len(blocks) // 2
    return [
        f"{space}if at < {first + half}:", *_tree(blocks[:half], first, depth + 1),
        f"{space}else:", *_tree(blocks[half:], first + half, depth + 1),
    ]  # fmt: skip
