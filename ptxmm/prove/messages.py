"""Theorems about one message: what a wait for a word orders, for any publishers, polls and predicates."""

from __future__ import annotations

from ptxmm.prove.statement import Hypothesis, Lemma, Theorem

ALIASES = frozenset({"alias"})
VIEWS = frozenset({"texture"})
ASYNC = frozenset({"async"})
RESTRICTED = frozenset({"restricted-fences"})
ONE_SIDED = frozenset({"one-sided-fences"})

TEXT = """\
ptx $name
.global .u32 d = 0;
$word
$memory
thread A @ $place_a {
    $data
    $publish
    $late
}
$others
thread B @ $place_b {
    $early
    $poll
    $close
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
    "publish": "red.release.gpu.global.add.u32 [m], 1;",
    "late": "",
    "others": "",
    "early": "",
    "poll": "ld.relaxed.gpu.global.u32 v, [m];",
    "close": "ld.acquire.gpu.global.u32 _, [m];",
    "read": "ld.weak.global.u32 r, [d];",
    "happens": "B.v == 1",
    "missed": "B.r == 0",
}

REDUCTION = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [m], [s], 16;"


def reduced(start: str, added: str, place: str) -> dict[str, str]:
    """The word as the first of four, and beside it what a bulk reduction adds to it."""
    return {
        "word": f".global .u32 m[4] = {{{start}, 0, 0, 0}};\n.shared @ {place} .u32 s[4] = {{{added}, 0, 0, 0}};",
    }


STRONG_FENCE = "(F & (ACQ_REL | SC | REL))"
ACQUIRING_FENCE = "(F & (ACQ_REL | SC | ACQ))"

BEFORE = Hypothesis(
    name="data-before-release",
    says="po(data, head)",
    words="the data is written before the first operation of the release",
    broken={"data": "", "late": SLOTS["data"]},
)
RELEASES = Hypothesis(
    name="contribution-releases",
    says="(W & REL)(head) and id(head, contribution)"
    f" or {STRONG_FENCE}(head) and po(head, contribution)"
    " or (W & REL)(head) and (po & vloc)(head, contribution)",
    words="the contribution is a release, or follows a release fence or a release of the same word",
    broken={"publish": "red.relaxed.gpu.global.add.u32 [m], 1;"},
)
STRONG = Hypothesis(
    name="contribution-strong",
    says="(RLX | REL)(contribution)",
    words="the contribution is a strong operation",
    broken={"publish": "fence.acq_rel.gpu; st.weak.global.u32 [m], 1;"},
)
READS_IT = Hypothesis(
    name="poll-reads-contribution",
    says="rf(contribution, poll)",
    words="the poll reads the contribution",
    broken={"happens": "B.v == 0"},
)
POLL_STRONG = Hypothesis(
    name="poll-strong",
    says="(RLX | ACQ)(poll)",
    words="the poll is a strong read",
    broken={"poll": "ld.weak.global.u32 v, [m];"},
)
POLL_RETURNS = Hypothesis(
    name="poll-returns",
    says="(~RED)(poll)",
    words="the poll returns what it reads (it is no `red`)",
    broken={
        "publish": "st.release.gpu.global.u32 [m], 1;",
        "poll": "red.relaxed.gpu.global.add.u32 [m], 1;",
        "close": "fence.acq_rel.gpu;",
        "happens": "m == 2",
    },
)
POLL_SCOPE = Hypothesis(
    name="poll-scope",
    says="WEAK(contribution) or WEAK(poll) or sr(contribution, poll)",
    words="contribution and poll, where they are strong, are in each other's scope",
    broken={"poll": "ld.relaxed.cta.global.u32 v, [m];"},
)
CLOSE_SCOPE = Hypothesis(
    name="close-scope",
    says="sr(head, close)",
    words="release and close are in each other's scope",
    broken={"close": "ld.acquire.cta.global.u32 _, [m];"},
)
CLOSE_AFTER = Hypothesis(
    name="close-not-before-poll",
    says="id(poll, close) or po(poll, close)",
    words="the close is the poll itself or comes after it",
    broken={"early": "fence.acq_rel.gpu;", "close": ""},
)
CLOSE_ACQUIRES = Hypothesis(
    name="close-acquires",
    says=f"(R & ACQ)(close) or {ACQUIRING_FENCE}(close)",
    words="the close acquires",
    broken={"close": "ld.relaxed.gpu.global.u32 _, [m];"},
)
CLOSE_WORD = Hypothesis(
    name="close-on-word",
    says="R(close) => vloc(poll, close)",
    words="a close that is a load reads the word",
    broken={"memory": ".global .u32 n = 0;", "close": "ld.acquire.gpu.global.u32 _, [n];"},
)
READ_AFTER = Hypothesis(
    name="data-after-close",
    says="po(close, read)",
    words="the data is read after the close",
    broken={"early": "", "close": "", "read": "ld.weak.global.u32 r, [d]; ld.acquire.gpu.global.u32 _, [m];"},
)
ONE_WORD = Hypothesis(
    name="word-address",
    says="vloc(contribution, poll)",
    words="the word is published and polled by one virtual address",
    broken={
        "memory": ".alias w = m;",
        "poll": "ld.relaxed.gpu.global.u32 v, [w];",
        "close": "ld.acquire.gpu.global.u32 _, [w];",
    },
    features=ALIASES,
)
ONE_DATA = Hypothesis(
    name="data-address",
    says="vloc(data, read)",
    words="the data is written and read by one virtual address",
    broken={"memory": ".alias e = d;", "read": "ld.weak.global.u32 r, [e];"},
    features=ALIASES,
)
GENERIC = Hypothesis(
    name="data-generic",
    says="GEN(data) and GEN(read)",
    words="the data is written and read by the generic proxy",
    broken={"memory": ".texref t = d;", "read": "tld.u32 r, [t];"},
    features=VIEWS,
)
UNRESTRICTED = Hypothesis(
    name="fences-unrestricted",
    says="(~RESTRICT)(head) and (~RESTRICT)(close)",
    words="neither fence is restricted to a window",
    broken={
        "place_b": "d0.c0.b1",
        "publish": "red.release.cluster.global.add.u32 [m], 1;",
        "poll": "ld.relaxed.cluster.global.u32 v, [m];",
        "close": "fence.acquire.sync_restrict::shared::cluster.cluster;",
    },
    features=RESTRICTED,
)

# What is named stands in program order: nothing of it is done by a copy.
GIVEN = (
    "(W \\ OUT)(data)", "M(head) or F(head)", "(W \\ OUT)(contribution)", "(R \\ OUT)(poll)", "R(close) or F(close)",
    "(R \\ OUT)(read)",
)  # fmt: skip
RELEASE = (BEFORE, RELEASES, STRONG)
WAIT = (POLL_STRONG, POLL_RETURNS, CLOSE_AFTER, CLOSE_ACQUIRES, CLOSE_WORD, CLOSE_SCOPE, READ_AFTER)
ONE_PLACE = (ONE_WORD, ONE_DATA, GENERIC, UNRESTRICTED)
SYNCHRONISED = (BEFORE, RELEASES, STRONG, *WAIT, ONE_DATA, GENERIC, UNRESTRICTED)
PAIRED = Lemma(
    "synchronised",
    "sync(head, close)",
    (RELEASES, STRONG, *WAIT[:-1]),
    ("observed", "apart"),
    defines=True,
)
CAUSAL = Lemma(
    "causal",
    "cause(data, read)",
    (BEFORE, READ_AFTER, ONE_DATA, GENERIC, UNRESTRICTED),
    ("synchronised",),
    defines=True,
)
ORDERED = ("cause(data, read)", "rf(w, read) => (~co)(w, data)")

FORMS = {
    "atom.release": {"publish": "atom.release.gpu.global.add.u32 _, [m], 1;"},
    "st.release": {"publish": "st.release.gpu.global.u32 [m], 1;"},
    "fence; red": {"publish": "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [m], 1;"},
    "st.release; st": {"publish": "st.release.gpu.global.u32 [m], 3; st.relaxed.gpu.global.u32 [m], 1;"},
    "acquire poll": {"poll": "ld.acquire.gpu.global.u32 v, [m];", "close": ""},
    "fence.acq_rel": {"close": "fence.acq_rel.gpu;"},
    "fence.sc": {"close": "fence.sc.gpu;"},
    "volatile poll": {"poll": "ld.volatile.global.u32 v, [m];"},
}

DIRECT = (STRONG, READS_IT, POLL_STRONG, POLL_SCOPE, ONE_WORD)

VISIBLE = Theorem(
    name="visible-after-close",
    words="What precedes the contribution that the poll read is visible after the close, whatever the close reads and"
    " whoever else writes the word.",
    given=GIVEN,
    hypotheses=(*RELEASE, READS_IT, POLL_SCOPE, *WAIT, *ONE_PLACE),
    goal=ORDERED,
    steps=(
        Lemma("observed", "obs(contribution, poll) and vloc(contribution, poll)", DIRECT, defines=True),
        Lemma("apart", "(~id)(head, close)", (RELEASES, CLOSE_AFTER, CLOSE_ACQUIRES, *DIRECT)),
        PAIRED,
        CAUSAL,
    ),
    text=TEXT,
    slots=SLOTS,
    forms=FORMS,
)
