"""What `flip-seen` assumes: of the word, and of the leaders that add to it and wait; and the test that breaks it."""

from __future__ import annotations

from string import Template

import z3

from ptxmm.prove.arithmetic import WORD
from ptxmm.prove.claims import Formula
from ptxmm.prove.language import Term, term
from ptxmm.prove.messages import ALIASES, ASYNC, REDUCTION, reduced
from ptxmm.prove.rounds import ADDED, IN_ROUND, VALUE, Round, Value, every, signed
from ptxmm.prove.statement import Hypothesis

TEXT = """\
ptx $name
.global .u32 d = 0;
$word
$memory
thread A @ d0.c0.b0 {
    $heavy
    $again
}
thread C @ d0.c2.b2 {
    $one
}
thread B @ d0.c1.b1 {
    $early
    $last
    $poll
    ld.acquire.gpu.global.u32 _, [m];
    ld.weak.global.u32 r, [d];
}
thread D @ d0.c3.b3 {
    st.weak.global.u32 [d], 1;
    $own
}
$others
exists ($condition)
"""

ONE = "red.release.gpu.global.add.u32 [m], 1;"
POLL = "ld.relaxed.gpu.global.u32 v, [m];"
SLOTS = {
    "word": ".global .u32 m = 0;",
    "memory": "",
    "heavy": "red.release.gpu.global.add.u32 [m], 0x7ffffffd;",
    "again": "",
    "one": ONE,
    "early": "",
    "last": "atom.release.gpu.global.add.u32 old, [m], 1;",
    "poll": POLL,
    "own": ONE,
    "others": "",
    "happens": "((B.v ^ B.old) & 0x80000000) != 0",
    "missed": "B.r == 0",
}
OTHER = Template("thread E @ d0.c4.b4 {\n    $does\n}")

ATOMIC = Hypothesis(
    name="word-atomic",
    says="W(w) and loc(w, first) => co(w, first) or id(w, first) or RMW(w)",
    words="after the start, all writes of the word are atomic operations'",
    broken={"others": OTHER.substitute(does="st.relaxed.gpu.global.u32 [m], 0x80000000;")},
)
SCOPE = Hypothesis(
    name="word-scope",
    says="W(w) and loc(w, first) and W(v) and loc(v, first)"
    " => co(w, first) or co(v, first) or IW(w) or IW(v) or sr(w, v)",
    words="they are in each other's scope, and in that of the start",
    broken={"own": ONE.replace(".gpu", ".cta")},
)
ADDRESS = Hypothesis(
    name="word-address",
    says="loc(w, first) => vloc(w, first)",
    words="the word has one virtual address",
    broken={"memory": ".alias w = m;", "own": ONE.replace("[m]", "[w]")},
    features=ALIASES,
)
PROXY = Hypothesis(
    name="word-generic",
    says="W(w) and loc(w, first) => co(w, first) or GEN(w)",
    words="none of them is a bulk reduction",
    broken={
        **reduced("0", "0", "d0.c4.b4"),
        "others": OTHER.substitute(does=REDUCTION),
    },
    features=ASYNC,
)
WORD_OF_ATOMICS = (ATOMIC, SCOPE, ADDRESS, PROXY)


def _adds(here: Round) -> Formula:
    def adds(w: Term, get: Term, v: Term) -> Formula:
        return z3.Implies(here.reads(w, get, v), VALUE(w) == (VALUE(v) + ADDED(w)) % WORD)

    return every(adds, 3)


def _passed(here: Round) -> Formula:
    """The events by which the thread of any later atomic operation has passed the round."""
    w, get, v = term("w"), term("get"), term("v")
    own, owns, s, poll, u = (term(name) for name in ("own", "owns", "s", "poll", "u"))
    events = here.say(
        "po(own, poll) and vloc(own, poll) and (RLX | ACQ)(poll) and sr(u, poll) and po(poll, get) and vloc(poll, w)",
        own=own, poll=poll, u=u, get=get, w=w,
    )  # fmt: skip
    passes = z3.And(IN_ROUND(own), here.reads(own, owns, s), here.polls(poll, u), events, signed(u) != signed(s))
    return z3.Implies(z3.And(here.reads(w, get, v), z3.Not(IN_ROUND(w))), passes)


ADDS = Value(
    name="word-adds",
    words="they are additions",
    says=_adds,
    broken={"others": OTHER.substitute(does="atom.relaxed.gpu.global.exch.b32 _, [m], 0x80000000;")},
)
PASSED = Value(
    name="passed-before",
    words="what adds to the word beside the round's contributions is of threads that have passed the round before",
    says=_passed,
    broken={"again": SLOTS["heavy"]},
)
OWN = Value(
    name="own-before-poll",
    words="the thread that polls has contributed to the round before",
    says=lambda here: z3.And(IN_ROUND(term("own")), here.say("po(own, poll)", own=term("own"), poll=term("poll"))),
    broken={
        "others": OTHER.substitute(does="st.relaxed.gpu.global.u32 [m], 0x80000000;"),
        "early": POLL,
        "poll": "",
        "happens": f"{SLOTS['happens']} && m == 0",
    },
)
FLIPPED = Value(
    name="sign-differs",
    words="the sign of what the poll reads differs from that of what the thread's own contribution was added to",
    says=lambda _: signed(term("u")) != signed(term("s")),
    broken={"happens": "((B.v ^ B.old) & 0x80000000) == 0"},
)
