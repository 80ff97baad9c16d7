"""Theorems joined: what one proves is a hypothesis of the other, which is then a hypothesis no more."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.prove.barriers import GRID
from ptxmm.prove.flips import FLIP_SEEN, FlipSeen
from ptxmm.prove.proving import Step
from ptxmm.prove.statement import Theorem
from ptxmm.solve import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """Two theorems, the goals of the first being hypotheses of the second."""

    name: str
    words: str
    first: FlipSeen
    second: Theorem

    def joint(self) -> Step:
        """That the sentences which the first proves are ones that the second assumes."""
        assumed = {h.sentence: h.name for h in self.second.hypotheses}
        same = {assumed[goal.sentence] for goal in self.first.goals if goal.sentence in assumed}
        return Step("joint", Truth.UNSAT if len(same) == len(self.first.goals) else Truth.SAT, frozenset(same))


GRID_BY_FLIP = Composition(
    name="grid-barrier-by-sign-flip",
    words="A grid barrier by sign flip orders all that any CTA did before it before all that any CTA does after it, for"
    " any number of CTAs: `flip-seen`, and then `grid-barrier`, some of whose hypotheses it proves.",
    first=FLIP_SEEN,
    second=GRID,
)
