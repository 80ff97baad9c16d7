"""The answer to `race`, and what makes a `no` or a `forbidden` uncertain: cut loops, undefined steps, mixed sizes."""

from __future__ import annotations

from dataclasses import replace

from ptxmm import execution
from ptxmm.conflicts import RacePair
from ptxmm.encode import Encoding
from ptxmm.formula import Lit
from ptxmm.options import Options
from ptxmm.question import Found, ask
from ptxmm.solve import Truth
from ptxmm.symmetry import interchangeable, one_order
from ptxmm.verdict import Answer, Result

WHOLE = "PTX promises whole values to morally strong accesses only (8.10.3)"


def races(encoding: Encoding, pairs: list[RacePair], options: Options, result: Result) -> Result:
    """Races by object, and whether something outside the finished executions makes a `no` or `forbidden` uncertain."""
    formulas = encoding.formulas
    objects = [o.name for o in encoding.program.objects if any(p.on == o.name for p in pairs)]
    alike = interchangeable(encoding)
    questions: dict[str, Lit] = {}
    for i, name in enumerate(objects):
        race = formulas.disj([p.literal for p in pairs if p.on == name])
        questions[f"race{i}"] = formulas.both(race, one_order(encoding, alike, fixed=name))
    anywhere = {
        "mixed": formulas.disj([p.literal for p in pairs if p.mixed]), "cut": encoding.graph.cut, "bad": encoding.bad
    }  # fmt: skip
    order = one_order(encoding, alike)
    questions.update((name, formulas.both(literal, order)) for name, literal in anywhere.items())
    sound = encoding.defined()
    answers = ask(encoding, {n: formulas.conj([lit, *(sound if n != "bad" else [])]) for n, lit in questions.items()})
    result = _uncertain(encoding, answers, options, result)
    return _race_answer(encoding, pairs, objects, answers, options, result) if "race" in options.properties else result


def _uncertain(encoding: Encoding, answers: dict[str, Found], options: Options, result: Result) -> Result:
    """Turn verdicts into `unknown` where executions were not followed to their end.

    Of an answer to `hang` alone, nothing is said here: it knows itself whether it depends on a loop that was cut.
    """
    mixed, cut, bad = answers["mixed"].truth, answers["cut"].truth, answers["bad"].truth
    complete = cut is Truth.UNSAT
    why = ""
    if mixed is not Truth.UNSAT:
        why = "accesses of different sizes race, and then the axioms say nothing (PTX ISA 8.7.2)"
        return replace(result, verdict=void(result), why=why, witness=None, by=(), complete=complete)
    if not complete:
        why = encoding.graph.tell_cut(result.bound) if options.properties - {"hang"} else ""
    elif bad is not Truth.UNSAT:
        why = "executions that reach an undefined step do not count: " + "; ".join(_reasons(encoding, answers["bad"]))
        return replace(result, complete=complete, notes=(*result.notes, why))
    if why and result.verdict in ("forbidden", "holds"):
        return replace(result, verdict="unknown", why=why, complete=complete, by=())
    return replace(result, complete=complete, notes=(*result.notes, why) if why else result.notes)


def void(result: Result) -> str:
    """The verdict on a condition that nothing can be said of any more: `unknown`, if there is one and it is asked."""
    return result.verdict if result.verdict in ("no condition", "not asked") else "unknown"


def _reasons(encoding: Encoding, found: Found) -> list[str]:
    known = encoding.formulas.value([lit for lit, _ in encoding.graph.bad], found.assignment or {})
    reasons = [why for lit, why in encoding.graph.bad if (known[lit] if lit > 0 else not known[-lit])]
    return list(dict.fromkeys(reasons)) or [why for _, why in encoding.graph.bad]


def _race_answer(encoding: Encoding, pairs: list[RacePair], objects: list[str], answers: dict[str, Found],
                 options: Options, result: Result) -> Result:  # fmt: skip
    on, races, doubts = [], [], []
    for i, name in enumerate(objects):
        found = answers[f"race{i}"]
        if found.truth is Truth.UNKNOWN:
            doubts.append(found.why)
        if found.assignment is None:
            continue
        on.append(name)
        one = execution.concrete(encoding, found.assignment)
        pair = next(p for p in pairs if p.on == name and one.true(p.literal))
        if options.witness:
            from ptxmm.races import explained

            races.append(explained(encoding, one, pair))
    if on and not (doubts or not result.complete):
        answer = Answer("yes", tuple(on), tuple(races))
    elif on:
        answer = Answer("yes", tuple(on), tuple(races), why="there may be races on more objects")
    elif doubts or not result.complete:
        answer = Answer("unknown", why=doubts[0] if doubts else result.why or "; ".join(result.notes))
    else:
        answer = Answer("no")
    whole = [n for n in on if result.verdict in ("forbidden", "holds") and _could_tear(encoding, n)]
    if whole:
        result = replace(result, notes=(*result.notes, f"racing accesses of {', '.join(whole)} are not torn: {WHOLE}"))
    return replace(result, race=answer)


def _could_tear(encoding: Encoding, name: str) -> bool:
    """Whether values of one access of an object differ in more than one byte, so that half of one is another value."""
    memory = encoding.graph.memory
    for where in memory.ranges.get(name, ()):
        values = memory.domain(name, where)
        differs = 0
        for value in values:
            differs |= value ^ values[0]
        if sum(differs >> 8 * place & 0xFF > 0 for place in range(where[1])) > 1:
            return True
    return False
