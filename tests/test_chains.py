"""Words that only atomic operations write: the closed forms give what the plain encoding gives."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxmm.arith import U32
from ptxmm.cat import read_model, shipped_models
from ptxmm.encode import chain_lemma, encode
from ptxmm.model import Axiom, Model
from ptxmm.plan import plan_of
from ptxmm.program import Addr, Atomic, Const, FinalMem, FinalReg, Load, Object, Order, Place, Program, Scope, Thread
from ptxmm.solve import Truth, session
from ptxmm.states import columns

STEPS = (("add", 1), ("add", 1), ("sub", 1), ("add", 5), ("exch", 7), ("max", 2))
ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL)


@st.composite
def counters(draw: st.DrawFn) -> Program:
    """Three or four atomic operations on one word in two or three threads, and perhaps a reader."""
    threads = []
    left = draw(st.integers(3, 4))
    for index in range(3):
        count = left if index == 2 else draw(st.integers(0, min(2, left)))
        left -= count
        body: list[Atomic | Load] = []
        for step in range(count):
            op, operand = draw(
                st.sampled_from([("add", 1), ("add", 1), ("sub", 1), ("add", 5), ("exch", 7), ("max", 2)])
            )
            body.append(
                Atomic(op=op, dst=(f"r{step}",), address=Addr("x"), operands=(Const(operand),), type=U32,
                       order=draw(st.sampled_from(ORDERS)), scope=draw(st.sampled_from([Scope.GPU, Scope.SYS])))
            )  # fmt: skip
        if draw(st.booleans()):
            body.append(Load(dst=("p",), address=Addr("x"), type=U32, order=Order.RELAXED, scope=Scope.GPU))
        names = [name for one in body for name in one.dst if name is not None]
        threads.append(Thread(f"T{index}", Place(cta=index, cluster=index), tuple(body), dict.fromkeys(names, U32)))
    return Program("counters", (Object("x"),), tuple(threads))


def states(program: Program, model: Model, *, chains: bool) -> tuple[set[tuple[int, ...]], bool]:
    """All final states, and whether a chain was used."""
    encoding = encode(program, model, 1, chains=chains)
    leaves: list[FinalReg | FinalMem] = columns(program)
    tables = [encoding.finals.leaf(leaf) for leaf in leaves]
    formulas, here, prefix = encoding.formulas, session(), session().prefix()
    names = [(f"{prefix}c{i}_{value}", literal) for i, t in enumerate(tables) for value, literal in t.items()]
    asserted = [*encoding.asserted, *(literal for _, literal in encoding.axioms)]
    found = set()
    with here.load(formulas.text(asserted, (), f"{prefix}v", names), prefix) as loaded:
        while loaded.check([], formulas.deadline) is Truth.SAT:
            known = formulas.value([abs(lit) for _, lit in names], loaded.assignment(formulas.variables))
            state = tuple(
                next(value for value, lit in table.items() if known[abs(lit)] == (lit > 0)) for table in tables
            )
            assert state not in found
            found.add(state)
            same = " ".join(f"{prefix}c{i}_{value}" for i, value in enumerate(state))
            loaded.block(f"(assert (not (and true {same})))")
    return found, bool(encoding.base.choices.chains)


@pytest.mark.parametrize("name", shipped_models())
@settings(max_examples=12, deadline=None, derandomize=True)
@given(program=counters())
def test_chains_change_no_final_state(name: str, program: Program) -> None:
    model = read_model(name)
    assert states(program, model, chains=True)[0] == states(program, model, chains=False)[0]


def test_three_additions_are_a_chain_with_each_count_read_once() -> None:
    step = Atomic(op="add", dst=("r",), address=Addr("x"), operands=(Const(1),), type=U32)
    threads = tuple(Thread(f"T{i}", Place(cta=i, cluster=i), (step,), {"r": U32}) for i in range(3))
    found, used = states(Program("three", (Object("x"),), threads), read_model("ptx-9.4"), chains=True)
    assert used
    assert {tuple(sorted(state[:3])) for state in found} == {(0, 1, 2)}
    assert len(found) == 6


def test_a_model_without_atomicity_gets_no_chain() -> None:
    model = read_model("ptx-9.4")
    kept = tuple(s for s in model.statements if not (isinstance(s, Axiom) and s.name == "atomicity"))
    weaker = replace(model, statements=kept)
    assert chain_lemma(plan_of(model), model)
    assert not chain_lemma(plan_of(weaker), weaker)
