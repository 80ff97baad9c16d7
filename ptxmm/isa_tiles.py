"""From a matched mnemonic and its operands to a statement: copies through tensor maps."""

from __future__ import annotations

from ptxmm.arith import Type
from ptxmm.errors import InputError
from ptxmm.isa_copies import ANYWHERE, MASK, POLICY, ZERO, told
from ptxmm.isa_mbarrier import mbarrier
from ptxmm.isa_operands import Operand
from ptxmm.isa_site import Common, Site
from ptxmm.program import Addr, AsyncCopy, Expr, Nop, Object, Order, Scope

MAP = 128
"""Bytes of a tensor map."""


def tile_copy(site: Site, common: Common) -> AsyncCopy:
    """`cp.async.bulk.tensor`, tiles only."""
    form = site.form
    mapped = [i for i, operand in enumerate(site.operands[:2]) if operand.kind == "mem" and _map_of(site, operand)]
    stores = form.get("destination space") == "global" or (not form.has("destination space") and mapped[:1] == [0])
    extra = [("mask", MASK)] if form.has("multicast") else []
    extra += [("policy", POLICY)] if form.has("cache hint") else []
    fixed = 2 if stores else 3
    shape = (" [D, {0}], [s]" if stores else " [s], [D, {0}], [m]") + "".join(f", {name}" for name, _ in extra)
    site.count(fixed + len(extra), fixed + len(extra), shape)
    map_, data = (0, 1) if stores else (1, 0)
    into = form.get("destination space") or ("shared::cluster" if form.has("multicast") else "shared::cta")
    spaces = ("global", "shared::cta") if stores else (into, "global")
    told(form, spaces)
    values = {name: site.number(fixed + i, type_) for i, (name, type_) in enumerate(extra)}
    _boxed(site, map_, data)
    return AsyncCopy(
        destination=None if stores else site.memory(0),
        source=site.memory(1) if stores else None,
        size=None,
        mbarrier=None if stores else mbarrier(site, 2),
        map=site.memory(map_),
        coordinates=coordinates(site, map_),
        multicast=values.get("mask"),
        spaces=spaces,
        **common,
    )


def tile_reduce(site: Site, common: Common) -> AsyncCopy:
    """`cp.reduce.async.bulk.tensor`: relaxed at the scope of the GPU, of elements of the map's type."""
    form, hinted = site.form, site.form.has("cache hint")
    site.count(2 + hinted, 2 + hinted, " [D, {0}], [s]" + (", policy" if hinted else ""))
    if hinted:
        site.number(2, POLICY)
    _boxed(site, 0, 1)
    return AsyncCopy(
        destination=None,
        source=site.memory(1),
        size=None,
        map=site.memory(0),
        coordinates=coordinates(site, 0),
        reduce=form.get("operation"),
        order=Order.RELAXED,
        scope=Scope.GPU,
        spaces=("global", "shared::cta"),
        **common,
    )


def _map_of(site: Site, operand: Operand) -> Object | None:
    """The tensor map that an address names."""
    item = site.declared(operand.expr.name) if isinstance(operand.expr, Addr) else None
    return item if isinstance(item, Object) and item.tensormap is not None else None


def _boxed(site: Site, map_: int, data: int) -> None:
    """Insist on a tensor map, and that its box lies in the object in shared memory."""
    tensormap(site, map_)
    if site.operands[data].items:
        raise site.placed(data)
    site.within(data, "shared", f"the other side of `{site.form.row.name}`")
    found = _map_of(site, site.operands[map_])
    if found is not None and found.tensormap is not None:
        site.inside(data, found.tensormap.box, ANYWHERE)


def tensormap(site: Site, index: int) -> Expr:
    """The address of a tensor map."""
    for name, item in site.targets(index):
        if site.object(item).tensormap is None:
            message, hint = f"`{name}` is no tensor map", f"declare one: `.global .tensormap D -> {name};`"
            raise InputError(message, site.operands[index].at, hint)
    site.inside(index, MAP)
    return site.memory(index)


def coordinates(site: Site, index: int) -> tuple[Expr, ...]:
    """The coordinates behind a map, as many as there are dimensions; all zero where none are written."""
    operand, named = site.operands[index], site.form.get("dimensions")
    wanted = int(named[0]) if named else len(operand.items) or 1
    if not operand.items:
        return (ZERO,) * wanted
    if len(operand.items) != wanted:
        message = f"`.{named}` needs {wanted} coordinate{'s' * (wanted > 1)}, not {len(operand.items)}"
        raise InputError(message, operand.at, f"write `[D, {{{', '.join('0' * wanted)}}}]`")
    inner = Site(site.form, operand.items, site.declared)
    return tuple(inner.number(i, Type("s", 32)) for i in range(wanted))


def tile_prefetch(site: Site, common: Common) -> Nop:
    """`cp.async.bulk.prefetch.tensor` is a hint."""
    hinted = site.form.has("cache hint")
    site.count(1 + hinted, 1 + hinted, " [D, {0}]" + (", policy" if hinted else ""))
    tensormap(site, 0)
    coordinates(site, 0)
    return Nop(**common)


def map_prefetch(site: Site, common: Common) -> Nop:
    """`prefetch.tensormap` is a hint."""
    site.count(1, 1, " [D]")
    tensormap(site, 0)
    return Nop(**common)
