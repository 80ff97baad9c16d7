"""The closes of a wait, one by one: each gives the same order, and needs what is listed for it."""

from __future__ import annotations

from dataclasses import replace

from ptxmm.prove.messages import (
    BEFORE,
    CLOSE_SCOPE,
    CLOSE_WORD,
    DIRECT,
    GENERIC,
    GIVEN,
    ONE_DATA,
    ONE_PLACE,
    ONE_SIDED,
    ONE_WORD,
    ORDERED,
    POLL_RETURNS,
    POLL_SCOPE,
    POLL_STRONG,
    READ_AFTER,
    READS_IT,
    RELEASE,
    RELEASES,
    RESTRICTED,
    SLOTS,
    TEXT,
    UNRESTRICTED,
    VISIBLE,
)
from ptxmm.prove.statement import Hypothesis, Lemma, Theorem

OBSERVED = VISIBLE.steps[0]
OBSERVED_APART = ("observed", "apart")
RESTRICTED_RELEASE = {
    "place_b": "d0.c0.b1",
    "publish": "fence.release.sync_restrict::shared::cta.cluster; red.relaxed.cluster.global.add.u32 [m], 1;",
}
RED_THEN_LOAD = {
    "publish": "st.release.gpu.global.u32 [m], 1;",
    "poll": "red.relaxed.gpu.global.add.u32 [m], 1;",
    "close": "ld.acquire.gpu.global.u32 v, [m];",
    "others": """\
thread C @ d0.c2.b2 {
    st.relaxed.gpu.global.u32 [m], 7;
}
thread D @ d0.c3.b3 {
    ld.relaxed.gpu.global.u32 between, [m];
}""",
    "happens": "D.between == 2 && B.v == 7",
}


def _closed_by(name: str, close: str, kind: str, features: frozenset[str] = frozenset()) -> Theorem:
    """The theorem about one form of the close, written as the instruction `close` and being in the set `kind`."""
    load = kind.startswith("(R ")
    acquires = Hypothesis(
        name="close-acquires",
        says=f"{kind}(close)",
        words=f"the close is `{close.split('.gpu')[0]}`",
        broken={"close": "ld.relaxed.gpu.global.u32 _, [m];"},
    )
    after = Hypothesis(
        name="close-after-poll",
        says="po(poll, close)",
        words="the close comes after the poll",
        broken={"early": close, "close": ""},
    )
    scope = replace(CLOSE_SCOPE, broken={"close": close.replace(".gpu", ".cta")})
    own = (CLOSE_WORD,) if load else ()
    returns = replace(POLL_RETURNS, broken=RED_THEN_LOAD if load else {**POLL_RETURNS.broken, "close": close})
    cluster = {"poll": SLOTS["poll"].replace(".gpu", ".cluster"), "close": close.replace(".gpu", ".cluster")}
    unrestricted = replace(UNRESTRICTED, broken={**RESTRICTED_RELEASE, **cluster})
    read = replace(READ_AFTER, broken={"close": "", "read": f"{SLOTS['read']} {close}"})
    word = replace(ONE_WORD, broken={**ONE_WORD.broken, "close": close.replace("[m]", "[w]")})
    closing = (returns, acquires, after, *own, scope)
    ends = (read, ONE_DATA, GENERIC, unrestricted)
    return Theorem(
        name=name,
        words=f"A poll that reads the contribution, closed by `{close.split('.gpu')[0]}`, orders what precedes the"
        " contribution before what follows the close.",
        given=GIVEN,
        hypotheses=(*RELEASE, READS_IT, POLL_SCOPE, POLL_STRONG, *closing, read, word, *ends[1:]),
        goal=ORDERED,
        steps=(
            OBSERVED,
            Lemma("apart", "(~id)(head, close)", (RELEASES, after, acquires, *DIRECT)),
            Lemma(
                "synchronised", "sync(head, close)", (*RELEASE[1:], POLL_STRONG, *closing), OBSERVED_APART, defines=True
            ),
            Lemma("causal", "cause(data, read)", (BEFORE, *ends), ("synchronised",), defines=True),
        ),
        text=TEXT,
        slots={**SLOTS, "close": close},
        features=features,
    )


ACQUIRE_LOAD = _closed_by("close-by-acquire-load", "ld.acquire.gpu.global.u32 _, [m];", "(R & ACQ)")
FENCES = (
    _closed_by("close-by-fence-acq_rel", "fence.acq_rel.gpu;", "(F & ACQ_REL)"),
    _closed_by("close-by-fence-sc", "fence.sc.gpu;", "(F & SC)"),
    _closed_by("close-by-fence-acquire", "fence.acquire.gpu;", "(F & ACQ)", ONE_SIDED),
)

POLL_ACQUIRES = Hypothesis(
    name="poll-acquires",
    says="(R & ACQ)(poll)",
    words="the poll acquires",
    broken={"poll": SLOTS["poll"]},
)
RELEASE_SCOPE = Hypothesis(
    name="release-scope",
    says="sr(head, poll)",
    words="release and poll are in each other's scope",
    broken={"publish": "fence.acq_rel.cta; red.relaxed.gpu.global.add.u32 [m], 1;"},
)
CONTRIBUTION_SCOPE = replace(
    POLL_SCOPE,
    broken={"publish": "fence.acq_rel.gpu; red.relaxed.cta.global.add.u32 [m], 1;"},
)
READ_AFTER_POLL = Hypothesis(
    name="data-after-poll",
    says="po(poll, read)",
    words="the data is read after the poll",
    broken={"early": SLOTS["read"], "read": ""},
)
RELEASE_UNRESTRICTED = Hypothesis(
    name="fence-unrestricted",
    says="(~RESTRICT)(head)",
    words="the release fence, if it is one, is not restricted to a window",
    broken={**RESTRICTED_RELEASE, "poll": "ld.acquire.cluster.global.u32 v, [m];"},
    features=RESTRICTED,
)
_POLL = (POLL_ACQUIRES, RELEASE_SCOPE, READ_AFTER_POLL)
_PLACES = (
    replace(ONE_PLACE[0], broken={"memory": ".alias w = m;", "poll": "ld.acquire.gpu.global.u32 v, [w];"}),
    ONE_DATA,
    GENERIC,
    RELEASE_UNRESTRICTED,
)
ACQUIRE_POLL = Theorem(
    name="close-by-acquire-poll",
    words="An acquire poll that reads the contribution needs no close: what precedes the contribution is ordered before"
    " what follows the poll.",
    given=tuple(one for one in GIVEN if "close" not in one),
    hypotheses=(*RELEASE, READS_IT, CONTRIBUTION_SCOPE, *_POLL, *_PLACES),
    goal=ORDERED,
    steps=(
        Lemma(
            "observed",
            "obs(contribution, poll) and vloc(contribution, poll)",
            (RELEASE[2], READS_IT, CONTRIBUTION_SCOPE, POLL_ACQUIRES, _PLACES[0]),
            defines=True,
        ),
        Lemma("synchronised", "sync(head, poll)", (*RELEASE[1:], *_POLL[:2]), ("observed",), defines=True),
        Lemma("causal", "cause(data, read)", (BEFORE, _POLL[2], *_PLACES[1:]), ("synchronised",), defines=True),
    ),
    text=TEXT,
    slots={**SLOTS, "poll": "ld.acquire.gpu.global.u32 v, [m];", "close": ""},
)

CLOSES = (ACQUIRE_LOAD, *FENCES, ACQUIRE_POLL)
