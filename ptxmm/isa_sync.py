"""From a matched mnemonic and its operands to a statement: fences, barriers and hints."""

from __future__ import annotations

from ptxmm.arith import PRED, U32, Type
from ptxmm.errors import InputError
from ptxmm.isa_site import Common, Site
from ptxmm.program import Bar, Barrier, ClusterBarrier, Const, Expr, Fence, Nop, Order, ProxyFence, Scope, WarpSync

MEMBAR = {"cta": Scope.CTA, "gl": Scope.GPU, "sys": Scope.SYS}
BARRIERS = 16
WARP = 32


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
