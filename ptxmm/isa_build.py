"""From a matched mnemonic and its operands to a statement: one builder for each kind of instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from ptxmm.arith import PRED, U32, Type
from ptxmm.errors import InputError, Span
from ptxmm.isa_form import Form
from ptxmm.isa_rules import TYPES_OF, VECTOR_TYPES, WIDE, wide
from ptxmm.isa_site import Site
from ptxmm.program import (
    Atomic,
    Bar,
    Barrier,
    ClusterBarrier,
    Const,
    Expr,
    Fence,
    Load,
    Nop,
    Order,
    Proxy,
    ProxyFence,
    Scope,
    Statement,
    Store,
    WarpSync,
)


class Common(TypedDict):
    """What every statement is made with."""

    guard: Expr | None
    at: Span
    text: str


Builder = Callable[[Site, Common], Statement]

MEMBAR = {"cta": Scope.CTA, "gl": Scope.GPU, "sys": Scope.SYS}
VIEWS = {"tld": Proxy.TEXTURE, "suld": Proxy.SURFACE, "sust": Proxy.SURFACE, "ldc": Proxy.CONSTANT}
BARRIERS = 16
WARP = 32


def _strength(form: Form) -> tuple[Order, Scope | None]:
    order, scope = form.get("order") or "weak", form.get("scope")
    if order == "volatile":
        return Order.RELAXED, Scope.SYS
    return Order(order), Scope(scope) if scope else None


def _type(site: Site, index: int, allowed: tuple[str, ...]) -> Type:
    type_ = site.type(index, allowed)
    for rule in site.form.row.rules:
        rule(site.form, type_)
    return type_


def _allowed(form: Form) -> tuple[str, ...]:
    return next(slot.words for slot in form.row.slots if slot.name == "type")


def _policy(site: Site, fixed: int, shape: str) -> None:
    """Insist on `fixed` operands, one more for a cache policy."""
    hinted = site.form.has("cache hint")
    site.count(fixed + hinted, fixed + hinted, shape + (", policy" if hinted else ""))
    if hinted:
        site.scalar(fixed, Type("b", 64))


def _access(site: Site, index: int) -> tuple[Type, Order, Scope | None]:
    """What `ld` and `st` have in common: the type and strength of an access to declared memory."""
    form = site.form
    site.generic(index)
    type_ = _type(site, index, _allowed(form))
    order, scope = _strength(form)
    if order is not Order.WEAK:
        site.shareable(index, "which takes weak accesses only")
    if form.has("mmio"):
        site.everywhere(index, "`.mmio`")
    if wide(form, type_) == WIDE:
        site.everywhere(index, "a vector of 256 bits")
    return type_, order, scope


def load(site: Site, common: Common) -> Load:
    """`ld`."""
    _policy(site, 2, " r0, [x]")
    type_, order, scope = _access(site, 1)
    dst = site.results(0)
    if wide(site.form, type_) == WIDE and None in dst:
        at = site.operands[0].items[dst.index(None)].at
        raise InputError("`_` in a vector of 256 bits leaves the element unread", at, "write a register")
    readonly = site.form.has("non-coherence")
    return Load(dst=dst, address=site.memory(1), type=type_, order=order, scope=scope, readonly=readonly, **common)


def store(site: Site, common: Common) -> Store:
    """`st`."""
    _policy(site, 2, " [x], 1")
    site.writable(0)
    type_, order, scope = _access(site, 0)
    return Store(values=site.values(1, type_), address=site.memory(0), type=type_, order=order, scope=scope, **common)


def view_load(site: Site, common: Common) -> Load:
    """`tld`, `suld` and `ldc`."""
    site.count(2, 2, " r0, [t]")
    proxy = VIEWS[site.form.row.name]
    site.viewed(1, proxy)
    type_ = _type(site, 1, _allowed(site.form))
    return Load(dst=site.results(0), address=site.memory(1), type=type_, proxy=proxy, **common)


def view_store(site: Site, common: Common) -> Store:
    """`sust`."""
    site.count(2, 2, " [s], 1")
    proxy = VIEWS[site.form.row.name]
    site.viewed(0, proxy)
    site.writable(0)
    type_ = _type(site, 0, _allowed(site.form))
    return Store(values=site.values(1, type_), address=site.memory(0), type=type_, proxy=proxy, **common)


def atom(site: Site, common: Common) -> Atomic:
    """`atom`."""
    operation = site.form.get("operation")
    swap = operation == "cas"
    _policy(site, 4 if swap else 3, " r0, [x], 0, 1" if swap else " r0, [x], 1")
    return _atomic(site, common, memory=1, dst=site.results(0))


def red(site: Site, common: Common) -> Atomic:
    """`red`, which has no result."""
    _policy(site, 2, " [x], 1")
    vector = site.form.get("vector")
    return _atomic(site, common, memory=0, dst=(None,) * (int(vector[1:]) if vector else 1))


def _atomic(site: Site, common: Common, *, memory: int, dst: tuple[str | None, ...]) -> Atomic:
    form = site.form
    operation, vector = str(form.get("operation")), form.get("vector")
    site.generic(memory)
    site.writable(memory)
    if vector:
        site.everywhere(memory, "a vector")
    type_ = _type(site, memory, tuple(VECTOR_TYPES[vector] if vector else TYPES_OF[operation]))
    operands = site.values(memory + 1, type_)
    if operation == "cas":
        operands += (site.scalar(memory + 2, type_),)
    return Atomic(
        op=operation,
        dst=dst,
        address=site.memory(memory),
        operands=operands,
        type=type_,
        order=Order(form.get("order") or "relaxed"),
        scope=Scope(form.get("scope") or "gpu"),
        reduction=form.row.name == "red",
        **common,
    )


def fence(site: Site, common: Common) -> Fence:
    """`fence`, one-sided and windowed forms too."""
    site.count(0, 0, "")
    window = (site.form.get("restriction") or "").removeprefix("sync_restrict::") or None
    order = Order(site.form.get("order") or "acq_rel")
    return Fence(order=order, scope=Scope(str(site.form.get("scope"))), window=window, **common)


def membar(site: Site, common: Common) -> Fence:
    """`membar` is `fence.sc` on every target that the memory model covers."""
    site.count(0, 0, "")
    return Fence(order=Order.SC, scope=MEMBAR[str(site.form.get("level"))], **common)


def proxy_fence(site: Site, common: Common) -> ProxyFence:
    """`fence.proxy.alias` and its synonym."""
    site.count(0, 0, "")
    return ProxyFence(kind=str(site.form.get("proxy")), **common)


def artifact_fence(site: Site, common: Common) -> ProxyFence:
    """`fence.proxy.texture`, `.surface` and `.constant`."""
    site.count(0, 0, "")
    return ProxyFence(kind=site.form.row.opcode[-1], **common)


def barrier(site: Site, common: Common) -> Barrier:
    """`bar` and `barrier` on the threads of a CTA."""
    form = site.form
    kind = Bar(str(form.get("action")))
    aligned = form.row.name == "bar" or form.has("aligned")
    if kind is not Bar.RED:
        least = 2 if kind is Bar.ARRIVE else 1
        site.count(least, 2, " 0, 64" if least == 2 else " 0")
        return Barrier(kind=kind, id=_identity(site, 0), count=_threads(site, 1, least), aligned=aligned, **common)
    site.count(3, 4, " r0, 0, p")
    counted = len(site.operands) == 4
    (dst,) = site.results(0)
    return Barrier(
        kind=kind,
        id=_identity(site, 1),
        count=_threads(site, 2, 1) if counted else None,
        op=form.get("operation"),
        pred=site.scalar(3 if counted else 2, PRED),
        dst=dst,
        aligned=aligned,
        **common,
    )


def _identity(site: Site, index: int) -> Expr:
    expr = site.scalar(index, U32)
    if isinstance(expr, Const) and not 0 <= expr.value < BARRIERS:
        raise InputError(f"there is no barrier {expr.value}", site.operands[index].at, "a CTA has barriers 0 to 15")
    return expr


def _threads(site: Site, index: int, least: int) -> Expr | None:
    if index >= len(site.operands):
        return None
    expr = site.scalar(index, U32)
    if isinstance(expr, Const) and (expr.value <= 0 or expr.value % WARP):
        raise InputError(
            f"{expr.value} threads are no whole warps", site.operands[index].at, f"the count is a multiple of {WARP}"
        )
    return expr


def cluster_arrive(site: Site, common: Common) -> ClusterBarrier:
    """`barrier.cluster.arrive`, a release by default."""
    site.count(0, 0, "")
    order = Order(site.form.get("order") or "release")
    return ClusterBarrier(wait=False, order=order, aligned=site.form.has("aligned"), **common)


def cluster_wait(site: Site, common: Common) -> ClusterBarrier:
    """`barrier.cluster.wait`, an acquire."""
    site.count(0, 0, "")
    return ClusterBarrier(wait=True, order=Order.ACQUIRE, aligned=site.form.has("aligned"), **common)


def warp_sync(site: Site, common: Common) -> WarpSync:
    """`bar.warp.sync`, without a mask for all threads of the warp in the test."""
    site.count(0, 1, " 0xffffffff")
    return WarpSync(mask=site.scalar(0, Type("b", 32)) if site.operands else None, **common)


def nanosleep(site: Site, common: Common) -> Nop:
    """`nanosleep` changes no outcome."""
    site.count(1, 1, " 20")
    site.scalar(0, U32)
    return Nop(**common)


def prefetch(site: Site, common: Common) -> Nop:
    """`prefetch` is a hint."""
    site.count(1, 1, " [x]")
    site.generic(0)
    return Nop(**common)


BUILDERS: dict[str, Builder] = {
    build.__name__: build
    for build in (
        load, store, view_load, view_store, atom, red, fence, membar, proxy_fence, artifact_fence, barrier,
        cluster_arrive, cluster_wait, warp_sync, nanosleep, prefetch,
    )
}  # fmt: skip
