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
    """Two theorems, the goal of the first being a hypothesis of the second."""

    name: str
    words: str
    first: FlipSeen
    second: Theorem

    def joint(self) -> Step:
        """That the sentence which the first proves is the one that the second assumes."""
        same = [h for h in self.second.hypotheses if h.sentence == self.first.goal.sentence]
        return Step("joint", Truth.UNSAT if same else Truth.SAT, frozenset(h.name for h in same))


GRID_BY_FLIP = Composition(
    name="grid-barrier-by-sign-flip",
    words="A grid barrier by sign flip orders all that any CTA did before it before all that any CTA does after it, for"
    " any number of CTAs: `flip-seen`, and then `grid-barrier`, whose `poll-not-before-contribution` it proves.",
    first=FLIP_SEEN,
    second=GRID,
)
