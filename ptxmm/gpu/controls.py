"""Positive controls: siblings of a test with less synchronisation; next to what they show, a zero means something.

A control has the threads, the accesses and the question of its test, and each of its instructions is one of the test's,
weaker or equal (`ptxmm.gpu.weaker`). What a run needs so that it ends, and ends well, stays: a poll keeps the scope by
which it sees the word, a barrier stays where a loop, an mbarrier or a copy counts on it, and so does a fence that
follows `mbarrier.init`, or one that publishes a tensor map which the host did not write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from ptxmm.errors import InputError, PtxmmError, Unsupported
from ptxmm.gpu.around import Around, surroundings
from ptxmm.gpu.changes import became, told, wait_told
from ptxmm.gpu.headlong import Headlong, hasty, headlong, without
from ptxmm.gpu.independent import without_dependencies
from ptxmm.gpu.torn import may_tear, torn
from ptxmm.gpu.weaker import shortfalls
from ptxmm.isa import form_of
from ptxmm.isa_text import mnemonic
from ptxmm.program import (
    Atomic,
    Barrier,
    Branch,
    ClusterBarrier,
    Exit,
    Fence,
    GridDependency,
    Load,
    MbarrierArrive,
    MbarrierWait,
    Order,
    Program,
    Proxy,
    ProxyFence,
    Scope,
    Statement,
    Store,
    TensormapCopy,
    Thread,
    WaitGroup,
    WarpSync,
)


@dataclass(frozen=True, slots=True)
class Control:
    """A test with less synchronisation: a `kind` of `KINDS`, and what became of each instruction that changed."""

    kind: str
    program: Program
    changes: tuple[str, ...]


Surrounded = Mapping[str, list[Around]]
Weakening = Callable[[Statement, Around], Statement | None]
Weakened = Callable[[Thread, list[str]], Thread]
Making = Callable[[Program, Surrounded], Weakened]
"""From a test, and what is around its instructions, to the making of a weaker thread, which adds to the changes."""


def controls(program: Program) -> tuple[Control, ...]:
    """The controls of a test that differ from it and from each other, those that say most first.

    >>> from ptxmm.syntax.lit import read
    >>> (mp,) = read('''ptx MP
    ... .global .u32 x; .global .u32 f;
    ... thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1; }
    ... thread B @ d0.c1.b1 { ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x]; }
    ... exists (B.r0 == 1 && B.r1 == 0)''', "mp.lit")
    >>> for control in controls(mp):
    ...     print(control.kind, *control.changes, sep="; ")
    relaxed; A: st.release.gpu.u32 -> st.relaxed.gpu.u32; B: ld.acquire.gpu.u32 -> ld.relaxed.gpu.u32
    narrowed; A: st.release.gpu.u32 -> st.release.cta.u32; B: ld.acquire.gpu.u32 -> ld.acquire.cta.u32
    weak; A: st.release.gpu.u32 -> st.weak.u32; B: ld.acquire.gpu.u32 -> ld.weak.u32
    """
    found: dict[Program, Control] = {}
    surrounded = {thread.name: surroundings(program, thread) for thread in program.threads}
    for kind, making in KINDS.items():
        made = _made(program, kind, making(program, surrounded))
        if made.changes and made.program not in found:
            found[made.program] = made
    return tuple(found.values())


def _made(program: Program, kind: str, weakened: Weakened) -> Control:
    changes: list[str] = []
    threads = tuple(weakened(thread, changes) for thread in program.threads)
    control = Control(kind, replace(program, threads=threads, expects=()), tuple(changes))
    if wrong := shortfalls(control.program, program):
        raise PtxmmError(f"{program.full_name}: the control `{kind}` is not weaker (a mistake in ptxmm): {wrong[0]}")
    return control


def _tearing(program: Program, _surrounded: Surrounded) -> Weakened:
    """Atomic operations in pieces, where the test says what a final state is."""
    asks = program.condition is not None or program.locations or program.filter is not None
    return torn if asks and may_tear(program) else lambda thread, _changes: thread


def _each(weakening: Weakening) -> Making:
    """The making of a control whose instructions change one by one."""
    return lambda _program, surrounded: partial(_thread, surrounded, weakening)


def _thread(surrounded: Surrounded, weakening: Weakening, thread: Thread, changes: list[str]) -> Thread:
    body, late = list[Statement](), list[Statement]()
    straight = not any(isinstance(s, Branch | Exit) for s in thread.body)
    nearby = surrounded[thread.name]
    for index, (statement, around) in enumerate(zip(thread.body, nearby, strict=True)):
        new = weakening(statement, around)
        new = new if new is None or _is_ptx(new) else statement
        if isinstance(statement, WaitGroup) and new is None:
            (late if straight else body).append(statement)
        elif new is not None:
            body.append(replace(new, text=told(replace(new, text=""))) if new != statement else statement)
        if new is None and around.skippable:
            changes += wait_told(thread, index, {n for n, one in enumerate(nearby) if one.skippable})
        elif new != statement and not isinstance(statement, WaitGroup):
            changes.append(f"{thread.name}: {told(statement)} -> {became(statement, new)}")
    if late and thread.body[-len(late) :] != tuple(late):
        changes.extend(f"{thread.name}: {told(statement)} -> at the end" for statement in late)
    return replace(thread, body=(*body, *late))


def _rushing(hurries: Callable[[Program], dict[str, Headlong]]) -> Making:
    """The making of a control that does without waits, and perhaps barriers; the rest is relaxed."""

    def making(program: Program, surrounded: Surrounded) -> Weakened:
        found = hurries(program)

        def rushed(thread: Thread, changes: list[str]) -> Thread:
            if thread.name not in found:
                return thread
            whole = [_drained(s, around) for s, around in zip(thread.body, surrounded[thread.name], strict=True)]
            return without(thread, found[thread.name], whole, changes)

        return rushed

    return making


def _drained(statement: Statement, around: Around) -> Statement | None:
    """An instruction relaxed, but waits for copies in their place."""
    new = statement if isinstance(statement, WaitGroup) else _relaxed(statement, around)
    return new if new is None or _is_ptx(new) else statement


def _is_ptx(statement: Statement) -> bool:
    """Whether PTX has an instruction with these qualifiers: `.noComplete` takes no `.relaxed`, for instance."""
    try:
        form_of(mnemonic(statement))
    except InputError:
        return False
    except Unsupported:
        return True
    return True


# --- the kinds -------------------------------------------------------------------------------------------------------


def _relaxed(statement: Statement, around: Around) -> Statement | None:
    """Relaxed accesses; fences and acquires whose value is thrown away are gone, waits for copies come last."""
    match statement:
        case Load(order=Order.ACQUIRE, dst=dst) if all(name is None for name in dst) and not around.loops:
            return None
        case Fence() | ProxyFence():
            return statement if _needed(statement, around) else None
        case WaitGroup() | GridDependency(wait=True):
            return None
        case (
            Load(order=Order.ACQUIRE)
            | Store(order=Order.RELEASE)
            | Atomic(order=Order.ACQUIRE | Order.RELEASE | Order.ACQ_REL)
            | MbarrierArrive(order=Order.RELEASE)
            | MbarrierWait(order=Order.ACQUIRE)
            | ClusterBarrier(order=Order.RELEASE)
        ):
            return replace(statement, order=Order.RELAXED)
    return statement


def _needed(statement: Fence | ProxyFence, around: Around) -> bool:
    mapped = isinstance(statement, ProxyFence) and statement.kind == "tensormap" and not around.written
    return mapped or around.initialises or around.weak_poll


def _narrowed(statement: Statement, around: Around) -> Statement:
    """Scopes that hold one CTA only; a load in a loop keeps its own, so that it sees the word at last."""
    match statement:
        case _ if not around.several:
            return statement
        case Load(order=Order.WEAK) | Store(order=Order.WEAK):
            return statement
        case Load(proxy=Proxy.GENERIC) if not around.loops:
            return replace(statement, scope=Scope.CTA)
        case Fence(window=None) if not _needed(statement, around):
            return replace(statement, scope=Scope.CTA)
        case ProxyFence(kind="tensormap", scope=Scope()) if not _needed(statement, around):
            return replace(statement, scope=Scope.CTA)
        case TensormapCopy() if around.written:
            return replace(statement, scope=Scope.CTA)
        case Store(proxy=Proxy.GENERIC) | Atomic() | MbarrierArrive() | MbarrierWait():
            return replace(statement, scope=Scope.CTA)
    return statement


def _apart(statement: Statement, around: Around) -> Statement | None:
    """No barriers of clusters, CTAs and warps either."""
    if isinstance(statement, ClusterBarrier | Barrier | WarpSync) and around.loose:
        return None
    return _relaxed(statement, around)


def _weak(statement: Statement, around: Around) -> Statement | None:
    """Weak accesses, except in loops: what then shows may be the compiler's doing."""
    match statement:
        case Load(proxy=Proxy.GENERIC) | Store(proxy=Proxy.GENERIC) if not around.loops:
            relaxed = _relaxed(statement, around)
            return relaxed and replace(statement, order=Order.WEAK, scope=None)
    return _relaxed(statement, around)


def _independent(statement: Statement, _around: Around) -> Statement:
    """No dependencies through values that are known without them."""
    return without_dependencies(statement)


def _unwaited(statement: Statement, around: Around) -> Statement | None:
    """No waits behind which nobody is told anything: what they wait for may not be there yet."""
    return None if around.skippable else statement


KINDS: dict[str, Making] = {
    "relaxed": _each(_relaxed),
    "apart": _each(_apart),
    "torn": _tearing,
    "independent": _each(_independent),
    "narrowed": _each(_narrowed),
    "weak": _each(_weak),
    "unwaited": _each(_unwaited),
    "hasty": _rushing(hasty),
    "headlong": _rushing(headlong),
}
BOLD = ("hasty", "headlong")
"""The last kinds, one of them a test's: an mbarrier may be used beyond what it counts, and the chip may refuse that."""
