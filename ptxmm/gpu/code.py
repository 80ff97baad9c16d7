"""Lines of PTX while a kernel is written: registers as they are needed, and expressions computed into them."""

from __future__ import annotations

from collections.abc import Callable

from ptxmm.arith import COMPARISONS, Type, wrap
from ptxmm.errors import Unsupported
from ptxmm.gpu.independent import known
from ptxmm.program import Binary, Const, Expr, Select, Unary

PREDICATE = 0
"""The width of a predicate."""

COMPARED = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
BITWISE = {"&": "and", "|": "or", "^": "xor"}
ARITHMETIC = {"+": "add", "-": "sub", "*": "mul.lo", "/": "div", "%": "rem", "min": "min", "max": "max"}
ROUNDED = {"+": "add.rn", "-": "sub.rn", "*": "mul.rn", "min": "min", "max": "max"}
CONNECTIVES = {"&&": "and", "||": "or"}

Operand = tuple[str, int]
Leaf = Callable[[Expr], Operand]


def width(type_: Type) -> int:
    """The width of the register that holds a type."""
    return PREDICATE if type_.kind == "pred" else max(16, type_.bits)


def immediate(value: int, bits: int) -> str:
    """A number as an operand of that width.

    >>> immediate(-1, 32), immediate(-1, 64)
    ('4294967295', '18446744073709551615U')
    """
    pattern = wrap(value, bits)
    return f"{pattern}U" if pattern >> 63 else str(pattern)


class Code:
    """A growing piece of PTX; `scope` is that in which the threads of the harness meet and count."""

    def __init__(self, scope: str = "gpu") -> None:
        self.scope = scope
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
        bits = _computed(type_)
        operand, made = self.value(arg, bits, leaf), self.fresh(bits)
        kind = str(type_) if type_.floating else f"s{bits}"
        if op == "popc":
            counted = self.fresh(32)
            self.add(f"popc.b{bits} {counted}, {operand}")
            return counted, 32
        words = {"-": f"neg.{kind}", "~": f"not.b{bits}", "abs": f"abs.{kind}"}
        if op not in words:
            raise Unsupported(f"the harness does not compute `{op}`")
        self.add(f"{words[op]} {made}, {operand}")
        return made, bits

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
        bits = _computed(type_)
        a = self._typed(left, type_, leaf)
        b = self.value(right, 32, leaf) if op in ("<<", ">>") else self._typed(right, type_, leaf)
        if known(op, left, right):
            b = self._hidden(b, 32 if op in ("<<", ">>") else bits)
        kind = str(type_) if type_.floating else f"{'s' if type_.signed else 'u'}{bits}"
        if op in COMPARISONS:
            made = self.fresh(PREDICATE)
            word = COMPARED[op] if not type_.floating or op != "!=" else "neu"
            self.add(f"setp.{word}.{kind} {made}, {a}, {b}")
            return made, PREDICATE
        made = self.fresh(bits)
        if op in BITWISE:
            word = f"{BITWISE[op]}.b{bits}"
        elif op == "<<":
            word = f"shl.b{bits}"
        elif op == ">>":
            word = f"shr.{kind}"
        else:
            word = f"{(ROUNDED if type_.floating else ARITHMETIC)[op]}.{kind}"
        self.add(f"{word} {made}, {a}, {b}")
        return made, bits

    def _hidden(self, operand: str, bits: int) -> str:
        """The same value, which the assembler does not know: else it would drop a dependency that the test is about."""
        zero, made = self.fitted("zero0", 64, bits), self.fresh(bits)
        self.add(f"or.b{bits} {made}, {zero}, {operand}")
        return made

    def _typed(self, expr: Expr, type_: Type, leaf: Leaf) -> str:
        """An operand of an operation: signed numbers are written with their sign."""
        bits = _computed(type_)
        if isinstance(expr, Const) and not type_.floating:
            pattern = wrap(expr.value, bits)
            return str(pattern - (1 << bits)) if type_.signed and pattern >> (bits - 1) else immediate(pattern, bits)
        return self.into_register(expr, bits, leaf) if type_.floating else self.value(expr, bits, leaf)

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
        self.add(f"setp.{COMPARED[op]}.u64 {made}, {both}, 0")
        return made, PREDICATE

    def _select(self, cond: Expr, then: Expr, other: Expr, bits: int, leaf: Leaf) -> Operand:
        chosen = self.value(cond, PREDICATE, leaf)
        bits = bits or 32
        made = self.fresh(bits)
        sides = (self.value(then, bits, leaf), self.value(other, bits, leaf))
        self.add(f"selp.b{bits} {made}, {sides[0]}, {sides[1]}, {chosen}")
        return made, bits


def _computed(type_: Type) -> int:
    """The width at which a type is computed."""
    if type_.bits < 16 or type_.lanes > 1:
        raise Unsupported(f"PTX does not compute at the type {type_}")
    return type_.bits
