"""The mbarriers of an execution: the order of the operations on each, and the states that they find.

Operations on one mbarrier are atomic, whatever their scopes (a scope decides what is ordered, never what is counted),
so they stand in a total order, and each finds the state that the one before it left. What is out of program order (the
completion of a copy) stands anywhere after what comes before its copy.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptxmm.events import Event, EventGraph
from ptxmm.formula import Lit
from ptxmm.mbarrier_certain import certain
from ptxmm.mbarrier_orders import Causality, Exchanges
from ptxmm.mbarrier_reach import Reach
from ptxmm.mbarrier_sequence import Found, Mbarrier, in_order, order, previous
from ptxmm.mbarrier_state import Phase, State, fresh, misasked, passes, phase_of, step, token
from ptxmm.program import MbarrierWait


class Mbarriers:
    """Every mbarrier of a test; constraints, and the undefined steps of operations, go to the graph.

    `causal` says that the model has the order of operations follow causality, and `causality` what that may relate,
    where the order of operations matters for nothing else. `following` has for the literal that a
    wait succeeds what holds with it: that the arrivals happen which are certain to be in its phase.
    """

    def __init__(self, graph: EventGraph, causality: Causality | None = None, *, causal: bool) -> None:
        self.graph, self.formulas = graph, graph.formulas
        self.all: dict[str, Mbarrier] = {}
        self.following: dict[Lit, list[Lit]] = {}
        for event in graph.events:
            if event.kind == "A" and event.guard != -1:
                if event.object not in self.all:
                    self.all[event.object] = Mbarrier(event.object, self._start(event), [])
                self.all[event.object].events.append(event)
        events = {name: barrier.events for name, barrier in self.all.items()}
        self.orders = Exchanges(events, causality) if causality is not None else None
        starts = {name: (barrier.start, barrier.events) for name, barrier in self.all.items()}
        self.reach = certain(graph, starts, self.orders, causal=causal)
        for name, barrier in self.all.items():
            reach = self.reach[name]
            order(barrier, reach, self.formulas, self.orders)
            self._follow(barrier, reach)
            self._undefined(barrier)
            for event in barrier.events:
                self._result(barrier, event)
            self._certain(barrier, reach)

    def _start(self, event: Event) -> State:
        item = self.graph.program.physical(event.virtual)
        return State() if item.mbarrier is None else fresh(item.mbarrier)

    # --- states -------------------------------------------------------------------------------------------------------

    def _follow(self, barrier: Mbarrier, reach: Reach) -> None:
        """Each operation finds what the operation just before it left, unless that is undefined."""
        formulas, changing = self.formulas, barrier.changing
        for event in barrier.events:
            states = reach.found[event.id]
            single = len(states) == 1
            barrier.found[event.id] = {state: 1 if single else formulas.var() for state in states}
            barrier.lost[event.id] = formulas.var() if reach.undefined else -1
        left = {event.id: self._left(barrier, event) for event in changing}
        for event in barrier.events:
            mine, lost = barrier.found[event.id], barrier.lost[event.id]
            for former, literal in previous(barrier, event, reach, self.formulas):
                given: Found = {barrier.start: 1} if former is None else left[former.id][0]
                spoilt = -1 if former is None else left[former.id][1]
                formulas.require(-event.guard, -literal, -spoilt, lost)
                formulas.require(-event.guard, -literal, spoilt, -lost)
                for state in given.keys() | mine.keys():
                    there, here = given.get(state, -1), mine.get(state, -1)
                    formulas.require(-event.guard, -literal, spoilt, -there, here)
                    formulas.require(-event.guard, -literal, spoilt, there, -here)

    def _left(self, barrier: Mbarrier, event: Event) -> tuple[Found, Lit]:
        """The states that an operation leaves, and the literal that nothing is defined after it."""
        parts: dict[State, list[Lit]] = {}
        wrong: list[Lit] = [barrier.lost[event.id]]
        assert event.operation is not None
        for state, literal in barrier.found[event.id].items():
            after = step(state, event.operation)
            if isinstance(after, str):
                wrong.append(literal)
            else:
                parts.setdefault(after, []).append(literal)
        return {state: self.formulas.disj(lits) for state, lits in parts.items()}, self.formulas.disj(wrong)

    # --- what follows from the states ---------------------------------------------------------------------------------

    def _undefined(self, barrier: Mbarrier) -> None:
        """Operations that PTX leaves undefined in the state that they find."""
        tell = self.graph.tell
        for event in barrier.events:
            assert event.operation is not None
            reasons: dict[str, list[Lit]] = {}
            for state, literal in barrier.found[event.id].items():
                after = step(state, event.operation)
                if isinstance(after, str):
                    reasons.setdefault(after, []).append(literal)
                for given, chosen in event.asked.items():
                    if why := misasked(state, given, parity=event.parity):
                        reasons.setdefault(why, []).append(self.formulas.both(literal, chosen))
            for reason, literals in reasons.items():
                wrong = self.formulas.conj((event.guard, -barrier.lost[event.id], self.formulas.disj(literals)))
                if wrong != -1:
                    self.graph.bad.append((wrong, tell(event.thread, event.statement, reason)))

    def _result(self, barrier: Mbarrier, event: Event) -> None:
        """The register that an operation writes, and the phase that it belongs to.

        After an undefined step waits fail: what a thread did beyond one could not be what brought that step about.
        """
        formulas, found = self.formulas, barrier.found[event.id]
        if isinstance(event.statement, MbarrierWait):
            barrier.phases[event.id] = self._completed(event, found)
            complete, lost = formulas.disj(barrier.phases[event.id].values()), barrier.lost[event.id]
            true = event.table.get(1, -1)
            formulas.require(-event.guard, lost, -true, complete)
            formulas.require(-event.guard, -lost, -true)
            if not event.statement.tries:
                formulas.require(-event.guard, lost, true, -complete)
            return
        phases: dict[Phase, list[Lit]] = {}
        for state, literal in found.items():
            phases.setdefault(state.current, []).append(literal)
        barrier.phases[event.id] = {phase: formulas.disj(literals) for phase, literals in phases.items()}
        self._token(event, found)

    def _certain(self, barrier: Mbarrier, reach: Reach) -> None:
        """A wait that succeeds has run, and so have the arrivals that are certain to be in its phase."""
        known = {event.id: event for event in barrier.events}
        for wait, joined in reach.joined.items():
            true, guard = known[wait].table.get(1, -1), known[wait].guard
            joining = [known[one].guard for one in joined]
            if true not in (1, -1):
                self.formulas.require(-true, guard)
                self.following[true] = [guard, *joining]
            for literal in joining:
                self.formulas.require(-guard, -true, literal)

    def _token(self, event: Event, found: Found) -> None:
        """The register of an arrival holds the token of the state that it found; anything, where that is undefined."""
        formulas = self.formulas
        given: dict[int, list[Lit]] = {}
        for state, literal in found.items():
            given.setdefault(token(state, pending=self.counted(event)), []).append(literal)
        for value, literal in event.table.items():
            says = formulas.disj(given.get(value, ()))
            formulas.require(-event.guard, -literal, says)
            formulas.require(-event.guard, literal, -says)

    def counted(self, event: Event) -> bool:
        """Whether the state that an arrival gives tells what is pending: with `.noComplete`, where a test asks."""
        return self.graph.counts_pending and event.operation is not None and not event.operation.completes

    def _completed(self, event: Event, found: Found) -> dict[Phase, Lit]:
        """For each phase (-1 for none), the literal that the wait finds it complete, having asked for it."""
        formulas = self.formulas
        parts: dict[Phase, list[Lit]] = {}
        for state, literal in found.items():
            for given, chosen in event.asked.items():
                if passes(state, given, parity=event.parity):
                    phase = state.phase - 1 if event.parity else phase_of(given)
                    parts.setdefault((state.life, phase), []).append(formulas.both(literal, chosen))
        return {phase: formulas.disj(literals) for phase, literals in parts.items()}

    def incomplete(self, event: Event) -> Lit:
        """The literal that a wait finds its phase incomplete."""
        barrier = self.all[event.object]
        return -self.formulas.disj([*barrier.phases[event.id].values(), barrier.lost[event.id]])

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
                for former, literal in previous(barrier, event, self.reach[barrier.name], self.formulas):
                    if former is not None:
                        yield former.id, event.id, literal

    def phases(self) -> Iterable[tuple[int, int, Lit]]:
        """The pairs of `phase`: from an operation of a phase to a wait that finds that phase complete."""
        for barrier in self.all.values():
            for wait in barrier.waits:
                true = wait.table.get(1, -1)
                for event in barrier.changing:
                    if event.counts:
                        yield event.id, wait.id, self._same_phase(barrier, event, wait, true)

    def reached(self) -> Iterable[tuple[int, int, Lit]]:
        """The pairs of `reached`: from a change of an mbarrier to what finds a phase that could not be without it."""
        for barrier in self.all.values():
            for event in barrier.events:
                shows = self._shows(event)
                for change in barrier.changing:
                    if shows != -1 and change.id != event.id:
                        yield change.id, event.id, self.formulas.both(shows, self._over(barrier, change, event))

    def _shows(self, event: Event) -> Lit:
        """The literal that a thread goes on with what an operation found; a try_wait may fail whatever it finds."""
        if isinstance(event.statement, MbarrierWait):
            return event.table.get(1, -1) if event.statement.tries else 1
        return 1 if event.table else -1

    def _over(self, barrier: Mbarrier, change: Event, event: Event) -> Lit:
        """The literal that what an operation returns is due to a change.

        A wait tells of the phases before that which it finds, and comes after what its own thread did; an arrival that
        returns a state comes after all before it, and so does what is returned where nothing is defined any more.
        """
        formulas, lost = self.formulas, barrier.lost
        earlier = barrier.before[change.id, event.id]
        if not event.waits or (change.id < event.id and in_order(change, event)):
            return earlier
        began = [
            formulas.both(one, other)
            for then, one in self._current(barrier, change).items()
            for now, other in self._current(barrier, event).items()
            if then < now
        ]
        unsaid = formulas.both(lost[event.id], earlier)
        return formulas.both(-lost[change.id], formulas.disj((unsaid, *began)))

    def _current(self, barrier: Mbarrier, event: Event) -> dict[Phase, Lit]:
        """The phase that an operation finds; an init comes before the first one of its object."""
        phases: dict[Phase, list[Lit]] = {}
        for state, literal in barrier.found[event.id].items():
            phase = state.current if state.valid else (state.life, -1)
            phases.setdefault(phase, []).append(literal)
        return {phase: self.formulas.disj(literals) for phase, literals in phases.items()}

    def _same_phase(self, barrier: Mbarrier, event: Event, wait: Event, true: Lit) -> Lit:
        mine, formulas = barrier.phases[event.id], self.formulas
        if len(barrier.phases[wait.id]) == 1 and all(mine.get(phase) == 1 for phase in barrier.phases[wait.id]):
            return true
        both = [
            formulas.both(literal, mine[phase]) for phase, literal in barrier.phases[wait.id].items() if phase in mine
        ]
        return formulas.both(true, formulas.disj(both))
