"""Questions about the final states of a test, each put to the model once: what equal programs were asked is known.

Controls of the variants of a test are often one and the same program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ptxmm.compilation import plan_of
from ptxmm.events import final_leaves
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.plan import Plan
from ptxmm.program import Hardware, Program
from ptxmm.states import Asking, Leaf, Question, Reached

KEPT = 64
"""Programs of which answers are kept."""


def only_asked(program: Program) -> Program:
    """A test without what says nothing of its executions: its name, and what it is for."""
    return replace(program, name="", variant=None, path="", purpose="", expects=(), hardware=Hardware())


class Deciding:
    """What a model says of the final states of a test, in which `leaves` and what the condition names may be asked."""

    def __init__(self, program: Program, model: Model, options: Options, leaves: tuple[Leaf, ...]) -> None:
        named = final_leaves(program.condition.formula) if program.condition is not None else []
        self._asking = Asking(program, model, options, (*leaves, *named))
        self._known = known(only_asked(program), plan_of(model), options.bound)

    def reached(self, questions: Sequence[Question]) -> list[Reached]:
        """The answer to each question; what is `unknown` is asked anew, since there may be more time."""
        new = [question for question in questions if question not in self._known]
        found = dict(zip(new, self._asking.reached(new) if new else (), strict=True))
        self._known.update((question, one) for question, one in found.items() if one.verdict != "unknown")
        return [found.get(question) or self._known[question] for question in questions]


@lru_cache(maxsize=KEPT)
def known(_program: Program, _plan: Plan, _bound: int) -> dict[Question, Reached]:
    """What was decided of the final states of a program so far."""
    return {}
