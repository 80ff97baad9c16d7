"""The main flow: decide a test under a model.

    test -> events -> formulas -> Z3 -> verdict -> the execution again, without Z3

`check` answers the condition, races and what a test expects; `outcomes` enumerates all final states.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from ptxmm import evidence, execution
from ptxmm.conflicts import RacePair, may_mix, race_pairs
from ptxmm.deadline import Deadline
from ptxmm.encode import Encoding, encode
from ptxmm.encodings import Encodings
from ptxmm.errors import Undecided, Unsupported
from ptxmm.events import Ending
from ptxmm.expect import asked_words, judged, property_of, stated_words
from ptxmm.features import ensure_supported
from ptxmm.graph import event_graph
from ptxmm.hangs import hang
from ptxmm.model import Model
from ptxmm.options import Options as Options
from ptxmm.options import depths
from ptxmm.program import Expr, Program, Quantifier, Unary, Word
from ptxmm.question import decide
from ptxmm.script import smt_lib
from ptxmm.solve import Truth
from ptxmm.symmetry import interchangeable, one_order
from ptxmm.uncertain import races, void
from ptxmm.undefined import is_defined, undefined
from ptxmm.verdict import Answer, Happening, Outcomes, Result


def check(program: Program, model: Model, options: Options) -> Result:
    """Decide what the options ask of a test under a model, and compare with what the test states.

    Errors of the test or of ptxmm's reach become verdicts: `unsupported` where the model lacks something, `unknown`
    where the question is too large, a loop was cut or time ran out.
    """
    start = time.perf_counter()
    encodings = Encodings(program, model, Deadline.after(options.timeout))
    quantifier = program.condition.quantifier.value if program.condition else ""
    verdict = "no condition"
    if program.condition is not None:
        verdict = "unknown" if "outcome" in options.properties else "not asked"
    result = Result(program.path, program.name, program.variant, model.name, quantifier, verdict, bound=options.bound)
    defined = is_defined(program, model)
    asks = replace(options, properties=options.properties - {"undefined"}) if defined else options
    unrolls = not defined or bool(asks.properties - {"hang"})
    try:
        ensure_supported(program, model)
        result = _deepened(encodings, asks, result) if unrolls else result
    except Unsupported as reason:
        result = replace(result, verdict="unsupported", why=str(reason))
    except Undecided as reason:
        unknown = Answer("unknown", why=str(reason))
        race = unknown if "race" in asks.properties else result.race
        steps = unknown if "undefined" in asks.properties else result.undefined
        result = replace(result, verdict=void(result), why=str(reason), race=race, undefined=steps)
    from ptxmm.cat import DEFAULT_MODEL

    words = stated_words(program, model.name, DEFAULT_MODEL)
    if result.verdict != "unsupported":
        result = _hangs(encodings, options, words, result)
        result = replace(result, undefined=Answer("no")) if asks != options else result
        result = result if unrolls else replace(result, complete=result.hang.verdict != "unknown")
    result = judged(result, asked_words(words, options.properties))
    return replace(result, seconds=time.perf_counter() - start)


def _hangs(encodings: Encodings, options: Options, words: tuple[Word, ...], result: Result) -> Result:
    """Hangs under the asked progress model, and under each that a stated verdict names."""
    if "hang" not in options.properties:
        return replace(result, progress=options.progress)
    named = [word.progress or "fair" for word in words if property_of(word) == "hang"]
    answers: dict[str, Answer] = {}
    for progress in dict.fromkeys([options.progress, *named]):
        try:
            answers[progress] = hang(encodings, progress, options.bound)
        except Undecided as reason:
            answers[progress] = Answer("unknown", why=str(reason))
        if not options.witness:
            answers[progress] = replace(answers[progress], witness=None)
    main = answers.pop(options.progress)
    return replace(result, hang=main, progress=options.progress, hangs=tuple(answers.items()))


def _deepened(encodings: Encodings, options: Options, result: Result) -> Result:
    """The answer at the first bound at which no loop is cut, or at the last that is decided; a note says why."""
    found = None
    for bound in depths(options.bound):
        try:
            found = _decided(encodings, replace(options, bound=bound), replace(result, bound=bound))
        except Undecided as reason:
            if found is None:
                raise
            return replace(found, notes=(*found.notes, f"{bound} repetitions were not decided: {reason}"))
        if found.complete:
            break
    return replace(found or result, bound=options.bound)


def _decided(encodings: Encodings, options: Options, result: Result) -> Result:
    if "outcome" not in options.properties:
        prefix = encodings.of(Ending.PREFIX, options.bound)
        return _stopped_early(prefix, _conflicts(prefix, options), options, result)
    encoding = encodings.of(Ending.FINISHED, options.bound, loose=True)
    if encoding.base.choices.loosened:
        early = _early(encoding, options, result)
        if early is not None:
            return early
        encoding = encodings.of(Ending.FINISHED, options.bound)
    prefix = _with_prefixes(encoding, encodings, options)
    pairs = _conflicts(prefix, options)
    result = _outcome(encoding, options, result)
    if prefix is encoding and not pairs and not options.properties & {"race", "undefined"}:
        return result
    return _stopped_early(prefix, pairs, options, result)


def _conflicts(prefix: Encoding, options: Options) -> Sequence[RacePair] | None:
    """The possible races, where they matter; None where the model cannot say."""
    return race_pairs(prefix) if "race" in options.properties or may_mix(prefix) else ()


def _stopped_early(prefix: Encoding, pairs: Sequence[RacePair] | None, options: Options, result: Result) -> Result:
    """With what executions show that may stop early: undefined steps, races, and whether loops are cut."""
    if "undefined" in options.properties:
        result = replace(result, undefined=undefined(prefix, witness=options.witness))
    if pairs is not None:
        return races(prefix, list(pairs), options, result)
    why = f"the model {prefix.model.name} does not say which relation is causality or moral strength"
    return replace(result, race=Answer("unknown", why=why)) if "race" in options.properties else result


def _early(some: Encoding, options: Options, result: Result) -> Result | None:
    """The answer where some of all executions already show it and nothing else is asked."""
    cut_or_bad = some.graph.cut != -1 or some.bad != -1
    if cut_or_bad or may_mix(some) or options.properties & {"race", "undefined"}:
        return None
    found = _outcome(some, options, result)
    return found if found.verdict in ("allowed", "fails") else None


def _with_prefixes(encoding: Encoding, encodings: Encodings, options: Options) -> Encoding:
    """The encoding whose executions may stop early, where that makes a difference."""
    graph = encoding.graph
    if graph.cut == -1 and all(literal == -1 for literal, _ in graph.bad):
        always = not (graph.passes or graph.again) or not options.properties & {"race", "undefined"}
        if always:
            return encoding
    return encodings.of(Ending.PREFIX, options.bound)


# --- the condition ---------------------------------------------------------------------------------------------------


def _outcome(encoding: Encoding, options: Options, result: Result) -> Result:
    """Whether the condition's states are reachable."""
    condition = encoding.program.condition
    if condition is None or "outcome" not in options.properties:
        return result
    every = condition.quantifier is Quantifier.FORALL
    goal: Expr = Unary("!", condition.formula) if every else condition.formula
    wanted = [goal] if encoding.program.filter is None else [encoding.program.filter, goal]
    literals = [encoding.condition(formula) for formula in wanted]
    reached, missed = ("fails", "holds") if every else ("allowed", "forbidden")
    order = one_order(encoding, interchangeable(encoding, wanted))
    answer = decide(encoding, literals[-1], [-encoding.bad, order, *literals[:-1]], core=options.witness)
    if answer.truth is Truth.UNKNOWN:
        return replace(result, verdict="unknown", why=answer.why)
    if answer.truth is Truth.UNSAT:
        nothing = ("no execution ends with every thread finished",) if answer.vacuous else ()
        if answer.vacuous and encoding.program.filter is not None:
            nothing = ("no execution ends with every thread finished and the filter true",)
        return replace(result, verdict=missed, by=answer.core, notes=(*result.notes, *nothing))
    one = execution.concrete(encoding, answer.assignment or {}, goal)
    witness = evidence.shown(one, goal=condition.formula) if options.witness else None
    return replace(result, verdict=reached, witness=witness)


# --- other views ------------------------------------------------------------------------------------------------------


def outcomes(program: Program, model: Model, options: Options) -> Outcomes:
    """All final states of a test under a model."""
    from ptxmm.states import enumerate_states

    return enumerate_states(program, model, options)


def smt2(program: Program, model: Model, options: Options) -> str:
    """The constraints of a test's condition as SMT-LIB text that any solver can check: sat means it is reachable."""
    encoding = encode(program, model, options.bound)
    condition = program.condition
    formula = None
    if condition is not None:
        every = condition.quantifier is Quantifier.FORALL
        formula = Unary("!", condition.formula) if every else condition.formula
    goals = [encoding.condition(f) for f in (program.filter, formula) if f is not None]
    named = [(f"axiom-{name}", literal) for name, literal in encoding.axioms]
    text = smt_lib(
        encoding.formulas, [*encoding.asserted, -encoding.bad, *goals], [(f"|{n}|", lit) for n, lit in named]
    )
    header = (
        f"; {program.full_name} under {model.name}: sat when the condition's states are reachable\n"
        f"(set-logic {'QF_IDL' if encoding.formulas.places else 'QF_UF'})\n"
    )
    return header + text + "\n" + "".join(f"(assert |{name}|)\n" for name, _ in named) + "(check-sat)\n"


def happenings(program: Program, options: Options) -> tuple[Happening, ...]:
    """The events of a test with loops unrolled; a value is shown where it is the same in every execution."""
    graph = event_graph(program, options.bound)
    steps: dict[int, int] = {}
    found = []
    for event in graph.events:
        if event.guard == -1:
            continue
        steps[event.thread] = steps.get(event.thread, 0) + 1
        value = next(iter(event.table)) if len(event.table) == 1 else None
        found.append(evidence.happening(program, event, steps[event.thread], value))
    return tuple(found)
