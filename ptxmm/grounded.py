"""Values out of thin air: the engine computes possible values from below, so the model must forbid the others.

A model does when an axiom `acyclic r` has an `r` that contains reads-from and every dependency. Under another model, a
test in which values could feed on themselves, by data, by address or by deciding that a store runs, is undecided.
"""

from __future__ import annotations

from ptxmm.errors import Undecided
from ptxmm.model import Check, Model
from ptxmm.plan import Plan, plan_of
from ptxmm.program import Addr, Assign, Assume, Atomic, Branch, Expr, Load, Program, Store, Thread, leaves, registers

DEPENDENCIES = frozenset({"addr", "data", "ctrl"})


def ensure_grounded(program: Program, model: Model) -> None:
    """Raise Undecided where values may feed on themselves and the model does not forbid it."""
    if not _forbids(plan_of(model)) and _circular(program):
        raise Undecided(f"the model {model.name} does not forbid values out of thin air, and this test could make them")


def _forbids(plan: Plan) -> bool:
    """Whether an axiom keeps reads-from and dependencies together free of circles."""
    for _, check, negated, slot in plan.axioms:
        if check is Check.ACYCLIC and not negated:
            names = _contained(plan, slot)
            if "rf" in names and (names >= DEPENDENCIES or "po" in names):
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
    dependent = [thread for thread in program.threads if _depends(thread)]
    feeds = {
        a: [b for b, other in enumerate(dependent) if _meet(program, _stored(one), _loaded(other))]
        for a, one in enumerate(dependent)
    }
    left = set(feeds)
    while True:
        ends = {a for a in left if not any(b in left for b in feeds[a])}
        if not ends:
            return bool(left)
        left -= ends


def _depends(thread: Thread) -> bool:
    """Whether anything of the thread can depend on what it read."""
    for statement in thread.body:
        if isinstance(statement, (Branch, Assume, Assign)) or statement.guard is not None:
            return True
        if isinstance(statement, Atomic) and statement.op != "exch":
            return True
        exprs: tuple[Expr, ...] = ()
        if isinstance(statement, (Load, Store, Atomic)):
            exprs = (statement.address, *getattr(statement, "values", ()), *getattr(statement, "operands", ()))
        if any(registers(expr) for expr in exprs):
            return True
    return False


def _stored(thread: Thread) -> list[Expr]:
    return [s.address for s in thread.body if isinstance(s, (Store, Atomic))]


def _loaded(thread: Thread) -> list[Expr]:
    return [s.address for s in thread.body if isinstance(s, (Load, Atomic))]


def _meet(program: Program, stored: list[Expr], loaded: list[Expr]) -> bool:
    """Whether some stored and some loaded address may lie in one object."""
    return any(_objects(program, a) & _objects(program, b) for a in stored for b in loaded)


def _objects(program: Program, address: Expr) -> set[str]:
    if registers(address):
        return {item.name for item in program.objects}
    return {program.physical(leaf.name).name for leaf in leaves(address) if isinstance(leaf, Addr)}
