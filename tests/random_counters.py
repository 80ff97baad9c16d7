"""Random tests of words that atomic operations share: predicated and failing ones, loops, stores, mixed scopes."""

from __future__ import annotations

from building import add, atom, bra, cta, equal, fence, label, ld, st, thread
from hypothesis import strategies as some

from ptxmm.program import Expr, Object, Program, Statement, Unary

ORDERS = ("relaxed", "relaxed", "acquire", "release", "acq_rel")
OPERATIONS = (("add", 1), ("add", 1), ("add", 1), ("sub", 1), ("add", 5), ("exch", 7), ("max", 2))
KINDS = ("add", "add", "add", "operation", "cas", "increment", "loop", "poll", "wait", "store", "data", "seen", "fence")


@some.composite
def counters(draw: some.DrawFn, operations: int = 5, kinds: tuple[str, ...] = KINDS) -> Program:
    """Two to four threads share the word `x`, and may say something about the word `y`."""
    scope = draw(some.sampled_from(("gpu", "gpu", "sys")))
    left = draw(some.integers(3, operations))
    threads = []
    for index in range(draw(some.integers(2, 4))):
        body: list[Statement] = []
        for number in range(draw(some.integers(1, 3))):
            odd = draw(some.integers(0, 15)) == 0
            kind = draw(some.sampled_from(kinds)) if left > 0 else draw(some.sampled_from(("data", "seen")))
            body += draw(steps(kind, f"{'abc'[number]}", "cta" if odd else scope))
            left -= kind not in ("data", "seen", "fence")
        threads.append(thread("ABCD"[index], cta(draw(some.sampled_from((index, index, 0)))), *body))
    return Program("counters", (Object("x"), Object("y")), tuple(threads))


@some.composite
def steps(draw: some.DrawFn, kind: str, name: str, scope: str) -> list[Statement]:
    """One step of a thread; its registers start with a name, and that before it may guard it."""
    how = f"{draw(some.sampled_from(ORDERS))}.{scope}"
    reading = f"{draw(some.sampled_from(('relaxed', 'acquire')))}.{scope}"
    previous = chr(ord(name) - 1) + "0"
    guards: tuple[Expr | None, ...] = (None, None)
    if name != "a":
        guards = (None, equal(previous, draw(some.integers(0, 2))))
    guard = draw(some.sampled_from(guards))
    r0, r1, r2 = (f"{name}{i}" for i in range(3))
    wanted = draw(some.integers(1, 3))
    match kind:
        case "add":
            return [atom("add", r0, "x", 1, how=how, guard=guard)]
        case "operation":
            op, operand = draw(some.sampled_from(OPERATIONS))
            return [atom(op, r0, "x", operand, how=how, guard=guard)]
        case "cas":
            return [atom("cas", r0, "x", draw(some.integers(0, 2)), wanted, how=how, guard=guard)]
        case "increment":
            return [ld(r0, "x", reading), add(r1, r0, 1), atom("cas", r2, "x", r0, r1, how=how, guard=guard)]
        case "loop":
            taken = Unary("!", equal(r2, r0))
            cas = atom("cas", r2, "x", r0, r1, how=how)
            return [label(name), ld(r0, "x", reading), add(r1, r0, 1), cas, bra(name, taken)]
        case "wait":
            return [label(name), ld(r0, "x", reading), bra(name, Unary("!", equal(r0, wanted)))]
        case "poll":
            return [ld(r0, "x", draw(some.sampled_from(("weak", reading))), guard=guard)]
        case "store":
            return [st("x", wanted, f"relaxed.{scope}", guard=guard)]
        case "data":
            return [st("y", 1)]
        case "seen":
            return [ld(r0, "y")]
    return [fence(f"acq_rel.{scope}")]
