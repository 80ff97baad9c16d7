"""The base vocabulary of a model on a test: every set and relation of `vocabulary.VOCABULARY`.

Reads-from, coherence and the order of `fence.sc` are chosen by variables; everything else follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ptxmm import inflight
from ptxmm.along import Closure
from ptxmm.barriers import Barriers
from ptxmm.choices import Choices
from ptxmm.events import Event, EventGraph
from ptxmm.fixed import FIXED, windows
from ptxmm.formula import Lit
from ptxmm.grids import Grids
from ptxmm.inflight import InFlight
from ptxmm.mbarrier_orders import Causality
from ptxmm.mbarriers import Mbarriers
from ptxmm.program import Atomic, Fence, Order, ProxyFence
from ptxmm.relation import Rel, Row, Set, Symbolic
from ptxmm.tags import ORDER_TAGS, SCOPE_TAGS, order_tag, proxy_tag
from ptxmm.vocabulary import SETS

KINDS = {"R": ("M", "R"), "W": ("M", "W"), "F": ("F",), "B": ("F", "B"), "S": (), "G": (), "A": (), "K": (), "E": ()}
WINDOWS = {"mbarrier_init": ("RESTRICT", "MBINIT"), "shared::cluster::read": ("RESTRICT", "READS")}
ABOUT_FLIGHT = (
    "mbo", "mbnext", "phase", "reached", "mbloc", "issued", "done", "inspace", "acquires", "same-copy", "tenant",
)  # fmt: skip


class Base:
    """The meaning of every base name on one event graph; constraints on the choices go to the graph's formulas."""

    def __init__(self, graph: EventGraph, algebra: Symbolic, barriers: Barriers | None = None) -> None:
        self.graph, self.algebra, self.formulas = graph, algebra, graph.formulas
        self.events, self.program = graph.events, graph.program
        self.guards = [event.guard for event in self.events]
        self.strong: Rel | None = None
        self.causal = False
        self.causality: Causality | None = None
        self.loose = False
        self.barriers = barriers or Barriers(graph)
        self.memo: dict[str, Rel | Set] = {}
        self.members: dict[str, int] | None = None

    def __call__(self, name: str) -> Rel | Set:
        if name not in self.memo:
            self.memo[name] = self._set(name) if name in SETS else self._relation(name)
        return self.memo[name]

    @cached_property
    def inflight(self) -> InFlight:
        """The relations of copies and mbarriers."""
        return InFlight(self.graph, lambda: self.mbarriers)

    @cached_property
    def grids(self) -> Grids:
        """The kernels of the test."""
        return Grids(self.graph)

    @cached_property
    def mbarriers(self) -> Mbarriers:
        """The mbarriers of the test."""
        return Mbarriers(self.graph, self.causality, causal=self.causal)

    @cached_property
    def choices(self) -> Choices:
        """Reads-from and coherence, with chains where moral strength is known by the time they are first needed."""
        made = Choices(self.graph, self.strong, loose=self.loose)
        if made.chains:
            self.algebra.chains = Closure(made.chains, len(self.events), loose=made.loosened)
        return made

    def rel(self, name: str) -> Rel:
        """A base relation."""
        value = self(name)
        assert isinstance(value, Rel)
        return value

    # --- sets ---------------------------------------------------------------------------------------------------------

    def _set(self, name: str) -> Set:
        if name == "LENT":
            return self._lent()
        if self.members is None:
            self.members = self._members()
        return Set(self.members.get(name, 0), {})

    def _members(self) -> dict[str, int]:
        """The mask of every set, events that cannot run apart."""
        masks: dict[str, int] = {}
        for event in self.events:
            if event.guard != -1:
                bit = 1 << event.id
                live = ("LIVE",) if event.thread >= 0 and event.kind in "RW" and self._declared(event) else ()
                for name in (*self._names(event), *live):
                    masks[name] = masks.get(name, 0) | bit
        for event in self.inflight.lent:
            if event.guard != -1 and self.inflight.is_far(event):
                masks["FAR"] = masks.get("FAR", 0) | 1 << event.id
        return masks

    def _declared(self, event: Event) -> bool:
        """Whether an access is of the bytes of an mbarrier that the test declares."""
        return self.program.physical(event.object).mbarrier is not None

    def _lent(self) -> Set:
        """Uses of shared memory from elsewhere, where all threads of its CTA have ended."""
        must, may = 0, dict[int, Lit]()
        for event in self.inflight.lent:
            literal = self.algebra.running.under(self.inflight.over(event), 1 << event.id)
            if literal == 1:
                must |= 1 << event.id
            elif literal != -1:
                may[event.id] = literal
        return Set(must, may)

    def _names(self, event: Event) -> list[str]:
        """The sets that an event is in."""
        kind, statement = event.kind, event.statement
        names = ["_", proxy_tag(event), *KINDS[kind], *inflight.names(event)]
        if event.thread < 0:
            return [*names, "IW", "WEAK"]
        order = order_tag(event)
        if order is not None:
            names.append(ORDER_TAGS[order])
        if event.scope is not None:
            names.append(SCOPE_TAGS[event.scope])
        if event.rmw >= 0 and not isinstance(statement, Atomic):
            names.append("RMW")
        if isinstance(statement, Atomic):
            names.append("RMW")
            if statement.reduction and not self.program.conventions.reductions_read:
                names.append("RED")
        elif isinstance(statement, Fence | ProxyFence) and statement.window is not None:
            names += WINDOWS.get(statement.window, ("RESTRICT",))
        return names

    # --- relations ----------------------------------------------------------------------------------------------------

    def _relation(self, name: str) -> Rel:
        if name in FIXED:
            return FIXED[name](self.graph)
        if name in ABOUT_FLIGHT:
            return self._guarded(self.inflight.pairs(name))
        match name:
            case "po-loc":
                return self.algebra.inter(self.rel("po"), self.rel("loc"))
            case "rf" | "co" | "fr":
                return {"rf": self._rf, "co": self._co, "fr": self._fr}[name]()
            case "rmw":
                return self._guarded((e.id, e.rmw, 1) for e in self.events if e.kind == "R" and e.rmw >= 0)
            case "addr" | "data" | "ctrl":
                return self._guarded({"addr": self.graph.addr, "data": self.graph.data, "ctrl": self.graph.ctrl}[name])
            case "sync_fence":
                return self._sync_fence()
            case "inwindow":
                return self._guarded(windows(self.graph))
            case "syncbar" | "syncwarp" | "syncbarcl" | "execbarcl" | "execwarp":
                return self._guarded(self.barriers.pairs(name))
            case "api":
                return self._guarded(self.grids.pairs())
        raise AssertionError(name)

    def _guarded(self, pairs: Iterable[tuple[int, int, Lit]]) -> Rel:
        """A relation from pairs with the literals that they hold, where both events run."""
        under, guards = self.algebra.running.under, self.guards
        must, may = [0] * len(self.events), dict[int, Row]()
        for i, j, literal in pairs:
            whole = -1 if -1 in (guards[i], guards[j]) else under(literal, 1 << i | 1 << j)
            if whole == 1:
                must[i] |= 1 << j
            elif whole != -1:
                row = may.setdefault(i, {})
                row[j] = self.formulas.disj((row[j], whole)) if j in row else whole
        return self.algebra.clean(must, may)

    def _rf(self) -> Rel:
        found: dict[tuple[int, int], list[Lit]] = {}
        for (read, _), sources in self.choices.sources.items():
            for write, literal in sources:
                found.setdefault((write, read), []).append(literal)
        return self._exact({pair: self.formulas.disj(parts) for pair, parts in found.items()})

    def _exact(self, pairs: dict[tuple[int, int], Lit], transitive: bool = False) -> Rel:
        must, may = [0] * len(self.events), dict[int, Row]()
        for (i, j), literal in pairs.items():
            if literal == 1:
                must[i] |= 1 << j
            elif literal != -1:
                may.setdefault(i, {})[j] = literal
        return Rel(must, may, transitive)

    def _co(self) -> Rel:
        whole = all(len(event.cells) <= 1 for event in self.events)
        return self._exact(self.choices.before, transitive=whole)

    def _fr(self) -> Rel:
        found: dict[tuple[int, int], list[Lit]] = {}
        both = self.formulas.both
        for (read, _), after in self.choices.overwriting.items():
            for write, literal in after:
                found.setdefault((read, write), []).append(literal)
        for (read, cell), sources in self.choices.sources.items():
            if (read, cell) in self.choices.overwriting:
                continue
            for later in self.choices.writers[self.events[read].object, cell]:
                for write, literal in sources:
                    if write != later.id:
                        through = both(literal, self.choices.before[write, later.id])
                        if through != -1:
                            found.setdefault((read, later.id), []).append(through)
        return self._exact({pair: self.formulas.disj(parts) for pair, parts in found.items()})

    def _sync_fence(self) -> Rel:
        """One total order of the fence.sc events, of which the pairs in program order or mutual scope are kept."""
        fences = [e for e in self.events if e.kind == "F" and order_tag(e) is Order.SC and e.guard != -1]
        sr, formulas = self.rel("sr"), self.formulas
        before: dict[tuple[int, int], Lit] = {}
        for place, one in enumerate(fences):
            for other in fences[:place]:
                literal = formulas.var()
                before[one.id, other.id], before[other.id, one.id] = literal, -literal
        ids, clauses = [e.id for e in fences], formulas.clauses
        for place, i in enumerate(ids):
            for second, j in enumerate(ids[:place]):
                for k in ids[:second]:
                    clauses.append((-before[i, j], -before[j, k], before[i, k]))
                    clauses.append((before[i, j], before[j, k], -before[i, k]))
        kept = {
            (i, j): literal
            for (i, j), literal in before.items()
            if sr.lit(i, j) == 1 or self.events[i].thread == self.events[j].thread
        }
        found = self._guarded((i, j, literal) for (i, j), literal in kept.items())
        found.transitive = len(kept) == len(before)
        return found
