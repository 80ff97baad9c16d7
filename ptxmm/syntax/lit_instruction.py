"""One instruction of a thread: from a step to its statement, with its guard and its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ptxmm import isa
from ptxmm.arith import PRED
from ptxmm.errors import InputError
from ptxmm.program import Assign, Conventions, Exit, Expr, Nop, Statement
from ptxmm.syntax import lit_arithmetic as arithmetic
from ptxmm.syntax import lit_mapa as mapa
from ptxmm.syntax.lit_check import Check
from ptxmm.syntax.lit_dialect import FOREIGN, decode_foreign
from ptxmm.syntax.lit_mapa import is_mapa
from ptxmm.syntax.lit_memory import Memory
from ptxmm.syntax.lit_operands import Operands
from ptxmm.syntax.lit_spellings import complaint
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node, Step
from ptxmm.syntax.lit_undecided import is_undecided, undecided
from ptxmm.syntax.lit_values import bits_of, settle
from ptxmm.syntax.lit_wait import retold

ENDS = ("exit", "ret")


@dataclass(frozen=True, slots=True)
class Instructions:
    """Reads the instructions of one thread, whose names and operands are `words`."""

    source: Source
    memory: Memory
    words: Operands
    conventions: Conventions

    def statement(self, step: Step, statement: Statement | None) -> Statement:
        """The statement of a step; it may have been decoded already, if nothing in it depends on types."""
        at = self.source.span(step.start, step.end)
        if step.text in ENDS:
            if step.exprs:
                raise self.source.error(f"`{step.text}` takes no operands", step.start, step.end)
            return Exit(guard=self.guard(step), at=at, text=self.text(step))
        if arithmetic.known(step.text):
            return self._arithmetic(step)
        if is_mapa(step.text):
            name = self.words.register(step.exprs[0].text, step.start, step.end)
            expr = mapa.address(self.words, step)
            return Assign(dst=name, value=expr, guard=self.guard(step), at=at, text=self.text(step))
        if statement is None:
            statement = self.decode(step)
        elif step.guard is not None:
            statement = replace(statement, guard=self.guard(step))
        Check(self.source, self.words).statement(step, statement)
        return statement

    def assign(self, step: Step) -> Statement:
        """The assignment of an expression to a register."""
        name = self.words.register(step.text, step.start, step.end)
        node = step.exprs[0]
        value, type_ = self.words.reader().value(node), self.words.registers.types[name]
        if type_ == PRED:
            expr = self.words.reader().truth(value)
        elif value.type not in (None, PRED) and value.type is not None and value.type.bits != type_.bits:
            message = f"width mismatch: `{name}` has {bits_of(type_)}, this has {bits_of(value.type)}"
            hint = f"write `cvt.u{type_.bits}.u{value.type.bits} {name}, …`"
            raise self.source.error(message, node.start, node.end, hint)
        else:
            expr = settle(self.source, value, type_, node)
        at = self.source.span(step.start, step.end)
        return Assign(dst=name, value=expr, guard=self.guard(step), at=at, text=self.text(step))

    def _arithmetic(self, step: Step) -> Statement:
        parts = arithmetic.shape(self.source, step)
        expr = arithmetic.compute(self.words.reader(), step, parts, self.words.named_address)
        node = arithmetic.destination(self.source, step)
        at = self.source.span(step.start, step.start + len(step.text))
        if node.text == "_":
            return Nop(guard=self.guard(step), at=at, text=self.text(step))
        name = self.words.register(node.text, node.start, node.end)
        return Assign(dst=name, value=expr, guard=self.guard(step), at=at, text=self.text(step))

    def decode(self, step: Step) -> Statement:
        """The statement that the table of instructions makes of a step."""
        at = self.source.span(step.start, step.start + len(step.of or step.text))
        word = step.text.partition(".")[0]
        foreign = self.conventions != Conventions() and word in FOREIGN
        strange = complaint(self.source, step.start, step.start + len(step.text)) if not step.of else None
        if strange is not None:
            raise strange
        guard = None if self.words.lenient else self.guard(step)
        if is_undecided(step.text):
            return undecided(self.words, step, at=at, guard=guard)
        try:
            read = self.words.operands(step.exprs, step.text)
        except InputError:
            isa.row_of(step.text, at)
            raise
        if foreign:
            return decode_foreign(step, read, self.conventions, at=at, guard=guard, text=self.text(step))
        try:
            return isa.decode(step.text, read, at=at, declared=self.memory.item, guard=guard, text=self.text(step))
        except InputError as wrong:
            raise retold(wrong, step, at, [item.at for item in read]) if step.of else wrong from None

    def guard(self, step: Step) -> Expr | None:
        """The predicate under which a step is done."""
        return self.truth(step.guard) if step.guard is not None else None

    def truth(self, node: Node) -> Expr:
        """An expression as a predicate."""
        reader = self.words.reader()
        return reader.truth(reader.value(node))

    def text(self, step: Step, other: str = "") -> str:
        """A step as the test has it, in one line."""
        if other and step.kind == "label":
            return other
        if step.of:
            return f"{step.text} {', '.join(self._operand_text(node) for node in step.exprs)}".strip()
        head = self.source.text[step.start : step.end]
        return re.sub(r"\s+", " ", head[:400]).strip()

    def _operand_text(self, node: Node) -> str:
        return node.text if node.kind == "name" else re.sub(r"\s+", " ", self.source.text[node.start : node.end])
