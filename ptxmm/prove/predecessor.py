"""Atomic operations on a word come one after another: each reads what the one before it in coherence order wrote."""

from __future__ import annotations

from ptxmm.prove.messages import ALIASES, ASYNC, REDUCTION, reduced
from ptxmm.prove.statement import Hypothesis, Lemma, Theorem

TEXT = """\
ptx $name
$word
$memory
thread A @ d0.c0.b0 {
    atom.relaxed.gpu.global.add.u32 r, [m], 1;
}
thread B @ $place_b {
    $store
}
exists ($condition)
"""
SLOTS = {
    "word": ".global .u32 m = 0;",
    "memory": "",
    "place_b": "d0.c1.b1",
    "store": "st.relaxed.gpu.global.u32 [m], 5;",
    "happens": "A.r == 0",
    "missed": "m == 1",
}

STORE_STRONG = Hypothesis(
    name="write-strong",
    says="(RLX | REL)(other)",
    words="the other write is strong",
    broken={"store": "st.weak.global.u32 [m], 5;"},
)
STORE_SCOPE = Hypothesis(
    name="write-scope",
    says="WEAK(other) or sr(other, write)",
    words="the other write, where it is strong, and the atomic operation are in each other's scope",
    broken={"store": "st.relaxed.cta.global.u32 [m], 5;"},
)
STORE_ADDRESS = Hypothesis(
    name="word-address",
    says="loc(other, write) => vloc(other, write)",
    words="the word has one virtual address",
    broken={"memory": ".alias w = m;", "store": "st.relaxed.gpu.global.u32 [w], 5;"},
    features=ALIASES,
)
BOTH_GENERIC = Hypothesis(
    name="generic",
    says="GEN(other) and GEN(write)",
    words="neither the other write nor the atomic operation is a bulk reduction",
    broken={**reduced("0", "5", "d0.c1.b1"), "store": REDUCTION},
    features=ASYNC,
)
BETWEEN = "(~co)(source, other) or (~co)(other, write)"

PREDECESSOR = Theorem(
    name="nothing-between",
    words="Between the write that an atomic operation reads and the one that it makes, coherence has no other write:"
    " additions to a word add up.",
    given=("W(source)", "rf(source, get)", "rmw(get, write)", "W(other)"),
    hypotheses=(STORE_STRONG, STORE_SCOPE, STORE_ADDRESS, BOTH_GENERIC),
    goal=(BETWEEN,),
    steps=(Lemma("apart", BETWEEN, (STORE_STRONG, STORE_SCOPE, STORE_ADDRESS, BOTH_GENERIC)),),
    text=TEXT,
    slots=SLOTS,
)
