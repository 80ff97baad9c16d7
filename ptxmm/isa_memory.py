"""From a matched mnemonic and its operands to a statement: loads, stores and atomic operations."""

from __future__ import annotations

from ptxmm.arith import Type
from ptxmm.errors import InputError
from ptxmm.isa_form import Form
from ptxmm.isa_rules import TYPES_OF, VECTOR_TYPES, WIDE, wide
from ptxmm.isa_site import Common, Site
from ptxmm.program import Atomic, Load, Order, Proxy, Scope, Store

VIEWS = {"tld": Proxy.TEXTURE, "suld": Proxy.SURFACE, "sust": Proxy.SURFACE, "ldc": Proxy.CONSTANT}


def _strength(form: Form) -> tuple[Order, Scope | None]:
    order, scope = form.get("order") or "weak", form.get("scope")
    if order == "volatile":
        return Order.RELAXED, Scope.SYS
    return Order(order), Scope(scope) if scope else None


def _type(site: Site, index: int, allowed: tuple[str, ...]) -> Type:
    type_ = site.type(index, allowed)
    if not site.form.has("type"):
        for rule in site.form.row.rules:
            rule(site.form, type_)
    site.inside(index, wide(site.form, type_) // 8)
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
