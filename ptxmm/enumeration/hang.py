"""Executions that never end: some threads stay at a barrier, go round in a loop for ever, or are not scheduled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.path import Path
from ptxmm.enumeration.paths import halts
from ptxmm.enumeration.promises import MAY_NEVER_START, MAY_STOP, Promise
from ptxmm.enumeration.rows import bits
from ptxmm.enumeration.scopes import includes
from ptxmm.enumeration.search import Found, Search
from ptxmm.enumeration.skeleton import Cell, Event, Skeleton, within
from ptxmm.program import Order, Scope
from ptxmm.verdict import Answer

UNFINISHED = frozenset({"cut"})
STORIES = {
    "stuck": "waits at a barrier",
    "again": "waits for ever in its loop",
    "stopped": "is not scheduled any more",
    "waiting": "never starts",
}


@dataclass
class Hangs:
    """Looks for an execution that never ends under a progress model."""

    search: Search
    promise: Promise

    def answer(self) -> Answer:
        search, unsure = self.search, ""
        search.coherence_matters, search.once = True, False
        search.wanted, search.matters = self.may_stay, lambda skeleton, start: True
        search.ends, search.more = self.may_hang, self.halted
        try:
            for found in search:
                ends = tuple(path.end for path in found.skeleton.paths)
                if found.undefined:
                    unsure = unsure or ("" if found.scheduled else found.undefined)
                elif UNFINISHED.intersection(ends):
                    unsure = unsure or "a loop was cut at the bound"
                elif any(self.fair_to(found, going) for going in self.promise.kept(ends)):
                    return Answer("yes", why="; ".join(story(found)))
        except GaveUp as reason:
            unsure = str(reason)
        return Answer("unknown", why=unsure) if unsure else Answer("no")

    def halted(self, thread: int, path: Path) -> Iterator[Path]:
        """The beginnings of a path after which the model lets a thread wait for ever to be scheduled."""
        if self.promise.model in MAY_STOP:
            yield from halts(path)
        elif self.promise.model in MAY_NEVER_START:
            yield Path((), "stopped")

    def may_hang(self, ends: tuple[str, ...]) -> bool:
        """Whether an execution whose threads end like this never ends, or is not known to its end."""
        return any(end != "end" for end in ends) and bool(self.promise.kept(ends))

    def may_stay(self, skeleton: Skeleton) -> bool:
        """Whether those who go on in any case need not read for ever what an initial write left and others replace."""
        ends = tuple(path.end for path in skeleton.paths)
        going = frozenset.intersection(*self.promise.kept(ends))
        for event, step in skeleton.steps():
            if event.thread not in going or event.position not in skeleton.paths[event.thread].repeated:
                continue
            if step.kind != "R" or step.order is Order.WEAK or step.scope is None:
                continue
            for cell, (_, *others) in skeleton.writers.items():
                if not covers(event, cell):
                    continue
                if any(reaches(skeleton, write, event) for write in others) and not any(
                    within(write, cell) == within(event, cell) for write in others
                ):
                    return False
        return True

    def fair_to(self, found: Found, going: frozenset[int]) -> bool:
        """Whether memory is fair to these threads: what they read for ever, no write that reaches them replaces.

        A strong read is told in the end of a write that reaches it. Other reads may stay as they are.
        """
        skeleton, replaced = found.skeleton, found.meaning.relations["fr"]
        asking = frozenset(
            skeleton.at[thread, at] for thread in going for at in skeleton.paths[thread].repeated
            if skeleton.paths[thread].steps[at].operation is not None
        )  # fmt: skip
        if asking and not found.turn.agrees(self.search.known(found.meaning), asking):
            return False
        for thread in going:
            for position in skeleton.paths[thread].repeated:
                step = skeleton.paths[thread].steps[position]
                if step.kind != "R" or step.order is Order.WEAK or step.scope is None:
                    continue
                read = skeleton.events[skeleton.at[thread, position]]
                if any(reaches(skeleton, skeleton.events[write], read) for write in bits(replaced[read.id])):
                    return False
        return True


def reaches(skeleton: Skeleton, write: Event, read: Event) -> bool:
    """Whether a strong read is told of a write in the end: one in its scope; of an alias, if both are at `.sys`."""
    reader, writer = skeleton.place(read), skeleton.place(write)
    if read.step is None or read.step.scope is None or read.spot is None or reader is None:
        return False
    if write.step is None or write.spot is None or writer is None:
        return False
    if read.spot.virtual != write.spot.virtual:
        return read.step.scope is write.step.scope is Scope.SYS
    return includes(read.step.scope, reader, writer)


def covers(event: Event, cell: Cell) -> bool:
    """Whether an access reads or writes a cell."""
    spot, (name, start, end) = event.spot, cell
    return spot is not None and spot.object == name and spot.offset <= start and end <= spot.offset + spot.size


def story(found: Found) -> Iterator[str]:
    """For each thread that does not end, where it stays."""
    for thread, path in zip(found.skeleton.program.threads, found.skeleton.paths, strict=True):
        if path.end in STORIES:
            yield f"{thread.name} {STORIES[path.end]}"
