"""What the enumeration of one test under one model finds: final states, races, and why it may not be all."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from ptxmm.enumeration import flight
from ptxmm.enumeration.cat import Meaning
from ptxmm.enumeration.expressions import evaluate
from ptxmm.enumeration.features import unsupported, used
from ptxmm.enumeration.final import Column, asked_columns, final_registers, final_states
from ptxmm.enumeration.hang import UNFINISHED, Hangs
from ptxmm.enumeration.lanes import same_warp
from ptxmm.enumeration.limits import Budget, GaveUp, Options
from ptxmm.enumeration.path import Step
from ptxmm.enumeration.promises import Promise
from ptxmm.enumeration.rows import union
from ptxmm.enumeration.search import CAUSALITY, STRENGTH, Found, Search
from ptxmm.enumeration.skeleton import Event, Skeleton
from ptxmm.enumeration.theory import LAST
from ptxmm.model import Model, Name
from ptxmm.program import (
    Barrier,
    ClusterBarrier,
    Elect,
    FinalMem,
    FinalReg,
    Load,
    Program,
    Proxy,
    Space,
    TensormapCopy,
    WarpSync,
)  # fmt: skip
from ptxmm.verdict import Answer
from ptxmm.vocabulary import FEATURES

UNDEFINED = "undefined-"
MIXED = "a race of accesses of different sizes voids the axioms (PTX ISA 8.7.2)"


@dataclass
class Findings:
    """The final states with whether each satisfies the condition, the objects raced on, and what went wrong."""

    columns: tuple[Column, ...]
    states: dict[tuple[int, ...], bool] = field(default_factory=dict)
    raced: set[str] = field(default_factory=set)
    partial: bool = False
    mixed: bool = False
    cut: bool = False
    blind: str = ""
    undefined: str = ""
    flagged: str = ""
    vague: str = ""
    gave_up: str = ""
    unsupported: str = ""
    hangs: dict[str, Answer] = field(default_factory=dict)

    @property
    def void(self) -> str:
        """Why the outcomes say nothing."""
        return MIXED if self.mixed else self.gave_up if self.partial else ""

    @property
    def unsure(self) -> str:
        """Why an outcome or race that was not found may yet exist."""
        return self.void or self.gave_up or self.vague or ("a loop was cut at the bound" if self.cut else "")


def enumerate_all(
    program: Program, model: Model, options: Options, *, races: bool, undefined: bool = False,
    hangs: Collection[str] = (), waits: bool = True,
) -> Findings:  # fmt: skip
    """Try every candidate execution of a test, and look for hangs under some progress models."""
    found = Findings(asked_columns(program), unsupported=unsupported(program, model))
    if found.unsupported:
        found.hangs = dict.fromkeys(hangs, Answer("unknown", why=found.void))
        return found
    search = None
    try:
        search = Search(program, model, options.bound, Budget(options.timeout), waits)
        search.flagged, search.broken = (UNDEFINED, True) if undefined else (None, False)
        found.partial = len(search.whole) < len(search.table.ranges)
        found.unsupported = beyond(program, model, search, partial=found.partial)
        if not found.unsupported:
            collect(search, found, races=races or found.partial, undefined=undefined)
    except GaveUp as reason:
        found.gave_up = str(reason)
    for progress in hangs if not found.unsupported else ():
        found.hangs[progress] = hang(search, found, progress) if search else Answer("unknown", why=found.gave_up)
    return found


def hang(search: Search, found: Findings, progress: str) -> Answer:
    """Whether some execution never ends; one that is fair keeps the promises of every other progress model."""
    if found.void:
        return Answer("unknown", why=found.void)
    fair = found.hangs.get("fair", Answer())
    return fair if fair.verdict == "yes" else Hangs(search, Promise(search.program, progress)).answer()


def beyond(program: Program, model: Model, search: Search, *, partial: bool) -> str:
    """Why the accesses that a test may make are not supported, or nothing."""
    if partial and "mixed-size" not in model.supports:
        return f"the model {model.name} does not have {FEATURES['mixed-size']}"
    written = {name for name, _, _ in search.table.written}
    for (index, node, _, kind), (spots, _) in search.table.places.items():
        item = program.threads[index].body[node.pc]
        touched = {spot.object for spot in spots} & written
        if kind == "R" and isinstance(item, Load) and item.readonly and touched:
            return f"a non-coherent load (.nc) reads `{min(touched)}`, which is written (PTX ISA, ld.global.nc)"
    return ""


def collect(search: Search, found: Findings, *, races: bool, undefined: bool) -> None:
    """Go through the executions that the model allows."""
    cause, strong = search.rules.find(*CAUSALITY), search.rules.find(*STRENGTH)
    if races and (cause is None or strong is None):
        found.blind = f"the model {search.model.name} names no causality or no moral strength"
        races = False
    memory = any(isinstance(one, FinalMem) for one in found.columns)
    late = max(search.rules.stages.get(name or "", 0) for name in (cause, strong))
    search.coherence_matters = memory or (races and late == LAST)
    search.once = not (races or memory or undefined)
    barriers = any(isinstance(item, Barrier | ClusterBarrier | WarpSync | Elect) for one in search.program.threads
                   for item in one.body)  # fmt: skip
    everything, counts = races or undefined, "mbarriers" in used(search.program)
    search.ends = lambda ends: everything or barriers or adds_by_its_ends(ends)
    search.wanted = lambda skeleton: everything or barriers or adds(skeleton, found, memory=memory)
    search.matters = lambda skeleton, start: (
        adds(skeleton, found, memory=memory)
        or (bool(search.rules.flags) and not found.flagged)
        or (races and may_race(skeleton, start, found))
    )  # fmt: skip
    for execution in search:
        found.undefined = found.undefined or execution.undefined
        if not execution.scheduled:
            found.vague = found.vague or execution.undefined
            continue
        if execution.undefined and counts:
            continue
        if races and cause and strong:
            note_races(execution, cause, strong, found)
        if undefined and not found.flagged:
            found.flagged = raised(execution.meaning)
        if execution.skeleton.finished and not execution.undefined:
            note_states(execution, found)
        found.cut |= any(path.end == "cut" for path in execution.skeleton.paths)


def raised(meaning: Meaning) -> str:
    """The first flag of the model that an execution raises, or nothing."""
    for name, check, negated in meaning.rules.flags:
        if meaning.holds(check, Name(name)) != negated:
            return name.partition("#")[0].removeprefix(UNDEFINED).replace("-", " ")
    return ""


def adds_by_its_ends(ends: tuple[str, ...]) -> bool:
    """Whether a candidate may add to the final states, or to what is not known, by how its threads end."""
    return set(ends) == {"end"} or bool(UNFINISHED.intersection(ends))


def adds(skeleton: Skeleton, found: Findings, *, memory: bool) -> bool:
    """Whether a candidate may add to the final states, or to what is not known."""
    ends = {path.end for path in skeleton.paths}
    if ends & {"cut", "undefined"}:
        return ("cut" in ends and not found.cut) or ("undefined" in ends and not found.undefined)
    if memory or not skeleton.finished:
        return skeleton.finished
    registers = final_registers(skeleton)
    values = tuple(registers.get(one, 0) for one in found.columns if isinstance(one, FinalReg))
    return values not in found.states


def may_race(skeleton: Skeleton, start: Meaning, found: Findings) -> bool:
    """Whether a candidate may add a race, by what its paths say of the order and strength of accesses."""
    names = (start.rules.find(*CAUSALITY), start.rules.find(*STRENGTH))
    known = [start.relations[name] for name in names if name is not None and start.rules.stages[name] == 0]
    return any(
        one.spot is not None and other.spot is not None
        and (one.spot.object not in found.raced or (not found.mixed and mixes(one, other)))
        and not any(relation[one.id] >> other.id & 1 or relation[other.id] >> one.id & 1 for relation in known)
        for one, other in conflicts(skeleton)
    )  # fmt: skip


def note_states(execution: Found, found: Findings) -> None:
    """Add the final states of an execution that the filter lets pass."""
    program = execution.skeleton.program
    for state in final_states(execution, found.columns):
        if program.filter is None or evaluate(program.filter, program, final=state):
            holds = program.condition is not None and evaluate(program.condition.formula, program, final=state) != 0
            found.states[tuple(state[one] for one in found.columns)] = holds


def note_races(execution: Found, cause: str, strong: str, found: Findings) -> None:
    """Add the races of an execution."""
    relations = execution.meaning.relations
    ordered = union(relations[cause], relations[strong])
    for one, other in conflicts(execution.skeleton):
        if ordered[one.id] >> other.id & 1 or ordered[other.id] >> one.id & 1 or not one.spot or not other.spot:
            continue
        found.raced.add(one.spot.object)
        found.mixed |= mixes(one, other)


def conflicts(skeleton: Skeleton) -> Iterator[tuple[Event, Event]]:
    """Accesses that overlap in virtual addresses, one of them a write, and that may happen in either order.

    Initial writes race with nothing (8.7.1), except that what the host wrote to a tensor map needs to be acquired. What
    one copy does is no race, nor is what the lanes of a warp copy together.
    """
    accesses = [(event, event.spot) for event in skeleton.events if event.spot is not None]
    for (one, here), (other, there) in combinations(accesses, 2):
        if "W" not in (one.kind, other.kind) or not here.meets(there) or other.step is None:
            continue
        if one.step is None:
            if unseen(skeleton.program, other, other.step):
                yield one, other
        elif here.virtual == there.virtual and not flight.same_copy(one, other) and not together(skeleton, one, other):
            yield one, other


def unseen(program: Program, read: Event, step: Step) -> bool:
    """Whether a read of a tensor map needs to acquire what the host wrote there."""
    thing = program.physical(read.spot.object) if read.spot is not None else None
    if thing is None or thing.tensormap is None or step.via is not Proxy.TENSORMAP or read.kind != "R":
        return False
    return thing.space is Space.GLOBAL and not thing.tensormap.acquired


def together(skeleton: Skeleton, one: Event, other: Event) -> bool:
    """Whether lanes of a warp copy a tensor map together."""
    items = [event.step.item for event in (one, other) if event.step is not None]
    copies = all(isinstance(item, TensormapCopy) for item in items)
    return copies and None not in (one.thread, other.thread) and same_warp(
        skeleton.program, one.thread or 0, other.thread or 0
    )  # fmt: skip


def mixes(one: Event, other: Event) -> bool:
    """Whether two instructions access the same bytes in different sizes; copies have no size of access."""
    late = any(event.step is not None and event.step.late for event in (one, other))
    return not late and one.spot is not None and other.spot is not None and not one.spot.matches(other.spot)
