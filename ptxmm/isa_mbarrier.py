"""From a matched mnemonic and its operands to a statement: mbarriers."""

from __future__ import annotations

from ptxmm.arith import U32, U64
from ptxmm.asynchronous import ONE
from ptxmm.errors import InputError
from ptxmm.isa_form import Form
from ptxmm.isa_operands import destination
from ptxmm.isa_site import Common, Site
from ptxmm.program import (
    Const,
    CopyArrive,
    Expr,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPending,
    MbarrierTx,
    MbarrierWait,
    Order,
    Scope,
)

SIZE = 8
MOST = (1 << 20) - 1
"""The largest count of arrivals and of bytes (PTX ISA, "Contents of the mbarrier object")."""


def mbarrier(site: Site, index: int) -> Expr:
    """The address of an mbarrier: 8 aligned bytes of shared memory."""
    site.shared(index, "an mbarrier")
    site.inside(index, SIZE)
    if site.operands[index].items:
        raise site.placed(index)
    return site.memory(index)


def init(site: Site, common: Common) -> MbarrierInit:
    """`mbarrier.init`."""
    site.count(2, 2, " [m], 1")
    return MbarrierInit(address=mbarrier(site, 0), count=_counted(site, 1, 1, "arrivals"), **common)


def inval(site: Site, common: Common) -> MbarrierInval:
    """`mbarrier.inval`."""
    site.count(1, 1, " [m]")
    return MbarrierInval(address=mbarrier(site, 0), **common)


def transactions(site: Site, common: Common) -> MbarrierTx:
    """`mbarrier.expect_tx` and `.complete_tx`, relaxed."""
    site.count(2, 2, " [m], 16")
    return MbarrierTx(
        address=mbarrier(site, 0),
        bytes=_counted(site, 1, 0, "bytes"),
        complete=site.form.row.opcode[-1] == "complete_tx",
        scope=_scope(site.form),
        remote=site.form.get("space") == "shared::cluster",
        **common,
    )


def arrive(site: Site, common: Common) -> MbarrierArrive:
    """`mbarrier.arrive` and `.arrive_drop`; the result may be left out, and another CTA's object has none."""
    form, action = site.form, site.form.get("action")
    state = any(operand.kind == "mem" for operand in site.operands[1:])
    shape = {"expect_tx": " _, [m], 16", "noComplete": " r0, [m], 1"}.get(action or "", " _, [m]")
    least = 1 + state + (action is not None)
    site.count(least, 2 + state, shape)
    dst = destination(form, site.operands[0]) if state else None
    if dst is not None and form.get("space") == "shared::cluster":
        message = f"`{form.but(type=None)}` gives no state"
        raise InputError(message, site.operands[0].at, "write `_`: an mbarrier of another CTA keeps its state")
    expects = action == "expect_tx"
    return MbarrierArrive(
        address=mbarrier(site, int(state)),
        count=ONE if expects else _counted(site, state + 1, 1, "arrivals"),
        expect=_counted(site, state + 1, 0, "bytes") if expects else None,
        drop=form.row.opcode[-1] == "arrive_drop",
        completes=action != "noComplete",
        dst=dst,
        order=Order(form.get("order") or "release"),
        scope=_scope(form),
        remote=form.get("space") == "shared::cluster",
        **common,
    )


def wait(site: Site, common: Common) -> MbarrierWait:
    """`mbarrier.test_wait` and `.try_wait`; the time limit changes no outcome."""
    form = site.form
    tries, parity = form.row.opcode[-1] == "try_wait", form.has("phase")
    if site.operands and site.operands[0].kind == "mem":
        message = f"`{form.row.name}` tells a predicate whether the phase is complete"
        hint = "write `p, [m], …`, or `await` before the instruction to repeat it until it is true"
        raise InputError(message, site.operands[0].at, hint)
    site.count(3, 4 if tries else 3, " p, [m], 0" if parity else " p, [m], state")
    if len(site.operands) == 4:
        site.number(3, U32)
    phase = site.number(2, U32 if parity else U64)
    if parity and isinstance(phase, Const) and phase.value not in (0, 1):
        raise InputError(f"{phase.value} is no parity", site.operands[2].at, "the parity of a phase is 0 or 1")
    return MbarrierWait(
        dst=destination(form, site.operands[0]),
        address=mbarrier(site, 1),
        token=None if parity else phase,
        parity=phase if parity else None,
        tries=tries,
        order=Order(form.get("order") or "acquire"),
        scope=_scope(form),
        **common,
    )


def pending(site: Site, common: Common) -> MbarrierPending:
    """`mbarrier.pending_count`."""
    site.count(2, 2, " r0, state")
    dst = destination(site.form, site.operands[0])
    if dst is None:
        raise InputError("the count is all that this instruction gives", site.operands[0].at, "write a register")
    return MbarrierPending(dst=dst, token=site.number(1, U64), **common)


def copy_arrive(site: Site, common: Common) -> CopyArrive:
    """`cp.async.mbarrier.arrive`."""
    site.count(1, 1, " [m]")
    return CopyArrive(address=mbarrier(site, 0), increments=not site.form.has("increment"), **common)


def _scope(form: Form) -> Scope:
    return Scope(form.get("scope") or "cta")


def _counted(site: Site, index: int, least: int, what: str) -> Expr:
    if index >= len(site.operands):
        return ONE
    expr = site.number(index, U32)
    if isinstance(expr, Const) and not least <= expr.value <= MOST:
        at = site.operands[index].at
        raise InputError(f"an mbarrier cannot count {expr.value} {what}", at, f"a number from {least} to 2^20-1")
    return expr
