"""A memory model as a value: the statements of a cat file, with functions and includes already expanded."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ptxmm.errors import Span
from ptxmm.program import NOWHERE


@dataclass(frozen=True, slots=True)
class Name:
    """A set or relation by name: a base name of `VOCABULARY`, or one that an earlier statement defines."""

    text: str
    at: Span = field(default=NOWHERE, compare=False, hash=False)


@dataclass(frozen=True, slots=True)
class Empty:
    """`0` or `{}`: the empty set or relation."""


@dataclass(frozen=True, slots=True)
class Union:
    """`left | right`, of two sets or two relations."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Inter:
    """`left & right`."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Diff:
    """`left` without `right`, written with a backslash."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Seq:
    """`left ; right`."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Product:
    """`left * right`, of two sets."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Identity:
    """`[set]`: the identity on a set."""

    set: Expr


@dataclass(frozen=True, slots=True)
class Inverse:
    """`rel^-1`."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Plus:
    """`rel+`: the transitive closure."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Star:
    """`rel*`: the reflexive transitive closure, over all events."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Optional:
    """`rel?`: the relation and the identity over all events."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Complement:
    """`~arg`, of a set or a relation."""

    arg: Expr


@dataclass(frozen=True, slots=True)
class Domain:
    """`domain(rel)`: a set."""

    rel: Expr


@dataclass(frozen=True, slots=True)
class Range:
    """`range(rel)`: a set."""

    rel: Expr


Expr = (
    Name | Empty | Union | Inter | Diff | Seq | Product | Identity | Inverse | Plus | Star | Optional | Complement
    | Domain | Range
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = body`. A name may be that of an earlier one or of a base relation: later uses mean the new one."""

    name: str
    body: Expr


@dataclass(frozen=True, slots=True)
class LetRec:
    """`let rec a = … and b = …`: the least fixpoint."""

    bindings: tuple[tuple[str, Expr], ...]


class Check(StrEnum):
    """What an axiom says of its relation (of its set, for EMPTY)."""

    EMPTY = "empty"
    IRREFLEXIVE = "irreflexive"
    ACYCLIC = "acyclic"


@dataclass(frozen=True, slots=True)
class Axiom:
    """`empty|irreflexive|acyclic body as name`; `negated` for a leading `~`. A flag never forbids, it only reports."""

    name: str
    check: Check
    body: Expr
    negated: bool = False
    flag: bool = False


Statement = Let | LetRec | Axiom


@dataclass(frozen=True, slots=True)
class Model:
    """A model: `name` is the file's stem, `supports` what it declares beyond the plain generic proxy (`FEATURES`).

    `hands_on` is declared as well: where an atomic operation writes back what it reads, the model goes on allowing an
    execution if whoever reads that reads the earlier write instead (docs/loops.md).
    """

    name: str
    title: str
    statements: tuple[Statement, ...]
    supports: frozenset[str]
    path: str = ""
    source: str = field(default="", compare=False, hash=False, repr=False)
    hands_on: bool = False

    @property
    def axioms(self) -> tuple[Axiom, ...]:
        """The axioms that forbid executions, in the file's order."""
        return tuple(s for s in self.statements if isinstance(s, Axiom) and not s.flag)


SETS: dict[str, str] = {
    "_": "all events",
    "M": "reads and writes of memory, the initial writes included",
    "R": "reads",
    "W": "writes, the initial writes included",
    "IW": "initial writes",
    "F": "fences, proxy fences and execution barriers",
    "B": "execution barriers",
    "RMW": "the reads and writes of atomic operations, those of copies that reduce included",
    "RED": "the reads and writes of reductions (`red`)",
    "WEAK": "weak reads and writes",
    "RLX": "relaxed reads and writes (an `atom.acquire` writes relaxed, an `atom.release` reads relaxed)",
    "ACQ": "acquire reads, and fences with `.acquire` alone",
    "REL": "release writes, and fences with `.release` alone",
    "ACQ_REL": "fences with `.acq_rel`",
    "SC": "fences with `.sc`",
    "GEN": "accesses by the generic proxy, and everything that is no access and no proxy fence",
    "SUR": "accesses by the surface proxy, and `fence.proxy.surface`",
    "TEX": "accesses by the texture proxy, and `fence.proxy.texture`",
    "CON": "accesses by the constant proxy, and `fence.proxy.constant`",
    "ASY": "accesses by the async proxy, and `fence.proxy.async`",
    "TMAP": "reads of tensor maps by copies, and the fences of the tensor map proxy",
    "ALIAS": "`fence.proxy.alias`, its one-sided halves too",
    "RESTRICT": "fences with `.sync_restrict`",
    "READS": "`fence.proxy.async` that covers reads only (`.sync_restrict::shared::cluster::read`)",
    "MBINIT": "`fence.mbarrier_init`",
    "START": "starts of copies, in program order",
    "OUT": "reads and writes of memory by copies, in no program order",
    "GROUP": "waits for groups of copies",
    "MB": "operations on mbarriers, completions included",
    "INIT": "`mbarrier.init`",
    "INVAL": "`mbarrier.inval`",
    "LIVE": "accesses of the bytes of an mbarrier that the test declares",
    "ARRIVE": "operations that can complete a phase: arrivals and completions",
    "AWAIT": "`mbarrier.test_wait` and `.try_wait`",
    "FAR": "uses of the shared memory of another CTA, which has threads in the test",
    "LENT": "uses of the shared memory of a CTA whose threads have all ended, by another CTA or by a copy",
    "DONE": "completions of copies on mbarriers, in no program order",
    "CTA": "events that name the scope `.cta`",
    "CLUSTER": "events that name the scope `.cluster`",
    "GPU": "events that name the scope `.gpu`",
    "SYS": "events that name the scope `.sys`",
}

RELATIONS: dict[str, str] = {
    "id": "every event with itself",
    "po": "program order, between all events of a thread",
    "int": "pairs of events of one thread",
    "ext": "pairs of events of two threads, initial writes apart from all",
    "loc": "accesses that overlap in physical memory",
    "vloc": "accesses that overlap in virtual addresses",
    "full": "accesses of exactly the same bytes of physical memory",
    "po-loc": "program order between accesses that overlap in physical memory",
    "rf": "reads-from, from a write to the read that takes at least one byte from it",
    "co": "coherence: a partial order of overlapping writes, transitive on each byte, the initial write first",
    "fr": "from-reads: the read takes some byte from a write that is co-before this write to the same byte",
    "rmw": "from the read to the write of one atomic operation on one element",
    "addr": "address dependency, from a read to an access whose address its value reaches",
    "data": "data dependency, from a read to a write whose value its value reaches",
    "ctrl": "control dependency, from a read to an event whose execution its value decides",
    "sr": "pairs of events that both name a scope, each scope including the other's thread",
    "scta": "pairs of events of one CTA",
    "scluster": "pairs of events of one cluster",
    "sgpu": "pairs of events of one device",
    "syncbar": "bar/barrier: from any arrival to a sync or red of its generation in another thread",
    "syncwarp": "bar.warp.sync: between the participants of one generation (two threads)",
    "execwarp": "elect.sync: between the lanes that wait for each other (two threads), which orders no memory",
    "syncbarcl": "barrier.cluster: from an arrive that is not relaxed to a wait of the same generation (two threads)",
    "execbarcl": "barrier.cluster: from any arrive to a wait of the same generation (two threads)",
    "sync_fence": "an acyclic order of fence.sc events, relating each pair that is related by sr or program order",
    "issued": "from the start of a copy to all that it does out of program order",
    "done": "from the reads and writes of a copy to its completion, or to a wait for groups that includes them",
    "same-copy": "pairs of what one copy does out of program order",
    "mbloc": "operations on one mbarrier, and accesses of its bytes",
    "mbo": "the order of the operations on one mbarrier, one of the two not a wait",
    "mbnext": "from an operation on an mbarrier to each that finds the state it left",
    "phase": "from an arrival or completion to a wait that found the phase of that arrival complete",
    "api": "from an event of a kernel to an event of a kernel that starts, or that waits until, the first has ended",
    "tenant": "from a use of shared memory by another CTA or by a copy to the events of the threads of its CTA",
    "inspace": "from an access to a `fence.proxy.async` whose state space holds its bytes",
    "acquires": "from the acquire fence of a tensor map to a read of that map by a copy",
    "inwindow": "from an access of shared memory to a `.sync_restrict` fence whose window holds its bytes",
}

VOCABULARY: dict[str, str] = SETS | RELATIONS

FEATURES: dict[str, str] = {
    "alias": "generic aliases and fence.proxy.alias",
    "texture": "the texture proxy",
    "surface": "the surface proxy",
    "constant": "the constant proxy",
    "mixed-size": "accesses of different sizes to the same bytes",
    "one-sided-fences": "fence.acquire and fence.release, and the halves of fence.proxy.alias",
    "restricted-fences": "fence with .sync_restrict",
    "cluster": "the scope .cluster",
    "cluster-barriers": "barrier.cluster",
    "warp-barriers": "bar.warp.sync",
    "barriers": "bar and barrier",
    "mbarriers": "mbarriers",
    "copies": "cp.async, st.async and red.async",
    "async": "the async proxy: bulk copies and fence.proxy.async",
    "tensormap": "the tensor map proxy",
    "kernels": "several kernels",
}
