"""The code of one thread: from steps to the statements of `ptxmm.program`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ptxmm import isa
from ptxmm.arith import PRED
from ptxmm.program import (
    Assume,
    Asynchronous,
    AsyncStore,
    Atomic,
    Binary,
    Branch,
    Const,
    Conventions,
    Expr,
    Foreign,
    Label,
    Load,
    Place,
    Statement,
    Store,
    Thread,
    Unary,
    registers,
)
from ptxmm.syntax import lit_arithmetic as arithmetic
from ptxmm.syntax import lit_mapa as mapa
from ptxmm.syntax.lit_check import written
from ptxmm.syntax.lit_instruction import ENDS, Instructions
from ptxmm.syntax.lit_lower import Draft, Lowering
from ptxmm.syntax.lit_mapa import is_mapa
from ptxmm.syntax.lit_memory import Memory
from ptxmm.syntax.lit_operands import Operands
from ptxmm.syntax.lit_registers import declare
from ptxmm.syntax.lit_scopes import with_own_registers
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item, Node, Step
from ptxmm.syntax.lit_types import Assigned, Registers, Write, infer
from ptxmm.syntax.lit_undecided import results

NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}


@dataclass(slots=True)
class Code:
    """Reads the code of one thread: first what each instruction writes, then every value with the types known."""

    source: Source
    memory: Memory
    name: str
    place: Place
    conventions: Conventions
    registers: Registers = field(init=False)
    words: Operands = field(init=False)
    instructions: Instructions = field(init=False)
    decoded: dict[int, Statement] = field(default_factory=dict)
    perhaps: list[tuple[Foreign, Step]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.registers = Registers(self.source)
        self.words = Operands(self.source, self.memory, self.name, self.place, self.registers)
        self.instructions = Instructions(self.source, self.memory, self.words, self.conventions)

    def thread(self, steps: tuple[Step | Item, ...], after: str | None, start: int, end: int) -> Thread:
        """The thread with all its statements."""
        steps = with_own_registers(steps)
        declare(self.registers, self.memory, [s for s in steps if isinstance(s, Item)])
        lowering = Lowering(self.source)
        drafts = lowering.run(tuple(s for s in steps if isinstance(s, Step)))
        assigned = self._first(drafts)
        self.registers.decide()
        infer(self.registers, assigned, self.words.reader().value)
        self.words.lenient = False
        built: dict[tuple[int, str, str], Statement] = {}
        body = []
        for draft in drafts:
            key = (id(draft.step), draft.kind, draft.text)
            if key not in built:
                built[key] = self._statement(draft)
            body.append(built[key])
        init = {name: value for name, value in self.registers.init.items() if value != Const(0)}
        at = self.source.span(start, end)
        hidden = frozenset(lowering.hidden)
        return Thread(self.name, self.place, tuple(body), self.registers.types, dict(init), after, at, hidden)

    # --- first: what is written ---------------------------------------------------------------------------------------

    def _first(self, drafts: list[Draft]) -> list[Assigned]:
        assigned, seen = [], set()
        self.registers.perhaps = {name for draft in drafts for name in _first_names(draft.step)}
        for draft in drafts:
            step = draft.step
            if draft.kind not in ("instruction", "assign", "await") or id(step) in seen:
                continue
            seen.add(id(step))
            if draft.kind == "assign":
                name = self.words.register(step.text, step.start, step.end)
                reads = registers(self.words.reader().value(step.exprs[0]).expr)
                assigned.append(Assigned(name, step, reads))
                self.registers.readable.add(name)
            elif step.text not in ENDS:
                self._writes(step)
        for statement, step in self.perhaps:
            for write in results(statement, step):
                if write.register not in self.registers.writes:
                    self.registers.write(write)
        return assigned

    def _writes(self, step: Step) -> None:
        if arithmetic.known(step.text):
            parts = arithmetic.shape(self.source, step)
            node = arithmetic.destination(self.source, step)
            if node.text != "_":
                name = self.words.register(node.text, node.start, node.end)
                self.registers.write(Write(name, parts.result, False, node.start, node.end))
            self._uses(arithmetic.needed(step, parts))
            return
        if is_mapa(step.text):
            node = mapa.destination(self.words, step)
            name = self.words.register(node.text, node.start, node.end)
            self.registers.write(Write(name, mapa.width(step), False, node.start, node.end))
            return
        statement = self.instructions.decode(step)
        if not any(_computed(node) for node in step.exprs) and not isinstance(statement, Asynchronous):
            self.decoded[id(step)] = statement
        if isinstance(statement, Foreign):
            self.perhaps.append((statement, step))
        first = step.exprs[0] if step.exprs else None
        at = (first.start, first.end) if first else (step.start, step.end)
        for name, type_ in isa.writes(statement):
            self.registers.write(Write(name, type_, True, *at, isinstance(statement, Load)))
        if isinstance(statement, Store | Atomic | AsyncStore):
            self._uses((node, statement.type.bits) for node in written(step))

    def _uses(self, nodes: Iterable[tuple[Node, int]]) -> None:
        for node, bits in nodes:
            if node.kind == "name":
                self.registers.use(node.text.removeprefix("%"), bits)

    # --- then: statements ---------------------------------------------------------------------------------------------

    def _statement(self, draft: Draft) -> Statement:
        step = draft.step
        at = self.source.span(step.start, step.end)
        match draft.kind:
            case "label":
                return Label(name=draft.text, at=at, text=self.instructions.text(step, f"{draft.text}:"))
            case "branch":
                return Branch(
                    target=draft.text, guard=self._branch_guard(draft), at=at, text=self.instructions.text(step)
                )
            case "assume":
                cond = self.instructions.truth(step.exprs[0])
                return Assume(cond=cond, guard=self.instructions.guard(step), at=at, text=self.instructions.text(step))
            case "assign":
                return self.instructions.assign(step)
        return self.instructions.statement(step, self.decoded.get(id(step)))

    def _branch_guard(self, draft: Draft) -> Expr | None:
        if draft.cond is None:
            return self.instructions.guard(draft.step) if draft.step.kind == "instruction" else None
        truth = self.instructions.truth(draft.cond)
        return negation(truth) if draft.negated else truth


def _first_names(step: Step) -> Iterator[str]:
    """The names that an instruction may write to."""
    if step.kind == "assign":
        yield step.text.removeprefix("%")
    elif step.exprs:
        for node in (step.exprs[0], *step.exprs[0].args):
            yield node.text.removeprefix("%")


def negation(truth: Expr) -> Expr:
    """The opposite of a predicate.

    >>> from ptxmm.program import Binary, Const, Reg
    >>> negation(Binary("==", Reg("r0"), Const(1))).op
    '!='
    """
    match truth:
        case Binary(op, left, right, type_) if op in NEGATED and not type_.floating and type_.lanes == 1:
            return Binary(NEGATED[op], left, right, type_)
        case Unary("!", arg, type_) if type_ == PRED:
            return arg
    return Unary("!", truth, PRED)


def _computed(node: Node) -> bool:
    """Whether the types of registers matter to what an operand means."""
    return node.kind in ("unary", "binary", "select", "call", "index") or any(_computed(arg) for arg in node.args)
