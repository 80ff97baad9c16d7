"""From a matched mnemonic and its operands to a statement: proxies, tensor maps, dependent grids and `elect.sync`."""

from __future__ import annotations

from ptxmm.arith import U32, Type
from ptxmm.errors import InputError
from ptxmm.isa_operands import destination
from ptxmm.isa_site import Common, Site
from ptxmm.isa_table_proxies import BY_DIMENSION, CODED, IN_64_BITS
from ptxmm.isa_tiles import MAP, tensormap
from ptxmm.program import (
    Const,
    Elect,
    Fence,
    GridDependency,
    Order,
    ProxyFence,
    Scope,
    TensormapCopy,
    TensormapReplace,
)

DIMENSIONS = 5


def init_fence(site: Site, common: Common) -> Fence:
    """`fence.mbarrier_init.release.cluster`."""
    site.count(0, 0, "")
    return Fence(order=Order.RELEASE, scope=Scope.CLUSTER, window="mbarrier_init", **common)


def alias_fence(site: Site, common: Common) -> ProxyFence:
    """`fence.proxy.alias`, its synonym, and its one-sided halves."""
    site.count(0, 0, "")
    form = site.form
    if not form.has("order"):
        return ProxyFence(kind="alias", **common)
    return ProxyFence(kind="alias", order=Order(str(form.get("order"))), scope=Scope(str(form.get("scope"))), **common)


def async_fence(site: Site, common: Common) -> ProxyFence:
    """`fence.proxy.async`, in one space or all, and its synonym."""
    site.count(0, 0, "")
    return ProxyFence(kind="async", space=site.form.get("space"), **common)


def one_sided_async_fence(site: Site, common: Common) -> ProxyFence:
    """`fence.proxy.async::generic`."""
    site.count(0, 0, "")
    order, window = Order(str(site.form.get("order"))), str(site.form.get("window")).removeprefix("sync_restrict::")
    return ProxyFence(kind="async", order=order, scope=Scope.CLUSTER, window=window, **common)


def tensormap_fence(site: Site, common: Common) -> ProxyFence:
    """`fence.proxy.tensormap::generic`: the acquire names the 128 bytes of a map in global memory."""
    order, scope = Order(str(site.form.get("order"))), Scope(str(site.form.get("scope")))
    if order is Order.RELEASE:
        site.count(0, 0, "")
        return ProxyFence(kind="tensormap", order=order, scope=scope, **common)
    site.count(2, 2, " [D], 128")
    _whole(site, 1)
    site.within(0, "global", "a tensor map that is acquired")
    site.inside(0, MAP)
    return ProxyFence(kind="tensormap", order=order, scope=scope, address=site.memory(0), **common)


def _whole(site: Site, index: int) -> None:
    """Insist on the size of a tensor map."""
    if site.number(index, U32) != Const(MAP):
        raise InputError("a tensor map has 128 bytes", site.operands[index].at, "write `128`")


def tensormap_replace(site: Site, common: Common) -> TensormapReplace:
    """`tensormap.replace`, of any field."""
    form = site.form
    field = str(form.get("field"))
    ordered = field in BY_DIMENSION
    shape = " [D], x" if field == "global_address" else " [D], 0, 1" if ordered else " [D], 1"
    site.count(2 + ordered, 2 + ordered, shape)
    site.within(0, form.get("space"), "this tensor map")
    site.writable(0)
    tensormap(site, 0)
    last = 1 + ordered
    value = site.number(last, Type("b", 64 if field in IN_64_BITS else 32))
    if field in CODED and not isinstance(value, Const):
        raise InputError(f"`.{field}` takes a number", site.operands[last].at, "it is known before the test runs")
    ordinal = site.number(1, U32) if ordered else None
    if ordered and not (isinstance(ordinal, Const) and 0 <= ordinal.value < DIMENSIONS):
        raise InputError("this is no dimension", site.operands[1].at, "a number from 0 to 4")
    return TensormapReplace(
        address=site.memory(0),
        value=value,
        field=field,
        ordinal=ordinal.value if isinstance(ordinal, Const) else None,
        **common,
    )


def tensormap_copy(site: Site, common: Common) -> TensormapCopy:
    """`tensormap.cp_fenceproxy`: from shared to global memory."""
    site.count(3, 3, " [D], [s], 128")
    for index, (space, what) in enumerate((("global", "destination"), ("shared", "source"))):
        site.within(index, space, f"the {what} of `tensormap.cp_fenceproxy`")
        tensormap(site, index)
    _whole(site, 2)
    scope = Scope(str(site.form.get("scope")))
    return TensormapCopy(destination=site.memory(0), source=site.memory(1), scope=scope, **common)


def elect(site: Site, common: Common) -> Elect:
    """`elect.sync d|p, mask`."""
    site.count(1, 2, " r0|p, 0xffffffff")
    pair = site.operands[0]
    if pair.kind != "vector" or len(pair.items) != 2:
        raise InputError("`elect.sync` gives a lane and a predicate", pair.at, "write `r0|p`, or `_|p`")
    dst, pred = (destination(site.form, item) for item in pair.items)
    return Elect(dst=dst, pred=pred, mask=site.number(1, Type("b", 32)) if len(site.operands) > 1 else None, **common)


def grid_dependency(site: Site, common: Common) -> GridDependency:
    """`griddepcontrol`."""
    site.count(0, 0, "")
    return GridDependency(wait=site.form.get("action") == "wait", **common)
