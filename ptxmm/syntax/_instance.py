"""One instance of a test in NVIDIA's dialect: its declarations, the blocks of its threads, and its commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ptxmm.arith import U32, Type
from ptxmm.errors import Span, near
from ptxmm.program import (
    Assume,
    Atomic,
    Binary,
    Condition,
    Const,
    Expr,
    FinalReg,
    Load,
    Place,
    Proxy,
    Quantifier,
    Reg,
    Statement,
    Store,
    Thread,
    registers,
)
from ptxmm.syntax._blocks import INSTRUCTIONS
from ptxmm.syntax._common import AND, OR, REGISTER, Text, Tokens, formula, literal, quoted
from ptxmm.syntax._memory import Memory
from ptxmm.syntax._written import Written

COMMANDS = {
    "assert": (Quantifier.FORALL, "holds"),
    "permit": (Quantifier.EXISTS, "allowed"),
    "check": (Quantifier.EXISTS, "allowed"),
}
VIEWS = {
    "texref": Proxy.TEXTURE,
    "surfref": Proxy.SURFACE,
    "conref": Proxy.CONSTANT,
    "constref": Proxy.CONSTANT,
}

OBJECT = re.compile(r"\.\s*(global|shared)\s+(\w+)\s*(?:(\w+)\s+aliases\s+(\w+)\s*)?;", re.ASCII)
VIEW = re.compile(r"\.\s*(\w+)\s+(\w+)\s+virtually\s+aliases\s+(\w+)\s*;", re.ASCII)
THREAD = re.compile(r"d(\d{1,6})\s*\.\s*b(\d{1,6})\s*\.\s*t(\d{1,6})\s*\{([^{}]*)\}", re.ASCII)
COMMAND = re.compile(r"([a-z]+)\b([^;{}]*);", re.ASCII)
INSTRUCTION = re.compile(
    r"(?P<opcode>[A-Za-z]\w*(?:\s*\.\s*\w+)*)(?P<operands>[^=]*)(?:==(?P<returned>[^=]*))?", re.ASCII
)


@dataclass(slots=True)
class Block:
    """One thread as far as it has been read."""

    name: str
    place: Place
    at: Span
    body: list[Statement] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)

    def finished(self) -> Thread:
        """The thread."""
        return Thread(self.name, self.place, tuple(self.body), self.types, at=self.at)


class Instance:
    """One instance of a file on its way to a program."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.memory = Memory(text, U32)
        self.threads: dict[str, Block] = {}
        self.commands: list[tuple[str, Tokens]] = []
        self.writers: dict[str, str] = {}

    def everything(self) -> None:
        """Declarations, threads and commands, one after the other."""
        text, end, position = self.text.text, len(self.text.text), 0
        while (position := self.text.first(position, end)) < end:
            for pattern, part in ((OBJECT, self.object), (VIEW, self.view), (THREAD, self.thread), (COMMAND, self.ask)):
                if found := pattern.match(text, position):
                    part(found)
                    position = found.end()
                    break
            else:
                line = text[position : position + 80].split("\n", 1)[0]
                hint = "write `.global x;`, `d0.b0.t0 { … }` or `assert (r0 == 1) as name;`"
                raise self.text.error("expected a declaration, a thread or a command", position, len(line), hint)

    def object(self, found: re.Match[str]) -> None:
        """`.global x;` and `.global y physically aliases x;`."""
        _, name, how, target = found.groups()
        if how is None:
            self.memory.add(name, found.start(2))
        elif how in ("physically", "virtually"):
            self.memory.view(name, found.start(2), target, Proxy.GENERIC)
        else:
            raise self.text.error(f"expected `physically`, found {quoted(how)}", found.start(3), len(how))

    def view(self, found: re.Match[str]) -> None:
        """`.texref t virtually aliases x;`."""
        kind, name, target = found.groups()
        if kind not in VIEWS:
            raise self.text.error(f"there is no {quoted('.' + kind)}", found.start(1), len(kind), near(kind, VIEWS))
        self.memory.view(name, found.start(2), target, VIEWS[kind])

    def thread(self, found: re.Match[str]) -> None:
        """`d0.b0.t0 { … }`, a second block of the same thread goes on where the first ended."""
        device, cta, number = (int(part) for part in found.groups()[:3])
        name = f"d{device}_b{cta}_t{number}"
        at = self.text.span(found.start(), found.end(3) - found.start())
        block = self.threads.setdefault(name, Block(name, Place(device=device, cluster=cta, cta=cta), at))
        *pieces, last = self.text.pieces(found.start(4), found.end(4), ";")
        if (start := self.text.first(*last)) < last[1]:
            raise self.text.error("this instruction does not end", start, hint="end each instruction with `;`")
        for first, end in pieces:
            start = self.text.first(first, end)
            if start < end:
                block.body += self.instruction(block, start, self.text.text[start:end].rstrip())

    def instruction(self, block: Block, at: int, source: str) -> Iterator[Statement]:
        """An instruction, and after it the value that it must return."""
        found = INSTRUCTION.fullmatch(source)
        if found is None:
            raise self.text.error("expected an instruction", at, len(source))
        opcode, operands = "".join(found["opcode"].split()), found["operands"].strip()
        words = tuple(word.strip() for word in operands.split(",")) if operands else ()
        written = Written(self.text, at, source, opcode, words, U32, {}, {}, brackets=True)
        head = opcode.split(".", 1)[0]
        if head not in INSTRUCTIONS:
            raise written.error(f"there is no instruction {quoted(head)}", head, near(head, INSTRUCTIONS))
        statement = INSTRUCTIONS[head](written)
        for name, offset in written.locations.items():
            self.memory.known(name, offset + self.text.text[offset : offset + len(source)].find(name))
        self.uses(block, written, statement)
        yield statement
        if found["returned"] is None:
            return
        value, dst = literal(found["returned"].strip(), U32.bits), getattr(statement, "dst", (None,))[0]
        if value is None or dst is None:
            message = (
                "only a load or an `atom` returns a value" if value is not None else "expected a number of 32 bits"
            )
            raise self.text.error(message, at + found.start("returned"), len(found["returned"]))
        yield Assume(cond=Binary("==", Reg(dst), Const(value), U32), at=written.at, text=written.line)

    def uses(self, block: Block, written: Written, statement: Statement) -> None:
        """Check that a register is read where the thread has written it, and written by one thread only."""
        operands: tuple[Expr, ...] = ()
        match statement:
            case Store(values=operands) | Atomic(operands=operands):
                pass
        for name in sorted(set().union(*map(registers, operands))):
            if self.writers.get(name) != block.name:
                raise written.error(f"no instruction of this thread before this one writes `{name}`", name)
        if isinstance(statement, Load | Atomic) and (dst := statement.dst[0]) is not None:
            if self.writers.setdefault(dst, block.name) != block.name:
                hint = "registers have one name in all threads"
                raise written.error(f"`{dst}` is a register of another thread", dst, hint)
            block.types[dst] = U32

    # --- commands ---

    def ask(self, found: re.Match[str]) -> None:
        """A command, to be read when all threads are known."""
        word = found.group(1)
        if word not in COMMANDS:
            hint = near(word, COMMANDS) or f"one of {', '.join(COMMANDS)}"
            raise self.text.error(f"there is no command {quoted(word)}", found.start(), len(word), hint)
        self.commands.append((word, Tokens(self.text, *found.span(2))))

    def command(self, word: str, tokens: Tokens) -> tuple[str, tuple[Condition, Span]]:
        """The name and the condition of `assert (r0 == 1) as name`."""
        at = self.text.span(tokens.offset)
        following = [token for token, _ in tokens.words]
        for place, token in enumerate(following):
            if token == "not" and following[place + 1 : place + 2] != ["("] and {*AND, *OR} & {*following[place:]}:
                raise self.text.error("how far does this `not` reach?", tokens.words[place][1], 3, "write `not (…)`")
        tokens.expect("(", f"after `{word}`")
        condition = Condition(COMMANDS[word][0], formula(tokens, self.value, U32))
        tokens.expect(")", "after the condition")
        tokens.expect("as", "and a name after the condition")
        name = tokens.take()
        if not name or tokens.word:
            raise tokens.error(f"expected a name and `;`, found {tokens.found}")
        return name, (condition, at)

    def value(self, tokens: Tokens) -> Expr:
        """A register or a number."""
        if not REGISTER.fullmatch(tokens.word):
            return tokens.number(U32.bits)
        if tokens.word not in self.writers:
            raise tokens.error(f"no instruction writes {tokens.found}", near(tokens.word, self.writers))
        register = tokens.take()
        return FinalReg(self.writers[register], register)
