"""What an event counts as: the tags of the vocabulary, and which threads a scope holds."""

from __future__ import annotations

from ptxmm.events import Event
from ptxmm.program import Atomic, Order, Place, Program, Proxy, ProxyFence, Scope

PROXY_TAGS = {
    Proxy.GENERIC: "GEN",
    Proxy.SURFACE: "SUR",
    Proxy.TEXTURE: "TEX",
    Proxy.CONSTANT: "CON",
    Proxy.ASYNC: "ASY",
    Proxy.TENSORMAP: "TMAP",
}
FENCE_TAGS = {
    "alias": "ALIAS",
    "texture": "TEX",
    "surface": "SUR",
    "constant": "CON",
    "async": "ASY",
    "tensormap": "TMAP",
}
ORDER_TAGS = {
    Order.WEAK: "WEAK",
    Order.RELAXED: "RLX",
    Order.ACQUIRE: "ACQ",
    Order.RELEASE: "REL",
    Order.ACQ_REL: "ACQ_REL",
    Order.SC: "SC",
}
SCOPE_TAGS = {Scope.CTA: "CTA", Scope.CLUSTER: "CLUSTER", Scope.GPU: "GPU", Scope.SYS: "SYS"}


def order_tag(event: Event) -> Order | None:
    """The order that counts for an event: of an atomic operation, the read acquires and the write releases."""
    if event.kind in "BESGK" or (event.operation is not None and event.order is Order.WEAK):
        return None
    if isinstance(event.statement, ProxyFence):
        return event.statement.order
    if isinstance(event.statement, Atomic):
        own = (Order.ACQUIRE,) if event.kind == "R" else (Order.RELEASE,)
        if event.order in (*own, Order.ACQ_REL):
            return own[0]
        return Order.RELAXED
    return event.order


def proxy_tag(event: Event) -> str:
    """The vocabulary's tag of the proxy that an event uses; ALIAS for the alias fence."""
    statement = event.statement
    return FENCE_TAGS[statement.kind] if isinstance(statement, ProxyFence) else PROXY_TAGS[event.proxy]


SCOPES = tuple(Scope)


def ranks(program: Program, place: Place) -> list[int]:
    """The CTAs of a cluster in the order of their ranks: those that the test has threads or shared memory of."""
    places = [thread.place for thread in program.threads] + [o.owner for o in program.objects if o.owner is not None]
    return sorted({p.cta for p in places if includes(Scope.CLUSTER, p, place)})


def scope_key(scope: Scope, place: Place) -> object:
    """What the threads of one `scope` have in common (PTX ISA, "Scope")."""
    match scope:
        case Scope.CTA:
            return (place.kernel, place.device, place.cta)
        case Scope.CLUSTER:
            return (place.kernel, place.device, place.cluster)
        case Scope.GPU:
            return place.device
        case Scope.SYS:
            return None


def includes(scope: Scope, one: Place, other: Place) -> bool:
    """Whether `scope`, named by a thread at `one`, contains a thread at `other`.

    >>> includes(Scope.CTA, Place(cta=0), Place(cta=1)), includes(Scope.CLUSTER, Place(cta=0), Place(cta=1))
    (False, True)
    """
    return scope_key(scope, one) == scope_key(scope, other)
