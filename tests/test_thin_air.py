"""Values out of thin air: forbidden by the models that say so, and by no others, whichever way they come about."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from building import model as shipped

from ptxmm import check, enumeration
from ptxmm.check import Options
from ptxmm.model import Axiom, Model
from ptxmm.program import Program
from ptxmm.syntax import lit
from ptxmm.verdict import Result

OUTCOME = Options(properties=frozenset({"outcome"}))
ENGINES = [pytest.param(check.check, id="z3"), pytest.param(enumeration.check, id="enumeration")]
GROUNDING = ("no-thin-air", "no-wait-for-itself")
WORDS = ".global .u32 x = 0;\n.global .u32 y = 0;\n"
BLOCKS = ".shared @ d0.c0.b0 .u32 s[4] = {0, 0, 0, 0};\n.shared @ d0.c0.b0 .u32 t[4] = {0, 0, 0, 0};\n"
CIRCLES = {
    "a branch": """
        thread A @ d0.c0.b0 { ld.weak.global.u32 r, [x]; if (r == 1) { st.weak.global.u32 [y], 1; } }
        thread B @ d0.c1.b1 { ld.weak.global.u32 r, [y]; if (r == 1) { st.weak.global.u32 [x], 1; } }
        exists (A.r == 1)
    """,
    "a predicate": """
        thread A @ d0.c0.b0 { ld.weak.global.u32 r, [x]; setp.eq.u32 p, r, 1; @p st.weak.global.u32 [y], 1; }
        thread B @ d0.c1.b1 { ld.weak.global.u32 r, [y]; setp.eq.u32 p, r, 1; @p st.weak.global.u32 [x], 1; }
        exists (A.r == 1)
    """,
    "a wait": """
        thread A @ d0.c0.b0 { do { ld.weak.global.u32 r, [x]; } while (r != 1); st.weak.global.u32 [y], 1; }
        thread B @ d0.c1.b1 { do { ld.weak.global.u32 r, [y]; } while (r != 1); st.weak.global.u32 [x], 1; }
        exists (A.r == 1)
    """,
    "an atomic operation": """
        thread A @ d0.c0.b0 {
            atom.relaxed.gpu.global.cas.b32 r, [x], 1, 2;
            if (r == 1) { st.weak.global.u32 [y], 1; }
        }
        thread B @ d0.c1.b1 { ld.weak.global.u32 r, [y]; if (r == 1) { st.weak.global.u32 [x], 1; } }
        exists (A.r == 1)
    """,
    "what is stored": """
        thread A @ d0.c0.b0 { ld.weak.global.u32 r, [x]; st.weak.global.u32 [y], r; }
        thread B @ d0.c1.b1 { ld.weak.global.u32 r, [y]; st.weak.global.u32 [x], r; }
        exists (A.r == 1)
    """,
    "a branch past a barrier": """
        thread A @ d0.c0.b0 { bar.sync 0; ld.weak.global.u32 r, [x]; if (r == 1) { st.weak.global.u32 [y], 1; } }
        thread B @ d0.c0.b0 { bar.sync 0; ld.weak.global.u32 r, [y]; if (r == 1) { st.weak.global.u32 [x], 1; } }
        exists (A.r == 1)
    """,
}
IN_FLIGHT = {
    "copies": f"""{BLOCKS}
        thread A @ d0.c0.b0 {{
            cp.async.ca.shared.global [s], [x], 4;
            cp.async.wait_all;
            ld.weak.shared::cta.u32 r, [s];
            if (r == 1) {{ st.weak.global.u32 [y], 1; }}
        }}
        thread B @ d0.c0.b0 {{
            cp.async.ca.shared.global [t], [y], 4;
            cp.async.wait_all;
            ld.weak.shared::cta.u32 r, [t];
            if (r == 1) {{ st.weak.global.u32 [x], 1; }}
        }}
        exists (A.r == 1)
    """,
    "the start of an asynchronous store": """
        .shared @ d0.c0.b0 .u32 s = 0;
        .shared @ d0.c0.b1 .u32 t = 0;
        .shared @ d0.c0.b0 .mbarrier m(1);
        .shared @ d0.c0.b1 .mbarrier n(1);
        thread A @ d0.c0.b0 {
            ld.weak.shared::cta.u32 r, [s];
            if (r == 1) { st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [t], 1, [n]; }
        }
        thread B @ d0.c0.b1 {
            ld.weak.shared::cta.u32 r, [t];
            if (r == 1) { st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [s], 1, [m]; }
        }
        exists (A.r == 1)
    """,
    "an arrival": """
        .shared @ d0.c0.b0 .mbarrier m(1);
        thread A @ d0.c0.b0 {
            mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 p, [m], 0;
            if (p == 1) { st.relaxed.cta.global.u32 [y], 1; }
        }
        thread B @ d0.c0.b0 {
            ld.relaxed.cta.global.u32 r, [y];
            if (r == 1) { mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m]; }
        }
        exists (A.p == 1)
    """,
    "an arrival that ends an earlier phase": """
        .shared @ d0.c0.b0 .mbarrier m(1);
        thread A @ d0.c0.b0 {
            mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 p, [m], 1;
            if (p == 0) { st.relaxed.cta.global.u32 [y], 1; }
        }
        thread B @ d0.c0.b0 {
            ld.relaxed.cta.global.u32 r, [y];
            if (r == 1) { mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m]; }
        }
        exists (A.p == 0)
    """,
    "a state of a phase that begins": """
        .shared @ d0.c0.b0 .mbarrier m(1);
        thread A @ d0.c0.b0 {
            mbarrier.arrive.relaxed.cta.shared::cta.b64 t, [m];
            if (t != 0) { st.relaxed.cta.global.u32 [y], 1; }
        }
        thread B @ d0.c0.b0 {
            ld.relaxed.cta.global.u32 r, [y];
            if (r == 1) { mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m]; }
        }
        exists (A.t != 0)
    """,
    "a count of what is pending": """
        .shared @ d0.c0.b0 .mbarrier m(3);
        thread A @ d0.c0.b0 {
            mbarrier.arrive.noComplete.release.cta.shared::cta.b64 t, [m], 1;
            mbarrier.pending_count.b64 c, t;
            if (c == 2) { st.relaxed.cta.global.u32 [y], 1; }
        }
        thread B @ d0.c0.b0 {
            ld.relaxed.cta.global.u32 r, [y];
            if (r == 1) { mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m]; }
        }
        exists (A.c == 2)
    """,
    "an object that is made": """
        .shared @ d0.c0.b0 .b64 m;
        thread A @ d0.c0.b0 {
            mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 p, [m], 1;
            if (p == 1) { st.relaxed.cta.global.u32 [y], 1; }
        }
        thread B @ d0.c0.b0 {
            ld.relaxed.cta.global.u32 r, [y];
            if (r == 1) { mbarrier.init.shared::cta.b64 [m], 1; }
        }
        exists (A.p == 1)
    """,
    "bytes that are expected": """
        .shared @ d0.c0.b0 .mbarrier m(1);
        .shared @ d0.c0.b0 .mbarrier n(1);
        thread A @ d0.c0.b0 {
            mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 16;
            mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [n], 16;
            mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m];
            mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [n];
        }
        thread B @ d0.c0.b0 {
            mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 p, [m], 0;
            if (p == 1) { mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [n], 16; }
        }
        thread C @ d0.c0.b0 {
            mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 p, [n], 0;
            if (p == 1) { mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 16; }
        }
        exists (B.p == 1 && C.p == 1)
    """,
}
CASES = [
    *(
        pytest.param(name, body, id=f"{what}-{name}")
        for name in ("ptx-6.0", "ptx-9.4")
        for what, body in CIRCLES.items()
    ),
    *(pytest.param("ptx-9.4", body, id=f"{what}-ptx-9.4") for what, body in IN_FLIGHT.items()),
]


def program_of(body: str) -> Program:
    (program,) = lit.read(f'ptx circle\n"Circle."\n{WORDS}{body}', "circle.lit")
    return program


def without(model: Model, *names: str) -> Model:
    kept = tuple(s for s in model.statements if not (isinstance(s, Axiom) and s.name in names))
    return Model(f"{model.name} without", model.title, kept, model.supports)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "body"), CASES)
def test_only_a_model_that_forbids_values_out_of_thin_air_has_none(
    engine: Callable[[Program, Model, Options], Result], name: str, body: str
) -> None:
    model, program = shipped(name), program_of(body)
    assert engine(program, model, OUTCOME).verdict == "forbidden"
    assert engine(program, without(model, *GROUNDING), OUTCOME).verdict in ("allowed", "unknown")


# --- what a thread finds out about an mbarrier -----------------------------------------------------------------------

TOLD = """
    .shared @ d0.c0.b0 .mbarrier m(1);
    thread A @ d0.c0.b0 {
        mbarrier.LOOK.parity.relaxed.cta.shared::cta.b64 p, [m], 1;
        if (p == 0) { st.relaxed.cta.global.u32 [y], 1; }
    }
    thread B @ d0.c0.b0 {
        ld.relaxed.cta.global.u32 r, [y];
        if (r == 1) { mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m], COUNT; }
    }
    exists (A.p == 0 && B.r == 1)
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("look", "verdict"), [("test_wait", "forbidden"), ("try_wait", "allowed")])
def test_a_try_wait_may_fail_whatever_it_finds_so_that_nothing_need_have_been_before(
    engine: Callable[[Program, Model, Options], Result], look: str, verdict: str
) -> None:
    program = program_of(TOLD.replace("LOOK", look).replace("COUNT", "1"))
    assert engine(program, shipped("ptx-9.4"), OUTCOME).verdict == verdict


@pytest.mark.parametrize("engine", ENGINES)
def test_no_test_finds_what_hangs_on_it_undefined(engine: Callable[[Program, Model, Options], Result]) -> None:
    program = program_of(TOLD.replace("LOOK", "test_wait").replace("COUNT", "2"))
    assert engine(program, shipped("ptx-9.4"), Options(frozenset({"undefined"}))).undefined.verdict == "no"


STARTED = """
    .shared @ d0.c0.b0 .mbarrier m(1);
    .shared @ d0.c0.b1 .u32 s;
    thread A @ d0.c0.b0 {
        st.relaxed.cluster.global.u32 [y], 1;
        do { mbarrier.test_wait.parity.relaxed.cluster.shared::cta.b64 p, [m], 1; } while (p == HERE);
        ld.weak.shared::cluster.u32 r, [s];
        barrier.cluster.arrive.relaxed; barrier.cluster.wait;
    }
    thread B @ d0.c0.b1 {
        do { ld.relaxed.cluster.global.u32 r, [y]; } while (r == 0);
        mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [m];
        barrier.cluster.arrive.relaxed; barrier.cluster.wait;
    }
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("here", "verdict"), [(1, "no"), (2, "yes")])
def test_a_phase_that_has_begun_shows_that_who_ended_the_one_before_has_started(
    engine: Callable[[Program, Model, Options], Result], here: int, verdict: str
) -> None:
    program = program_of(STARTED.replace("HERE", str(here)))
    assert engine(program, shipped("ptx-9.4"), Options(frozenset({"undefined"}))).undefined.verdict == verdict
