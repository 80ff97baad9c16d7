"""The code of one thread: from steps to the statements of `ptxmm.program`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ptxmm import isa
from ptxmm.arith import PRED, U32, U64, Type
from ptxmm.errors import InputError, near
from ptxmm.isa import Operand
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    Atomic,
    Binary,
    Branch,
    Const,
    Conventions,
    Exit,
    Expr,
    Label,
    Nop,
    Place,
    Reg,
    Statement,
    Store,
    Thread,
    Unary,
    registers,
)
from ptxmm.syntax import lit_arithmetic as arithmetic
from ptxmm.syntax.lit_dialect import FOREIGN, decode_foreign
from ptxmm.syntax.lit_lower import Draft, Lowering
from ptxmm.syntax.lit_memory import Memory, address, unknown
from ptxmm.syntax.lit_registers import declare
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item, Node, Step
from ptxmm.syntax.lit_types import Assigned, Registers, Write, infer
from ptxmm.syntax.lit_values import TYPES, Reader, Value, bits_of, extended, settle

ENDS = ("exit", "ret")
WAITS = ("wait_until", "await")
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
    decoded: dict[int, Statement] = field(default_factory=dict)
    lenient: bool = True

    def __post_init__(self) -> None:
        self.registers = Registers(self.source)

    def thread(self, steps: tuple[Step | Item, ...], after: str | None, start: int, end: int) -> Thread:
        """The thread with all its statements."""
        declare(self.registers, self.memory, [s for s in steps if isinstance(s, Item)])
        drafts = Lowering(self.source).run(tuple(s for s in steps if isinstance(s, Step)))
        assigned = self._first(drafts)
        self.registers.decide()
        infer(self.registers, assigned, self._reader().value)
        self.lenient = False
        built: dict[tuple[int, str, str], Statement] = {}
        body = []
        for draft in drafts:
            key = (id(draft.step), draft.kind, draft.text)
            if key not in built:
                built[key] = self._statement(draft)
            body.append(built[key])
        init = {name: value for name, value in self.registers.init.items() if value != Const(0)}
        at = self.source.span(start, end)
        return Thread(self.name, self.place, tuple(body), self.registers.types, dict(init), after, at)

    # --- first: what is written ---------------------------------------------------------------------------------------

    def _first(self, drafts: list[Draft]) -> list[Assigned]:
        assigned, seen = [], set()
        for draft in drafts:
            step = draft.step
            if draft.kind not in ("instruction", "assign", "await") or id(step) in seen:
                continue
            seen.add(id(step))
            if draft.kind == "assign":
                name = self._register(step.text, step.start, step.end)
                reads = registers(self._reader().value(step.exprs[0]).expr)
                assigned.append(Assigned(name, step, reads))
                self.registers.readable.add(name)
            elif step.text not in ENDS:
                self._writes(step)
        return assigned

    def _writes(self, step: Step) -> None:
        if arithmetic.known(step.text):
            parts = arithmetic.shape(self.source, step)
            node = arithmetic.destination(self.source, step)
            if node.text != "_":
                name = self._register(node.text, node.start, node.end)
                self.registers.write(Write(name, parts.result, False, node.start, node.end))
            return
        statement = self._decode(step)
        if not any(_computed(node) for node in step.exprs):
            self.decoded[id(step)] = statement
        first = step.exprs[0] if step.exprs else None
        at = (first.start, first.end) if first else (step.start, step.end)
        for name, type_ in isa.writes(statement):
            self.registers.write(Write(name, type_, True, *at))

    def _register(self, text: str, start: int, end: int) -> str:
        name = text.removeprefix("%")
        if not name or "." in name or "::" in name or "@" in name:
            raise self.source.error(f"`{text}` cannot be a register here", start, end)
        if self.memory.seen(name, self.place) is not None:
            hint = f"store to it: `st.weak.u32 [{name}], 1;`, or name the register differently"
            raise self.source.error(f"`{name}` is memory, not a register", start, end, hint)
        return name

    # --- then: statements ---------------------------------------------------------------------------------------------

    def _statement(self, draft: Draft) -> Statement:
        step = draft.step
        at = self.source.span(step.start, step.end)
        match draft.kind:
            case "label":
                return Label(name=draft.text, at=at, text=self._text(step, f"{draft.text}:"))
            case "branch":
                return Branch(target=draft.text, guard=self._branch_guard(draft), at=at, text=self._text(step))
            case "assume":
                cond = self._truth(step.exprs[0])
                return Assume(cond=cond, guard=self._guard(step), at=at, text=self._text(step))
            case "assign":
                return self._assign(step)
        if step.text in ENDS:
            if step.exprs:
                raise self.source.error(f"`{step.text}` takes no operands", step.start, step.end)
            return Exit(guard=self._guard(step), at=at, text=self._text(step))
        if arithmetic.known(step.text):
            return self._arithmetic(step)
        statement = self.decoded.get(id(step))
        if statement is None:
            statement = self._decode(step)
        elif step.guard is not None:
            statement = replace(statement, guard=self._guard(step))
        self._check(step, statement)
        return statement

    def _assign(self, step: Step) -> Statement:
        name = self._register(step.text, step.start, step.end)
        node = step.exprs[0]
        value, type_ = self._reader().value(node), self.registers.types[name]
        if type_ == PRED:
            expr = self._reader().truth(value)
        elif value.type not in (None, PRED) and value.type is not None and value.type.bits != type_.bits:
            message = f"width mismatch: `{name}` has {bits_of(type_)}, this has {bits_of(value.type)}"
            hint = f"write `cvt.u{type_.bits}.u{value.type.bits} {name}, …`"
            raise self.source.error(message, node.start, node.end, hint)
        else:
            expr = settle(self.source, value, type_, node)
        at = self.source.span(step.start, step.end)
        return Assign(dst=name, value=expr, guard=self._guard(step), at=at, text=self._text(step))

    def _arithmetic(self, step: Step) -> Statement:
        parts = arithmetic.shape(self.source, step)
        expr = arithmetic.compute(self._reader(), step, parts, self._named_address)
        node = arithmetic.destination(self.source, step)
        at = self.source.span(step.start, step.start + len(step.text))
        if node.text == "_":
            return Nop(guard=self._guard(step), at=at, text=self._text(step))
        name = self._register(node.text, node.start, node.end)
        return Assign(dst=name, value=expr, guard=self._guard(step), at=at, text=self._text(step))

    def _branch_guard(self, draft: Draft) -> Expr | None:
        if draft.cond is None:
            return self._guard(draft.step) if draft.step.kind == "instruction" else None
        truth = self._truth(draft.cond)
        return negation(truth) if draft.negated else truth

    def _guard(self, step: Step) -> Expr | None:
        return self._truth(step.guard) if step.guard is not None else None

    def _truth(self, node: Node) -> Expr:
        reader = self._reader()
        return reader.truth(reader.value(node))

    def _text(self, step: Step, other: str = "") -> str:
        if other and step.kind == "label":
            return other
        head = self.source.text[step.start : step.end]
        return re.sub(r"\s+", " ", head[:400]).strip()

    # --- instructions of the table ------------------------------------------------------------------------------------

    def _decode(self, step: Step) -> Statement:
        at = self.source.span(step.start, step.start + len(step.text))
        word = step.text.partition(".")[0]
        if word in WAITS:
            raise InputError(f"ptxmm does not support `{word}` yet", at, "write the loop: `do { … } while (…);`")
        foreign = self.conventions != Conventions() and word in FOREIGN
        try:
            read = tuple(self._operand(node, step.text) for node in step.exprs)
        except InputError:
            isa.row_of(step.text, at)
            raise
        guard = None if self.lenient else self._guard(step)
        if foreign:
            return decode_foreign(step, read, self.conventions, at=at, guard=guard, text=self._text(step))
        return isa.decode(step.text, read, at=at, declared=self.memory.item, guard=guard, text=self._text(step))

    def _operand(self, node: Node, mnemonic: str) -> Operand:
        at = self.source.span(node.start, node.end)
        match node.kind:
            case "name" if node.text == "_":
                return Operand("sink", None, (), at)
            case "vector":
                return Operand("vector", None, tuple(self._operand(item, mnemonic) for item in node.args), at)
            case "memory":
                return Operand("mem", self._address(node), (), at)
            case "name" if self.memory.seen(node.text, self.place) is None:
                if self.lenient:
                    if node.text in self.memory.families or "@" in node.text:
                        raise unknown(self.memory, node, self.place)
                    return Operand("reg", Reg(self._register(node.text, node.start, node.end)), (), at)
                return Operand("reg", Reg(node.text.removeprefix("%")), (), at)
            case "name" | "index":
                return Operand("expr", self._reach(node), (), at)
        value = self._reader().value(node)
        return Operand("expr", self._number(value, node, mnemonic), (), at)

    def _number(self, value: Value, node: Node, mnemonic: str) -> Expr:
        """A number takes the floating type that the mnemonic names."""
        if value.type is not None:
            return value.expr
        type_ = next((t for w in reversed(mnemonic.split(".")) if (t := TYPES.get(w)) is not None), None)
        if value.fraction is not None or (type_ is not None and type_.floating):
            return settle(self.source, value, type_ or U32, node)
        return value.expr

    def _address(self, node: Node) -> Expr:
        if node.text:
            message = "the type of an access stands in the instruction"
            raise self.source.error(message, node.start, node.start + len(node.text))
        if len(node.args) != 1:
            raise self.source.error("an address is one expression", node.start, node.end)
        inner = node.args[0]
        reader = replace(self._reader(), address=True)
        if inner.kind == "name" and not self._is_register(inner.text):
            return self._reach(inner)
        value = reader.value(inner)
        if value.type is not None and value.type.bits != U64.bits and not self.lenient:
            message = f"width mismatch: an address has 64 bits, this has {bits_of(value.type)}"
            hint = "" if value.type == PRED else f"load it as `.u64`, or widen it with `cvt.u64.u{value.type.bits}`"
            raise self.source.error(message, inner.start, inner.end, hint)
        return settle(self.source, value, U64, inner)

    def _is_register(self, text: str) -> bool:
        name = text.removeprefix("%")
        return name in self.registers.writes or name in self.registers.types or name in self.registers.declared

    def _check(self, step: Step, statement: Statement) -> None:
        """What the table cannot check: registers are written somewhere, and wide enough."""
        match statement:
            case Store(type=type_, values=values):
                self._sources(step, values, type_, wider=True)
            case Atomic(type=type_, operands=operands):
                self._sources(step, operands, type_, wider=False)
        for node in step.exprs:
            self._known(node)

    def _known(self, node: Node) -> None:
        for item in node.args or (node,):
            if item.kind == "name" and item.text != "_":
                name = item.text.removeprefix("%")
                if name not in self.registers.readable and self.memory.seen(item.text, self.place) is None:
                    raise self._never(item)

    def _sources(self, step: Step, values: tuple[Expr, ...], type_: Type, *, wider: bool) -> None:
        for value in values:
            if not isinstance(value, Reg) or value.name not in self.registers.types:
                continue
            found = self.registers.types[value.name]
            if found.bits == type_.bits or (wider and found.bits > type_.bits):
                continue
            named = (n for e in step.exprs for n in (e, *e.args) if n.text.removeprefix("%") == value.name)
            node = next(named, step.exprs[-1])
            message = f"width mismatch: `{step.text}` needs {bits_of(type_)}, `{value.name}` has {bits_of(found)}"
            hint = (
                f"convert it first: `cvt.u{type_.bits}.u{found.bits}`" if found != PRED else "make a number with `selp`"
            )
            raise self.source.error(message, node.start, node.end, hint)

    # --- names --------------------------------------------------------------------------------------------------------

    def _reader(self) -> Reader:
        return Reader(self.source, self._leaf, lenient=self.lenient)

    def _leaf(self, reader: Reader, node: Node) -> Value:
        match node.kind:
            case "unary":
                inner = node.args[0]
                inner = inner.args[0] if inner.kind == "memory" and len(inner.args) == 1 else inner
                if inner.kind not in ("name", "index"):
                    raise self.source.error("`&` takes the address of declared memory", node.start, node.end)
                return self._element(reader, inner)
            case "memory":
                raise self.source.error(
                    "memory cannot stand here", node.start, node.end, "load it into a register first"
                )
            case "final":
                hint = "a thread sees its own registers; put spaces around `:` in `a ? b : c`"
                raise self.source.error(f"`{node.text}` cannot stand in code", node.start, node.end, hint)
            case "index" if reader.address:
                return self._element(reader, node)
        name = node.text.removeprefix("%")
        if node.kind == "name" and name in (self.registers.types if self.lenient else self.registers.readable):
            return Value(Reg(name), self.registers.types[name])
        if node.kind == "name" and self.lenient and self.memory.seen(node.text, self.place) is None:
            return Value(Reg(name), None)
        if reader.address and node.kind == "name":
            return Value(self._reach(node), U64)
        if self.memory.seen(node.text, self.place) is not None:
            hint = f"load it first: `ld.weak.u32 r0, [{node.text}];`, or write `&{node.text}` for its address"
            raise self.source.error(f"`{node.text}` is memory, not a register", node.start, node.end, hint)
        raise self._never(node)

    def _never(self, node: Node) -> InputError:
        name = node.text.removeprefix("%")
        if "@" in node.text or node.text in self.memory.families:
            return unknown(self.memory, node, self.place)
        if "." in name:
            return self.source.error(f"`{node.text}` is no register that ptxmm knows", node.start, node.end)
        known = [*self.registers.types, *self.memory.names()]
        hint = near(name, known) or "write it first, as in `ld.weak.u32 r0, [x];`, or `.reg .u32 r0 = 0;`"
        return self.source.error(f"nothing writes register `{name}` in thread {self.name}", node.start, node.end, hint)

    def _named_address(self, node: Node) -> Value | None:
        """The address that a bare name denotes to `mov`."""
        head = node.args[0] if node.kind == "binary" else node
        if head.kind == "name" and not self._is_register(head.text) and self.memory.seen(head.text, self.place):
            return replace(self._reader(), address=True).value(node)
        return None

    def _reach(self, node: Node) -> Addr:
        """The address of a name or element, which this thread must be able to reach."""
        if node.kind == "name" and self.memory.seen(node.text, self.place) is None:
            if "@" not in node.text and node.text not in self.memory.families and self._looks_like_register(node.text):
                raise self._never(node)
            raise unknown(self.memory, node, self.place)
        found = address(self.memory, self._reader(), node, self.place)
        stranger = self.memory.stranger(found.name, self.place)
        if stranger:
            hint = "only threads of the same cluster reach shared memory"
            raise self.source.error(stranger, node.start, node.end, hint)
        return found

    def _looks_like_register(self, text: str) -> bool:
        return text[0] == "%" or re.fullmatch(r"(r|rd|p|f|fd|rs)\d+", text) is not None

    def _element(self, reader: Reader, node: Node) -> Value:
        """The address of `x`, `a[1]` or `a[r0]`."""
        base = self._reach(node._replace(kind="name", args=()))
        if node.kind == "name":
            return Value(base, U64)
        size = self.memory.object(base.name).type.size
        inner = replace(self._reader(), address=True)
        index = inner.value(node.args[0])
        at = node._replace(kind="binary", text="*", args=(node.args[0], Node("number", str(size), (), 0, 0)))
        wide = Value(settle(self.source, index, U64, node.args[0]), index.type)
        if index.type is None and not registers(index.expr):
            scaled = inner.binary(at, index, inner.value(at.args[1]))
        else:
            scaled = Value(_scaled(inner, at, wide, size), U64)
        whole = node._replace(kind="binary", text="+", args=(node, node))
        return inner.binary(whole, Value(base, U64), scaled)


def _scaled(reader: Reader, node: Node, index: Value, size: int) -> Expr:
    expr = extended(index.expr, index.type, U64) if index.type is not None else index.expr
    return Binary("*", expr, Const(size), U64) if size > 1 else expr


def negation(truth: Expr) -> Expr:
    """The opposite of a predicate.

    >>> from ptxmm.program import Binary, Const
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
