"""Random tests on the machine: it shows no state that a model excludes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from building import equal, model
from hypothesis import given, settings
from machine.memory import Fault
from machine.runs import STUCK, allowed, seen, states
from machine.scheduler import Hang
from machine.text import Unknown
from random_asynchronous import asynchronous
from random_programs import programs

from ptxmm.arith import U32, Type
from ptxmm.check import check
from ptxmm.errors import PtxmmError, Unsupported
from ptxmm.options import Options
from ptxmm.program import (
    Addr,
    Assign,
    Atomic,
    Barrier,
    ClusterBarrier,
    Const,
    Expr,
    FinalReg,
    Load,
    Program,
    Statement,
    Store,
    WarpSync,
)
from ptxmm.states import enumerate_states

B32 = Type("b", 32)
UNTYPED = ("cas", "exch")
PLAIN = frozenset({"cluster", "alias", "lanes", "branches", "predicates", "vectors", "mixed"})


@settings(max_examples=8, deadline=None, derandomize=True)
@given(programs(PLAIN))
def test_a_random_test_shows_what_sequential_consistency_allows(program: Program) -> None:
    held(program)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(programs(PLAIN | {"barriers"}))
def test_many_random_tests_show_what_sequential_consistency_allows(program: Program) -> None:
    held(program)


def held(program: Program) -> None:
    """Every state that the machine shows is one of sequential consistency; only barriers keep a launch from its end."""
    program = on_one_device(program)
    try:
        (counted,) = seen(program, warps=2)
    except Unsupported:
        return
    except (Hang, Fault, PtxmmError) as wrong:
        barriers = any(isinstance(s, Barrier | ClusterBarrier | WarpSync) for t in program.threads for s in t.body)
        if not barriers or (isinstance(wrong, PtxmmError) and str(wrong) != STUCK):
            raise
        return
    assert states(counted) <= allowed(program, model("sc"))


STAMPED = PLAIN - {"mixed", "lanes"}
WRITERS = {"x": 0, "y": 1, "z": 0, "w": None}
"""The thread that stores to each word; nobody does through the second address of `x`."""


@settings(max_examples=8, deadline=None, derandomize=True)
@given(programs(STAMPED))
def test_a_thread_that_counts_its_own_registers_shows_what_sequential_consistency_allows(program: Program) -> None:
    held(counted_by_one(program))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(programs(STAMPED))
def test_many_threads_that_count_their_own_registers_show_what_sequential_consistency_allows(program: Program) -> None:
    held(counted_by_one(program))


def counted_by_one(program: Program) -> Program:
    """A test whose values tell rounds apart, in two registers that are used again; the last thread's are shown."""
    threads = [
        replace(thread, body=tuple(_plain(s) for s in thread.body if _stays(s, number)), types={"r0": U32, "r1": U32})
        for number, thread in enumerate(program.threads)
    ]
    shown = (FinalReg(threads[-1].name, "r0"), FinalReg(threads[-1].name, "r1"))
    objects = tuple(item for item in program.objects if item.owner is None)
    return replace(program, objects=objects, threads=tuple(threads), locations=shown)


def _stays(statement: Statement, number: int) -> bool:
    address = getattr(statement, "address", None)
    if isinstance(statement, Store):
        return isinstance(address, Addr) and WRITERS.get(address.name) == number
    return address is None or (isinstance(statement, Load) and isinstance(address, Addr) and address.name in WRITERS)


def _plain(statement: Statement) -> Statement:
    """The statement with two registers, one of them in a vector, and with constants where it stores."""
    match statement:
        case Load(dst=(first,)):
            return replace(statement, dst=(_one_of_two(first),), guard=_again(statement.guard))
        case Load():
            return replace(statement, dst=("r0", "r1"), guard=_again(statement.guard))
        case Store(values=values):
            return replace(statement, values=tuple(v if isinstance(v, Const) else Const(1) for v in values),
                           guard=_again(statement.guard))  # fmt: skip
        case Assign(dst=dst):
            return replace(statement, dst=_one_of_two(dst), value=Const(2))
    return replace(statement, guard=_again(statement.guard))


def _again(guard: Expr | None) -> Expr | None:
    return guard and equal("r0", 1)


def _one_of_two(name: str | None) -> str:
    return f"r{int(name[1]) % 2}" if name else "r0"


def on_one_device(program: Program) -> Program:
    """A random test as one device can run it: types that PTX has, and registers that something declares."""
    zeros = {f"r{number}": U32 for number in range(6)}
    threads = [
        replace(
            thread,
            place=replace(thread.place, device=0),
            types=zeros | thread.types,
            body=tuple(replace(s, type=B32) if isinstance(s, Atomic) and s.op in UNTYPED else s for s in thread.body),
        )
        for thread in program.threads
    ]
    home = replace(threads[0].place, warp=None, lane=None)
    objects = tuple(replace(item, owner=item.owner and home) for item in program.objects)
    return replace(program, threads=tuple(threads), objects=objects)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(asynchronous())
def test_a_random_test_of_copies_shows_what_the_model_allows(program: Program) -> None:
    held_asynchronously(program)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(asynchronous())
def test_many_random_tests_of_copies_show_what_the_model_allows(program: Program) -> None:
    held_asynchronously(program)


def held_asynchronously(program: Program) -> None:
    """Every state that the machine shows is one of the model, where it knows all and no undefined step is reached."""
    try:
        (counted,) = seen(program, warps=2)
    except (Unsupported, Hang, Fault):
        return
    except Unknown as unknown:
        if "tensor map" not in str(unknown):
            raise
        return
    except PtxmmError as wrong:
        if str(wrong) != STUCK:
            raise
        return
    found = enumerate_states(program, model("ptx-9.4"), Options())
    if found.complete and not states(counted) <= {state.values for state in found.states}:
        assert check(program, model("ptx-9.4"), Options(properties=frozenset({"undefined"}))).undefined.verdict == "yes"
