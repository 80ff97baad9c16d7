"""The mbarriers of an execution: the order of the operations on each, and the states that they find.

Operations on one mbarrier are atomic, whatever their scopes (a scope decides what is ordered, never what is counted),
so they stand in a total order, and each finds the state that the one before it left. What is out of program order (the
completion of a copy) stands anywhere after what comes before its copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ptxmm.events import Event, EventGraph
from ptxmm.formula import Lit
from ptxmm.mbarrier_reach import Reach, reachable
from ptxmm.mbarrier_state import State, fresh, phase_of, step, token
from ptxmm.program import MbarrierWait

Found = dict[State | None, Lit]


@dataclass
class Mbarrier:
    """The operations on one mbarrier: `before[i, j]` is the literal that `i` is earlier; `found` what each finds.

    The state None stands for what PTX leaves undefined.
    """

    name: str
    start: State
    events: list[Event]
    before: dict[tuple[int, int], Lit] = field(default_factory=dict)
    found: dict[int, Found] = field(default_factory=dict)
    phases: dict[int, dict[int, Lit]] = field(default_factory=dict)

    @property
    def changing(self) -> list[Event]:
        """The operations that change the state."""
        return [event for event in self.events if event.operation is not None and event.operation.kind != "wait"]

    @property
    def waits(self) -> list[Event]:
        """The tests for the end of a phase."""
        return [event for event in self.events if event.operation is not None and event.operation.kind == "wait"]


class Mbarriers:
    """Every mbarrier of a test; constraints, and the undefined steps of operations, go to the graph."""

    def __init__(self, graph: EventGraph) -> None:
        self.graph, self.formulas = graph, graph.formulas
        self.all: dict[str, Mbarrier] = {}
        for event in graph.events:
            if event.kind == "A" and event.guard != -1:
                if event.object not in self.all:
                    self.all[event.object] = Mbarrier(event.object, self._start(event), [])
                self.all[event.object].events.append(event)
        for barrier in self.all.values():
            self._order(barrier)
            self._follow(barrier, reachable(barrier.start, barrier.events))
            self._undefined(barrier)
            for event in barrier.events:
                self._result(barrier, event)

    def _start(self, event: Event) -> State:
        item = self.graph.program.physical(event.virtual)
        return State() if item.mbarrier is None else fresh(item.mbarrier)

    # --- order and states ---------------------------------------------------------------------------------------------

    def _order(self, barrier: Mbarrier) -> None:
        """A literal for each pair, fixed by program order where that decides, and transitive."""
        events, before, formulas = barrier.events, barrier.before, self.formulas
        waits = {event.id for event in barrier.waits}
        for place, later in enumerate(events):
            for earlier in events[:place]:
                if earlier.id in waits and later.id in waits and earlier.thread != later.thread:
                    continue
                literal = 1 if self._in_order(earlier, later) else formulas.var()
                before[earlier.id, later.id], before[later.id, earlier.id] = literal, -literal
        ids = [event.id for event in events]
        for place, k in enumerate(ids):
            for second, j in enumerate(ids[:place]):
                for i in ids[:second]:
                    if (i, j) in before and (j, k) in before and (i, k) in before:
                        formulas.require(-before[i, j], -before[j, k], before[i, k])
                        formulas.require(before[i, j], before[j, k], -before[i, k])

    def _in_order(self, earlier: Event, later: Event) -> bool:
        """Whether program order puts one operation of a thread before another; a completion comes after its start."""
        if earlier.thread != later.thread or earlier.issue >= 0:
            return False
        return later.issue < 0 or earlier.id < later.issue

    def _follow(self, barrier: Mbarrier, reach: Reach) -> None:
        """Each operation finds what the operation just before it left."""
        formulas, changing = self.formulas, barrier.changing
        for event in barrier.events:
            states = reach.found[event.id]
            barrier.found[event.id] = (
                {s: formulas.var() for s in states} if len(states) > 1 else dict.fromkeys(states, 1)
            )
        left = {event.id: self._left(barrier, event) for event in changing}
        for event in barrier.events:
            mine = barrier.found[event.id]
            for previous, literal in self._previous(barrier, event, changing):
                given: Found = left[previous.id] if previous is not None else {barrier.start: 1}
                for state in given.keys() | mine.keys():
                    there, here = given.get(state, -1), mine.get(state, -1)
                    formulas.require(-event.guard, -literal, -there, here)
                    formulas.require(-event.guard, -literal, there, -here)

    def _left(self, barrier: Mbarrier, event: Event) -> Found:
        """The states that an operation leaves."""
        parts: dict[State | None, list[Lit]] = {}
        assert event.operation is not None
        for state, literal in barrier.found[event.id].items():
            after = step(state, event.operation) if state is not None else None
            parts.setdefault(None if isinstance(after, str) else after, []).append(literal)
        return {state: self.formulas.disj(literals) for state, literals in parts.items()}

    def _previous(self, barrier: Mbarrier, event: Event, changing: list[Event]) -> list[tuple[Event | None, Lit]]:
        """For each operation, and None for the start, the literal that it is the last change before an event."""
        formulas, before = self.formulas, barrier.before
        others = [other for other in changing if other.id != event.id]
        found: list[tuple[Event | None, Lit]] = []
        nothing = formulas.conj([-formulas.both(o.guard, before[o.id, event.id]) for o in others])
        if nothing != -1:
            found.append((None, nothing))
        for one in others:
            between = [
                -formulas.conj((o.guard, before[one.id, o.id], before[o.id, event.id]))
                for o in others
                if o.id != one.id
            ]
            literal = formulas.conj((one.guard, before[one.id, event.id], *between))
            if literal != -1:
                found.append((one, literal))
        return found

    # --- what follows from the states ---------------------------------------------------------------------------------

    def _undefined(self, barrier: Mbarrier) -> None:
        """Operations that PTX leaves undefined in the state that they find."""
        tell = self.graph.tell
        for event in barrier.events:
            assert event.operation is not None
            reasons: dict[str, list[Lit]] = {}
            for state, literal in barrier.found[event.id].items():
                after = step(state, event.operation) if state is not None else state
                if isinstance(after, str):
                    reasons.setdefault(after, []).append(literal)
            for reason, literals in reasons.items():
                wrong = self.formulas.both(event.guard, self.formulas.disj(literals))
                if wrong != -1:
                    self.graph.bad.append((wrong, tell(event.thread, event.statement, reason)))

    def _result(self, barrier: Mbarrier, event: Event) -> None:
        """The register that an operation writes, and the phase that it belongs to."""
        formulas, found = self.formulas, barrier.found[event.id]
        if isinstance(event.statement, MbarrierWait):
            barrier.phases[event.id] = self._completed(event, found)
            complete = formulas.disj([*barrier.phases[event.id].values(), found.get(None, -1)])
            true = event.table.get(1, -1)
            formulas.require(-event.guard, -true, complete)
            if not event.statement.tries:
                formulas.require(-event.guard, true, -complete)
            return
        phases: dict[int, list[Lit]] = {}
        for state, literal in found.items():
            if state is not None:
                phases.setdefault(state.phase, []).append(literal)
        barrier.phases[event.id] = {phase: formulas.disj(literals) for phase, literals in phases.items()}
        self._token(event, found)

    def _token(self, event: Event, found: Found) -> None:
        """The register of an arrival holds the token of the state that it found; anything, where that is undefined."""
        formulas = self.formulas
        given: dict[int, list[Lit]] = {}
        for state, literal in found.items():
            if state is not None:
                given.setdefault(token(state, pending=self.graph.counts_pending), []).append(literal)
        lost = found.get(None, -1)
        for value, literal in event.table.items():
            first = value == min(event.table)
            says = formulas.disj([*given.get(value, ()), lost if first else -1])
            formulas.require(-event.guard, -literal, says)
            formulas.require(-event.guard, literal, -says)

    def _completed(self, event: Event, found: Found) -> dict[int, Lit]:
        """For each phase (-1 for none), the literal that the wait finds it complete, having asked for it."""
        formulas = self.formulas
        parts: dict[int, list[Lit]] = {}
        for state, literal in found.items():
            if state is None:
                continue
            for given, chosen in event.asked.items():
                by_parity = isinstance(event.statement, MbarrierWait) and event.statement.parity is not None
                if by_parity and state.phase % 2 != given % 2:
                    parts.setdefault(state.phase - 1, []).append(formulas.both(literal, chosen))
                elif not by_parity and state.phase > phase_of(given):
                    parts.setdefault(phase_of(given), []).append(formulas.both(literal, chosen))
        return {phase: formulas.disj(literals) for phase, literals in parts.items()}

    def incomplete(self, event: Event) -> Lit:
        """The literal that a wait finds its phase incomplete."""
        barrier = self.all[event.object]
        return -self.formulas.disj([*barrier.phases[event.id].values(), barrier.found[event.id].get(None, -1)])

    # --- relations ----------------------------------------------------------------------------------------------------

    def order(self) -> Iterable[tuple[int, int, Lit]]:
        """The pairs of `mbo`: an operation is earlier than another on the same mbarrier, one of them a change."""
        for barrier in self.all.values():
            for (i, j), literal in barrier.before.items():
                yield i, j, literal

    def next(self) -> Iterable[tuple[int, int, Lit]]:
        """The pairs of `mbnext`: an operation is the last change of an mbarrier before another operation."""
        for barrier in self.all.values():
            for event in barrier.events:
                for previous, literal in self._previous(barrier, event, barrier.changing):
                    if previous is not None:
                        yield previous.id, event.id, literal

    def phases(self) -> Iterable[tuple[int, int, Lit]]:
        """The pairs of `phase`: from an arrival or completion in a phase to a wait that finds that phase complete."""
        for barrier in self.all.values():
            for wait in barrier.waits:
                true = wait.table.get(1, -1)
                for event in barrier.changing:
                    assert event.operation is not None
                    if event.operation.kind in ("arrive", "drop", "complete"):
                        yield event.id, wait.id, self._same_phase(barrier, event, wait, true)

    def _same_phase(self, barrier: Mbarrier, event: Event, wait: Event, true: Lit) -> Lit:
        mine, formulas = barrier.phases[event.id], self.formulas
        both = [
            formulas.both(literal, mine[phase]) for phase, literal in barrier.phases[wait.id].items() if phase in mine
        ]
        return formulas.both(true, formulas.disj(both))
