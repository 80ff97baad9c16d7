"""Values out of thin air: the engine computes possible values from below, so the model must forbid the others.

A model does when an axiom `acyclic r` has an `r` that contains reads-from and every dependency, and for a test with
copies or mbarriers also what leads through these. Under another model, a test in which values could feed on themselves,
by data, by address or by deciding that a store or an arrival happens, is undecided.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptxmm.compilation import plan_of
from ptxmm.errors import Undecided
from ptxmm.model import Check, Model
from ptxmm.plan import Plan
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    AsyncCopy,
    AsyncStore,
    Atomic,
    Branch,
    CopyArrive,
    Expr,
    Load,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierTx,
    MbarrierWait,
    Program,
    Statement,
    Store,
    TensormapCopy,
    TensormapReplace,
    Thread,
    leaves,
    registers,
)  # fmt: skip

DEPENDENCIES = frozenset({"addr", "data", "ctrl"})
IN_FLIGHT = frozenset({"issued", "done", "phase"})

# The operands of an instruction that say what it changes, and what it learns from. Each is memory or an mbarrier.
Operands = Mapping[type[Statement], tuple[str, ...]]
ASYNCHRONOUS_STORES: Operands = {
    AsyncCopy: ("destination", "mbarrier"),
    AsyncStore: ("address", "mbarrier"),
    CopyArrive: ("address",),
    MbarrierArrive: ("address",),
    MbarrierInit: ("address",),
    MbarrierInval: ("address",),
    MbarrierTx: ("address",),
    TensormapCopy: ("destination",),
    TensormapReplace: ("address",),
}
STORES: Operands = {Store: ("address",), Atomic: ("address",), **ASYNCHRONOUS_STORES}
LOADS: Operands = {
    Load: ("address",),
    Atomic: ("address",),
    AsyncCopy: ("destination", "source", "map"),
    AsyncStore: ("address",),
    MbarrierArrive: ("address",),
    MbarrierWait: ("address",),
    TensormapCopy: ("source",),
    TensormapReplace: ("address",),
}
HANDS_ON = (Branch, Assume, Assign, AsyncCopy, TensormapCopy, TensormapReplace, MbarrierWait)


def ensure_grounded(program: Program, model: Model) -> None:
    """Raise Undecided where values may feed on themselves and the model does not forbid it."""
    statements = (statement for thread in program.threads for statement in thread.body)
    in_flight = IN_FLIGHT if any(type(one) in ASYNCHRONOUS_STORES for one in statements) else frozenset()
    if not _forbids(plan_of(model), in_flight) and _circular(program):
        raise Undecided(f"the model {model.name} does not forbid values out of thin air, and this test could make them")


def _forbids(plan: Plan, in_flight: frozenset[str]) -> bool:
    """Whether an axiom keeps reads-from, dependencies and what is `in_flight` together free of circles."""
    for _, check, negated, slot in plan.axioms:
        if check is Check.ACYCLIC and not negated:
            names = _contained(plan, slot)
            if names >= {"rf", *in_flight} and (names >= DEPENDENCIES or "po" in names):
                return True
    return False


def _contained(plan: Plan, slot: int) -> set[str]:
    """The base relations that a relation contains as they are: the parts of a union, the base of a closure."""
    step = plan.steps[slot]
    if step.op == "base":
        return {step.base}
    if step.op == "union":
        return _contained(plan, step.args[0]) | _contained(plan, step.args[1])
    if step.op in ("plus", "optional", "in_turn"):
        return _contained(plan, step.args[0])
    return set()


def _circular(program: Program) -> bool:
    """Whether threads whose stores may depend on their loads can feed each other, or themselves, in a circle."""
    dependent = [thread for thread in program.threads if any(map(_depends, thread.body))]
    stored, loaded = ([_objects(program, thread, what) for thread in dependent] for what in (STORES, LOADS))
    feeds = {a: [b for b, there in enumerate(loaded) if here & there] for a, here in enumerate(stored)}
    left = set(feeds)
    while True:
        ends = {a for a in left if not any(b in left for b in feeds[a])}
        if not ends:
            return bool(left)
        left -= ends


def _depends(statement: Statement) -> bool:
    """Whether anything can depend on what was read by way of this instruction."""
    if isinstance(statement, HANDS_ON) or statement.guard is not None:
        return True
    if isinstance(statement, Atomic) and statement.op != "exch":
        return True
    return any(registers(expr) for name in statement.__slots__ for expr in _operands(statement, name))


def _operands(statement: Statement, name: str) -> list[Expr]:
    """The expressions in one field of an instruction."""
    held = getattr(statement, name)
    return [one for one in (held if isinstance(held, tuple) else (held,)) if isinstance(one, Expr)]


def _objects(program: Program, thread: Thread, operands: Operands) -> set[str]:
    """The objects that some operands of a thread's instructions may lie in."""
    found: set[str] = set()
    for statement in thread.body:
        mapped = isinstance(statement, AsyncCopy) and (statement.map is not None or statement.multicast is not None)
        for name in operands.get(type(statement), ()):
            for address in _operands(statement, name):
                if mapped or registers(address):
                    return {item.name for item in program.objects}
                found |= {program.physical(leaf.name).name for leaf in leaves(address) if isinstance(leaf, Addr)}
    return found
