"""What is missing so that two accesses race, in sentences: one for each change of a remedy."""

from __future__ import annotations

from ptxmm.encode import Encoding
from ptxmm.events import Event, same_cta
from ptxmm.evidence import mbarrier_name
from ptxmm.isa_text import mnemonic
from ptxmm.program import (
    AsyncCopy,
    Atomic,
    Bar,
    Barrier,
    ClusterBarrier,
    Fence,
    Load,
    Order,
    ProxyFence,
    Scope,
    Statement,
    Store,
    TensormapCopy,
    WarpSync,
)  # fmt: skip
from ptxmm.races.changes import (
    Aligned,
    Change,
    Ended,
    Exchanged,
    Fenced,
    Joined,
    Meeting,
    Seen,
    Stronger,
    Waited,
    exchange,
)  # fmt: skip
from ptxmm.races.naming import bytes_of, line_of, name_of, spelled, text_of
from ptxmm.races.remedies import Remedy, Search
from ptxmm.races.strengths import Ranked
from ptxmm.races.whatif import Draft
from ptxmm.tags import includes
from ptxmm.verdict import Missing

RELEASING, ACQUIRING = (Order.RELEASE, Order.ACQ_REL, Order.SC), (Order.ACQUIRE, Order.ACQ_REL, Order.SC)


class Words:
    """Sentences about changes along a path."""

    def __init__(self, encoding: Encoding, draft: Draft, remedy: Remedy | None) -> None:
        self.program, self.draft, self.remedy = encoding.program, draft, remedy
        self.of = {event.id: event for event in draft.events}

    def missing(self) -> tuple[Missing, ...]:
        """What each change says that is missing."""
        assert self.remedy is not None
        return tuple(self._one(change) for change in self.remedy.changes)

    def nothing(self, first: Event, second: Event, search: Search) -> Missing:
        """Where no change is enough, or none was found."""
        if search.cut:
            why = "what is missing was not found: the execution is too large to try every path between them"
        elif search.connected:
            why = "reads or barriers join the threads, but nothing on the way would order the two if it were stronger"
        elif first.thread == second.thread:
            why = (
                "nothing orders them: program order alone does not order different proxies, nor what a copy does later"
            )
        else:
            why = "nothing orders them: neither thread reads anything that the other wrote after its access"
            why += self._apart(first, second) or self._apart(second, first)
        if search.strong is not None and first.kind != second.kind:
            stronger = [f"`{spelled(c.statement)}`" for c in search.strong.changes if isinstance(c, Stronger)]
            why += f"; if they are to synchronise themselves, write {' and '.join(stronger)}" if stronger else ""
        return self._said((), second, why)

    def _apart(self, first: Event, second: Event) -> str:
        """What to say of barriers of two CTAs, which both threads pass between their accesses."""
        events = self.draft.events
        after = events[events.index(first) :]
        before = events[: events.index(second)]
        for one in (e for e in after if e.kind == "B" and e.thread == first.thread):
            for other in (e for e in before if e.kind == "B" and e.thread == second.thread):
                threads = [self.program.threads[event.thread] for event in (one, other)]
                if not isinstance(one.statement, ClusterBarrier) and not same_cta(*threads):
                    return f", and {self._where(one)} and {self._where(other)} are barriers of different CTAs"
        return ""

    def _one(self, change: Change) -> Missing:
        match change:
            case Stronger():
                return self._stronger(change)
            case Aligned(read, like):
                return self._aligned(self.of[read], self.of[like])
            case Exchanged(store, source):
                return self._chain(self.of[store], self.of[source])
            case Seen(write, read):
                return self._unseen(self.of[read], self.of[write])
            case Meeting(one, other):
                return self._meeting(self.of[one], self.of[other])
            case Joined(one, other, statement):
                return self._join(self.of[one], self.of[other], statement)
            case Fenced(anchor, ProxyFence(kind="tensormap") as fence):
                return self._map(self.of[anchor], fence)
            case Fenced(anchor, fence, before):
                return self._proxy(self.of[anchor], fence, before=before)
            case Waited():
                return self._wait(change)
            case Ended(first, second):
                return self._end_of_kernel(self.of[first], self.of[second])

    def _said(self, lacks: tuple[str, ...], event: Event, why: str, instead: str = "") -> Missing:
        """What an instruction lacks, and where it is."""
        return Missing(lacks, event.id, self._thread(event), line_of(event), text_of(event), why, instead)

    # --- instructions that fall short ---------------------------------------------------------------------------------

    def _stronger(self, change: Stronger) -> Missing:
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
            parts.append(f"releases nothing that {self._thread(event)} did before it")
        if after in ACQUIRING and before not in ACQUIRING:
            lacks.append("acquire")
            seen = self._seen(event)
            parts.append(
                "acquires nothing" + (f" of what came before {self._where(seen)}, which it reads" if seen else "")
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
        why = f"{self._where(event)} {' and '.join(parts)}; write {instead}"
        return self._said(tuple(lacks), event, why, instead)

    def _end(self, ids: tuple[int, ...]) -> int:
        """Of an instruction's events, the one that the path goes through."""
        assert self.remedy is not None
        ends = [id for link in self.remedy.path for id in (link.source, link.target)]
        return next((id for id in (*ends, *ids) if id in ids), ids[0])

    def _seen(self, read: Event) -> Event | None:
        source = next((w for (r, _), w in self.draft.reads.items() if r == read.id), None)
        return self.of[source] if source is not None and self.of[source].thread not in (-1, read.thread) else None

    def _outside(self, event: Event, scope: Scope) -> str:
        """The other threads of the path that a scope leaves out."""
        assert self.remedy is not None
        ends = [self.remedy.first, self.remedy.second, *(i for k in self.remedy.path for i in (k.source, k.target))]
        found = dict.fromkeys(self.of[id].thread for id in ends)
        threads = [self.program.threads[index] for index in found if index >= 0]
        mine = self.program.threads[event.thread].place
        out = [f"{t.name} @ {t.place}" for t in threads if not includes(scope, mine, t.place)]
        out += ["the host"] if -1 in found else []
        return " and ".join(out)

    def _fence(self, change: Stronger, lacks: list[str]) -> str:
        """A fence that does the same, where the instruction lacks nothing else."""
        now, was = change.statement, change.was
        if isinstance(was, Fence) or not isinstance(now, Load | Store | Atomic) or len(lacks) != 1:
            return ""
        side = {"release": "before", "acquire": "after"}.get(lacks[0])
        if side is None or now.scope is None or self.remedy is None:
            return ""
        event = self.of[self._end(change.events)]
        fence = Fence(order=Order.ACQ_REL, scope=now.scope)
        draft = self.draft.copy()
        for other in (*(c for c in self.remedy.changes if c is not change), Fenced(event.id, fence, side == "before")):
            other.apply(draft)
        ordered, _ = draft.related(self.remedy.first, self.remedy.second)
        return f", or `{mnemonic(fence)}` {side} it" if ordered else ""

    # --- links that are not there -------------------------------------------------------------------------------------

    def _aligned(self, read: Event, write: Event) -> Missing:
        if read.where != write.where:
            lack, what = "width", f"touches bytes {bytes_of(read)}, and {self._where(write)} bytes {bytes_of(write)}"
        elif read.proxy is not write.proxy:
            lack, what = "proxy", f"goes through the {read.proxy} proxy, and {self._where(write)} the {write.proxy} one"
        else:
            lack, what = "alias", f"uses the name {read.virtual}, and {self._where(write)} the name {write.virtual}"
        instead = {"width": "accesses of one size", "proxy": "one proxy", "alias": "one name"}[lack]
        why = f"{self._where(read)} {what}, so that the two are not morally strong; use {instead}"
        return self._said((lack,), read, why, instead)

    def _chain(self, store: Event, source: Event) -> Missing:
        atomic = exchange(store.statement)
        instead = f"`{spelled(atomic)}`" if atomic is not None else "an atomic operation"
        why = (
            f"{self._where(store)} is a plain store and cuts the chain of atomic operations from "
            f"{self._where(source)}: whoever reads it synchronises with {self._thread(store)} alone; write {instead}"
        )
        return self._said(("chain",), store, why, instead)

    def _unseen(self, read: Event, write: Event) -> Missing:
        instead = "a wait for that write"
        why = (
            f"{self._where(read)} does not see {self._where(write)} in this execution, "
            f"and {self._thread(read)} goes on; it needs {instead}"
        )
        return self._said(("wait",), read, why, instead)

    def _meeting(self, one: Event, other: Event) -> Missing:
        a, b = one.statement, other.statement
        both = f"{self._where(one)} and {self._where(other)}"
        if isinstance(a, ClusterBarrier) and isinstance(b, ClusterBarrier) and (a.wait or not b.wait):
            lack, what, instead = "wait", "do not wait for each other", "`barrier.cluster.wait` before the access"
        elif isinstance(a, ClusterBarrier) and a.order is Order.RELAXED:
            lack, what, instead = "release", "meet, but the arrival is relaxed", "`barrier.cluster.arrive.release`"
        elif isinstance(b, Barrier) and b.kind is Bar.ARRIVE:
            lack, what, instead = "wait", "meet, but an arrival does not wait", "`barrier.cta.sync`"
        elif isinstance(a, Barrier | WarpSync) and one.barrier != other.barrier:
            numbers = f"{one.barrier[0]} and {other.barrier[0]}"
            kind = "have the masks" if isinstance(a, WarpSync) else "are the barriers"
            lack, what, instead = "barrier", f"{kind} {numbers}", "one barrier"
        else:
            lack, what, instead = "barrier", "do not meet in one generation", "one more barrier between the accesses"
        why = f"{both} {what}; use {instead}"
        return self._said((lack,), other, why, instead)

    def _join(self, one: Event, other: Event, statement: Statement) -> Missing:
        names = f"{self._thread(one)} and {self._thread(other)}"
        instead = f"`{'bar.warp.sync' if isinstance(statement, WarpSync) else 'bar.sync'}` of both between the two"
        why = f"{names} do not meet after {self._where(one)} and before {self._where(other)}; write {instead}"
        return self._said(("barrier",), other, why, instead)

    def _proxy(self, access: Event, fence: Statement, *, before: bool) -> Missing:
        instead = f"`fence.proxy.{getattr(fence, 'kind', '')}` {'before' if before else 'after'} it"
        proxy = getattr(fence, "kind", "")
        why = f"{self._where(access)} goes through the {proxy} proxy without a proxy fence; write {instead}"
        return self._said(("proxy fence",), access, why, instead)

    def _map(self, event: Event, fence: ProxyFence) -> Missing:
        """A half of the tensor map's fence."""
        written = f"{mnemonic(fence)}" + (f" [{name_of(fence.address)}], 128" if fence.address is not None else "")
        if fence.order is Order.RELEASE:
            instead = f"`{written}` after it"
            why = f"{self._where(event)} changes a tensor map and does not publish it to copies; write {instead}"
        else:
            instead = f"`{written}` before it"
            why = f"{self._where(event)} goes through a tensor map that nobody acquired for it; write {instead}"
        return self._said(("proxy fence",), event, why, instead)

    def _wait(self, change: Waited) -> Missing:
        """A wait for a copy."""
        access, start = self.of[change.anchor], self.of[change.start]
        if change.completion >= 0:
            name = mbarrier_name(self.program, self.of[change.completion].object)
            instead = f"wait for the phase of `{name}` in which that completes"
        else:
            bulk = not isinstance(start.statement, AsyncCopy) or start.statement.bulk
            group = "cp.async.bulk.wait_group" if bulk else "cp.async.wait_group"
            instead = f"write `{group}{'.read' if bulk and change.read else ''} 0`, behind the `commit_group` of that"
        why = f"{self._where(access)} does not wait for the copy {self._where(start)}; before it, {instead}"
        return self._said(("wait",), access, why, instead)

    def _end_of_kernel(self, first: Event, second: Event) -> Missing:
        """A wait of a dependent grid."""
        instead = "`griddepcontrol.wait` before it"
        kernel = self.program.threads[first.thread].place.kernel
        ends = f"does not wait for kernel {kernel}, on which its own depends, to end"
        why = f"{self._where(second)} {ends}; write {instead}"
        return self._said(("wait",), second, why, instead)

    # --- names --------------------------------------------------------------------------------------------------------

    def _thread(self, event: Event) -> str:
        return self.program.threads[event.thread].name

    def _where(self, event: Event) -> str:
        """An instruction as the test has it: `st.relaxed.gpu.u32 [f], 1` (A, line 8)."""
        line = f", line {line_of(event)}" if line_of(event) else ""
        return f"`{text_of(event)}` ({self._thread(event)}{line})"
