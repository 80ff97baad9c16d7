"""The answer to `undefined`: whether an execution reaches something that PTX leaves undefined, and what.

Steps whose meaning ends with them (an access outside every object, an arrival too many) are in the event graph; what
depends on the order of an execution (a conflict with a copy in flight, a use before an initialisation) is what the
flags of the model file say whose names begin with `undefined-`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxmm import evidence, execution
from ptxmm.encode import Encoding
from ptxmm.events import Event
from ptxmm.formula import Lit
from ptxmm.model import Model
from ptxmm.program import Barrier, Program
from ptxmm.question import ask
from ptxmm.relation import Rel, Set
from ptxmm.sequential import can_follow, is_shipped
from ptxmm.solve import Truth
from ptxmm.verdict import Answer

PREFIX = "undefined-"
MOST = 3


def is_defined(program: Program, model: Model) -> bool:
    """Whether no step of a test can be undefined, whatever is read and however often its loops are repeated.

    So it is where all accesses are of whole words at fixed places inside ordinary memory, and where there is nothing
    beside them but fences, arithmetic, branches, and barriers of whole warps: whether these are undefined does not
    depend on values, on order or on time.
    """
    barriers, threads = False, []
    for thread in program.threads:
        others = tuple(statement for statement in thread.body if not isinstance(statement, Barrier))
        barriers = barriers or others != thread.body
        threads.append(replace(thread, body=others))
    divides = barriers and any(thread.place.lane is not None for thread in threads)
    return is_shipped(model) and not divides and can_follow(replace(program, threads=tuple(threads)))


def undefined(encoding: Encoding, *, witness: bool) -> Answer:
    """Whether an execution, ended or not, reaches an undefined step; `unknown` where a loop was cut or no time left."""
    formulas = encoding.formulas
    raised = flags(encoding)
    goal = formulas.disj([encoding.bad, *(literal for _, literal in raised)])
    found = ask(encoding, {"undefined": goal, "cut": encoding.graph.cut}, alone=True)
    answer, cut = found["undefined"], found["cut"]
    if answer.assignment is not None:
        one = execution.concrete(encoding, answer.assignment)
        why = "; ".join(reasons(encoding, one)[:MOST])
        return Answer("yes", why=why, witness=evidence.shown(one) if witness else None)
    if answer.truth is Truth.UNKNOWN:
        return Answer("unknown", why=answer.why)
    if cut.truth is not Truth.UNSAT:
        return Answer("unknown", why="a loop was cut at the bound")
    return Answer("no")


def flags(encoding: Encoding) -> list[tuple[str, Lit]]:
    """The flags of the model that say what is undefined."""
    return [(name, literal) for name, literal in encoding.evaluation.flags() if name.startswith(PREFIX)]


def reasons(encoding: Encoding, one: execution.Concrete) -> list[str]:
    """In words, what is undefined in an execution."""
    found = [why for literal, why in encoding.graph.bad if literal != -1 and one.true(literal)]
    plan = encoding.plan
    for (name, _), (_, _, _, slot) in zip(one.evaluation.flags(), plan.flags, strict=True):
        if name.startswith(PREFIX):
            what = name.removeprefix(PREFIX).replace("-", " ")
            found += [f"{what}: {' and '.join(texts)}" for texts in _guilty(encoding, one.evaluation.get(slot))]
    return list(dict.fromkeys(found))


def _guilty(encoding: Encoding, value: Rel | Set) -> list[list[str]]:
    """The instructions of each pair of events, or of each event, that raises a flag."""
    events = encoding.graph.events
    if isinstance(value, Set):
        return [[_instruction(encoding, event)] for event in events if value.must >> event.id & 1]
    pairs: Sequence[tuple[int, int]] = [(i, j) for i, j, literal in value.pairs() if literal == 1]
    return [sorted({_instruction(encoding, events[i]), _instruction(encoding, events[j])}) for i, j in pairs]


def _instruction(encoding: Encoding, event: Event) -> str:
    thread = encoding.program.threads[event.thread].name
    statement = event.statement
    text = (statement.text or type(statement).__name__) if statement is not None else "?"
    line = f" (line {statement.at.line})" if statement is not None and statement.at.line else ""
    return f"{thread}'s `{text}`{line}"
