"""Values as tables from constant to literal, and the evaluation of expressions over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from ptxmm import arith
from ptxmm.arith import Type, wrap
from ptxmm.errors import Undecided
from ptxmm.formula import Lit
from ptxmm.program import Addr, Binary, Const, Expr, FinalMem, FinalReg, Reg, Select, Unary

Table = dict[int, Lit]
WIDEST = 1024
MAYBE = 2


class Logic(Protocol):
    """What the evaluation needs of a formula store."""

    def conj(self, literals: Iterable[Lit]) -> Lit: ...
    def disj(self, literals: Iterable[Lit]) -> Lit: ...
    def both(self, left: Lit, right: Lit) -> Lit: ...


class Possible:
    """Three-valued logic: every literal is TRUE, FALSE or MAYBE. It computes which values and events are possible."""

    def conj(self, literals: Iterable[Lit]) -> Lit:
        result = 1
        for literal in literals:
            if literal == -1:
                return -1
            if literal != 1:
                result = MAYBE
        return result

    def disj(self, literals: Iterable[Lit]) -> Lit:
        result = -1
        for literal in literals:
            if literal == 1:
                return 1
            if literal != -1:
                result = MAYBE
        return result

    def both(self, left: Lit, right: Lit) -> Lit:
        return self.conj((left, right))


class TooWide(Undecided):
    """A value can be more different numbers than tables hold."""

    def __init__(self) -> None:
        super().__init__(f"a value may be more than {WIDEST} different numbers")


def gathered(logic: Logic, entries: Iterable[tuple[int, Lit]]) -> Table:
    """A table from (constant, literal) pairs, literals of equal constants joined, impossible ones dropped."""
    table: Table = {}
    for value, literal in entries:
        if literal == -1:
            continue
        table[value] = logic.disj((table[value], literal)) if value in table else literal
        if len(table) > WIDEST:
            raise TooWide
    return table


def mapped(logic: Logic, table: Table, function: Callable[[int], int]) -> Table:
    """The table of a function of a value."""
    if len(table) == 1:
        ((value, literal),) = table.items()
        return {function(value): literal}
    return gathered(logic, ((function(value), literal) for value, literal in table.items()))


def combined(logic: Logic, left: Table, right: Table, function: Callable[[int, int], int]) -> Table:
    """The table of a function of two values."""
    if len(left) == 1 and len(right) == 1:
        ((a, la),), ((b, lb),) = left.items(), right.items()
        return {function(a, b): logic.both(la, lb)}
    if len(left) * len(right) > WIDEST * 64:
        raise TooWide
    return gathered(logic, ((function(a, b), logic.both(la, lb)) for a, la in left.items() for b, lb in right.items()))


Lookup = Callable[[Expr], Table]


def evaluate(logic: Logic, expr: Expr, leaf: Lookup) -> Table:
    """The table of an expression; `leaf` gives that of a register, an address, or a final value."""
    match expr:
        case Const(value):
            return {value: 1}
        case Reg() | Addr() | FinalReg() | FinalMem():
            return leaf(expr)
        case Unary("!", arg, _):
            return booleans(truth(logic, expr, leaf))
        case Unary(op, arg, kind):
            return mapped(logic, evaluate(logic, arg, leaf), lambda v: arith.unary(op, wrap(v, kind.bits), kind))
        case Binary(op, left, right, kind) if op not in arith.LOGICAL:
            a, b = evaluate(logic, left, leaf), evaluate(logic, right, leaf)
            return combined(logic, a, b, lambda x, y: arith.binary(op, x, y, kind))
        case Binary():
            return booleans(truth(logic, expr, leaf))
        case Select(cond, then, other):
            chosen = truth(logic, cond, leaf)
            return choice(logic, chosen, evaluate(logic, then, leaf), evaluate(logic, other, leaf))


def choice(logic: Logic, chosen: Lit, then: Table, other: Table) -> Table:
    """The first table where `chosen` holds, else the second."""
    if chosen == 1:
        return then
    if chosen == -1:
        return other
    return gathered(
        logic,
        [
            *((v, logic.both(chosen, lit)) for v, lit in then.items()),
            *((v, logic.both(-chosen, lit)) for v, lit in other.items()),
        ],
    )


def booleans(literal: Lit) -> Table:
    """A truth as a table of 0 and 1."""
    if literal in (1, -1):
        return {int(literal == 1): 1}
    return {1: literal, 0: -literal}


def truth(logic: Logic, expr: Expr, leaf: Lookup) -> Lit:
    """The literal that says an expression is not zero; of a table, by whichever of its sides is shorter."""
    match expr:
        case Unary("!", arg, _):
            return -truth(logic, arg, leaf)
        case Binary("&&" | "||" as op, _, _, _):
            parts = [truth(logic, part, leaf) for part in _flat(expr, op)]
            return logic.conj(parts) if op == "&&" else logic.disj(parts)
    yes: list[Lit] = []
    no: list[Lit] = []
    if isinstance(expr, Binary) and expr.op in arith.COMPARISONS:
        left, right = evaluate(logic, expr.left, leaf), evaluate(logic, expr.right, leaf)
        if expr.op in ("==", "!=") and not expr.type.floating and expr.type.lanes == 1:
            same = _equal(left, right, expr.type)
            if 2 * len(same) <= len(left) * len(right):
                equal = logic.disj([logic.both(la, lb) for la, lb in same])
                return equal if expr.op == "==" else -equal
        if len(left) * len(right) > WIDEST * 64:
            raise TooWide
        for a, la in left.items():
            for b, lb in right.items():
                (yes if arith.binary(expr.op, a, b, expr.type) else no).append(logic.both(la, lb))
    else:
        for value, literal in evaluate(logic, expr, leaf).items():
            (yes if value else no).append(literal)
    return logic.disj(yes) if len(yes) <= len(no) else -logic.disj(no)


def _equal(left: Table, right: Table, kind: Type) -> list[tuple[Lit, Lit]]:
    """The pairs of literals of two tables whose integers are the same at a type."""
    at: dict[int, list[Lit]] = {}
    for value, literal in right.items():
        at.setdefault(wrap(value, kind.bits), []).append(literal)
    return [(la, lb) for value, la in left.items() for lb in at.get(wrap(value, kind.bits), ())]


def _flat(expr: Expr, op: str) -> list[Expr]:
    """The operands of a chain of one operator, without recursion in its length."""
    found: list[Expr] = []
    stack = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, Binary) and part.op == op:
            stack.extend((part.right, part.left))
        else:
            found.append(part)
    return found


def cut(logic: Logic, table: Table, kind: Type) -> Table:
    """A table cut to the width of a register."""
    mask = (1 << kind.bits) - 1
    if all(0 <= value <= mask for value in table):
        return table
    return mapped(logic, table, lambda v: v & mask)


def extended(logic: Logic, table: Table, loaded: Type, register: Type) -> Table:
    """A loaded value in a register that may be wider: sign or zero extended."""
    if register.bits <= loaded.bits or not loaded.signed:
        return cut(logic, table, register)
    return mapped(logic, table, lambda v: wrap(arith.signed(wrap(v, loaded.bits), loaded.bits), register.bits))
