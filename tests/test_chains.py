"""Words that only atomic operations write: the closed forms give what the plain encoding gives."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.bench import PUBLISHERS, grid_barrier, odd_publisher, wait_chain
from building import Options as Its
from building import atom, cta, final, ld, model, program, st, thread
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from random_counters import counters

from ptxmm import chains, enumeration
from ptxmm.arith import U32
from ptxmm.cat import read_model, shipped_models
from ptxmm.check import check
from ptxmm.compilation import plan_of
from ptxmm.encode import chain_lemma, encode
from ptxmm.model import Axiom, Model
from ptxmm.options import PROGRESS, Options
from ptxmm.program import Addr, Atomic, Const, FinalMem, FinalReg, Object, Place, Program, Thread
from ptxmm.script import smt_lib
from ptxmm.solve import Truth, session
from ptxmm.states import columns, enumerate_states
from ptxmm.syntax import dartagnan, lit


def states(program: Program, model: Model, *, with_chains: bool) -> tuple[set[tuple[int, ...]], bool]:
    """All final states, and whether a chain was used."""
    encoding = encode(program, model, 1, chains=with_chains)
    leaves: list[FinalReg | FinalMem] = columns(program)
    tables = [encoding.finals.leaf(leaf) for leaf in leaves]
    formulas, here, prefix = encoding.formulas, session(), session().prefix()
    names = [(f"{prefix}c{i}_{value}", literal) for i, t in enumerate(tables) for value, literal in t.items()]
    asserted = [*encoding.asserted, *(literal for _, literal in encoding.axioms)]
    found = set()
    with here.load(smt_lib(formulas, asserted, (), f"{prefix}v", names), prefix) as loaded:
        while loaded.check([], formulas.deadline) is Truth.SAT:
            known = formulas.value([abs(lit) for _, lit in names], loaded.assignment(formulas.variables))
            state = tuple(
                next(value for value, lit in table.items() if known[abs(lit)] == (lit > 0)) for table in tables
            )
            assert state not in found
            found.add(state)
            same = " ".join(f"{prefix}c{i}_{value}" for i, value in enumerate(state))
            loaded.add(f"(assert (not (and true {same})))")
    return found, bool(encoding.base.choices.chains)


QUICK = settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck))
EVERYTHING = frozenset({"outcome", "race", "hang"})


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Chains as short as they can be, compared by integers."""
    monkeypatch.setattr(chains, "SHORTEST", 2)
    monkeypatch.setattr(chains, "LOOSEST", 3)
    monkeypatch.setattr(chains, "CLAUSES", 0)
    return monkeypatch


def answers(program: Program, under: str, progress: str) -> tuple[object, ...]:
    """What is decided of a test, without what is given up."""
    options = Options(EVERYTHING, bound=2, timeout=20.0, progress=progress)
    result, found = check(program, model(under), options), enumerate_states(program, model(under), options)
    verdicts = [one.verdict for one in (result.race, result.hang)]
    seen = frozenset(state.values for state in found.states) if found.complete else None
    return (*(word if word != "unknown" else None for word in verdicts), seen)


def same_answers(program: Program, under: str, progress: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare what is decided with chains and without."""
    found = []
    for shortest, clauses in ((99, 0), (2, 0), (2, 20)):
        monkeypatch.setattr(chains, "SHORTEST", shortest)
        monkeypatch.setattr(chains, "CLAUSES", clauses)
        found.append(answers(program, under, progress))
    for one in found[1:]:
        assert all(None in pair or pair[0] == pair[1] for pair in zip(found[0], one, strict=True))


@pytest.mark.parametrize("name", ["ptx-9.4", "ptx-6.0"])
@QUICK
@given(program=counters(3))
def test_chains_change_no_answer(name: str, program: Program) -> None:
    with pytest.MonkeyPatch.context() as patched:
        same_answers(program, name, "fair", patched)


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_models())
@LONG
@given(program=counters(), progress=some.sampled_from(PROGRESS))
def test_chains_change_no_answer_of_larger_tests(name: str, program: Program, progress: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        same_answers(program, name, progress, patched)


@QUICK
@given(program=counters(4))
def test_the_second_engine_finds_the_same_states(program: Program) -> None:
    found = enumeration.outcomes(program, model("ptx-9.4"), Its(bound=2, timeout=3.0))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chains, "SHORTEST", 2)
        ours = answers(program, "ptx-9.4", "fair")[-1]
    assert ours is None or not found.complete or ours == {state.values for state in found.states}


def test_a_read_that_is_strong_with_one_operation_only_still_synchronises_with_it(
    eager: pytest.MonkeyPatch,
) -> None:
    writer = thread("A", cta(0), st("d", 1), atom("add", "r0", "x", 5, how="release.gpu"))
    others = [thread(name, cta(i), atom("add", "r0", "x", 1)) for i, name in ((1, "B"), (2, "C"))]
    reader = thread("R", cta(0), ld("r0", "x", "acquire.cta"), ld("r1", "d"))
    asked = program(writer, *others, reader, exists=final(R_r0=5, R_r1=0))
    assert check(asked, model("ptx-9.4"), Options()).verdict == "forbidden"
    assert encode(asked, model("ptx-9.4"), 1).base.choices.chains
    late = program(writer, *others, reader, exists=final(R_r0=1, R_r1=0))
    assert check(late, model("ptx-9.4"), Options()).verdict == "allowed"


def test_a_store_among_additions_starts_the_count_again(eager: pytest.MonkeyPatch) -> None:
    adders = [thread(name, cta(i), atom("add", "r0", "x", 1)) for i, name in enumerate("ABC")]
    reset = thread("D", cta(3), st("x", 8, "relaxed.gpu"))
    assert check(program(*adders, reset, exists=final(x=9)), model("ptx-9.4"), Options()).verdict == "allowed"
    assert check(program(*adders, reset, exists=final(x=3)), model("ptx-9.4"), Options()).verdict == "forbidden"
    assert encode(program(*adders, reset), model("ptx-9.4"), 1).base.choices.chains


def test_a_failed_cas_adds_nothing_and_reads_between_the_additions(eager: pytest.MonkeyPatch) -> None:
    adders = [thread(name, cta(i), atom("add", "r0", "x", 1)) for i, name in enumerate("ABC")]
    swapper = thread("D", cta(3), atom("cas", "r0", "x", 2, 9))
    assert check(program(*adders, swapper, exists=final(D_r0=1, x=3)), model("ptx-9.4"), Options()).verdict == "allowed"
    assert (
        check(program(*adders, swapper, exists=final(D_r0=2, x=3)), model("ptx-9.4"), Options()).verdict == "forbidden"
    )
    assert (
        check(program(*adders, swapper, exists=final(D_r0=2, x=10)), model("ptx-9.4"), Options()).verdict == "allowed"
    )


# Without chains none of these is decided in a minute.
LARGE = Options(EVERYTHING, timeout=30.0)


def test_a_wait_for_many_publishers_is_decided() -> None:
    (asked,) = dartagnan.read(wait_chain(24), "wait.litmus")
    result = check(asked, model("ptx-9.4"), LARGE)
    assert (result.verdict, result.race.verdict, result.hang.verdict) == ("forbidden", "no", "no")


def test_a_grid_barrier_of_many_ctas_is_decided() -> None:
    (asked,) = dartagnan.read(grid_barrier(20), "barrier.litmus")
    assert check(asked, model("ptx-9.4"), Options(timeout=30.0)).verdict == "forbidden"


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("relaxed", "allowed"), ("narrower", "allowed"), ("conditional", "forbidden"), ("cas loop", "forbidden")],
)
def test_one_odd_publisher_among_many_does_not_make_it_hard(kind: str, verdict: str) -> None:
    (asked,) = lit.read(odd_publisher(kind, 24), "wait.lit")
    assert check(asked, model("ptx-9.4"), Options(timeout=30.0)).verdict == verdict


def test_every_kind_of_odd_publisher_is_measured() -> None:
    assert {"relaxed", "narrower", "conditional", "cas loop"} == set(PUBLISHERS)


def test_three_additions_are_a_chain_with_each_count_read_once() -> None:
    step = Atomic(op="add", dst=("r",), address=Addr("x"), operands=(Const(1),), type=U32)
    threads = tuple(Thread(f"T{i}", Place(cta=i, cluster=i), (step,), {"r": U32}) for i in range(3))
    found, used = states(Program("three", (Object("x"),), threads), read_model("ptx-9.4"), with_chains=True)
    assert used
    assert {tuple(sorted(state[:3])) for state in found} == {(0, 1, 2)}
    assert len(found) == 6


def test_a_model_without_atomicity_gets_no_chain() -> None:
    whole = read_model("ptx-9.4")
    kept = tuple(s for s in whole.statements if not (isinstance(s, Axiom) and s.name == "atomicity"))
    weaker = replace(whole, statements=kept)
    assert chain_lemma(plan_of(whole), whole)
    assert chain_lemma(plan_of(whole), whole, stores=True)
    assert not chain_lemma(plan_of(weaker), weaker)
