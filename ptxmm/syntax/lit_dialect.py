"""Instructions of Dartagnan's dialect that PTX does not have, for tests that are converted from it."""

from __future__ import annotations

from ptxmm.arith import ATOMICS, Type
from ptxmm.errors import InputError, Span, near
from ptxmm.isa import Operand
from ptxmm.program import (
    Atomic,
    Bar,
    Barrier,
    Const,
    Conventions,
    Expr,
    Load,
    Order,
    Proxy,
    Reg,
    Scope,
    Statement,
    Store,
)
from ptxmm.syntax.lit_tree import Step
from ptxmm.syntax.lit_values import TYPES

LOADS = {"tld": Proxy.TEXTURE, "suld": Proxy.SURFACE, "ldc": Proxy.CONSTANT}
STORES = {"sust": Proxy.SURFACE}
FOREIGN = ("atom", "red", "bar", "barrier", *LOADS, *STORES)
ORDERS = {order.value: order for order in Order}
SCOPES = {scope.value: scope for scope in Scope}
UNNAMED = Const(-1)
SPACES = ("global", "shared", "shared::cta", "shared::cluster")


def decode_foreign(
    step: Step, operands: tuple[Operand, ...], conventions: Conventions, *, at: Span, guard: Expr | None, text: str
) -> Statement:
    """An atomic of any type and order, a barrier that names its instance, an access by a proxy to any name."""
    head, *words = step.text.split(".")
    words = [word for word in words if word not in SPACES]
    if head in ("atom", "red"):
        return _atomic(head == "red", words, operands, at=at, guard=guard, text=text)
    if head in LOADS or head in STORES:
        return _by_proxy(head, words, operands, at=at, guard=guard, text=text)
    if not conventions.named_instances:
        raise InputError("barriers of a dialect name their instances", at, "add `named-instances` to `dialect`")
    return _barrier([word for word in words if word != "cta"], operands, at=at, guard=guard, text=text)


def _atomic(
    reduction: bool, words: list[str], operands: tuple[Operand, ...], *, at: Span, guard: Expr | None, text: str
) -> Atomic:
    order = next((ORDERS[w] for w in words if w in ORDERS), Order.RELAXED)
    scope = next((SCOPES[w] for w in words if w in SCOPES), Scope.GPU)
    op = next((w for w in words if w in ATOMICS), "")
    type_ = next((TYPES[w] for w in words if w in TYPES), Type("s", 64))
    for word in words:
        if word not in (order, scope, op) and word not in TYPES:
            raise InputError(f"unknown qualifier `.{word}`", at, near(word, [*ORDERS, *SCOPES, *ATOMICS, *TYPES]))
    wanted = 1 + (not reduction) + (2 if op == "cas" else 1)
    if not op or len(operands) != wanted or operands[not reduction].kind != "mem":
        raise InputError("this is no atomic operation", at, "write `atom.relaxed.gpu.add.s64 r0, [x], 1`")
    address = operands[not reduction].expr
    assert address is not None
    dst = (None,) if reduction else (_register(operands[0]),)
    values = tuple(_value(operand) for operand in operands[1 + (not reduction) :])
    return Atomic(
        op=op, dst=dst, address=address, operands=values, type=type_, order=order, scope=scope, reduction=reduction,
        guard=guard, at=at, text=text,
    )  # fmt: skip


def _by_proxy(
    head: str, words: list[str], operands: tuple[Operand, ...], *, at: Span, guard: Expr | None, text: str
) -> Load | Store:
    types = [TYPES[word] for word in words if word in TYPES]
    memory = 1 if head in LOADS else 0
    if len(operands) != 2 or operands[memory].kind != "mem" or len(types) != 1 or set(words) - {"weak", str(types[0])}:
        raise InputError(f"this is no `{head}`", at, f"write `{head}.weak.s64` and its two operands")
    address = operands[memory].expr
    assert address is not None
    if head in LOADS:
        dst = (_register(operands[0]),)
        return Load(dst=dst, address=address, type=types[0], proxy=LOADS[head], guard=guard, at=at, text=text)
    values = (_value(operands[1]),)
    return Store(values=values, address=address, type=types[0], proxy=STORES[head], guard=guard, at=at, text=text)


def _barrier(words: list[str], operands: tuple[Operand, ...], *, at: Span, guard: Expr | None, text: str) -> Barrier:
    kind = Bar(words[0]) if words and words[0] in ("sync", "arrive") else None
    if kind is None or any(word != "aligned" for word in words[1:]) or not 2 <= len(operands) <= 3:
        raise InputError("this is no barrier", at, "write `barrier.cta.sync INSTANCE, ID, COUNT`")
    instance, number, *count = operands
    unnamed = number.kind == "sink"
    return Barrier(
        kind=kind,
        id=UNNAMED if unnamed else _value(number),
        count=_value(count[0]) if count else None,
        aligned="aligned" in words,
        instance=None if instance.kind == "sink" else _instance(instance),
        guard=guard,
        at=at,
        text=text,
    )


def _instance(operand: Operand) -> str:
    if not isinstance(operand.expr, Const):
        raise InputError("the instance of a barrier is a number", operand.at)
    return str(operand.expr.value)


def _register(operand: Operand) -> str | None:
    if operand.kind == "sink":
        return None
    if not isinstance(operand.expr, Reg):
        raise InputError("the result goes to a register", operand.at)
    return operand.expr.name


def _value(operand: Operand) -> Expr:
    if operand.expr is None or operand.kind == "mem":
        raise InputError("this is no value", operand.at)
    return operand.expr
