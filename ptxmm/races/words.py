"""What is missing so that two accesses race, in sentences: one for each change of a remedy."""

from __future__ import annotations

from ptxmm.encode import Encoding
from ptxmm.events import Event, same_cta
from ptxmm.evidence import mbarrier_name
from ptxmm.isa_text import mnemonic
from ptxmm.program import AsyncCopy, Bar, Barrier, ClusterBarrier, Order, ProxyFence, Statement, WarpSync
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
from ptxmm.races.naming import Named, bytes_of, name_of, spelled
from ptxmm.races.remedies import Remedy, Search
from ptxmm.races.shortfalls import Shortfalls
from ptxmm.races.whatif import Draft
from ptxmm.verdict import Missing


class Words:
    """Sentences about changes along a path."""

    def __init__(self, encoding: Encoding, draft: Draft) -> None:
        self.program, self.draft = encoding.program, draft
        self.named = Named(encoding.program)
        self.of = {event.id: event for event in draft.events}

    def missing(self, remedy: Remedy) -> tuple[Missing, ...]:
        """What each change says that is missing."""
        short = Shortfalls(self.named, self.draft, remedy)
        return tuple(self._one(change, short) for change in remedy.changes)

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
        return self.named.missing((), second, why)

    def _apart(self, first: Event, second: Event) -> str:
        """What to say of barriers of two CTAs, which both threads pass between their accesses."""
        events = self.draft.events
        after = events[events.index(first) :]
        before = events[: events.index(second)]
        for one in (e for e in after if e.kind == "B" and e.thread == first.thread):
            for other in (e for e in before if e.kind == "B" and e.thread == second.thread):
                threads = [self.program.threads[event.thread] for event in (one, other)]
                if not isinstance(one.statement, ClusterBarrier) and not same_cta(*threads):
                    return f", and {self.named.where(one)} and {self.named.where(other)} are barriers of different CTAs"
        return ""

    def _one(self, change: Change, short: Shortfalls) -> Missing:
        match change:
            case Stronger():
                return short.missing(change)
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

    # --- links that are not there -------------------------------------------------------------------------------------

    def _aligned(self, read: Event, write: Event) -> Missing:
        if read.where != write.where:
            lack, what = (
                "width",
                f"touches bytes {bytes_of(read)}, and {self.named.where(write)} bytes {bytes_of(write)}",
            )
        elif read.proxy is not write.proxy:
            lack, what = (
                "proxy",
                f"goes through the {read.proxy} proxy, and {self.named.where(write)} the {write.proxy} one",
            )
        else:
            lack, what = (
                "alias",
                f"uses the name {read.virtual}, and {self.named.where(write)} the name {write.virtual}",
            )
        instead = {"width": "accesses of one size", "proxy": "one proxy", "alias": "one name"}[lack]
        why = f"{self.named.where(read)} {what}, so that the two are not morally strong; use {instead}"
        return self.named.missing((lack,), read, why, instead)

    def _chain(self, store: Event, source: Event) -> Missing:
        atomic = exchange(store.statement)
        instead = f"`{spelled(atomic)}`" if atomic is not None else "an atomic operation"
        why = (
            f"{self.named.where(store)} is a plain store and cuts the chain of atomic operations from "
            f"{self.named.where(source)}: whoever reads it synchronises with {self.named.thread(store)} alone; "
            f"write {instead}"
        )
        return self.named.missing(("chain",), store, why, instead)

    def _unseen(self, read: Event, write: Event) -> Missing:
        instead = "a wait for that write"
        why = (
            f"{self.named.where(read)} does not see {self.named.where(write)} in this execution, "
            f"and {self.named.thread(read)} goes on; it needs {instead}"
        )
        return self.named.missing(("wait",), read, why, instead)

    def _meeting(self, one: Event, other: Event) -> Missing:
        a, b = one.statement, other.statement
        both = f"{self.named.where(one)} and {self.named.where(other)}"
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
        return self.named.missing((lack,), other, why, instead)

    def _join(self, one: Event, other: Event, statement: Statement) -> Missing:
        names = f"{self.named.thread(one)} and {self.named.thread(other)}"
        instead = f"`{'bar.warp.sync' if isinstance(statement, WarpSync) else 'bar.sync'}` of both between the two"
        why = f"{names} do not meet after {self.named.where(one)} and before {self.named.where(other)}; write {instead}"
        return self.named.missing(("barrier",), other, why, instead)

    def _proxy(self, access: Event, fence: Statement, *, before: bool) -> Missing:
        instead = f"`fence.proxy.{getattr(fence, 'kind', '')}` {'before' if before else 'after'} it"
        proxy = getattr(fence, "kind", "")
        why = f"{self.named.where(access)} goes through the {proxy} proxy without a proxy fence; write {instead}"
        return self.named.missing(("proxy fence",), access, why, instead)

    def _map(self, event: Event, fence: ProxyFence) -> Missing:
        """A half of the tensor map's fence."""
        written = f"{mnemonic(fence)}" + (f" [{name_of(fence.address)}], 128" if fence.address is not None else "")
        if fence.order is Order.RELEASE:
            instead = f"`{written}` after it"
            why = f"{self.named.where(event)} changes a tensor map and does not publish it to copies; write {instead}"
        else:
            instead = f"`{written}` before it"
            why = f"{self.named.where(event)} goes through a tensor map that nobody acquired for it; write {instead}"
        return self.named.missing(("proxy fence",), event, why, instead)

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
        why = f"{self.named.where(access)} does not wait for the copy {self.named.where(start)}; before it, {instead}"
        return self.named.missing(("wait",), access, why, instead)

    def _end_of_kernel(self, first: Event, second: Event) -> Missing:
        """A wait of a dependent grid."""
        instead = "`griddepcontrol.wait` before it"
        kernel = self.program.threads[first.thread].place.kernel
        ends = f"does not wait for kernel {kernel}, on which its own depends, to end"
        why = f"{self.named.where(second)} {ends}; write {instead}"
        return self.named.missing(("wait",), second, why, instead)
