"""Relations say what holds where both events run, whichever operations they went through."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from ptxmm.formula import Formulas, Lit
from ptxmm.relation import Rel, Set, Symbolic
from ptxmm.running import Running

SIZE, FREE = 5, 4
events = st.integers(0, SIZE - 1)
literals = st.lists(st.sampled_from([n for k in range(2, 2 + FREE) for n in (k, -k)]), max_size=2)
pairs = st.lists(st.tuples(events, events, st.none() | literals), max_size=9, unique_by=lambda one: one[:2])
OPERATIONS = ("union", "inter", "diff", "seq", "plus_seq_optional")
steps = st.lists(st.tuples(st.sampled_from((*OPERATIONS, "plus", "inverse", "optional")), events, events), max_size=4)


def formulas_of(chosen: list[list[int]]) -> tuple[Formulas, list[Lit]]:
    """The conjunctions of numbered variables."""
    formulas = Formulas()
    free = [formulas.var() for _ in range(FREE)]
    return formulas, [formulas.conj(free[abs(n) - 2] * (1 if n > 0 else -1) for n in one) for one in chosen]


def relation(found: list[tuple[int, int, Lit]], size: int = SIZE) -> Rel:
    must, may = [0] * size, dict[int, dict[int, Lit]]()
    for i, j, literal in found:
        if literal == 1:
            must[i] |= 1 << j
        elif literal != -1:
            may.setdefault(i, {})[j] = literal
    return Rel(must, {i: {j: x for j, x in row.items() if not must[i] >> j & 1} for i, row in may.items()})


def computed(algebra: Symbolic, values: list[Rel], code: list[tuple[str, int, int]]) -> list[Rel]:
    for op, first, second in code:
        a, b = values[first % len(values)], values[second % len(values)]
        values = [*values, getattr(algebra, op)(a, b) if op in OPERATIONS else getattr(algebra, op)(a)]
    return values


@settings(max_examples=60, deadline=None)
@given(st.lists(literals, min_size=SIZE, max_size=SIZE), st.tuples(pairs, pairs), steps)
def test_operations_on_guarded_events_mean_what_they_mean_on_those_that_run(
    guards: list[list[int]],
    given_pairs: tuple[list[tuple[int, int, list[int] | None]], ...],
    code: list[tuple[str, int, int]],
) -> None:
    chosen = [*guards, *(lit or [] for one in given_pairs for _, _, lit in one)]
    formulas, found = formulas_of(chosen)
    runs, rest = found[:SIZE], iter(found[SIZE:])
    base = [[(i, j, next(rest)) for i, j, _ in one] for one in given_pairs]
    algebra = Symbolic(SIZE, formulas, runs)
    symbolic = computed(algebra, [relation(one) for one in base], code)
    domains = [algebra.domain(one) for one in symbolic]
    checks = [
        (algebra.is_acyclic(one), algebra.is_irreflexive(one), algebra.is_empty(one), algebra.is_empty(domain))
        for one, domain in zip(symbolic, domains, strict=True)
    ]
    roots = [*runs, *(lit for one in base for _, _, lit in one), *(lit for one in checks for lit in one)]
    roots += [lit for one in symbolic for _, _, lit in one.pairs()]
    roots += [lit for one in domains for lit in one.may.values()]
    for values in product((False, True), repeat=FREE):
        known = formulas.value(roots, dict(zip(formulas.variables, values, strict=True)))
        true = known | {-node: not value for node, value in known.items()}
        alive = [e for e in range(SIZE) if true[runs[e]]]
        plain = Symbolic(SIZE, Formulas(), [1 if e in alive else -1 for e in range(SIZE)])
        facts = [[(i, j, 1) for i, j, lit in one if true[lit] and {i, j} <= set(alive)] for one in base]
        expected = computed(plain, [relation(one) for one in facts], code)
        for one, domain, other, check in zip(symbolic, domains, expected, checks, strict=True):
            mine = {(i, j) for i, j, lit in one.pairs() if true[lit] and {i, j} <= set(alive)}
            theirs = {(i, j) for i, j, _ in other.pairs() if {i, j} <= set(alive)}
            assert mine == theirs
            members = (
                {e for e in alive if true[domain.lit(e)]} if domain.may else {e for e in alive if domain.must >> e & 1}
            )
            assert members == {i for i, _ in theirs}
            again = (plain.is_acyclic(other), plain.is_irreflexive(other), plain.is_empty(other))
            assert tuple(true[lit] for lit in check) == (*(lit == 1 for lit in again), not members)


def test_what_follows_from_a_guard_is_no_part_of_a_literal() -> None:
    formulas = Formulas()
    passed, other = formulas.var(), formulas.var()
    running = Running(formulas, 2, [1, passed], {passed: [other]})
    assert running.implying(other) == 0b10
    assert running.under(formulas.conj([other, -passed]), 0b01) == formulas.conj([other, -passed])
    assert Symbolic(2, formulas).domain(Rel([0b10, 0], {})).must == Set(0b01, {}).must


def test_a_step_that_may_be_left_out_is_not_taken_twice() -> None:
    """`(a ; b?)+` for a relation b that is not transitive."""
    algebra = Symbolic(SIZE, Formulas(), [1] * SIZE)
    a, b = relation([(0, 0, 1), (4, 0, 1)]), relation([(0, 4, 1), (4, 1, 1)])
    found = algebra.plus_seq_optional(a, b)
    assert {(i, j) for i, j, _ in found.pairs()} == {(0, 0), (0, 4), (4, 0), (4, 4)}


def test_what_leads_through_an_event_that_never_runs_is_nothing() -> None:
    """Also where all other events run for certain."""
    algebra = Symbolic(SIZE, Formulas(), [1, -1, 1, 1, 1])
    there_and_back = relation([(0, 1, 1), (1, 2, 1)])
    for found in (algebra.seq(there_and_back, there_and_back), algebra.plus(there_and_back)):
        assert not [(i, j) for i, j, _ in found.pairs() if 1 not in (i, j)]
