"""Lines of PTX while a kernel is written: registers as they are needed, and expressions computed into them."""

from __future__ import annotations

from collections.abc import Callable

from ptxmm.arith import COMPARISONS, U64, Type
from ptxmm.errors import Unsupported
from ptxmm.gpu.computing import (
    COUNTED,
    NARROWEST,
    SHIFTS,
    computed,
    immediate,
    mnemonic,
    needed,
    number,
    signed,
    unary_mnemonic,
)
from ptxmm.gpu.independent import known
from ptxmm.isa_form import LEAST, Requirement
from ptxmm.program import Binary, Const, Expr, Select, Unary

PREDICATE = 0
"""The width of a predicate."""

CONNECTIVES = {"&&": "and", "||": "or"}

Operand = tuple[str, int]
Leaf = Callable[[Expr], Operand]


def width(type_: Type) -> int:
    """The width of the register that holds a type."""
    return PREDICATE if type_.kind == "pred" else max(NARROWEST, type_.bits)


class Code:
    """A growing piece of PTX; `scope` is that in which the threads of the harness meet and count.

    `needs` is the PTX version and the target that its arithmetic needs.
    """

    def __init__(self, scope: str = "gpu") -> None:
        self.scope = scope
        self.needs: Requirement = LEAST
        self.lines: list[str] = []
        self.declared: dict[str, int] = {}
        self._fresh = 0

    def add(self, *lines: str) -> None:
        """Write instructions, without their semicolons, or labels, which end in a colon."""
        self.lines += [line if line.endswith(":") else f"    {line};" for line in lines]

    def register(self, name: str, bits: int) -> str:
        """Declare a register of that width."""
        self.declared[name] = bits
        return name

    def fresh(self, bits: int) -> str:
        """A register that nothing else uses."""
        self._fresh += 1
        return self.register(f"v{self._fresh}", bits)

    def label(self, stem: str) -> str:
        """A label that nothing else uses."""
        self._fresh += 1
        return f"{stem}_{self._fresh}"

    def declarations(self) -> list[str]:
        """The declarations of all registers."""
        by_width: dict[int, list[str]] = {}
        for name, bits in self.declared.items():
            by_width.setdefault(bits, []).append(name)
        return [
            f"    .reg .{'pred' if bits == PREDICATE else f'b{bits}'} {', '.join(names)};"
            for bits, names in sorted(by_width.items())
        ]

    # --- expressions -------------------------------------------------------------------------------------------------

    def value(self, expr: Expr, bits: int, leaf: Leaf) -> str:
        """An operand of that width with the value of an expression; `leaf` knows registers and addresses."""
        if isinstance(expr, Const) and bits not in (PREDICATE, 128):
            return immediate(expr.value, bits)
        operand, own = self.operand(expr, bits, leaf)
        return self.fitted(operand, own, bits)

    def into_register(self, expr: Expr, bits: int, leaf: Leaf) -> str:
        """The same, always in a register."""
        operand = self.value(expr, bits, leaf)
        if operand in self.declared:
            return operand
        made = self.fresh(bits)
        self.add(f"mov.b{bits} {made}, {operand}")
        return made

    def operand(self, expr: Expr, bits: int, leaf: Leaf) -> Operand:
        """An operand with the value of an expression, and its width; `bits` is that of a bare number."""
        match expr:
            case Const(value) if bits == PREDICATE:
                made = self.fresh(PREDICATE)
                self.add(f"setp.ne.u32 {made}, {int(value != 0)}, 0")
                return made, PREDICATE
            case Const(value) if bits == 128:
                low, high, made = self.fresh(64), self.fresh(64), self.fresh(128)
                self.add(f"mov.b64 {low}, {immediate(value, 64)}", f"mov.b64 {high}, {immediate(value >> 64, 64)}")
                self.add(f"mov.b128 {made}, {{{low}, {high}}}")
                return made, 128
            case Const(value):
                return immediate(value, bits), bits
            case Unary(op, arg, type_):
                return self._unary(op, arg, type_, leaf)
            case Binary(op, left, right, type_):
                return self._binary(op, left, right, type_, leaf)
            case Select(cond, then, other):
                return self._select(cond, then, other, bits, leaf)
        return leaf(expr)

    def fitted(self, operand: str, own: int, bits: int) -> str:
        """An operand at another width: cut, or extended with zeros."""
        if own == bits:
            return operand
        made = self.fresh(bits)
        if bits == PREDICATE:
            self.add(f"setp.ne.u{own} {made}, {operand}, 0")
        elif own == PREDICATE:
            self.add(f"selp.b{bits} {made}, 1, 0, {operand}")
        elif bits == 128:
            wide = self.fitted(operand, own, 64)
            self.add(f"mov.b128 {made}, {{{wide}, 0}}")
        elif own == 128:
            return self.fitted(self.halves(operand)[0], 64, bits)
        else:
            self.add(f"cvt.u{bits}.u{own} {made}, {operand}")
        return made

    def halves(self, operand: str) -> tuple[str, str]:
        """The low and the high 64 bits of 128."""
        low, high = self.fresh(64), self.fresh(64)
        self.add(f"mov.b128 {{{low}, {high}}}, {operand}")
        return low, high

    def _unary(self, op: str, arg: Expr, type_: Type, leaf: Leaf) -> Operand:
        if op == "!":
            made = self.fresh(PREDICATE)
            self.add(f"not.pred {made}, {self.value(arg, PREDICATE, leaf)}")
            return made, PREDICATE
        counts = op == "popc"
        bits = max(COUNTED if counts else NARROWEST, computed(type_))
        if not counts:
            operand = self._typed(arg, signed(type_) if op == "abs" else type_, leaf)
        elif isinstance(arg, Const):
            operand = immediate(arg.value, type_.bits)
        else:
            operand = self.value(arg, bits, leaf)
        made = self.fresh(bits)
        if counts:
            counted = self.fresh(32)
            self.add(f"popc.b{bits} {counted}, {operand}")
            return counted, 32
        self.need(*needed(op, type_))
        self.add(f"{unary_mnemonic(op, type_)} {made}, {operand}")
        return self._cut(made, type_), bits

    def _binary(self, op: str, left: Expr, right: Expr, type_: Type, leaf: Leaf) -> Operand:
        if op in CONNECTIVES:
            made = self.fresh(PREDICATE)
            sides = (self.value(left, PREDICATE, leaf), self.value(right, PREDICATE, leaf))
            self.add(f"{CONNECTIVES[op]}.pred {made}, {sides[0]}, {sides[1]}")
            return made, PREDICATE
        if type_.kind == "pred":
            return self._truths(op, left, right, leaf)
        if type_.bits == 128:
            return self._long(op, left, right, leaf)
        bits = computed(type_)
        a = self._typed(left, type_, leaf)
        b = self.value(right, 32, leaf) if op in SHIFTS else self._typed(right, type_, leaf)
        if known(op, left, right):
            b = self._hidden(b, 32 if op in SHIFTS else bits)
        compares = op in COMPARISONS
        made = self.fresh(PREDICATE if compares else bits)
        self.need(*needed(op, type_))
        self.add(f"{mnemonic(op, type_)} {made}, {a}, {b}")
        return (made, PREDICATE) if compares else (self._cut(made, type_), bits)

    def need(self, version: tuple[int, int], target: int) -> None:
        """What is written needs at least this version of PTX and this target."""
        self.needs = max(self.needs[0], version), max(self.needs[1], target)

    def _extended(self, operand: str, type_: Type) -> str:
        """A value of fewer bits than a register with its sign, where it has one; registers hold zeros above it."""
        if type_.bits >= NARROWEST or not type_.signed:
            return operand
        made = self.fresh(NARROWEST)
        self.add(f"cvt.s{NARROWEST}.{type_} {made}, {operand}")
        return made

    def _cut(self, operand: str, type_: Type) -> str:
        """A result with zeros above the bits of its type."""
        if type_.bits >= NARROWEST:
            return operand
        made = self.fresh(NARROWEST)
        self.add(f"and.b{NARROWEST} {made}, {operand}, {(1 << type_.bits) - 1}")
        return made

    def _hidden(self, operand: str, bits: int) -> str:
        """The same value, which the assembler does not know: else it would drop a dependency that the test is about."""
        zero, made = self.fitted("zero0", 64, bits), self.fresh(bits)
        self.add(f"or.b{bits} {made}, {zero}, {operand}")
        return made

    def _typed(self, expr: Expr, type_: Type, leaf: Leaf) -> str:
        """An operand of an operation: signed numbers are written with their sign."""
        bits = computed(type_)
        if isinstance(expr, Const) and not type_.floating:
            return number(expr.value, type_)
        if type_.floating:
            return self.into_register(expr, bits, leaf)
        return self._extended(self.value(expr, bits, leaf), type_)

    def _truths(self, op: str, left: Expr, right: Expr, leaf: Leaf) -> Operand:
        """Equality of predicates."""
        if op not in ("==", "!="):
            raise Unsupported(f"PTX has no `{op}` of predicates")
        made = self.fresh(PREDICATE)
        sides = (self.value(left, PREDICATE, leaf), self.value(right, PREDICATE, leaf))
        self.add(f"xor.pred {made}, {sides[0]}, {sides[1]}", *([f"not.pred {made}, {made}"] if op == "==" else []))
        return made, PREDICATE

    def _long(self, op: str, left: Expr, right: Expr, leaf: Leaf) -> Operand:
        """Equality of 128 bits, which PTX compares in halves."""
        if op not in ("==", "!="):
            raise Unsupported(f"PTX has no `{op}` of 128 bits")
        (a, b), (c, d) = (self.halves(self.value(side, 128, leaf)) for side in (left, right))
        low, high, both, made = self.fresh(64), self.fresh(64), self.fresh(64), self.fresh(PREDICATE)
        self.add(f"xor.b64 {low}, {a}, {c}", f"xor.b64 {high}, {b}, {d}", f"or.b64 {both}, {low}, {high}")
        self.add(f"{mnemonic(op, U64)} {made}, {both}, 0")
        return made, PREDICATE

    def _select(self, cond: Expr, then: Expr, other: Expr, bits: int, leaf: Leaf) -> Operand:
        chosen = self.value(cond, PREDICATE, leaf)
        bits = bits or 32
        made = self.fresh(bits)
        sides = (self.value(then, bits, leaf), self.value(other, bits, leaf))
        if bits == 128:
            (a, b), (c, d) = map(self.halves, sides)
            low, high = self._chosen(a, c, chosen), self._chosen(b, d, chosen)
            self.add(f"mov.b128 {made}, {{{low}, {high}}}")
        else:
            self.add(f"selp.b{bits} {made}, {sides[0]}, {sides[1]}, {chosen}")
        return made, bits

    def _chosen(self, then: str, other: str, chosen: str) -> str:
        """One of two words of 64 bits."""
        made = self.fresh(64)
        self.add(f"selp.b64 {made}, {then}, {other}, {chosen}")
        return made
