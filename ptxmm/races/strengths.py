"""An instruction at every strength above its own, the weakest first, and what it counts to ask for one."""

from __future__ import annotations

from dataclasses import replace

from ptxmm.encode import Encoding
from ptxmm.program import (
    Atomic,
    Fence,
    Load,
    MbarrierArrive,
    MbarrierWait,
    Order,
    Proxy,
    ProxyFence,
    Scope,
    Statement,
    Store,
    TensormapCopy,
)  # fmt: skip
from ptxmm.races.changes import Aligned, Change, Fenced, Meeting, Stronger, Waited

ORDERS: dict[type, tuple[Order, ...]] = {
    Load: (Order.WEAK, Order.RELAXED, Order.ACQUIRE),
    Store: (Order.WEAK, Order.RELAXED, Order.RELEASE),
    Atomic: (Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL),
    Fence: (Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SC),
    MbarrierArrive: (Order.RELAXED, Order.RELEASE),
    MbarrierWait: (Order.RELAXED, Order.ACQUIRE),
}
Ranked = Load | Store | Atomic | Fence | MbarrierArrive | MbarrierWait
ABOVE = {Order.ACQUIRE: (Order.ACQ_REL,), Order.RELEASE: (Order.ACQ_REL,)}


def levels(encoding: Encoding, statement: Statement, *, strong: bool) -> list[Statement]:
    """An instruction at every strength above its own, the weakest first: by order, then by scope."""
    if isinstance(statement, ProxyFence | TensormapCopy):
        return wider(statement)
    if not isinstance(statement, Ranked):
        return []
    if isinstance(statement, Load | Store) and statement.proxy is not Proxy.GENERIC:
        return []
    if isinstance(statement, Load) and statement.readonly:
        return []
    scopes = [s for s in Scope if s is not Scope.CLUSTER or "cluster" in encoding.model.supports]
    if isinstance(statement, MbarrierArrive | MbarrierWait):
        scopes = [Scope.CTA, Scope.CLUSTER]
    found: list[Statement] = []
    for order in orders_of(statement, strong=strong):
        for scope in scopes:
            if statement.scope is None or scope in (statement.scope, *scopes[scopes.index(statement.scope) :]):
                found.append(replace(statement, order=order, scope=scope))
    extra: list[Statement] = []
    if isinstance(statement, Fence) and statement.window is not None:
        extra = [replace(one, window=None) for one in found if isinstance(one, Fence)]
    if isinstance(statement, Atomic) and statement.reduction and not strong:
        extra = [replace(one, reduction=False) for one in found if isinstance(one, Atomic)]
        found = [one for one in found if getattr(one, "order", None) in (Order.RELAXED, Order.RELEASE)]
    return [one for one in (*found, *extra) if one != statement]


def wider(statement: ProxyFence | TensormapCopy) -> list[Statement]:
    """A half of the tensor map's fence at every wider scope, the narrowest first; other proxy fences have one scope."""
    if isinstance(statement, ProxyFence) and statement.kind != "tensormap":
        return []
    scopes = list(Scope)
    above = scopes[scopes.index(statement.scope) + 1 :] if statement.scope is not None else []
    return [replace(statement, scope=scope) for scope in above]


def narrower(change: Change) -> list[Change]:
    """A fence that is put in, at every narrower scope, the narrowest first."""
    if not isinstance(change, Fenced) or not isinstance(change.fence, ProxyFence) or change.fence.scope is None:
        return []
    scopes = list(Scope)
    return [
        replace(change, fence=replace(change.fence, scope=scope))
        for scope in scopes[: scopes.index(change.fence.scope)]
    ]


def orders_of(statement: Ranked, *, strong: bool) -> list[Order]:
    """The orders that an instruction could name and that hold all that its own does; with `strong`, only the first."""
    own, ladder = statement.order, ORDERS[type(statement)]
    above = [o for o in ladder if o in ABOVE[own]] if own in ABOVE and len(ladder) == 4 else ladder[ladder.index(own) :]
    orders = list(dict.fromkeys([own, *above]))
    if isinstance(statement, Fence):
        orders = [o for o in orders if o is not Order.SC or own is Order.SC]
    orders = [o for o in orders if o is not Order.WEAK]
    return orders[:1] if strong else orders


def price_of(change: Change) -> float:
    """What a change counts: little where an instruction is there and only falls short."""
    if isinstance(change, Stronger):
        was, now = change.was, change.statement
        weak = 0.4 if getattr(was, "order", None) is Order.WEAK else 0.0
        pairs = [("order", 1.1 + weak), ("scope", 0.0 if weak else 1.0), ("window", 1.2), ("reduction", 1.3)]
        return sum(price for name, price in pairs if getattr(was, name, None) != getattr(now, name, None))
    return {Aligned: 1.5, Meeting: 1.1, Fenced: 1.0, Waited: 1.2}.get(type(change), 0.0)
