"""Small random tests with loops that wait, for the comparison of engines: two or three threads, two or three words."""

from __future__ import annotations

from dataclasses import replace

from building import atom, bar, bra, cta, equal, fence, label, ld, program, st, thread
from hypothesis import strategies as some

from ptxmm.program import Binary, Const, Expr, FinalMem, FinalReg, Place, Program, Reg, Statement, Thread

SCOPES = ("gpu", "gpu", "cta", "sys")
WORDS = ("x", "y", "z")


@some.composite
def spinning(draw: some.DrawFn, threads: int = 3, length: int = 3, *, barriers: bool = True) -> Program:
    """A test in which some threads wait for values that others may write; all registers and words are asked for."""
    count = draw(some.integers(2, threads))
    found: list[Thread] = []
    for index in range(count):
        place = cta(draw(some.sampled_from((0, 0, 1, 2))), device=draw(some.sampled_from((0, 0, 0, 1))))
        body: list[Statement] = []
        for position in range(draw(some.integers(1, length))):
            body += draw(steps(f"r{position}", barriers=barriers))
        found.append(thread("ABC"[index], placed(place), *body))
    drawn = program(*found)
    columns = [FinalReg(one.name, reg) for one in found for reg in one.types]
    return replace(drawn, locations=(*columns, *(FinalMem(one.name, 0, one.type) for one in drawn.objects)))


def placed(place: Place) -> Place:
    """CTAs of one number on two devices are different ones."""
    return Place(place.device, place.cta // 2, place.cta)


@some.composite
def steps(draw: some.DrawFn, dst: str, *, barriers: bool) -> list[Statement]:
    """One instruction, or a loop that waits."""
    kinds = ["wait", "wait", "store", "store", "add", "fence", "load", *(["bar"] if barriers else [])]
    kind, word, scope = (
        draw(some.sampled_from(kinds)),
        draw(some.sampled_from(WORDS[:2])),
        draw(some.sampled_from(SCOPES)),
    )
    match kind:
        case "wait":
            return draw(waits(dst, word, scope))
        case "store":
            how = draw(some.sampled_from(("weak", f"relaxed.{scope}", f"release.{scope}")))
            return [st(word, draw(some.sampled_from((0, 1, 2))), how)]
        case "add":
            return [atom("add", None, word, 1, how=f"{draw(some.sampled_from(('relaxed', 'release')))}.{scope}")]
        case "fence":
            return [fence(f"{draw(some.sampled_from(('acq_rel', 'sc')))}.{scope}")]
        case "bar":
            return [draw(some.sampled_from((bar(), bar(number=1, count=64))))]
    return [ld(dst, word, draw(some.sampled_from(("weak", f"relaxed.{scope}", f"acquire.{scope}"))))]


@some.composite
def waits(draw: some.DrawFn, dst: str, word: str, scope: str) -> list[Statement]:
    """A loop that polls until a predicate holds: tested at its end, tested at its start, or taking a lock."""
    again, out = f"again_{dst}", f"out_{dst}"
    form = draw(some.sampled_from(("do", "do", "while", "two words", "lock")))
    poll = ld(dst, word, draw(some.sampled_from((f"relaxed.{scope}", f"acquire.{scope}", "weak"))))
    goes_on = draw(predicates(dst))
    match form:
        case "do":
            return [label(again), poll, bra(again, goes_on)]
        case "while":
            negated = Binary("==", goes_on, Const(0))
            return [label(again), bra(out, negated), poll, bra(again), label(out)]
        case "two words":
            other = ld(f"{dst}o", draw(some.sampled_from(WORDS[:2])), f"relaxed.{scope}")
            return [label(again), poll, other, bra(again, Binary("&&", goes_on, equal(f"{dst}o", 0)))]
    order = draw(some.sampled_from(("relaxed", "acquire")))
    return [
        label(again),
        atom("cas", dst, word, 0, 3, how=f"{order}.{scope}"),
        bra(again, Binary("!=", Reg(dst), Const(0))),
    ]


@some.composite
def predicates(draw: some.DrawFn, register: str) -> Expr:
    """What keeps a loop going."""
    value = Const(draw(some.sampled_from((0, 1, 1, 2))))
    return Binary(draw(some.sampled_from(("==", "!=", "<"))), Reg(register), value)
