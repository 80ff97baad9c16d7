"""A barrier of a grid: what any thread did before it comes before what any thread does after it."""

from __future__ import annotations

from dataclasses import replace
from string import Template

from ptxmm.prove.chains import APART, CHAIN, EXTENDED, PLACES, SEEN_LAST, WORD
from ptxmm.prove.messages import GIVEN, ORDERED, PAIRED, REDUCTION, RELEASES, STRONG, WAIT, reduced
from ptxmm.prove.statement import Hypothesis, Lemma, Slots, Theorem

TEXT = """\
ptx $name
.global .u32 d = 0;
$word
$memory
thread A @ $place_a {
    $data
    $meet_a
    $late
}
thread LeadA @ $place_a {
    $lead_first
    $publish
    $lead_late
}
$others
thread LeadB @ $place_b {
    $join
    $early
    $poll
    $close
    $lead_last
    $closed_late
}
thread B @ $place_b {
    $read_early
    $meet_b
    $read
}
exists ($condition)
"""

SLOTS = {
    "word": ".global .u32 m = 0;",
    "memory": "",
    "place_a": "d0.c0.b0",
    "place_b": "d0.c1.b1",
    "data": "st.weak.global.u32 [d], 1;",
    "meet_a": "bar.sync 0;",
    "late": "",
    "lead_first": "bar.sync 0;",
    "publish": "red.release.gpu.global.add.u32 [m], 0x7fffffff;",
    "lead_late": "",
    "others": "",
    "join": "red.release.gpu.global.add.u32 [m], 1;",
    "early": "",
    "poll": "ld.relaxed.gpu.global.u32 v, [m];",
    "close": "ld.acquire.gpu.global.u32 _, [m];",
    "lead_last": "bar.sync 0;",
    "closed_late": "",
    "read_early": "",
    "meet_b": "bar.sync 0;",
    "read": "ld.weak.global.u32 r, [d];",
    "happens": "LeadB.v == 0x80000000",
    "missed": "B.r == 0",
}

APART_BAR = "bar.sync 1, 32;"
NEXT = """\
thread C @ $place {
    atom.relaxed.$scope.global.add.u32 old, [m], 0;
}"""


def _hypothesis(name: str, says: str, words: str, broken: Slots) -> Hypothesis:
    return Hypothesis(name=name, says=says, words=words, broken=broken)


MEETING = (
    _hypothesis(
        "data-before-barrier", "po(data, arrive)", "the data is written before its thread arrives at a CTA barrier",
        {"data": "", "late": SLOTS["data"]},
    ),
    _hypothesis(
        "barrier-before", "syncbar(arrive, passed)", "the leader passes that barrier with it",
        {"lead_first": APART_BAR, "meet_a": "bar.sync 0, 32;"},
    ),
    _hypothesis(
        "release-after-barrier", "po(passed, head)", "the leader releases after the barrier",
        {"lead_first": "", "lead_late": "bar.sync 0;"},
    ),
)  # fmt: skip
PARTING = (
    _hypothesis(
        "barrier-after-close", "po(close, meet)", "the other leader arrives at a CTA barrier after the close",
        {"lead_last": "bar.sync 0;", "closed_late": SLOTS["close"], "close": ""},
    ),
    _hypothesis(
        "barrier-after", "syncbar(meet, left)", "the reading thread passes that barrier with it",
        {"lead_last": APART_BAR, "meet_b": "bar.sync 0, 32;"},
    ),
    _hypothesis(
        "data-after-barrier", "po(left, read)", "the data is read after the barrier",
        {"read_early": SLOTS["read"], "read": ""},
    ),
)  # fmt: skip

BROKEN: dict[str, Slots] = {
    "contribution-releases": {"publish": "red.relaxed.gpu.global.add.u32 [m], 0x7fffffff;"},
    "contribution-strong": {"publish": "fence.acq_rel.gpu; st.weak.global.u32 [m], 0x7fffffff;"},
    "poll-not-before-contribution": {"happens": "LeadB.v == 1"},
    "word-atomic": {
        "others": "thread C @ d0.c2.b2 {\n    st.relaxed.gpu.global.u32 [m], 0x80000000;\n}",
        "happens": "LeadB.v == 0x80000000 && m == 0x80000000",
    },
    "fences-unrestricted": {
        "place_b": "d0.c0.b1",
        "publish": "red.release.cluster.global.add.u32 [m], 0x7fffffff;",
        "join": "red.release.cluster.global.add.u32 [m], 1;",
        "poll": "ld.relaxed.cluster.global.u32 v, [m];",
        "close": "fence.acquire.sync_restrict::shared::cluster.cluster;",
    },
    "word-generic": {
        **reduced("0", "0", "d0.c2.b2"),
        "others": f"thread C @ d0.c2.b2 {{\n    {REDUCTION}\n}}",
    },
    "word-scope": {
        "others": Template(NEXT).substitute(place="d0.c1.b1", scope="cta"),
        "happens": "LeadB.v == 0x80000000 && C.old == 0x80000000",
    },
    "poll-returns": {
        "poll": "red.relaxed.gpu.global.add.u32 [m], 0x80000000;",
        "close": "fence.acq_rel.gpu;",
        "happens": "m == 0",
    },
}


def _here(hypothesis: Hypothesis) -> Hypothesis:
    """The hypothesis with what breaks it in the test of this page."""
    return replace(hypothesis, broken=BROKEN.get(hypothesis.name, hypothesis.broken))


RELEASE = (RELEASES, STRONG)
WAITED = WAIT[:-1]
PAIR = (*MEETING, *RELEASE, *WORD, *WAITED, *PARTING, *PLACES)

CAUSAL = Lemma(
    "causal",
    "cause(data, read)",
    (*MEETING, *PARTING, *PLACES[1:]),
    ("synchronised",),
    defines=True,
)

GRID = Theorem(
    name="grid-barrier",
    words="A grid barrier orders all that any CTA did before it before all that any CTA does after it, for any number"
    " of CTAs: each leader contributes once to a word of atomic operations, and waits until it has seen all"
    " contributions (`sign-flip` says how it knows).",
    given=(*GIVEN, "B(arrive)", "B(passed)", "W(last)", "rf(last, poll)", "B(meet)", "B(left)"),
    hypotheses=tuple(map(_here, PAIR)),
    goal=ORDERED,
    steps=(
        EXTENDED,
        CHAIN,
        SEEN_LAST,
        APART,
        PAIRED,
        CAUSAL,
    ),
    text=TEXT,
    slots=SLOTS,
)
