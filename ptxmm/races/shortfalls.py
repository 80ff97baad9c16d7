"""Instructions that fall short: what each lacks of strength, and what to write instead, in sentences."""

from __future__ import annotations

from ptxmm.events import Event
from ptxmm.isa_text import mnemonic
from ptxmm.program import Atomic, Fence, Load, Order, ProxyFence, Scope, Store, TensormapCopy
from ptxmm.races.changes import Fenced, Stronger
from ptxmm.races.naming import Named, spelled
from ptxmm.races.remedies import Remedy
from ptxmm.races.strengths import Ranked
from ptxmm.races.whatif import Draft
from ptxmm.tags import includes
from ptxmm.verdict import Missing

RELEASING, ACQUIRING = (Order.RELEASE, Order.ACQ_REL, Order.SC), (Order.ACQUIRE, Order.ACQ_REL, Order.SC)


class Shortfalls:
    """Sentences about the instructions that a remedy makes stronger."""

    def __init__(self, named: Named, draft: Draft, remedy: Remedy) -> None:
        self.named, self.draft, self.remedy = named, draft, remedy
        self.of = {event.id: event for event in draft.events}

    def missing(self, change: Stronger) -> Missing:
        """What an instruction lacks that would have to be stronger."""
        event = self.of[self._end(change.events)]
        was, now = change.was, change.statement
        assert isinstance(was, Ranked | ProxyFence | TensormapCopy)
        assert isinstance(now, Ranked | ProxyFence | TensormapCopy)
        before, after = getattr(was, "order", None), getattr(now, "order", None)
        lacks, parts = [], []
        if before is Order.WEAK:
            lacks.append("strength")
            parts.append("is weak" + ("" if after is not Order.RELAXED else ", and so synchronises with nobody"))
        if after in RELEASING and before not in RELEASING:
            lacks.append("release")
            parts.append(f"releases nothing that {self.named.thread(event)} did before it")
        if after in ACQUIRING and before not in ACQUIRING:
            lacks.append("acquire")
            seen = self._seen(event)
            parts.append(
                "acquires nothing" + (f" of what came before {self.named.where(seen)}, which it reads" if seen else "")
            )
        if was.scope is not None and was.scope is not now.scope:
            lacks.append("scope")
            parts.append(f"has the scope .{was.scope}, which does not include {self._outside(event, was.scope)}")
        if isinstance(was, Fence) and isinstance(now, Fence) and was.window != now.window:
            lacks.append("window")
            parts.append("is restricted to shared memory of its window")
        if isinstance(was, Atomic) and isinstance(now, Atomic) and was.reduction != now.reduction:
            lacks.append("result")
            parts.append("is a reduction, and what it reads acquires nothing")
        instead = f"`{spelled(now)}`" + self._fence(change, lacks)
        why = f"{self.named.where(event)} {' and '.join(parts)}; write {instead}"
        return self.named.missing(tuple(lacks), event, why, instead)

    def _end(self, ids: tuple[int, ...]) -> int:
        """Of an instruction's events, the one that the path goes through."""
        ends = [id for link in self.remedy.path for id in (link.source, link.target)]
        return next((id for id in (*ends, *ids) if id in ids), ids[0])

    def _seen(self, read: Event) -> Event | None:
        source = next((w for (r, _), w in self.draft.reads.items() if r == read.id), None)
        return self.of[source] if source is not None and self.of[source].thread not in (-1, read.thread) else None

    def _outside(self, event: Event, scope: Scope) -> str:
        """The other threads of the path that a scope leaves out."""
        ends = [self.remedy.first, self.remedy.second, *(i for k in self.remedy.path for i in (k.source, k.target))]
        found = dict.fromkeys(self.of[id].thread for id in ends)
        threads = [self.named.program.threads[index] for index in found if index >= 0]
        mine = self.named.program.threads[event.thread].place
        out = [f"{t.name} @ {t.place}" for t in threads if not includes(scope, mine, t.place)]
        out += ["the host"] if -1 in found else []
        return " and ".join(out)

    def _fence(self, change: Stronger, lacks: list[str]) -> str:
        """A fence that does the same, where the instruction lacks nothing else."""
        now, was = change.statement, change.was
        if isinstance(was, Fence) or not isinstance(now, Load | Store | Atomic) or len(lacks) != 1:
            return ""
        side = {"release": "before", "acquire": "after"}.get(lacks[0])
        if side is None or now.scope is None:
            return ""
        event = self.of[self._end(change.events)]
        fence = Fence(order=Order.ACQ_REL, scope=now.scope)
        draft = self.draft.copy()
        for other in (*(c for c in self.remedy.changes if c is not change), Fenced(event.id, fence, side == "before")):
            other.apply(draft)
        ordered, _ = draft.related(self.remedy.first, self.remedy.second)
        return f", or `{mnemonic(fence)}` {side} it" if ordered else ""
