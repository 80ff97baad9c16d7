"""Questions to the solver about the executions of a test: whether there is one in which a literal holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptxmm.asked import Asked
from ptxmm.encode import Encoding
from ptxmm.formula import Lit
from ptxmm.script import smt_lib
from ptxmm.solve import Truth, session

# Parts of formulas from which on the solver is not asked which axioms it needed.
MANY = 7_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a question came to; `vacuous` says that no execution counts at all."""

    truth: Truth
    why: str = ""
    core: tuple[str, ...] = ()
    assignment: dict[int, bool] | None = None
    vacuous: bool = False


def ask(
    encoding: Encoding, goals: Mapping[str, Lit], asserted: Sequence[Lit] = (), *, alone: bool = False
) -> dict[str, Found]:
    """For each goal, whether an execution that the model allows has it, with what is `asserted` besides.

    Questions that are asked `alone` find the same executions whatever was asked of other tests before.
    """
    found = {name: Found(Truth.UNSAT) for name in goals}
    formulas = encoding.formulas
    certain = [*encoding.asserted, *(literal for _, literal in encoding.axioms)]
    open_goals = {name: formulas.conj((literal, *asserted)) for name, literal in goals.items() if literal != -1}
    if not open_goals or formulas.conj([*certain, *asserted]) == -1:
        return found
    asked = encoding.asked.get(alone)
    if asked is None or not asked.loaded.open:
        asked = encoding.asked[alone] = Asked(formulas, certain, alone=alone)
    names = asked.name(list(open_goals.values()))
    for goal, name in zip(open_goals, names, strict=True):
        truth = asked.loaded.check([name], formulas.deadline)
        found[goal] = Found(
            truth,
            why=asked.loaded.why() if truth is Truth.UNKNOWN else "",
            assignment=asked.loaded.assignment(formulas.variables) if truth is Truth.SAT else None,
        )
    return found


def decide(encoding: Encoding, goal: Lit, asserted: Sequence[Lit], *, core: bool) -> Found:
    """Whether an execution has the goal; if none has, whether there are executions at all, and which axioms forbid it.

    A `core` is cheap for small formulas, which always get one; for large ones it is only looked for when asked for.
    """
    formulas, here = encoding.formulas, session()
    certain = [*encoding.asserted, *asserted]
    broken = [name for name, literal in encoding.axioms if literal == -1]
    if broken or formulas.conj(certain) == -1:
        return Found(Truth.UNSAT, core=tuple(broken[:1]), vacuous=True)
    prefix = here.prefix()
    named = [(f"a{i}", literal) for i, (_, literal) in enumerate(encoding.axioms) if literal != 1]
    if formulas.next + len(formulas.clauses) > MANY and not core:
        certain += [literal for _, literal in named]
        named = []
    wanted = [*named, ("goal", goal), ("tidy", _in_order(encoding))]
    text = smt_lib(formulas, certain, [(prefix + name, literal) for name, literal in wanted], f"{prefix}v")
    names = [name for name, _ in named]
    deadline = formulas.deadline
    with here.load(text, prefix, deadline) as loaded:
        answer = loaded.check([*names, "goal"], deadline, core=core)
        if answer is Truth.SAT:
            return Found(answer, assignment=loaded.assignment(formulas.variables))
        if answer is Truth.UNKNOWN:
            return Found(answer, why=loaded.why())
        kept = loaded.core()
        axioms = tuple(encoding.axioms[int(name[1:])][0] for name in names if name in kept)
        some = loaded.check([*names, "tidy"], deadline, briefly=True)
        if some is not Truth.SAT:
            some = loaded.check(names, deadline)
        return Found(answer, core=axioms, vacuous=some is Truth.UNSAT)


def _in_order(encoding: Encoding) -> Lit:
    """The literal that coherence follows the order of the threads: where it can, such an execution is found quickly."""
    formulas, events = encoding.formulas, encoding.graph.events
    steps = []
    for (i, j), literal in encoding.base.choices.before.items():
        if 0 <= events[i].thread < events[j].thread:
            steps.append(formulas.disj((literal, -events[i].guard, -events[j].guard)))
    return formulas.conj(steps)
