"""All earlier contributions: where every later write of the word is an atomic operation, observation reaches on."""

from __future__ import annotations

from dataclasses import replace
from string import Template

from ptxmm.prove.messages import (
    ASYNC,
    CAUSAL,
    CLOSE_ACQUIRES,
    CLOSE_AFTER,
    GIVEN,
    ONE_PLACE,
    ONE_WORD,
    ORDERED,
    PAIRED,
    POLL_STRONG,
    REDUCTION,
    RELEASE,
    RELEASES,
    SLOTS,
    STRONG,
    TEXT,
    UNRESTRICTED,
    WAIT,
    reduced,
)
from ptxmm.prove.statement import Hypothesis, Induction, Lemma, Theorem

NEXT = """\
thread C @ $place {
    atom.$how.global.exch.b32 old, [m], 2;
}"""
LATER = {
    "others": Template(NEXT).substitute(place="d0.c2.b2", how="relaxed.gpu"),
    "happens": "B.v == 2 && C.old == 1 && m == 2",
}

POLLED_LATER = Hypothesis(
    name="poll-not-before-contribution",
    says="id(contribution, last) or co(contribution, last)",
    words="the poll reads the contribution or a write that comes later in coherence order",
    broken={"happens": "B.v == 0"},
)
ATOMIC = Hypothesis(
    name="word-atomic",
    says="W(w) and loc(w, contribution) => co(w, contribution) or id(w, contribution) or RMW(w)",
    words="every other write of the word comes before the contribution or is an atomic operation's",
    broken={
        "others": "thread C @ d0.c2.b2 {\n    st.relaxed.gpu.global.u32 [m], 2;\n}",
        "happens": "B.v == 2 && m == 2",
    },
)
WORD_SCOPE = Hypothesis(
    name="word-scope",
    says="W(w) and loc(w, contribution) and W(v) and loc(v, contribution)"
    " => co(w, contribution) or co(v, contribution) or WEAK(w) or WEAK(v) or sr(w, v)",
    words="the contribution and these atomic operations are in each other's scope",
    broken={"others": Template(NEXT).substitute(place="d0.c1.b1", how="relaxed.cta")},
)
POLL_SCOPES = Hypothesis(
    name="poll-scope",
    says="W(w) and loc(w, contribution) => co(w, contribution) or WEAK(w) or WEAK(poll) or sr(w, poll)",
    words="the poll, where it is strong, and each of them are in each other's scope",
    broken={"poll": "ld.relaxed.cta.global.u32 v, [m];"},
)
WORD_GENERIC = Hypothesis(
    name="word-generic",
    says="W(w) and loc(w, contribution) => co(w, contribution) or GEN(w)",
    words="none of them is a bulk reduction",
    broken={
        **reduced("0", "1", "d0.c2.b2"),
        "others": f"thread C @ d0.c2.b2 {{\n    {REDUCTION}\n}}",
        "happens": "B.v == 2 && m == 2",
    },
    features=ASYNC,
)
WORD_ADDRESS = replace(
    ONE_WORD,
    says="loc(w, contribution) => vloc(w, contribution)",
    words="the word has one virtual address",
)

WORD = (POLLED_LATER, ATOMIC, WORD_SCOPE, WORD_GENERIC, POLL_SCOPES)
PLACES = (
    WORD_ADDRESS,
    *ONE_PLACE[1:-1],
    replace(
        UNRESTRICTED,
        broken={
            **UNRESTRICTED.broken,
            "others": Template(NEXT).substitute(place="d0.c0.b2", how="relaxed.cluster"),
        },
    ),
)

EXTENDED = Lemma(
    "extended",
    "obs(a, r) and rmw(r, w) and rf(w, s) and sr(w, s) and vloc(w, s)"
    " and (GEN & (RLX | REL))(w) and (GEN & (RLX | ACQ))(s) => obs(a, s)",
    general=True,
    defines=True,
)
CHAIN = Induction(
    claim="rmw(g, w) => id(contribution, w) or obs(contribution, g)",
    chain="W(w) and loc(w, contribution) and id(contribution, w)"
    " or W(w) and loc(w, contribution) and co(contribution, w)",
    earlier="co(v, w)",
    first="contribution",
    last="last",
    over="the writes of the word from the contribution on, along coherence: each is the contribution itself, or its"
    " read observes the contribution",
    by=(STRONG, ATOMIC, WORD_SCOPE, WORD_GENERIC, WORD_ADDRESS),
    after=("extended",),
    ends=(POLLED_LATER,),
)

SEEN_LAST = Lemma(
    "observed",
    "obs(contribution, poll) and vloc(contribution, poll)",
    (STRONG, POLLED_LATER, ATOMIC, WORD_GENERIC, POLL_SCOPES, POLL_STRONG, WORD_ADDRESS),
    ("extended", "induction"),
    reads=("last",),
    defines=True,
)

APART = Lemma(
    "apart",
    "(~id)(head, close)",
    (*SEEN_LAST.by, RELEASES, CLOSE_AFTER, CLOSE_ACQUIRES, WORD_SCOPE),
)

EARLIER = Theorem(
    name="every-earlier-contribution",
    words="Where all later writes of the word are atomic operations, what precedes any earlier release contribution is"
    " visible after the close as well.",
    given=(*GIVEN, "W(last)", "rf(last, poll)"),
    hypotheses=(*RELEASE, *WORD, *WAIT, *PLACES),
    goal=ORDERED,
    text=TEXT,
    slots={**SLOTS, **LATER},
    steps=(EXTENDED, CHAIN, SEEN_LAST, APART, PAIRED, CAUSAL),
)
