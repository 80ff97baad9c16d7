"""From a matched mnemonic and its operands to a statement: asynchronous copies, stores and reductions."""

from __future__ import annotations

from ptxmm.arith import PRED, U32, Type
from ptxmm.errors import InputError
from ptxmm.isa_copy_rules import DIRECTIONS, GROUP
from ptxmm.isa_form import Form
from ptxmm.isa_mbarrier import mbarrier
from ptxmm.isa_site import Common, Site
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Commit,
    Const,
    Expr,
    Nop,
    Order,
    Scope,
    Select,
    WaitGroup,
)

CHUNK = 16
"""What the size of a bulk copy is a multiple of."""

ANYWHERE = 1
"""A misaligned bulk copy is an undefined step, which executions reach or not."""

MASK, POLICY = Type("b", 16), Type("b", 64)
ZERO = Const(0)


def copy(site: Site, common: Common) -> AsyncCopy:
    """`cp.async`: 4, 8 or 16 bytes from global to shared memory."""
    form, hinted = site.form, site.form.has("cache hint")
    site.count(3 + hinted, 4 + hinted, " [s], [g], 16" + (", policy" if hinted else ""))
    size = site.number(2, U32)
    sizes = (16,) if form.get("cache operator") == "cg" else (4, 8, 16)
    if not isinstance(size, Const) or size.value not in sizes:
        hint = "`.cg` copies 16 bytes" if len(sizes) == 1 else "`.ca` copies 4, 8 or 16 bytes"
        raise InputError("this is no size of `cp.async`", site.operands[2].at, hint)
    for index, window in ((0, "shared"), (1, "global")):
        site.within(index, window, "the " + ("destination" if index == 0 else "source") + " of `cp.async`")
        site.inside(index, size.value)
    if hinted:
        site.number(len(site.operands) - 1, POLICY)
    return AsyncCopy(
        destination=site.memory(0),
        source=site.memory(1),
        size=size,
        bulk=False,
        read=_read(site, size) if len(site.operands) - hinted == 4 else None,
        spaces=(form.get("destination space") or "shared", "global"),
        **common,
    )


def _read(site: Site, size: Const) -> Expr:
    """How many bytes are read: the size of the source, or none where a predicate says so."""
    operand = site.operands[3]
    if operand.type == PRED:
        return Select(site.number(3, PRED), ZERO, size)
    read = site.number(3, U32)
    if isinstance(read, Const) and not 0 <= read.value <= size.value:
        raise InputError(f"{read.value} bytes cannot be read for {size.value}", operand.at, "the rest becomes zeros")
    return read


def bulk_copy(site: Site, common: Common) -> AsyncCopy:
    """`cp.async.bulk`."""
    return _bulk(site, common, Order(site.form.get("order") or "weak"), site.form.get("scope"))


def bulk_reduce(site: Site, common: Common) -> AsyncCopy:
    """`cp.reduce.async.bulk`: relaxed, at the scope of the system by default."""
    return _bulk(site, common, Order.RELAXED, site.form.get("scope") or "sys")


def _bulk(site: Site, common: Common, order: Order, scope: str | None) -> AsyncCopy:
    form = site.form
    counted = len([o for o in site.operands if o.kind == "mem"])
    spaces = _spaces(site, (0, 1), counted == 3)
    how = told(form, spaces)
    extra = [("mask", MASK)] if form.has("multicast") else []
    extra += [("policy", POLICY)] if form.has("cache hint") else []
    shape = (" [s], [g], 16, [m]" if how != GROUP else " [g], [s], 16") + "".join(f", {name}" for name, _ in extra)
    fixed = 3 if how == GROUP else 4
    site.count(fixed + len(extra), fixed + len(extra), shape)
    size = _size(site, 2)
    for index, (space, what) in enumerate(zip(spaces, ("destination", "source"), strict=True)):
        site.within(index, space, f"the {what} of `{form.row.name}`")
        if isinstance(size, Const):
            site.inside(index, size.value, ANYWHERE)
    values = {name: site.number(fixed + i, type_) for i, (name, type_) in enumerate(extra)}
    return AsyncCopy(
        destination=site.memory(0),
        source=site.memory(1),
        size=size,
        mbarrier=mbarrier(site, 3) if how != GROUP else None,
        multicast=values.get("mask"),
        reduce=form.get("operation"),
        type=form.type if form.has("operation") else None,
        order=order,
        scope=Scope(scope) if scope else None,
        spaces=spaces,
        **common,
    )


def _spaces(site: Site, at: tuple[int, int], told: bool) -> tuple[str, str]:
    """The spaces of destination and source: those that are written, else those of the declarations."""
    into, out_of = site.form.get("destination space"), site.form.get("source space")
    if into is not None and out_of is not None:
        return into, out_of
    held = [_held(site, index) for index in at]
    if held[1] == "shared" or held[0] == "global":
        return ("shared::cluster" if told else "global"), "shared::cta"
    if None in held:
        pairs = [f"`.{a}.{b}`" for a, b in DIRECTIONS[site.form.row.builds]]
        message = f"`{site.form.but()}` names no spaces, and an address is in a register"
        raise InputError(message, site.form.at, f"write {', '.join(pairs[:-1])} or {pairs[-1]}")
    return ("shared::cluster" if site.form.has("multicast") else "shared::cta"), "global"


def _held(site: Site, index: int) -> str | None:
    if index >= len(site.operands) or site.operands[index].kind != "mem":
        return None
    found = {str(site.object(item).space) for _, item in site.targets(index)}
    return found.pop() if len(found) == 1 else None


def told(form: Form, spaces: tuple[str, str]) -> str:
    """How completion is told in a direction."""
    known = DIRECTIONS[form.row.builds]
    if spaces not in known:
        message = f"`{form.row.name}` does not go from `.{spaces[1]}` to `.{spaces[0]}`"
        raise InputError(message, form.at, "swap the addresses, or write the spaces")
    if form.get("completion") not in (None, known[spaces]):
        message = f"`.{form.get('completion')}` is not how a copy from `.{spaces[1]}` to `.{spaces[0]}` completes"
        raise form.fail("completion", message, f"write `.{known[spaces]}`")
    return known[spaces]


def _size(site: Site, index: int) -> Expr:
    size, at = site.number(index, U32), site.operands[index].at
    if isinstance(size, Const) and (size.value <= 0 or size.value % CHUNK):
        raise InputError(f"{size.value} bytes cannot be copied in bulk", at, f"the size is a multiple of {CHUNK}")
    return size


# --- stores ----------------------------------------------------------------------------------------------------------


def async_store(site: Site, common: Common) -> AsyncStore:
    """`st.async`."""
    return _sent(site, common, None)


def async_red(site: Site, common: Common) -> AsyncStore:
    """`red.async`."""
    return _sent(site, common, site.form.get("operation"))


def _sent(site: Site, common: Common, operation: str | None) -> AsyncStore:
    form = site.form
    release = form.get("order") == "release"
    site.count(2 if release else 3, 2 if release else 3, " [x], 1" if release else " [s], 1, [m]")
    site.within(0, "global" if release else "shared", f"the destination of `{form.row.name}`")
    allowed = next(slot.words for slot in form.row.slots if slot.name == "type")
    type_ = site.type(0, allowed)
    if not form.has("type"):
        for rule in form.row.rules:
            rule(form, type_)
    length = int((form.get("vector") or "v1")[1:])
    site.inside(0, length * type_.size)
    scope = form.get("scope")
    return AsyncStore(
        values=site.values(1, type_),
        address=site.memory(0),
        type=type_,
        mbarrier=None if release else mbarrier(site, 2),
        op=operation,
        order=Order(form.get("order") or "weak"),
        scope=Scope(scope) if scope else None,
        **common,
    )


# --- groups and hints ------------------------------------------------------------------------------------------------


def commit_group(site: Site, common: Common) -> Commit:
    """`cp.async{.bulk}.commit_group`."""
    site.count(0, 0, "")
    return Commit(bulk="bulk" in site.form.row.opcode, **common)


def wait_group(site: Site, common: Common) -> WaitGroup:
    """`cp.async{.bulk}.wait_group` and `cp.async.wait_all`."""
    form = site.form
    if form.row.opcode[-1] == "wait_all":
        site.count(0, 0, "")
        return WaitGroup(pending=None, bulk=False, **common)
    site.count(1, 1, " 0")
    pending = site.number(0, U32)
    if not isinstance(pending, Const) or pending.value < 0:
        hint = "it is known before the test runs: `0` waits for all"
        raise InputError("this is no number of groups", site.operands[0].at, hint)
    return WaitGroup(pending=pending.value, bulk="bulk" in form.row.opcode, read=form.has("reads"), **common)


def bulk_prefetch(site: Site, common: Common) -> Nop:
    """`cp.async.bulk.prefetch` is a hint."""
    hinted = site.form.has("cache hint")
    site.count(2 + hinted, 2 + hinted, " [g], 16" + (", policy" if hinted else ""))
    site.within(0, "global", "what is prefetched")
    _size(site, 1)
    return Nop(**common)
