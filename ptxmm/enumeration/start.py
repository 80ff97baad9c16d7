"""What is known of a candidate before anybody reads: its events, and the base sets and relations of its paths."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.enumeration.barriers import RELATIONS, Plan
from ptxmm.enumeration.base import FROM_PATHS, Bases, Strand
from ptxmm.enumeration.cat import Meaning
from ptxmm.enumeration.combine import Chosen
from ptxmm.enumeration.flight import is_lent, tenants
from ptxmm.enumeration.launch import api, several
from ptxmm.enumeration.limits import Budget
from ptxmm.enumeration.path import MEETINGS, Path
from ptxmm.enumeration.rounds import Rounds
from ptxmm.enumeration.rows import mask, rows
from ptxmm.enumeration.skeleton import Cell, Skeleton, assemble, cells_of, initial_events, path_events
from ptxmm.enumeration.theory import STAGES, Theory
from ptxmm.program import Program
from ptxmm.vocabulary import RELATIONS as ALL_RELATIONS
from ptxmm.vocabulary import SETS

FROM_ALL = ("LENT", "tenant", "phase", "reached", "mbo", "mbnext")


def absent(program: Program, each: list[list[Path]], budget: Budget) -> frozenset[str]:
    """The base sets and relations that are empty in all candidates, whose threads take some of these paths."""
    present = {"IW", "W", "M", "GEN", "WEAK", "_", *FROM_PATHS, *STAGES}
    meets = any(step.kind in MEETINGS for found in each for path in found for step in path.steps)
    for thread, found in enumerate(each):
        for path in found:
            budget.look()
            sets = Strand(program, path_events(thread, path)).sets
            present.update(name for name, events in sets.items() if events)
    present.update(RELATIONS if meets else ())
    present.update(FROM_ALL if present & {"START", "MB", "FAR"} else ())
    present.update({"api"} if several(program) else ())
    return frozenset((*SETS, *ALL_RELATIONS)) - (present if "SC" in present else present - {"sync_fence"})


@dataclass
class Starts:
    """The starts of the candidates of one test; what they have in common is computed once."""

    program: Program
    rules: Theory

    def __post_init__(self) -> None:
        used = self.rules.used()
        self.bases = Bases(self.program, tuple(name for name in FROM_PATHS if name in used))
        self.strands: dict[tuple[int, int] | tuple[Cell, ...], Strand] = {}

    def skeleton(self, chosen: Chosen) -> Skeleton:
        """The events of a candidate in which the threads take these paths."""
        cells = cells_of(step.spot for path in chosen for step in path.steps if step.spot is not None)
        return assemble(self.program, chosen, cells)

    def meaning(self, skeleton: Skeleton, plan: Plan, turn: Rounds, first: frozenset[int]) -> Meaning:
        """The base sets and relations of a candidate that its paths, barriers, mbarriers and first triggers decide."""
        cells = skeleton.cells
        if cells not in self.strands:
            self.strands[cells] = Strand(self.program, initial_events(self.program, cells))
        strands = [self.strands[cells]]
        for thread, path in enumerate(skeleton.paths):
            key = thread, id(path)
            if key not in self.strands:
                self.strands[key] = Strand(self.program, path_events(thread, path), path)
            strands.append(self.strands[key])
        sets, relations = self.bases.of(tuple(strands))
        size = len(skeleton.events)
        relations |= {name: rows(plan.relations[name], size) for name in RELATIONS}
        if sets["START"] | sets["MB"] | sets["FAR"] and len(skeleton.paths) == len(self.program.threads):
            sets["LENT"] = mask(event.id for event in skeleton.events if is_lent(skeleton, event))
            relations["tenant"] = rows(tenants(skeleton), size)
            relations["phase"], relations["mbnext"] = rows(turn.phase, size), rows(turn.following, size)
            relations["reached"] = rows(turn.reached, size)
            if self.rules.after_mbarriers is None:
                relations["mbo"] = rows(turn.before, size)
        if several(self.program):
            relations["api"] = rows(api(skeleton, first), size)
        return Meaning(self.rules, size, sets, relations)
