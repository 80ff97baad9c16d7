"""Whether a verdict depends on how the text of PTX ISA 9.4 is read, where it leaves a rule open."""

from __future__ import annotations

from dataclasses import replace

from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    ClusterBarrier,
    CopyArrive,
    Fence,
    MbarrierTx,
    MbarrierWait,
    Order,
    Program,
    ProxyFence,
    Statement,
)  # fmt: skip
from ptxmm.verdict import Result

READINGS = STRICT, LITERAL = "ptx-9.4-strict", "ptx-9.4-literal"
DEFINITE = frozenset({"allowed", "forbidden", "holds", "fails", "no condition", "not asked"})


def readings_that_may_differ(program: Program) -> tuple[str, ...]:
    """The readings whose definitions can say something else of a test than the default model's.

    Within one CTA a proxy fence is always the issuer's (R3), a completion always in scope (R9) and every arrival
    morally strong to the next (R13), unless a restricted fence is on the path. An `expect_tx` may end a phase (A8).
    """
    kinds = _kinds_of(program)
    ctas = {(t.place.kernel, t.place.device, t.place.cluster, t.place.cta) for t in program.threads}
    apart = len(ctas) > 1 or "window" in kinds
    fenced = {"fence", "bulk"} <= kinds
    strict = "expect" in kinds or (apart and (fenced or {"wait", "completion"} <= kinds))
    literal = fenced or bool(kinds & {"letter", "expect"}) or (apart and bool(kinds & {"bulk", "wait"}))
    return tuple(name for name, differs in ((STRICT, strict), (LITERAL, literal)) if differs)


def properties_that_may_differ(program: Program) -> frozenset[str]:
    """What is worth asking of the other readings: where a phase may never end, also hangs and undefined steps."""
    return frozenset({"outcome", "race"} | ({"hang", "undefined"} if "expect" in _kinds_of(program) else set()))


def _kinds_of(program: Program) -> set[str]:
    return {kind for thread in program.threads for statement in thread.body for kind in _kinds(statement)}


def _kinds(statement: Statement) -> tuple[str, ...]:
    """What of an instruction the definitions of the readings are about."""
    match statement:
        case ProxyFence(kind="async", order=None):
            return ("fence",)
        case ProxyFence(kind="alias", order=Order()):
            return ("letter",)
        case Fence() | ProxyFence() if statement.window not in (None, "mbarrier_init"):
            return ("window",)
        case CopyArrive(increments=True):
            return ("letter",)
        case ClusterBarrier(wait=False, order=Order.RELAXED):
            return ("letter",)
        case MbarrierWait():
            return ("wait",)
        case MbarrierTx(complete=False):
            return ("expect",)
        case AsyncCopy(bulk=True):
            strong = statement.order is not Order.WEAK and statement.reduce is None
            return ("bulk", "completion", "letter") if strong else ("bulk", "completion")
        case AsyncStore():
            return ("completion",)
    return ()


def with_readings(result: Result, others: list[Result]) -> Result:
    """The result with a note on the readings whose answers differ from its own.

    >>> mine = Result("", "store", None, "ptx-9.4", verdict="forbidden")
    >>> with_readings(mine, [Result("", "store", None, LITERAL, verdict="allowed")]).notes
    ('depends on the reading: allowed under ptx-9.4-literal',)
    """
    said: dict[str, list[str]] = {}
    for other in others:
        if words := _difference(result, other):
            said.setdefault(words, []).append(other.model)
    if not said:
        return result
    note = "; ".join(f"{words} under {', '.join(models)}" for words, models in said.items())
    return replace(result, notes=(*result.notes, f"depends on the reading: {note}"))


def _difference(mine: Result, other: Result) -> str:
    """What another reading says, where both are definite and not the same."""
    if not {mine.verdict, other.verdict} <= DEFINITE:
        return ""
    words, differs = [], False
    if "not asked" not in (mine.verdict, other.verdict) and other.verdict != "no condition":
        words.append(other.verdict)
        differs = mine.verdict != other.verdict
    if {mine.race.verdict, other.race.verdict} <= {"yes", "no"}:
        on = other.race.on
        words.append(f"race on {', '.join(on)}" if on else "no race")
        differs = differs or set(mine.race.on) != set(on)
    for word, own, others in (("hang", mine.hang, other.hang), ("undefined", mine.undefined, other.undefined)):
        if {own.verdict, others.verdict} == {"yes", "no"}:
            words.append(word if others.verdict == "yes" else f"no {word}")
            differs = True
    return ", ".join(words) if differs else ""
