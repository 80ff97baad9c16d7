"""The base vocabulary of a model on a test: every set and relation of `model.VOCABULARY`, with the choices that make it.

Reads-from, coherence and the order of `fence.sc` are chosen by variables; everything else follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ptxmm.barriers import Barriers
from ptxmm.events import Event, EventGraph
from ptxmm.formula import Lit
from ptxmm.memory import Range, part
from ptxmm.model import SETS
from ptxmm.program import Atomic, Fence, Order, Place, Program, Proxy, ProxyFence, Scope, Space
from ptxmm.relation import Rel, Row, Set, Symbolic
from ptxmm.values import Table, gathered

Key = tuple[int, Range]

PROXY_TAGS = {"GEN": Proxy.GENERIC, "SUR": Proxy.SURFACE, "TEX": Proxy.TEXTURE, "CON": Proxy.CONSTANT}
ORDER_TAGS = {
    "WEAK": Order.WEAK, "RLX": Order.RELAXED, "ACQ": Order.ACQUIRE, "REL": Order.RELEASE,
    "ACQ_REL": Order.ACQ_REL, "SC": Order.SC,
}  # fmt: skip
SCOPE_TAGS = {"CTA": Scope.CTA, "CLUSTER": Scope.CLUSTER, "GPU": Scope.GPU, "SYS": Scope.SYS}


def order_tag(event: Event) -> Order | None:
    """The order that counts for an event: of an atomic operation, the read acquires and the write releases."""
    if event.kind == "B" or isinstance(event.statement, ProxyFence):
        return None
    if isinstance(event.statement, Atomic):
        own = (Order.ACQUIRE,) if event.kind == "R" else (Order.RELEASE,)
        if event.order in (*own, Order.ACQ_REL):
            return own[0]
        return Order.RELAXED
    return event.order


def proxy_tag(event: Event) -> str:
    """The vocabulary's tag of the proxy that an event uses; ALIAS for the alias fence."""
    if isinstance(event.statement, ProxyFence):
        return {"alias": "ALIAS", "texture": "TEX", "surface": "SUR", "constant": "CON"}[event.statement.kind]
    return next(tag for tag, proxy in PROXY_TAGS.items() if proxy is event.proxy)


def includes(scope: Scope, one: Place, other: Place) -> bool:
    """Whether `scope`, named by a thread at `one`, contains a thread at `other` (PTX ISA, "Scope").

    >>> includes(Scope.CTA, Place(cta=0), Place(cta=1)), includes(Scope.CLUSTER, Place(cta=0), Place(cta=1))
    (False, True)
    """
    match scope:
        case Scope.CTA:
            return (one.kernel, one.device, one.cta) == (other.kernel, other.device, other.cta)
        case Scope.CLUSTER:
            return (one.kernel, one.device, one.cluster) == (other.kernel, other.device, other.cluster)
        case Scope.GPU:
            return one.device == other.device
        case Scope.SYS:
            return True


class Base:
    """The meaning of every base name on one event graph; constraints on the choices go to the graph's formulas."""

    def __init__(self, graph: EventGraph, algebra: Symbolic) -> None:
        self.graph, self.algebra, self.formulas = graph, algebra, graph.formulas
        self.events, self.program = graph.events, graph.program
        self.guards = [event.guard for event in self.events]
        self.places = [self._place(event) for event in self.events]
        self.writers: dict[tuple[str, Range], list[Event]] = {}
        for event in self.events:
            if event.kind == "W" and event.guard != -1:
                for cell in event.cells:
                    self.writers.setdefault((event.object, cell), []).append(event)
        self.rf_cells: dict[Key, list[tuple[int, Lit]]] = {}
        self.co_pairs: dict[tuple[int, int], Lit] = {}
        self._order_writes()
        for event in self.events:
            if event.kind == "R" and event.guard != -1:
                self._read_from(event)
        self.barriers = Barriers(graph)
        self.memo: dict[str, Rel | Set] = {}

    def __call__(self, name: str) -> Rel | Set:
        if name not in self.memo:
            self.memo[name] = self._set(name) if name in SETS else self._relation(name)
        return self.memo[name]

    def rel(self, name: str) -> Rel:
        """A base relation."""
        value = self(name)
        assert isinstance(value, Rel)
        return value

    def _place(self, event: Event) -> Place | None:
        return self.program.threads[event.thread].place if event.thread >= 0 else None

    # --- choices ------------------------------------------------------------------------------------------------------

    def _order_writes(self) -> None:
        require = self.formulas.require
        for events in self.writers.values():
            for w in events:
                for v in events:
                    if w.id != v.id and (w.id, v.id) not in self.co_pairs:
                        self._order_pair(w, v)
            free = [w.id for w in events if w.thread >= 0]
            pairs = self.co_pairs
            for i in free:
                for j in free:
                    if i == j or pairs[i, j] == -1:
                        continue
                    for k in free:
                        if k not in (i, j) and pairs[j, k] != -1:
                            require(-pairs[i, j], -pairs[j, k], pairs[i, k])

    def _order_pair(self, w: Event, v: Event) -> None:
        if w.thread < 0 or v.thread < 0:
            first = w.thread < 0
            self.co_pairs[w.id, v.id] = v.guard if first else -1
            self.co_pairs[v.id, w.id] = -1 if first else w.guard
            return
        forth, back = self.formulas.var(), self.formulas.var()
        self.formulas.require(-forth, -back)
        for literal in (forth, back):
            self.formulas.require(-literal, w.guard)
            self.formulas.require(-literal, v.guard)
        self.co_pairs[w.id, v.id], self.co_pairs[v.id, w.id] = forth, back

    def _read_from(self, read: Event) -> None:
        self._one_value(read)
        for cell in read.cells:
            sources = [w for w in self.writers[read.object, cell] if w.id != read.rmw]
            wanted = self._cell_table(read, cell)
            stored = [self._cell_table(w, cell) for w in sources]
            if all(len(table) == 1 for table in stored):
                found = self._from_constants(read, sources, [next(iter(table)) for table in stored], wanted)
            else:
                found = self._from_any(read, sources, stored, wanted)
            for source, literal in zip(sources, found, strict=True):
                self.formulas.require(-literal, source.guard)
            self.rf_cells[read.id, cell] = [(w.id, l) for w, l in zip(sources, found, strict=True) if l != -1]

    def _one_value(self, event: Event) -> None:
        """Exactly one entry of the table of an event that runs is right."""
        literals = list(event.table.values())
        if len(literals) == 2 and literals[0] == -literals[1]:
            return
        self.formulas.at_most_one(literals)
        self.formulas.require(-event.guard, *literals)

    def _cell_table(self, event: Event, cell: Range) -> Table:
        if event.where == cell:
            return event.table
        return gathered(self.formulas, [(part(v, event.where, cell), l) for v, l in event.table.items()])

    def _from_constants(self, read: Event, sources: list[Event], values: list[int], wanted: Table) -> list[Lit]:
        """Every source has one value: a value that one source has identifies it."""
        formulas, guard = self.formulas, read.guard
        found: dict[int, Lit] = {}
        for value, literal in wanted.items():
            same = [w.id for w, v in zip(sources, values, strict=True) if v == value]
            here = formulas.both(guard, literal)
            if len(same) == 2:
                one = formulas.var()
                found[same[0]], found[same[1]] = formulas.both(here, one), formulas.both(here, -one)
            elif len(same) == 1:
                found[same[0]] = here
            else:
                choices = [formulas.var() for _ in same]
                found.update(zip(same, choices, strict=True))
                for choice in choices:
                    formulas.require(-choice, here)
                formulas.at_most_one(choices)
                formulas.require(-here, *choices)
        return [found.get(w.id, -1) for w in sources]

    def _from_any(self, read: Event, sources: list[Event], stored: list[Table], wanted: Table) -> list[Lit]:
        formulas, guard = self.formulas, read.guard
        if len(sources) == 2:
            one = formulas.var()
            found = [formulas.both(guard, one), formulas.both(guard, -one)]
        elif len(sources) == 1:
            found = [guard]
        else:
            found = [formulas.var() for _ in sources]
            for choice in found:
                formulas.require(-choice, guard)
            formulas.at_most_one(found)
            formulas.require(-guard, *found)
        for choice, table in zip(found, stored, strict=True):
            for value, literal in table.items():
                formulas.require(-choice, -literal, wanted.get(value, -1))
        return found

    # --- sets ---------------------------------------------------------------------------------------------------------

    def _set(self, name: str) -> Set:
        chosen = self._membership(name)
        must, may = 0, {}
        for event in self.events:
            if event.guard != -1 and chosen(event):
                if event.guard == 1:
                    must |= 1 << event.id
                else:
                    may[event.id] = event.guard
        return Set(must, may)

    def _membership(self, name: str) -> Callable[[Event], bool]:
        if name in ORDER_TAGS:
            return lambda e: order_tag(e) is ORDER_TAGS[name]
        if name in SCOPE_TAGS:
            return lambda e: e.scope is SCOPE_TAGS[name]
        if name in PROXY_TAGS or name == "ALIAS":
            return lambda e: proxy_tag(e) == name
        table: dict[str, Callable[[Event], bool]] = {
            "_": lambda e: True,
            "M": lambda e: e.kind in "RW",
            "R": lambda e: e.kind == "R",
            "W": lambda e: e.kind == "W",
            "IW": lambda e: e.thread < 0,
            "F": lambda e: e.kind in "FB",
            "B": lambda e: e.kind == "B",
            "RMW": lambda e: isinstance(e.statement, Atomic),
            "RED": lambda e: isinstance(e.statement, Atomic) and self._reduces(e.statement),
            "RESTRICT": lambda e: isinstance(e.statement, Fence) and e.statement.window is not None,
        }
        return table[name]

    def _reduces(self, statement: Atomic) -> bool:
        return statement.reduction and not self.program.conventions.reductions_read

    # --- relations ----------------------------------------------------------------------------------------------------

    def _relation(self, name: str) -> Rel:
        match name:
            case "id":
                return self._masks(lambda e: 1 << e.id)
            case "po":
                return self._po()
            case "int" | "ext":
                return self._same_thread(name == "int")
            case "loc" | "vloc" | "full":
                return self._places(name)
            case "po-loc":
                return self.algebra.inter(self.rel("po"), self.rel("loc"))
            case "rf" | "co" | "fr":
                return {"rf": self._rf, "co": self._co, "fr": self._fr}[name]()
            case "rmw":
                return self._guarded((e.id, e.rmw, 1) for e in self.events if e.kind == "R" and e.rmw >= 0)
            case "addr" | "data" | "ctrl":
                return self._guarded({"addr": self.graph.addr, "data": self.graph.data, "ctrl": self.graph.ctrl}[name])
            case "sr":
                return self._sr()
            case "scta" | "scluster" | "sgpu":
                scope = {"scta": Scope.CTA, "scluster": Scope.CLUSTER, "sgpu": Scope.GPU}[name]
                return self._same_scope(scope)
            case "sync_fence":
                return self._sync_fence()
            case "inwindow":
                return self._inwindow()
            case "syncbar" | "syncwarp" | "syncbarcl" | "execbarcl":
                return self._guarded(self.barriers.pairs(name))
        raise AssertionError(name)

    def _masks(self, row: Callable[[Event], int]) -> Rel:
        return Rel([row(event) for event in self.events], {})

    def _guarded(self, pairs: Iterable[tuple[int, int, Lit]]) -> Rel:
        """A relation from pairs that hold when both events run."""
        conj, guards = self.formulas.conj, self.guards
        must, may = [0] * len(self.events), dict[int, Row]()
        for i, j, literal in pairs:
            whole = conj((literal, guards[i], guards[j]))
            if whole == 1:
                must[i] |= 1 << j
            elif whole != -1:
                row = may.setdefault(i, {})
                row[j] = self.formulas.disj((row[j], whole)) if j in row else whole
        for i, row in may.items():
            for j in [j for j in row if must[i] >> j & 1]:
                del row[j]
        return Rel(must, may)

    def _po(self) -> Rel:
        must, may = [0] * len(self.events), dict[int, Row]()
        both, guards = self.formulas.both, self.guards
        for thread in range(len(self.program.threads)):
            mine = [e for e in self.events if e.thread == thread and e.guard != -1]
            later = 0
            for place in range(len(mine) - 1, -1, -1):
                event = mine[place]
                same = [e for e in mine[place + 1 :] if e.node == event.node and e.id != event.rmw]
                mask = later
                for e in same:
                    mask &= ~(1 << e.id)
                if event.guard == 1:
                    must[event.id] = mask
                row = {}
                for e in mine[place + 1 :]:
                    if (event.guard != 1 or e.guard != 1) and e not in same:
                        literal = both(guards[event.id], guards[e.id])
                        if literal == 1:
                            must[event.id] |= 1 << e.id
                        elif literal != -1:
                            row[e.id] = literal
                if row:
                    may[event.id] = row
                if event.guard == 1:
                    later |= 1 << event.id
        return Rel(must, may, transitive=True)

    def _same_thread(self, inside: bool) -> Rel:
        threads: dict[int, int] = {}
        for event in self.events:
            threads[event.thread] = threads.get(event.thread, 0) | 1 << event.id
        everything = self.algebra.all

        def row(event: Event) -> int:
            mine = 1 << event.id if event.thread < 0 else threads[event.thread]
            return mine if inside else everything & ~mine

        return self._masks(row)

    def _places(self, name: str) -> Rel:
        groups: dict[tuple[object, ...], int] = {}
        for event in self.events:
            if event.kind in "RW":
                for key in self._keys(event, name):
                    groups[key] = groups.get(key, 0) | 1 << event.id

        def row(event: Event) -> int:
            mask = 0
            if event.kind in "RW":
                for key in self._keys(event, name):
                    mask |= groups[key]
            return mask

        return self._masks(row)

    def _keys(self, event: Event, name: str) -> list[tuple[object, ...]]:
        if name == "full":
            return [(event.object, event.where)]
        virtual = event.virtual if name == "vloc" else ""
        return [(event.object, virtual, cell) for cell in event.cells]

    def _rf(self) -> Rel:
        found: dict[tuple[int, int], list[Lit]] = {}
        for (read, _), sources in self.rf_cells.items():
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
        return self._exact(self.co_pairs, transitive=whole)

    def _fr(self) -> Rel:
        found: dict[tuple[int, int], list[Lit]] = {}
        both = self.formulas.both
        for (read, cell), sources in self.rf_cells.items():
            for later in self.writers[self.events[read].object, cell]:
                for write, literal in sources:
                    if write != later.id:
                        through = both(literal, self.co_pairs[write, later.id])
                        if through != -1:
                            found.setdefault((read, later.id), []).append(through)
        return self._exact({pair: self.formulas.disj(parts) for pair, parts in found.items()})

    def _sr(self) -> Rel:
        kinds: dict[tuple[Place, Scope], int] = {}
        for event, place in zip(self.events, self.places, strict=True):
            if place is not None and event.scope is not None:
                kinds[place, event.scope] = kinds.get((place, event.scope), 0) | 1 << event.id
        rows = {
            (place, scope): sum(
                mask
                for (other, named), mask in kinds.items()
                if includes(scope, place, other) and includes(named, other, place)
            )
            for place, scope in kinds
        }
        return self._masks(
            lambda e: rows[self.program.threads[e.thread].place, e.scope] if e.thread >= 0 and e.scope else 0
        )

    def _same_scope(self, scope: Scope) -> Rel:
        masks: dict[Place, int] = {}
        for event, place in zip(self.events, self.places, strict=True):
            if place is not None:
                masks[place] = masks.get(place, 0) | 1 << event.id
        rows = {p: sum(mask for q, mask in masks.items() if includes(scope, p, q)) for p in masks}
        return self._masks(lambda e: rows[self.program.threads[e.thread].place] if e.thread >= 0 else 0)

    def _sync_fence(self) -> Rel:
        """One total order of the fence.sc events, of which the pairs in program order or mutual scope are kept."""
        fences = [e for e in self.events if e.kind == "F" and order_tag(e) is Order.SC and e.guard != -1]
        sr, formulas = self.rel("sr"), self.formulas
        before: dict[tuple[int, int], Lit] = {}
        for place, one in enumerate(fences):
            for other in fences[:place]:
                literal = formulas.var()
                before[one.id, other.id], before[other.id, one.id] = literal, -literal
        ids = [e.id for e in fences]
        for place, i in enumerate(ids):
            for second, j in enumerate(ids[:place]):
                for k in ids[:second]:
                    formulas.require(-before[i, j], -before[j, k], before[i, k])
                    formulas.require(before[i, j], before[j, k], -before[i, k])
        kept = {
            (i, j): literal
            for (i, j), literal in before.items()
            if sr.lit(i, j) == 1 or self.events[i].thread == self.events[j].thread
        }
        found = self._guarded((i, j, literal) for (i, j), literal in kept.items())
        found.transitive = len(kept) == len(before)
        return found

    def _inwindow(self) -> Rel:
        pairs = []
        for fence in self.events:
            if not isinstance(fence.statement, Fence) or fence.statement.window is None:
                continue
            place = self.places[fence.id]
            scope = Scope.CTA if fence.statement.window == "shared::cta" else Scope.CLUSTER
            for event in self.events:
                if event.kind in "RW":
                    item = self.program.physical(event.object)
                    if item.space is Space.SHARED and item.owner and place and includes(scope, place, item.owner):
                        pairs.append((event.id, fence.id, 1))
        return self._guarded(pairs)


def same_virtual_bytes(a: Event, b: Event) -> bool:
    """Whether two accesses overlap in virtual addresses (8.2.1)."""
    return a.object == b.object and a.virtual == b.virtual and any(cell in b.cells for cell in a.cells)


def kernels(program: Program) -> set[int]:
    """The kernels that a test's threads belong to."""
    return {thread.place.kernel for thread in program.threads}
