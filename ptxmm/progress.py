"""Executions that never end, fair in memory and in scheduling.

The progress models are those of forward-progress literature (fair, HSA, OBE, HSA+OBE, LOBE, unfair), applied at every
level of the hierarchy device, cluster, CTA, thread. `docs/progress.md` says what PTX does not promise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.encode import Encoding
from ptxmm.events import Again, Ending, Event
from ptxmm.formula import Lit
from ptxmm.graph import inside
from ptxmm.program import Order, Scope
from ptxmm.tags import includes

ENDINGS = {
    "fair": Ending.PREFIX,
    "obe": Ending.NEVER_STARTED,
    "hsa-obe": Ending.NEVER_STARTED,
    "lobe": Ending.NEVER_STARTED,
    "hsa": Ending.ANYWHERE,
    "unfair": Ending.ANYWHERE,
}
PROGRESS = tuple(ENDINGS)
# The models whose promises do not depend on the numbers of threads.
EVEN = frozenset({"fair", "obe", "unfair"})


@dataclass
class Group:
    """Threads that share a device, cluster or CTA, or one thread: its literals, and the groups below in their order."""

    progress: Lit
    schedulable: Lit
    started: Lit
    below: list[Group] = field(default_factory=list)


class Progress:
    """The constraints of a progress model on an encoding whose ending is `ENDINGS[model]`."""

    def __init__(self, encoding: Encoding, model: str) -> None:
        self.encoding, self.graph, self.formulas = encoding, encoding.graph, encoding.formulas
        self.model = model
        self.threads = encoding.program.threads
        self.required: list[Lit] = []
        self.leaves = [self._leaf(index) for index in range(len(self.threads))]

    def never_ends(self) -> Lit:
        """The literal that some thread does not end; what progress and memory promise of that is `required`."""
        root = self._tree()
        self._require(root.progress)
        self._forward(root)
        self.required += self.encoding.in_vain()
        for again in self.graph.again:
            self._sees_the_last(again)
        for retry in self.graph.retries:
            for read in retry.reads:
                self._finds_the_last(retry.again, self.graph.events[read])
        return self.formulas.disj([-end for end in self.graph.ends])

    def _require(self, *clause: Lit) -> None:
        """Ask that one of the literals holds, of executions that never end in this way and of no others."""
        self.required.append(self.formulas.disj(clause))

    # --- scheduling ---------------------------------------------------------------------------------------------------

    def blocked(self, thread: int) -> Lit:
        """The literal that a thread stands at a barrier that does not let it go on."""
        return self.formulas.disj(
            [
                self.formulas.both(event.guard, -self.graph.passes[event.id])
                for event in self.graph.events
                if event.thread == thread and event.id in self.graph.passes
            ]
        )

    def _leaf(self, index: int) -> Group:
        formulas, graph = self.formulas, self.graph
        started, ended = graph.starts[index], graph.ends[index]
        enabled = self.encoding.enabled(index)
        schedulable = formulas.conj((enabled, -ended, -self.blocked(index)))
        progress = formulas.var()
        self._require(-progress, -enabled, started)
        self._require(-progress, -graph.stops[index])
        return Group(progress, schedulable, started)

    def _tree(self) -> Group:
        """The hierarchy: kernels, devices, clusters, CTAs, threads, each level in the order of its numbers."""
        level: dict[tuple[int, ...], list[Group]] = {}
        for thread, leaf in zip(self.threads, self.leaves, strict=True):
            place = thread.place
            level.setdefault((place.kernel, place.device, place.cluster, place.cta), []).append(leaf)
        for depth in (3, 2, 1, 0):
            above: dict[tuple[int, ...], list[Group]] = {}
            for key in sorted(level):
                above.setdefault(key[:depth], []).append(self._group(level[key]))
            level = above
        return self._group(level[()])

    def _group(self, below: list[Group]) -> Group:
        formulas = self.formulas
        if len(below) == 1:
            return below[0]
        schedulable = formulas.disj([child.schedulable for child in below])
        started = formulas.disj([child.started for child in below])
        return Group(formulas.var(), schedulable, started, below)

    def _forward(self, group: Group) -> None:
        """What progress of a group means for the groups below it."""
        require, both = self._require, self.formulas.both
        if not group.below:
            return
        able = [both(child.progress, child.schedulable) for child in group.below]
        require(-group.progress, -group.schedulable, *able)
        for place, child in enumerate(group.below):
            require(-child.progress, group.progress)
            for condition in self._promised(group, place):
                require(-group.progress, -condition, child.progress)
            self._forward(child)

    def _promised(self, group: Group, place: int) -> list[Lit]:
        """The conditions under each of which the model promises progress to one of a group's children."""
        child, disj = group.below[place], self.formulas.disj
        first = -disj([lower.schedulable for lower in group.below[:place]])
        match self.model:
            case "fair":
                return [1]
            case "hsa":
                return [first]
            case "obe":
                return [child.started]
            case "hsa-obe":
                return [first, child.started]
            case "lobe":
                return [disj([other.started for other in group.below[place:]])]
        return []

    # --- memory -------------------------------------------------------------------------------------------------------

    def _sees_the_last(self, again: Again) -> None:
        """A thread that waits for ever reads what no later write it can see has replaced.

        Strong reads see a write eventually that reaches them; other reads may stay stale.
        """
        fr = self.encoding.base.rel("fr")
        progress = self.leaves[again.thread].progress
        for read in self.graph.events:
            if read.kind == "A" and inside(self.graph, again, read):
                self._stays_incomplete(read, progress, again)
            if read.kind != "R" or read.order is Order.WEAK or not inside(self.graph, again, read):
                continue
            for write in self.graph.events:
                literal = fr.lit(read.id, write.id)
                if literal == -1 or write.thread < 0 or write.id == read.rmw:
                    continue
                if self._reaches(write, read):
                    self._require(-progress, -again.literal, -read.guard, -literal)

    def _reaches(self, write: Event, read: Event) -> bool:
        """Whether a strong read is told of a write in the end: one in its scope; of an alias, if both are at `.sys`."""
        if read.scope is None:
            return False
        if read.virtual != write.virtual:
            return read.scope is write.scope is Scope.SYS
        return includes(read.scope, self.threads[read.thread].place, self.threads[write.thread].place)

    def _finds_the_last(self, again: Again, read: Event) -> None:
        """A thread whose attempts fail for ever finds in each of them the value of the last write of the word."""
        formulas, before = self.formulas, self.encoding.base.choices.before
        writers = self.encoding.base.choices.writers[read.object, read.cells[0]]
        fails = (-self.leaves[again.thread].progress, -again.literal)
        last = {
            w.id: formulas.conj((w.guard, *(-before[w.id, v.id] for v in writers if v.id != w.id))) for w in writers
        }
        self._require(*fails, *read.table.values())
        for value, literal in read.table.items():
            stored = [formulas.both(last[w.id], w.table.get(value, -1)) for w in writers]
            self._require(*fails, -literal, formulas.disj(stored))

    def _stays_incomplete(self, wait: Event, progress: Lit, again: Again) -> None:
        """A thread that waits for ever at an mbarrier has seen every change of it, and the phase is not complete.

        What is counted does not depend on scopes, so that every wait sees the last state in the end.
        """
        mbarriers = self.encoding.base.mbarriers
        stays = (-progress, -again.literal, -wait.guard)
        self._require(*stays, mbarriers.incomplete(wait))
        barrier = mbarriers.all[wait.object]
        for change in barrier.changing:
            self._require(*stays, -change.guard, barrier.before[change.id, wait.id])
