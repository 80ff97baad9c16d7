"""Litmus tests as values, for the tests of the engines: one short function for each instruction."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.arith import U32, Type
from ptxmm.cat import read_model
from ptxmm.model import Model
from ptxmm.program import (
    Addr,
    Assign,
    Atomic,
    Bar,
    Barrier,
    Binary,
    Branch,
    Condition,
    Const,
    Expr,
    Fence,
    FinalMem,
    FinalReg,
    Label,
    Load,
    Object,
    Order,
    Place,
    Program,
    Proxy,
    Quantifier,
    Reg,
    Scope,
    Statement,
    Store,
    Thread,
    View,
    leaves,
)  # fmt: skip

ORDERS = {one.value: one for one in Order}
SCOPES = {one.value: one for one in Scope}


@dataclass(frozen=True)
class Options:
    """The options of a check."""

    properties: frozenset[str] = frozenset({"outcome", "race"})
    bound: int = 4
    timeout: float = 60.0
    witness: bool = False
    engine: str = "enumeration"
    progress: str = "fair"


MODELS: dict[str, Model] = {}


def model(name: str) -> Model:
    """A shipped model, read once."""
    if name not in MODELS:
        MODELS[name] = read_model(name)
    return MODELS[name]


def strength(how: str) -> tuple[Order, Scope | None]:
    """`acquire.gpu` as order and scope; `weak` has no scope."""
    order, _, scope = how.partition(".")
    return ORDERS[order], SCOPES[scope] if scope else None


def expr(value: Expr | int | str) -> Expr:
    """A number, or a register by its name."""
    return Const(value) if isinstance(value, int) else Reg(value) if isinstance(value, str) else value


def where(place: Expr | str) -> Expr:
    """An address: an expression, or an object by its name."""
    return Addr(place) if isinstance(place, str) else place


def ld(dst: str, place: Expr | str, how: str = "weak", *, type: Type = U32, proxy: Proxy = Proxy.GENERIC,
       guard: Expr | None = None) -> Load:  # fmt: skip
    order, scope = strength(how)
    return Load(dst=(dst,), address=where(place), type=type, order=order, scope=scope, proxy=proxy, guard=guard)


def st(place: Expr | str, value: Expr | int | str, how: str = "weak", *, type: Type = U32,
       proxy: Proxy = Proxy.GENERIC, guard: Expr | None = None) -> Store:  # fmt: skip
    order, scope = strength(how)
    address, values = where(place), (expr(value),)
    return Store(values=values, address=address, type=type, order=order, scope=scope, proxy=proxy, guard=guard)


def atom(op: str, dst: str | None, place: Expr | str, *operands: Expr | int | str, how: str = "relaxed.gpu",
         guard: Expr | None = None) -> Atomic:  # fmt: skip
    order, scope = strength(how)
    assert scope is not None
    given = tuple(expr(one) for one in operands)
    return Atomic(op=op, dst=(dst,), address=where(place), operands=given, type=U32, order=order, scope=scope,
                  guard=guard, reduction=dst is None)  # fmt: skip


def fence(how: str) -> Fence:
    order, scope = strength(how)
    assert scope is not None
    return Fence(order=order, scope=scope)


def bar(kind: str = "sync", number: int = 0, count: int | None = None) -> Barrier:
    return Barrier(kind=Bar(kind), id=Const(number), count=None if count is None else Const(count))


def add(dst: str, left: Expr | int | str, right: Expr | int | str) -> Assign:
    return Assign(dst=dst, value=Binary("+", expr(left), expr(right)))


def equal(left: Expr | int | str, right: Expr | int | str) -> Binary:
    return Binary("==", expr(left), expr(right))


def bra(target: str, guard: Expr | None = None) -> Branch:
    return Branch(target=target, guard=guard)


def label(name: str) -> Label:
    return Label(name=name)


def thread(name: str, place: Place, *body: Statement, init: dict[str, Const | Addr] | None = None) -> Thread:
    """A thread whose registers are all 32 bits wide."""
    names: dict[str, Type] = {}
    for item in body:
        for dst in item.dst if isinstance(item, Load | Atomic) else (getattr(item, "dst", None),):
            if dst is not None:
                names[dst] = U32
    return Thread(name, place, body, names, init or {})


def cta(number: int, *, device: int = 0, cluster: int | None = None) -> Place:
    """A thread of a CTA, which is alone in its cluster unless that is given."""
    return Place(device=device, cluster=number if cluster is None else cluster, cta=number)


def final(**values: int) -> Expr:
    """`A_r0=1, x=2` as a formula: register r0 of thread A is 1, and x is 2."""
    formula: Expr = Const(1)
    for name, value in values.items():
        owner, _, reg = name.partition("_")
        leaf = FinalReg(owner, reg) if reg else FinalMem(owner, 0, U32)
        atom = Binary("==", leaf, Const(value))
        formula = atom if formula == Const(1) else Binary("&&", formula, atom)
    return formula


def program(*threads: Thread, exists: Expr | None = None, objects: tuple[Object, ...] | None = None,
            views: tuple[View, ...] = ()) -> Program:  # fmt: skip
    """A test; without `objects`, every name in the code is an object of one zeroed word."""
    if objects is None:
        viewed = {view.name for view in views}
        found = {view.target for view in views}
        for one in threads:
            for item in one.body:
                if isinstance(item, Load | Store | Atomic):
                    found |= {leaf.name for leaf in leaves(item.address) if isinstance(leaf, Addr)}
        objects = tuple(Object(name) for name in sorted(found - viewed))
    condition = Condition(Quantifier.EXISTS, exists) if exists is not None else None
    return Program("test", objects, threads, views=views, condition=condition)
