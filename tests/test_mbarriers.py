"""Mbarriers in the solver's engine: what is certain before solving, and rings of stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.bench_async import ring

from ptxmm import encode, enumeration, states
from ptxmm.cat import read_model
from ptxmm.check import check
from ptxmm.encode import encode as encoded
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.report.json import execution_object
from ptxmm.report.svg import execution_svg
from ptxmm.report.witness import evidence
from ptxmm.syntax import read_programs
from ptxmm.verdict import Outcomes, Result

LIBRARY = Path(__file__).parent.parent / "litmus"
EVERYTHING = Options(properties=frozenset({"outcome", "race", "hang", "undefined"}))
SHOWN = replace(EVERYTHING, witness=True)
MODEL = read_model("ptx-9.4")
FILES = sorted(path for folder in ("mbarrier", "cluster") for path in (LIBRARY / folder).glob("*.lit"))
QUICK = FILES[::6]


def read(text: str, folder: Path) -> Program:
    path = folder / "test.lit"
    path.write_text(text)
    return read_programs(path)[0]


def verdicts(program: Program) -> tuple[object, ...]:
    result = check(program, MODEL, EVERYTHING)
    return (result.verdict, result.race.verdict, set(result.race.on), result.hang.verdict, result.undefined.verdict)


def test_a_ring_of_four_stages_has_nearly_one_order_of_its_operations(tmp_path: Path) -> None:
    encoding = encoded(read(ring(4, 8), tmp_path), MODEL, 4)
    orders = [lit for barrier in encoding.base.mbarriers.all.values() for lit in barrier.before.values()]
    assert sum(abs(literal) != 1 for literal in orders) < len(orders) / 10
    assert encoding.formulas.next < 100_000


ANEW = "mbarrier.inval.shared::cta.b64 [m]; mbarrier.init.shared::cta.b64 [m], 1;"
TURN = "mbarrier.arrive.shared::cta.b64 _, [m]; await mbarrier.try_wait.parity.shared::cta.b64 [m], 0;"


@pytest.mark.parametrize("engine", [check, enumeration.check], ids=["z3", "enumeration"])
def test_phases_of_an_mbarrier_that_is_made_anew_begin_again(
    engine: Callable[[Program, Model, Options], Result], tmp_path: Path
) -> None:
    body = f"mbarrier.init.shared::cta.b64 [m], 1; {TURN} {ANEW} {TURN} st.weak.global.u32 [x], 1;"
    text = f"ptx anew .shared @ d0.c0.b0 .b64 m; .global .u32 x; thread A @ d0.c0.b0 {{ {body} }} exists (x == 1)"
    result = engine(read(text, tmp_path), MODEL, EVERYTHING)
    assert (result.verdict, result.hang.verdict, result.undefined.verdict) == ("allowed", "no", "no")


@pytest.mark.parametrize("engine", [check, enumeration.check], ids=["z3", "enumeration"])
def test_a_wait_acquires_nothing_from_arrivals_at_an_mbarrier_that_was_there_before(
    engine: Callable[[Program, Model, Options], Result], tmp_path: Path
) -> None:
    text = f"""ptx before .shared @ d0.c0.b0 .mbarrier m(1); .shared @ d0.c0.b0 .u32 x;
        thread A @ d0.c0.b0 {{ st.weak.shared::cta.u32 [x], 1; mbarrier.arrive.shared::cta.b64 _, [m]; }}
        thread B @ d0.c0.b0 {{
            await mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 [m], 0;
            {ANEW} {TURN} ld.weak.shared::cta.u32 r, [x];
        }}
        exists (B.r == 0)"""
    result = engine(read(text, tmp_path), MODEL, EVERYTHING)
    assert (result.verdict, result.race.verdict) == ("allowed", "yes")


@pytest.mark.parametrize("engine", [check, enumeration.check], ids=["z3", "enumeration"])
@pytest.mark.parametrize("parity", [0, 1])
def test_no_wait_succeeds_where_there_is_no_mbarrier(
    engine: Callable[[Program, Model, Options], Result], parity: int, tmp_path: Path
) -> None:
    """Here the object ends behind a barrier that only the end of the waiting thread lets pass, and so never does."""
    first = "mbarrier.arrive.shared::cta.b64 _, [m];" * parity
    before = "await mbarrier.try_wait.parity.shared::cta.b64 [m], 0;" * parity
    text = f"""ptx gone .shared @ d0.c0.b0 .mbarrier m(1);
        thread A @ d0.c0.b0 {{ {first} bar.sync 0; mbarrier.inval.shared::cta.b64 [m]; }}
        thread B @ d0.c0.b0 {{ {before} await mbarrier.try_wait.parity.shared::cta.b64 [m], {parity}; }}"""
    result = engine(read(text, tmp_path), MODEL, EVERYTHING)
    assert (result.hang.verdict, result.undefined.verdict) == ("yes", "no")


@pytest.mark.parametrize("engine", [check, enumeration.check], ids=["z3", "enumeration"])
def test_a_test_of_what_is_no_mbarrier_is_undefined_whatever_its_thread_does_there_afterwards(
    engine: Callable[[Program, Model, Options], Result], tmp_path: Path
) -> None:
    text = """ptx gone .shared @ d0.c0.b0 .mbarrier m(1);
        thread A @ d0.c0.b0 {
            mbarrier.inval.shared::cta.b64 [m];
            mbarrier.test_wait.parity.shared::cta.b64 p, [m], 0;
            mbarrier.arrive.shared::cta.b64 _, [m];
        }"""
    assert engine(read(text, tmp_path), MODEL, EVERYTHING).undefined.verdict == "yes"


ELECTED = """ptx elected
.shared @ d0.c0.b0 .mbarrier m(1);
.shared @ d0.c0.b0 .u32 x;
.shared @ d0.c0.b0 .u32 s[4];
.global .u32 g[4];
thread T0 @ d0.c0.b0.w0.l0 {
    elect.sync _|p, 3;
    if (p) {
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];
    }
}
thread T1 @ d0.c0.b0.w0.l1 { await mbarrier.try_wait.parity.shared::cta.b64 [m], 0; }
exists (x == 0)
"""


@pytest.mark.parametrize("engine", [check, enumeration.check], ids=["z3", "enumeration"])
def test_a_wait_has_succeeded_only_where_the_arrivals_that_a_branch_may_leave_out_are_done(
    engine: Callable[[Program, Model, Options], Result], tmp_path: Path
) -> None:
    """The election waits for the other lane, which waits for what the elected lane does."""
    result = engine(read(ELECTED, tmp_path), MODEL, EVERYTHING)
    assert (result.verdict, result.hang.verdict) == ("forbidden", "yes")


def test_a_ring_is_right_with_a_proxy_fence_and_races_without(tmp_path: Path) -> None:
    assert verdicts(read(ring(2, 2), tmp_path)) == ("forbidden", "no", set(), "no", "no")
    assert verdicts(read(ring(2, 2, ""), tmp_path))[:2] == ("allowed", "yes")


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=() if p in QUICK else pytest.mark.slow) for p in FILES],
)
def test_what_is_certain_beforehand_changes_no_verdict(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [replace(program, expects=()) for program in read_programs(path)[:3]]
    known = [verdicts(program) for program in programs]
    monkeypatch.setattr(encode, "MBARRIER_ORDER", "")
    assert [verdicts(program) for program in programs] == known


def waiting(first: str, second: str, setup: str = "") -> str:
    return (
        f"ptx waits\n.global .u32 x;\n.shared @ d0.c0.b0 .mbarrier m(1);\n{setup}"
        f"thread A @ d0.c0.b0 {{ {first} }}\nthread B @ d0.c0.b0 {{ {second} }}\n"
        "thread C @ d0.c0.b0 { st.relaxed.gpu.u32 [x], 1; }\n"
    )


def test_a_wait_that_is_never_reached_keeps_no_wait_before_it_from_waiting_for_ever(tmp_path: Path) -> None:
    waits = " ".join(f"await mbarrier.try_wait.parity.shared::cta.b64 [{n}], {p};" for n, p in (("n", 0), ("n", 1)))
    text = waiting("mbarrier.arrive.shared::cta.b64 _, [n];", waits, ".shared @ d0.c0.b0 .mbarrier n(2);\n")
    assert check(read(text, tmp_path), MODEL, EVERYTHING).hang.verdict == "yes"


def test_a_wait_that_a_branch_leaves_out_orders_nothing_after_it(tmp_path: Path) -> None:
    skipping = (
        "ld.relaxed.gpu.u32 c, [x]; if (c == 1) { await mbarrier.try_wait.parity.shared::cta.b64 [m], 0; } "
        "mbarrier.test_wait.parity.shared::cta.b64 q, [m], 0;"
    )
    text = waiting("mbarrier.arrive.shared::cta.b64 _, [m];", skipping)
    assert verdicts(read(text + "exists (B.c == 0 && !B.q)\n", tmp_path))[0] == "allowed"
    assert verdicts(read(text + "exists (B.c == 1 && !B.q)\n", tmp_path))[0] == "forbidden"


def test_values_of_racing_accesses_are_said_not_to_be_torn_where_that_could_matter(tmp_path: Path) -> None:
    wide = """ptx wide
.global .u64 x = 0;
thread A @ d0.c0.b0 { st.weak.global.u64 [x], VALUE; }
thread B @ d0.c1.b1 { ld.weak.global.u64 r, [x]; }
exists (B.r == 7)
"""
    notes = check(read(wide.replace("VALUE", "0x100000001"), tmp_path), MODEL, EVERYTHING).notes
    assert any("not torn" in note for note in notes)
    assert not check(read(wide.replace("VALUE", "1"), tmp_path), MODEL, EVERYTHING).notes


# --- what is shown ---------------------------------------------------------------------------------------------------

SIGNAL = """ptx signal
.shared @ d0.c0.b0 .mbarrier m(1);
.shared @ d0.c0.b0 .u64 n = 0;
.shared @ d0.c0.b0 .u32 x = 0;
thread A @ d0.c0.b0 { mbarrier.init.shared::cta.b64 [n], 1; st.weak [x], 1; mbarrier.arrive.shared::cta.b64 s, [m]; }
thread B @ d0.c0.b0 { await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], 0; ld.weak r, [x]; }
"""


@pytest.mark.parametrize("engine", [states.enumerate_states, enumeration.outcomes])
def test_a_final_state_shows_no_bits_that_only_the_chip_understands_and_no_register_of_an_await(
    engine: Callable[[Program, Model, Options], Outcomes], tmp_path: Path
) -> None:
    program = read(SIGNAL, tmp_path)
    found = engine(program, MODEL, Options())
    assert found.columns == ("B.r", "x")
    assert [state.values for state in found.states] == [(1, 1)]


def test_an_execution_shows_no_register_of_an_await(tmp_path: Path) -> None:
    result = check(read(SIGNAL + "exists (B.r == 1)\n", tmp_path), MODEL, Options(witness=True))
    assert result.witness is not None
    assert result.witness.registers == {("A", "s"): 0, ("B", "r"): 1}


LACKING = """ptx lacking
.shared @ d0.c0.b0 .mbarrier m[2](2);
.shared @ d0.c0.b0 .u32 y = 0;
.global .u32 word = 0;
thread A @ d0.c0.b0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [m + 8], 16;
    loop
}
"""
AWAITED = "await mbarrier.try_wait.parity.shared::cta.b64 [m + 8], 0;"
BESIDE_A_WORD = """do {
    ld.relaxed.gpu r, [word];
    mbarrier.try_wait.parity.shared::cta.b64 p, [m + 8], 0;
} while (r == 0 && !p);"""
LATER = """mbarrier.arrive.shared::cta.b64 s, [m];
    await mbarrier.try_wait.shared::cta.b64 [m], s;"""


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        (
            AWAITED,
            "A waits at `mbarrier.try_wait.parity.shared::cta.b64 [m + 8], 0` for phase 0 of m[1], "
            "which stays incomplete: 1 arrival pending, 16 bytes to come",
        ),
        (
            BESIDE_A_WORD,
            "A waits for ever in its loop at line 8 and reads word = 0, and for phase 0 of m[1], "
            "which stays incomplete: 1 arrival pending, 16 bytes to come",
        ),
        (
            LATER,
            "A waits at `mbarrier.try_wait.shared::cta.b64 [m], s` for phase 0 of m[0], "
            "which stays incomplete: 1 arrival pending, 0 bytes to come",
        ),
        (
            f"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m + 8], 24; {AWAITED}",
            "A waits at `mbarrier.try_wait.parity.shared::cta.b64 [m + 8], 0` for phase 0 of m[1], "
            "which stays incomplete: 1 arrival pending, 8 bytes more than expected",
        ),
    ],
    ids=["alone", "beside a word", "by a token", "too many bytes"],
)
def test_a_hang_says_which_phase_of_an_mbarrier_stays_incomplete_and_what_it_lacks(
    loop: str, told: str, tmp_path: Path
) -> None:
    found = check(read(LACKING.replace("loop", loop), tmp_path), MODEL, EVERYTHING)
    assert found.hang.why == told


def test_an_execution_shows_the_operations_on_each_mbarrier_in_order_and_the_state_they_leave(tmp_path: Path) -> None:
    result = check(read(LACKING.replace("loop", AWAITED), tmp_path), MODEL, SHOWN)
    assert result.hang.witness is not None
    (history,) = result.hang.witness.mbarriers
    assert (history.name, history.phase, history.pending, history.bytes) == ("m[1]", 0, 1, 16)
    assert "mbarrier m[1]: a, b; phase 0, pending 1, tx 16" in evidence(result)
    assert "mbarrier m[1]: a, b; phase 0, pending 1, tx 16" in execution_svg(result.hang.witness)
    assert execution_object(result.hang.witness)["mbarriers"] == [
        {"name": "m[1]", "operations": list(history.operations), "valid": True, "phase": 0, "pending": 1, "bytes": 16}
    ]


def test_an_execution_shows_the_undefined_operation_on_an_mbarrier_as_the_last(tmp_path: Path) -> None:
    arrive = "mbarrier.arrive.shared::cta.b64 _, [m]"
    result = check(read(LACKING.replace("loop", f"{arrive}, 1; {arrive}, 2;"), tmp_path), MODEL, SHOWN)
    assert result.undefined.verdict == "yes"
    assert result.undefined.witness is not None
    beyond = result.undefined.witness.mbarriers[1]
    assert (beyond.name, beyond.undefined) == ("m[0]", "arrives more often than is pending")
    assert "mbarrier m[0]: b, c; c is undefined: it arrives more often than is pending" in evidence(result)
