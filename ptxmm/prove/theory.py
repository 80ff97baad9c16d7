"""What is true of the vocabulary in every execution, whatever the model: each line with its reason.

The lines are axioms of cat over base names. They are said of executions in which accesses that overlap are of the same
bytes (no mixed sizes); a test evaluates every line on executions of random programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import z3

from ptxmm.model import Expr, Model, Name
from ptxmm.prove.claims import Claim
from ptxmm.prove.language import ESTABLISHED, USED, Term, term
from ptxmm.prove.logic import Logic
from ptxmm.prove.sentences import axiom
from ptxmm.vocabulary import RELATIONS


@dataclass(frozen=True, slots=True)
class Fact:
    """One line. `absent` names features: it is said only of models that support none of them.

    Lines that say that an event exists (`range`) are used for single events, see `sources`.
    """

    cat: str
    why: str
    absent: frozenset[str] = frozenset()


def _without(features: str, cat: str, why: str) -> Fact:
    return Fact(cat, why, frozenset(features.split()))


VIEWS = "texture surface constant"
COPIES = "copies async tensormap"

FACTS: tuple[Fact, ...] = (
    # events
    Fact("empty (R & W) | (R & F) | (W & F)", "an event is a read, a write or a fence"),
    Fact("empty M \\ (R | W)", "memory operations are reads and writes"),
    Fact("empty (R | W) \\ M", "reads and writes are memory operations"),
    Fact("empty B \\ F", "execution barriers count as fences"),
    Fact("empty B & (ACQ | REL | ACQ_REL | SC)", "an execution barrier names no memory order"),
    Fact("empty IW \\ W", "initial writes are writes"),
    Fact("empty IW & (RLX | REL | RMW)", "initial writes are by no instruction"),
    Fact("empty ((IW * IW) & loc) \\ id", "without mixed sizes, a place has one initial write"),
    Fact("empty WEAK & (RLX | ACQ | REL | ACQ_REL | SC)", "8.4: an operation is weak or strong"),
    Fact("empty ([WEAK] ; sr) | (sr ; [WEAK])", "8.5: weak operations name no scope"),
    Fact("empty (ACQ_REL | SC) \\ F", "8.4: reads and writes are weak, relaxed, acquire or release"),
    Fact("empty RLX & (ACQ | REL)", "8.4: an operation has one order"),
    Fact("empty (ACQ & W) | (REL & R)", "8.4: reads acquire, writes release"),
    Fact("empty RED \\ RMW", "a reduction is an atomic operation"),
    Fact("empty RED & ACQ", "9.7.13: `red` has no acquire form"),
    Fact("empty (RMW & R) \\ (RLX | ACQ)", "8.4: atomic operations are strong"),
    Fact("empty (RMW & W) \\ (RLX | REL)", "8.4: atomic operations are strong"),
    Fact("empty (M & (RLX | ACQ | REL)) \\ (GEN | OUT)", "8.6: accesses through views are weak"),
    Fact("empty OUT \\ M", "what copies do out of program order is to read and write memory"),
    Fact("empty (M & (ASY | TMAP)) \\ OUT", "only copies use the async and the tensor map proxy"),
    Fact("empty RESTRICT \\ F", "only fences are restricted"),
    # program order
    Fact("irreflexive po", "8.9.1: program order is strict"),
    Fact("empty (po ; po) \\ po", "8.9.1: program order is transitive"),
    Fact("empty ([IW] ; po) | (po ; [IW])", "initial writes are in no thread"),
    Fact("empty ([OUT] ; po) | (po ; [OUT])", "9.7.10.28: what a copy does stands in no program order"),
    Fact("empty po-loc \\ (po & loc)", "by definition"),
    Fact("empty (po & loc) \\ po-loc", "by definition"),
    # places
    Fact("empty (loc & _ * _) \\ (M * M)", "only memory operations have an address"),
    Fact("empty [M] \\ loc", "an access overlaps itself"),
    Fact("empty loc^-1 \\ loc", "8.2.1: overlap is symmetric"),
    Fact("empty (loc ; loc) \\ loc", "without mixed sizes, overlap is transitive"),
    Fact("empty loc \\ full", "without mixed sizes, accesses that overlap are of the same bytes"),
    Fact("empty full \\ loc", "accesses of the same bytes overlap"),
    Fact("empty vloc \\ loc", "8.2.1: what overlaps in virtual addresses does in physical memory"),
    Fact("empty vloc^-1 \\ vloc", "8.2.1: overlap is symmetric"),
    Fact("empty (vloc ; vloc) \\ vloc", "without mixed sizes, overlap is transitive"),
    _without("alias", "empty loc \\ vloc", "without aliases, a place has one virtual address"),
    _without("alias", "empty ALIAS", "without aliases, there is no fence for them"),
    _without(VIEWS, "empty M \\ (GEN | OUT)", "without views, every access in program order is by the generic proxy"),
    _without(COPIES, "empty OUT", "without copies, all that is done is done in program order"),
    _without("restricted-fences", "empty RESTRICT", "there are no restricted fences"),
    _without("one-sided-fences", "empty F & (ACQ | REL)", "there are no one-sided fences"),
    # communication
    Fact("empty rf \\ (W * R)", "8.9.7: a read reads from writes"),
    Fact("empty rf \\ loc", "8.9.7: a read reads from writes that it overlaps"),
    Fact("empty (rf ; rf^-1) \\ id", "without mixed sizes, a read reads from one write"),
    Fact("irreflexive co", "8.9.6: coherence is strict"),
    Fact("empty (co ; co) \\ co", "8.9.6: without mixed sizes, coherence is transitive"),
    Fact("empty co \\ (W * W)", "8.9.6: coherence relates writes"),
    Fact("empty co \\ loc", "8.9.6: coherence relates overlapping writes"),
    Fact("empty ((IW * (W \\ IW)) & loc) \\ co", "8.9.6: an initial write comes before every other"),
    Fact("empty (rf^-1 ; co) \\ fr", "8.9.7: from-reads, by definition"),
    Fact("empty fr \\ (rf^-1 ; co)", "8.9.7: from-reads, by definition, without mixed sizes"),
    # atomic operations
    Fact("empty rmw \\ ((RMW & R) * (RMW & W))", "an atomic operation reads, then writes"),
    Fact("empty rmw \\ vloc", "both halves of an atomic operation are of one place"),
    Fact("empty (rmw \\ (OUT * OUT)) \\ po", "the halves of an atomic operation are of one thread, or of one copy"),
    Fact("empty rmw & (GEN * (_ \\ GEN) | (_ \\ GEN) * GEN)", "both halves of an atomic operation use one proxy"),
    Fact("empty (rmw ; rmw^-1) \\ id", "an atomic operation has one read"),
    Fact("empty (rmw^-1 ; rmw) \\ id", "an atomic operation has one write"),
    Fact("empty (rmw ; sr) \\ sr", "both halves of an atomic operation name one scope"),
    Fact("empty (rmw^-1 ; sr) \\ sr", "both halves of an atomic operation name one scope"),
    # scopes, fences, barriers
    Fact("empty sr^-1 \\ sr", "8.5: each scope includes the other's thread"),
    Fact("empty sync_fence \\ ((F & SC) * (F & SC))", "8.9.3: Fence-SC order relates fence.sc operations"),
    Fact("irreflexive sync_fence", "8.9.3: Fence-SC order is acyclic"),
    Fact("irreflexive sync_fence ; sync_fence", "8.9.3: Fence-SC order is acyclic"),
    Fact(
        "empty (((F & SC) * (F & SC)) & (sr | po)) \\ (sync_fence | sync_fence^-1 | id)",
        "8.9.3: Fence-SC order relates every morally strong pair",
    ),
    Fact("empty (syncbar | syncwarp | syncbarcl | execbarcl) \\ (B * B)", "barriers relate barrier operations"),
    Fact("empty inwindow \\ (M * RESTRICT)", "only a restricted fence has a window"),
)

RF = Fact("empty R \\ range(rf)", "8.9.7: every read reads from some write, the initial one at least")
RMW = Fact("empty (RMW & W) \\ range(rmw)", "the write of an atomic operation has its read")
EXISTENCE = (RF, RMW)


def facts_of(model: Model) -> Iterator[Fact]:
    """The lines that are said of executions of a model."""
    return (fact for fact in FACTS if not fact.absent & model.supports)


def mentioned(expr: Expr) -> frozenset[str]:
    """The base relations in an expression over base names."""
    if isinstance(expr, Name):
        return frozenset({expr.text}) & RELATIONS.keys() - {"id"}
    parts = (getattr(expr, slot) for slot in expr.__slots__)
    return frozenset().union(*(mentioned(part) for part in parts))


def sources(logic: Logic, write: Term) -> tuple[Term, list[Claim]]:
    """New events: the read of the atomic operation that a write is of, and the write that this read reads from.

    The latter is returned, with what the existence of both says.
    """
    read, source = term(f"read of {write}"), term(f"source of {write}")
    atomic = z3.And(*(logic.holds(Name(name), (write,), ESTABLISHED) for name in ("W", "RMW")))
    own = logic.holds(Name("rmw"), (read, write), USED)
    before = logic.holds(Name("rf"), (source, read), USED)
    reads = logic.holds(Name("R"), (read,), ESTABLISHED)
    return source, [Claim(RMW.cat, z3.Implies(atomic, own)), Claim(RF.cat, z3.Implies(reads, before))]


def theory(logic: Logic) -> list[Claim]:
    """The lines about sets, and those about relations that the proof uses so far, as sentences."""
    found = []
    for fact in facts_of(logic.model):
        check, body = axiom(fact.cat)
        if mentioned(body) <= logic.used:
            found.append(logic.axiom(fact.cat, check, body))
    return found
