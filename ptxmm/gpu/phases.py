"""Whether mbarriers that count bytes may be used beyond a phase, where nobody waits for it to end."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from ptxmm.gpu.around import loops
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Const,
    CopyArrive,
    Expr,
    MbarrierArrive,
    MbarrierInit,
    MbarrierTx,
    Program,
    Statement,
    named,
)

ARRIVALS = (MbarrierArrive, CopyArrive)


def one_phase(program: Program) -> bool:
    """Whether no mbarrier on which bytes complete gets more arrivals than end its first phase.

    One more would be an arrival with none pending, which PTX leaves undefined, if bytes are still to come. Arrays count
    as one object, and all as one where an address is in a register.

    >>> from ptxmm.syntax.lit import read
    >>> text = '''ptx armed
    ... .shared @ d0.c0.b0 .mbarrier m(1);
    ... thread A @ d0.c0.b0 { %s }'''
    >>> arm = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;"
    >>> [one_phase(test) for code in (arm, arm + arm) for test in read(text % code, "armed.lit")]
    [True, False]
    """
    everything = [(s, n, thread) for thread in program.threads for n, s in enumerate(thread.body)]
    known = not any(name is None for s, *_ in everything for name in _objects(s))
    pending: dict[str, float] = defaultdict(lambda: math.inf)
    for item in program.objects:
        if item.mbarrier is not None:
            pending[_key(item.name, known)] = min(pending[_key(item.name, known)], item.mbarrier)
    arrivals, bytes_ = Counter[str](), set[str]()
    for statement, place, thread in everything:
        for key in {_key(name, known) for name in _objects(statement)}:
            if isinstance(statement, MbarrierInit):
                pending[key] = min(pending[key], _number(statement.count, 0))
            elif isinstance(statement, ARRIVALS):
                again = any(place in loop for loop in loops(thread))
                count = statement.count if isinstance(statement, MbarrierArrive) else Const(1)
                arrivals[key] += 1 << 32 if again else _number(count, 1 << 32)
            if not isinstance(statement, MbarrierInit) and _has_bytes(statement):
                bytes_.add(_family(key))
    return all(number <= pending[key] for key, number in arrivals.items() if _family(key) in bytes_)


def _objects(statement: Statement) -> list[str | None]:
    """The mbarriers that an instruction acts on, None for one whose address is in a register."""
    match statement:
        case MbarrierInit(address=address) | MbarrierArrive(address=address) | CopyArrive(address=address):
            return _names(address)
        case MbarrierTx(address=address):
            return _names(address)
        case AsyncCopy(mbarrier=address) | AsyncStore(mbarrier=address) if address is not None:
            return _names(address)
    return []


def _names(address: Expr) -> list[str | None]:
    return [*named(address)] or [None]


def _key(name: str | None, known: bool) -> str:
    return name if known and name is not None else ""


def _family(name: str) -> str:
    """The name that the copies of an object in several CTAs share, on which a multicast completes in each."""
    return name.partition("@")[0]


def _has_bytes(statement: Statement) -> bool:
    return not isinstance(statement, MbarrierArrive | CopyArrive) or getattr(statement, "expect", None) is not None


def _number(value: Expr, otherwise: int) -> int:
    return value.value if isinstance(value, Const) else otherwise
