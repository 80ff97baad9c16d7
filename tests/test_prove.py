"""Theorems: the true ones are proved, others are not, and all that the solver is told is true of executions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import z3
from building import model as shipped
from click.testing import CliRunner
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as some
from random_programs import ALL, programs

from ptxmm.cat import read_model
from ptxmm.cli import cli
from ptxmm.encode import encode
from ptxmm.errors import Undecided, Unsupported
from ptxmm.features import mixed_objects
from ptxmm.model import Axiom, Model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.prove.arithmetic import SIGN_FLIP, Arithmetic
from ptxmm.prove.barriers import GRID
from ptxmm.prove.chains import EARLIER
from ptxmm.prove.claims import Claim, relevant
from ptxmm.prove.closes import ACQUIRE_LOAD, ACQUIRE_POLL, FENCES
from ptxmm.prove.counterexamples import counterexample, instance, structures
from ptxmm.prove.language import ESTABLISHED, EVENT, USED
from ptxmm.prove.logic import Logic
from ptxmm.prove.messages import READ_AFTER, SYNCHRONISED, VISIBLE
from ptxmm.prove.predecessor import PREDECESSOR
from ptxmm.prove.predicates import values_in
from ptxmm.prove.proving import Proof, Question
from ptxmm.prove.run import EFFORT, STATEMENTS, Statement, prove, stated_of
from ptxmm.prove.sentences import axiom, sentence, true
from ptxmm.prove.statement import Hypothesis, Lemma, Theorem
from ptxmm.prove.theory import EXISTENCE, Fact, facts_of
from ptxmm.report.prove import exit_code
from ptxmm.resources import models_dir
from ptxmm.script import smt_lib
from ptxmm.solve import Truth, session
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read
from ptxmm.vocabulary import SETS

PTX = ("ptx-6.0", "ptx-9.4", "ptx-7.5")
THEOREMS = [one for one in STATEMENTS if isinstance(one, Theorem)]
LIBRARY = Path(__file__).parent.parent / "litmus"
CASES = [
    pytest.param(one, name, id=f"{one.name}-{name}", marks=() if name == "ptx-9.4" else pytest.mark.slow)
    for one in STATEMENTS
    for name in PTX
    if stated_of(one, shipped(name))
]


def truth_of(theorem: Theorem, model: Model) -> Truth:
    return list(Proof(theorem, model, timeout=20, work=EFFORT).steps())[-1].truth


# --- what is true is proved ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("theorem", "name"), [case for case in CASES if isinstance(case.values[0], Theorem)])
def test_each_theorem_is_proved_with_the_effort_that_is_spent_without_a_hypothesis(theorem: Theorem, name: str) -> None:
    assert [step.truth for step in Proof(theorem, shipped(name), work=EFFORT).steps()][-1] is Truth.UNSAT


@pytest.mark.parametrize("statement", [ACQUIRE_POLL, PREDECESSOR, SIGN_FLIP], ids=lambda one: one.name)
def test_every_hypothesis_has_its_counterexample(statement: Statement) -> None:
    result = prove(statement, shipped("ptx-9.4"))
    assert result.ok, (result.wrong, result.idle)
    assert result.dropped


@pytest.mark.slow
@pytest.mark.parametrize(("statement", "name"), CASES)
def test_every_hypothesis_has_its_counterexample_in_every_theorem(statement: Statement, name: str) -> None:
    result = prove(statement, shipped(name))
    assert result.ok, (result.wrong, result.idle)


def test_the_close_by_an_acquire_fence_is_no_matter_of_models_without_that_fence() -> None:
    one_sided = FENCES[-1]
    assert one_sided.name == "close-by-fence-acquire"
    assert not one_sided.stated_of(shipped("ptx-6.0"))
    assert one_sided.stated_of(shipped("ptx-9.4"))


# --- what is false is not --------------------------------------------------------------------------------------------

BROKEN = [
    ("ptx-9.4", "ptx-synchronisation.cat", "[observing-read] ; (po & same-location)? ; [R & ACQ]", "[R & ACQ]",
     ACQUIRE_LOAD, VISIBLE),
    ("ptx-6.0", "ptx-synchronisation.cat", "| [observing-read] ; po ; [acquire-fence]", "", FENCES[0], FENCES[1]),
    ("ptx-6.0", "ptx-synchronisation.cat", "| [release-fence] ; po ; [strong-write]", "", VISIBLE, GRID),
    ("ptx-9.4", "ptx-synchronisation.cat", "seen | seen ; (rmw ; seen)+", "seen", EARLIER, GRID),
    ("ptx-9.4", "ptx-axioms.cat", "irreflexive (rf | fr) ; cause as causality", "", VISIBLE, EARLIER),
    ("ptx-6.0", "ptx-axioms.cat", "empty ((ms & fr) ; (ms & co)) & rmw as atomicity", "", EARLIER, PREDECESSOR),
    ("ptx-9.4", "ptx-axioms.cat", "irreflexive (rf | fr) ; cause as causality", "irreflexive rf ; cause as causality",
     VISIBLE, GRID),
    ("ptx-9.4", "ptx-9.4-order.cat", "(full-sync | sync_fence | barrier | api)", "(full-sync | sync_fence | api)",
     GRID, GRID),
    ("ptx-9.4", "ptx-9.4-order.cat", "(full-sync | sync_fence | barrier | api)", "(sync_fence | barrier | api)",
     VISIBLE, ACQUIRE_POLL),
    ("ptx-6.0", "ptx-6.0.cat", "((sync | sync_fence | barrier) ; po?)+", "(sync | sync_fence | barrier)",
     VISIBLE, GRID),
]  # fmt: skip


@pytest.mark.parametrize("which", ["first", pytest.param("second", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "file", "clause", "instead", "first", "second"), BROKEN, ids=range(len(BROKEN)))
def test_a_model_without_the_clause_that_a_theorem_rests_on_does_not_have_the_theorem(
    tmp_path: Path, name: str, file: str, clause: str, instead: str, first: Theorem, second: Theorem, which: str
) -> None:
    (tmp_path / "lib").mkdir()
    for path in models_dir().rglob("*.cat"):
        text = path.read_text(encoding="utf-8")
        if path.name == file:
            assert clause in text
            text = text.replace(clause, instead)
        (tmp_path / path.relative_to(models_dir())).write_text(text, encoding="utf-8")
    broken = read_model(str(tmp_path / f"{name}.cat"))
    assert truth_of(first if which == "first" else second, broken) is not Truth.UNSAT


@pytest.mark.parametrize(
    "goal",
    ["cause(read, data)", "cause(data, poll)", "cause(close, read)", "rf(data, read)", "co(contribution, data)",
     "(R & W)(poll)", "obs(data, read)", "rf(w, read) => co(data, w)", "po(data, read)"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["ptx-9.4", *(pytest.param(one, marks=pytest.mark.slow) for one in PTX[::2])])
def test_what_does_not_follow_is_not_proved(goal: str, name: str) -> None:
    hypotheses = tuple(h for h in VISIBLE.hypotheses)
    false = replace(VISIBLE, goal=(goal,), steps=(Lemma("false", goal, hypotheses),))
    assert truth_of(false, shipped(name)) is not Truth.UNSAT


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda one: one.name)
def test_the_hypotheses_of_a_theorem_do_not_contradict_each_other(theorem: Theorem) -> None:
    """An execution has them all, so that nothing is proved from a contradiction."""
    missed, happens = instance(theorem, shipped("ptx-9.4"))
    assert missed.verdict == "forbidden"
    assert happens.verdict == "allowed"
    assert happens.events is not None


def test_a_hypothesis_that_is_not_needed_is_reported() -> None:
    extra = Hypothesis(name="extra", says="M(data)", words="the data is in memory", broken={})
    idle = replace(PREDECESSOR, hypotheses=(*PREDECESSOR.hypotheses, replace(extra, says="M(other)")))
    result = prove(idle, shipped("ptx-6.0"))
    assert result.verdict == "proved"
    assert [one.hypothesis for one in result.idle] == ["extra"]
    assert exit_code([result]) == 1


def test_a_counterexample_that_breaks_another_hypothesis_does_not_count() -> None:
    weak = "ld.weak.global.u32 v, [m];"
    careless = replace(READ_AFTER, broken={"poll": weak, "read": "ld.weak.global.u32 r, [d];"})
    theorem = replace(VISIBLE, hypotheses=tuple(careless if h == READ_AFTER else h for h in VISIBLE.hypotheses))
    example = counterexample(theorem, shipped("ptx-9.4"), careless)
    assert example.verdict == "allowed"
    assert example.events is None


def test_a_model_that_does_not_say_what_causality_is_has_no_such_theorems() -> None:
    with pytest.raises(Unsupported, match=r"does not say what `(obs|cause)` is"):
        prove(VISIBLE, shipped("sc"))


# --- what the solver is told is true ---------------------------------------------------------------------------------

QUICK = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))


def untrue(program: Program, model: Model, lines: Iterable[Fact]) -> Iterator[str]:
    """The lines about the vocabulary that some execution of a test, allowed or not, does not have."""
    axioms = [Axiom(line.cat, *axiom(line.cat)) for line in lines]
    grounded = Axiom("grounded", *axiom("acyclic rf | addr | data | ctrl | issued | done | phase"))
    encoding = encode(program, replace(model, statements=(*axioms, grounded)), 2)
    if mixed_objects(encoding.graph):
        return
    formulas, here = encoding.formulas, session()
    prefix = here.prefix()
    named = [(f"{prefix}m{number}", -literal) for number, (_, literal) in enumerate(encoding.axioms)]
    with here.load(smt_lib(formulas, list(encoding.asserted), named, f"{prefix}v"), prefix) as loaded:
        for number, one in enumerate(axioms):
            if loaded.check([f"m{number}"], formulas.deadline) is not Truth.UNSAT:
                yield one.name


def theory_of(model: Model) -> list[Fact]:
    return [*facts_of(model), *EXISTENCE]


@pytest.mark.parametrize("examples", [QUICK, pytest.param(LONG, marks=pytest.mark.slow)], ids=["quick", "long"])
def test_the_theory_is_true_in_every_execution_of_random_tests(examples: settings) -> None:
    def check(program: Program, name: str) -> None:
        try:
            found = list(untrue(program, shipped(name), theory_of(shipped(name))))
        except (Unsupported, Undecided):
            assume(False)
        assert not found

    examples(given(programs(ALL - {"mixed"}), some.sampled_from(PTX))(check))()


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*/*.lit"))[::24], ids=lambda path: path.stem)
def test_the_theory_is_true_in_every_execution_of_the_library(path: Path) -> None:
    for program, name in product(read_programs(path)[:4], PTX):
        try:
            assert not list(untrue(program, shipped(name), theory_of(shipped(name))))
        except (Unsupported, Undecided):
            continue


def test_a_line_that_is_not_true_is_found() -> None:
    (program,) = read(VISIBLE.test("t", {}), "t.lit")
    false = ("empty rf \\ po", "empty R \\ ACQ", "empty fr", "empty (co^-1 ; rf) \\ rf")
    assert list(untrue(program, shipped("ptx-9.4"), [Fact(text, "") for text in false])) == list(false)


def ground(formula: z3.ExprRef, events: list[z3.ExprRef]) -> z3.ExprRef:
    """The formula with every quantifier written out over the events."""
    if z3.is_quantifier(formula):
        body = formula.body()
        choices = product(events, repeat=formula.num_vars())
        found = [ground(z3.substitute_vars(body, *choice), events) for choice in choices]
        return z3.And(found) if formula.is_forall() else z3.Or(found)
    if z3.is_bool(formula) and formula.num_args() and not z3.is_app_of(formula, z3.Z3_OP_UNINTERPRETED):
        return formula.decl()(*(ground(part, events) for part in formula.children()))
    return formula


@pytest.mark.slow  # every quantifier is written out
@pytest.mark.parametrize("name", PTX)
@pytest.mark.parametrize("theorem", [VISIBLE, EARLIER, FENCES[1]], ids=lambda one: one.name)
def test_allowed_executions_are_structures_of_all_that_the_solver_is_told(name: str, theorem: Theorem) -> None:
    """Definitions, closures, axioms and theory leave room for an execution in which every base name is fixed."""
    (program,) = read(theorem.test("t", {}, misses=False), "t.lit")
    model = shipped(name)
    question = Question("all", Proof(theorem, model), general=True)
    for sign in (USED, ESTABLISHED):
        question.say(sentence("obs(x, y) => cause(x, y)"), sign)
    names = sorted(question.logic.used)
    atoms = [sentence(f"{name}(x)" if name in SETS else f"{name}(x, y)") for name in names]
    structure = next(structures(program, model, atoms, Options()))
    events = {number: z3.Const(f"e{number}", EVENT) for number in structure.events}
    solver = z3.Solver()
    solver.add(z3.Distinct(*events.values()))
    for base in names:
        places = 1 if base in SETS else 2
        predicate = z3.Function(base, *[EVENT] * places, z3.BoolSort())
        for at in product(events, repeat=places):
            literal = predicate(*(events[number] for number in at))
            solver.add(literal if at in structure.meanings[base] else z3.Not(literal))
    solver.add(*(ground(one, list(events.values())) for one in question.sentences()))
    assert solver.check() == z3.sat


# --- sentences -------------------------------------------------------------------------------------------------------


def test_and_binds_more_than_or() -> None:
    one = sentence("R(a) and W(b) => po(a, b) and rf(b, a) or id(a, b)")
    assert [len(part) for part in one.alternatives] == [2, 1]
    assert one.about({"a"}) == ("b",)


@given(some.frozensets(some.tuples(some.integers(0, 2), some.integers(0, 2))))
def test_a_general_sentence_is_true_where_all_its_instances_are(pairs: frozenset[tuple[int, int]]) -> None:
    one = sentence("po(a, b) => po(b, a)")
    symmetric = {(j, i) for i, j in pairs} == set(pairs)
    found = true(one, {}, range(3), lambda atom, at: tuple(at[name] for name in atom.events) in pairs, one.about(()))
    assert found == symmetric


def test_values_are_found_in_formulas() -> None:
    event, value = z3.Const("e", EVENT), z3.Function("value", EVENT, z3.BitVecSort(32))
    assert values_in([value(event) == 1]) == {"value(e)", "1"}
    assert values_in([z3.ForAll([event], value(event) == 1)])
    assert not values_in([z3.Function("R", EVENT, z3.BoolSort())(event)])


def test_a_recursion_is_used_only_by_what_it_is_closed_under() -> None:
    logic = Logic(shipped("ptx-9.4"))
    logic.axioms()
    told = [str(claim.sentence) for claim in logic.claims if "reach" in str(claim.sentence)]
    assert told
    for text in told:
        implication = text[text.index("Implies(") :]
        assert not implication.startswith("Implies(reach"), implication


# --- what the solver is told -----------------------------------------------------------------------------------------

FIRST, SECOND = (z3.Const(name, EVENT) for name in ("first", "second"))
SOME = [z3.Function(name, EVENT, z3.BoolSort()) for name in ("p", "q", "r", "s")]
ATOMS = some.builds(
    lambda predicate, event: predicate(event), some.sampled_from(SOME), some.sampled_from([FIRST, SECOND])
)
FORMULAS = some.recursive(
    ATOMS,
    lambda parts: some.one_of(
        some.builds(z3.Not, parts),
        some.builds(z3.And, parts, parts),
        some.builds(z3.Or, parts, parts),
        some.builds(z3.Implies, parts, parts),
        some.builds(lambda one, other: one == other, parts, parts),
        some.builds(lambda one: z3.ForAll([FIRST], one), parts),
        some.builds(lambda one: z3.Exists([SECOND], one), parts),
    ),
    max_leaves=6,
)


@given(some.lists(FORMULAS, min_size=1, max_size=5))
def test_what_is_left_of_claims_has_a_structure_exactly_if_all_have(formulas: list[z3.BoolRef]) -> None:
    whole, left = z3.Solver(), z3.Solver()
    whole.add(*formulas)
    left.add(*(claim.sentence for claim in relevant([Claim("", one) for one in formulas])))
    assert left.check() == whole.check()


def test_a_definition_that_rests_on_what_never_happens_is_not_told() -> None:
    """Nothing in this theorem is a copy, so that no rule about copies is left, however long the chain of rules."""
    question = next(one for one in Proof(GRID, shipped("ptx-9.4")).questions() if one.name == "causal")
    told = [Claim("", sentence) for sentence in question.sentences()]
    left = " ".join(str(claim.sentence) for claim in relevant(told))
    assert all(any(name in str(claim.sentence) for claim in told) for name in ("issued(", "late-sync", "by-kernel"))
    assert not any(name in left for name in ("issued(", "late-sync", "by-kernel"))
    assert "syncbar(" in left


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_prints_the_counterexamples() -> None:
    done = CliRunner().invoke(cli, ["prove", "nothing-between", "-m", "ptx-9.4"])
    assert done.exit_code == 0, done.output
    assert "nothing-between under ptx-9.4: proved" in done.output
    assert done.output.count("needed:") == done.output.count("exists (") == 4


def test_the_command_answers_in_json() -> None:
    done = CliRunner().invoke(cli, ["prove", "nothing-between", "sign-flip", "--format", "json"])
    found = json.loads(done.stdout)["theorems"]
    assert [(one["name"], one["model"], one["verdict"]) for one in found] == [
        ("nothing-between", "ptx-6.0", "proved"), ("nothing-between", "ptx-9.4", "proved"),
        ("sign-flip", "ptx-6.0", "proved"), ("sign-flip", "ptx-9.4", "proved"),
    ]  # fmt: skip
    for one in found:
        assert {"seconds", "dropped"} <= one.keys()
        for dropped in one["dropped"]:
            assert dropped["verdict"] == "not proved"
            (program,) = read(dropped["counterexample"], "counterexample.lit")
            assert program.condition is not None


def test_a_solver_that_gives_up_is_unknown_and_3() -> None:
    result = prove(SIGN_FLIP, shipped("ptx-9.4"))
    assert exit_code([replace(result, verdict="unknown")]) == 3
    assert exit_code([replace(result, verdict="not proved"), replace(result, verdict="unknown")]) == 1
    assert exit_code([result]) == 0


def test_the_list_names_every_theorem() -> None:
    done = CliRunner().invoke(cli, ["prove", "--list"])
    assert done.exit_code == 0
    assert [line for line in done.output.splitlines() if not line.startswith(" ")] == [one.name for one in STATEMENTS]


@pytest.mark.parametrize("words", [["prove", "--all", "sign-flip"], ["prove"]])
def test_the_command_wants_names_or_all(words: list[str]) -> None:
    assert CliRunner().invoke(cli, words).exit_code == 2


def test_arithmetic_needs_no_model() -> None:
    assert isinstance(SIGN_FLIP, Arithmetic)
    assert [step.truth for step in SIGN_FLIP.steps(20)] == [Truth.UNSAT] * 3


def test_every_hypothesis_of_a_theorem_is_used_by_a_step() -> None:
    for theorem in THEOREMS:
        used = {hypothesis for step in theorem.steps for hypothesis in step.uses}
        assert set(theorem.hypotheses) <= used, theorem.name
    assert set(SYNCHRONISED) <= set(VISIBLE.hypotheses)
