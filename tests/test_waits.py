"""Loops that only wait: exact where the model is monotone, bounded where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmm.cat import read_model, shipped_models
from ptxmm.check import check
from ptxmm.compilation import plan_of
from ptxmm.encode import encode, events_under
from ptxmm.events import EventGraph
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.syntax import lit

WAIT = """
ptx wait
"A wait for a flag."
.global .u32 d = 0;
.global .u32 f = 0;
thread A @ d0.c0.b0 { st.weak.global.u32 [d], 1; st.release.gpu.global.u32 [f], 1; }
thread B @ d0.c1.b1 {
    do { ld.acquire.gpu.global.u32 r0, [f]; } while (r0 == 0);
    ld.weak.global.u32 r1, [d];
}
~exists (B.r1 == 0)
"""


def wait() -> Program:
    (program,) = lit.read(WAIT, "wait.lit")
    return program


@pytest.mark.parametrize("name", shipped_models())
def test_every_shipped_model_is_monotone(name: str) -> None:
    assert plan_of(read_model(name)).monotone


@pytest.mark.parametrize("name", shipped_models())
def test_a_wait_for_a_released_flag_sees_the_data(name: str) -> None:
    assert check(wait(), read_model(name), Options(bound=1)).verdict == "forbidden"


@pytest.mark.parametrize("axiom", ["empty (rf \\ (po ; fr))", "empty ~(po ; rf) & rf", "~empty rf"])
def test_under_a_model_that_is_not_monotone_a_wait_is_bounded(axiom: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.cat"
    path.write_text(f'"odd"\nacyclic rf | addr | data | ctrl as grounded\nacyclic po | rf as order\n{axiom} as odd\n')
    model = read_model(str(path))
    assert not plan_of(model).monotone
    assert not encode(wait(), model, 1).graph.again
    assert encode(wait(), read_model("ptx-9.4"), 1).graph.again


def test_a_flag_that_nobody_sets_is_waited_for_for_ever() -> None:
    text = WAIT.replace("st.release.gpu.global.u32 [f], 1;", "")
    (program,) = lit.read(text, "wait.lit")
    result = check(program, read_model("ptx-9.4"), Options(properties=frozenset({"outcome", "hang"})))
    assert result.hang.verdict == "yes"
    assert "reads f = 0" in result.hang.why
    assert result.verdict == "forbidden"
    assert result.notes == ("no execution ends with every thread finished",)


def test_a_loop_that_counts_may_go_on_for_ever_as_far_as_is_known() -> None:
    text = WAIT.replace("r0, [f]; } while (r0 == 0)", "r0, [f]; n = n + 1; } while (r0 == 0 || n < 3)")
    (program,) = lit.read(text.replace("~exists (B.r1 == 0)", "~exists (B.n == 0)"), "wait.lit")
    result = check(program, read_model("ptx-9.4"), Options(properties=frozenset({"hang"})))
    assert result.hang.verdict == "unknown"
    assert "cut" in result.hang.why


def test_registers_that_nothing_asks_for_are_not_left_behind() -> None:
    text = WAIT.replace("r0, [f]; } while", "r0, [f]; if (r0 == 0) { ld.relaxed.gpu.global.u32 r2, [f]; } } while")
    (asks_nothing,) = lit.read(text, "wait.lit")
    assert check(asks_nothing, read_model("ptx-9.4"), Options(bound=1)).verdict == "forbidden"
    (asks,) = lit.read(text.replace("B.r1 == 0", "B.r1 == 0 && B.r2 == 0"), "wait.lit")
    assert check(asks, read_model("ptx-9.4"), Options(bound=1)).verdict == "unknown"


LOCK = """
ptx lock
"A lock that is taken in different ways."
.global .u32 l = 0;
.global .u32 x = 0;
thread A @ d0.c0.b0 { $TAKE ld.weak.u32 r, [x]; st.weak.u32 [x], r + 1; st.release.gpu.u32 [l], 0; }
thread B @ d0.c1.b1 { $TAKE ld.weak.u32 r, [x]; st.weak.u32 [x], r + 1; st.release.gpu.u32 [l], 0; }
~exists (x != 2)
"""
CAS = "atom.acquire.gpu.cas.b32 r0, [l], 0, 1;"
TAKES = {
    "cas": f"do {{ {CAS} }} while (r0 != 0);",
    "test first": f"do {{ do {{ ld.relaxed.gpu.u32 r1, [l]; }} while (r1 != 0); {CAS} }} while (r0 != 0);",
    "test in an if": f"do {{ r0 = 1; ld.relaxed.gpu.u32 r1, [l]; if (r1 == 0) {{ {CAS} }} }} while (r0 != 0);",
    "two ways back": f"again: ld.relaxed.gpu.u32 r1, [l]; @(r1 != 0) bra again; {CAS} @(r0 != 0) bra again;",
}


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
@pytest.mark.parametrize("progress", ["fair", "obe"])
def test_taking_a_lock_is_a_wait_however_it_is_written(take: str, progress: str) -> None:
    (program,) = lit.read(LOCK.replace("$TAKE", take), "lock.lit")
    asked = Options(properties=frozenset({"outcome", "hang"}), bound=1, progress=progress)
    result = check(program, read_model("ptx-9.4"), asked)
    assert result.verdict == "forbidden"
    assert result.hang.verdict == "no"


def test_a_loop_that_repeats_after_its_cas_has_written_is_no_wait() -> None:
    (program,) = lit.read(LOCK.replace("$TAKE", f"do {{ {CAS} }} while (r0 == 0);"), "lock.lit")
    assert not encode(program, read_model("ptx-9.4"), 1).graph.again


QUEUE = """
ptx queue
"Producers of a bounded queue: a CAS takes the place if the cell is free, or else the place is read again."
.global .u32 enq = 0;
.global .u32 seq[2] = {0, 1};
thread P @ d0.c0.b0 { $PUT }
thread Q @ d0.c1.b1 { $PUT }
forall (enq == 2 && P.pos != Q.pos)
"""
PUT = """
    do {
        ld.relaxed.gpu.u32 pos, [enq];
        i = pos & 1;
        ld.acquire.gpu.u32 s, [seq[i]];
        if (s == pos) { atom.relaxed.gpu.cas.b32 o, [enq], pos, pos + 1; } else { o = pos + 1; }
    } while (o != pos);
    st.release.gpu.u32 [seq[i]], pos + 1;
"""


def test_a_cas_that_only_some_ways_through_a_loop_try_leaves_nothing_behind() -> None:
    (program,) = lit.read(QUEUE.replace("$PUT", PUT), "queue.lit")
    result = check(program, read_model("ptx-9.4"), Options(properties=frozenset({"outcome", "hang"}), bound=1))
    assert (result.verdict, result.hang.verdict) == ("holds", "no")


@pytest.mark.parametrize(
    ("threads", "told"),
    [
        (["A"], "a loop was cut after 2 repetitions: line 4 (thread A)"),
        (["A", "B"], "loops were cut after 2 repetitions: line 4 (thread A), line 7 (thread B)"),
        (
            ["A", "B", "C", "D", "E"],
            "loops were cut after 2 repetitions: line 4 (thread A), line 7 (thread B), line 10 (thread C) and 2 more",
        ),
    ],
)
def test_loops_that_were_cut_are_named(threads: list[str], told: str) -> None:
    count = "\n    do { ld.relaxed.gpu.u32 r, [f]; n = n + 1; } while (r == 0);\n}"
    code = "\n".join(f"thread {name} @ d0.b{i} {{ n = 0;{count}" for i, name in enumerate(threads))
    setter = "thread S @ d0.b9 { st.relaxed.gpu.u32 [f], 1; }"
    asked = " || ".join(f"{name}.n == 9" for name in threads)
    (program,) = lit.read(f"ptx t\n.global .u32 f = 0;\n{code}\n{setter}\nexists ({asked})", "t.lit")
    assert check(program, read_model("sc"), Options(bound=2)).why == told


MIXED = """
ptx mixed
.global .u32 f = 0;
thread A @ d0.b0 { n = 0; m = 0; do { ld.relaxed.gpu.u32 r, [f]; n = n * 7 + r; m = m * 5 + n; } while (r != 5); }
thread S @ d0.b1 {
    st.relaxed.gpu.u32 [f], 1;
    st.relaxed.gpu.u32 [f], 2;
    st.relaxed.gpu.u32 [f], 3;
    st.relaxed.gpu.u32 [f], 4;
    st.relaxed.gpu.u32 [f], 5;
}
exists (A.n == 999999)
"""


def test_an_answer_from_few_repetitions_says_why_more_were_not_decided() -> None:
    (program,) = lit.read(MIXED, "mixed.lit")
    result = check(program, read_model("sc"), Options(bound=8))
    assert (result.verdict, result.why) == ("unknown", "a loop was cut after 2 repetitions: line 4 (thread A)")
    assert result.notes == ("8 repetitions were not decided: a value may be more than 1024 different numbers",)


BACK_OFF = WAIT.replace("do {", "ns = 8; do {").replace("[f]; }", "[f]; nanosleep.u32 ns; ns = min(ns * 2, 256); }")


@pytest.mark.parametrize(("question", "verdict"), [("B.r1 == 0", "forbidden"), ("B.r1 == 0 && B.ns > 8", "unknown")])
def test_a_delay_that_only_sleeps_look_at_leaves_nothing_behind(question: str, verdict: str) -> None:
    (program,) = lit.read(BACK_OFF.replace("B.r1 == 0", question), "wait.lit")
    result = check(program, read_model("ptx-9.4"), Options(properties=frozenset({"outcome", "race"}), bound=1))
    assert result.verdict == verdict


ADDING = """
ptx adding
"Two threads add by compare and swap."
.global .u32 x = 0;
thread A @ d0.c0.b0 { $ADD }
thread B @ d0.c1.b1 { $ADD }
forall (x == 2)
"""
ADD = """
    ld.relaxed.gpu.u32 old, [x];
    do { seen = old; atom.relaxed.gpu.cas.b32 old, [x], seen, seen + 1; } while (old != seen);
"""


@pytest.mark.parametrize(("bound", "verdict", "tried"), [(1, "holds", [1]), (4, "holds", [2]), (100, "holds", [2])])
def test_no_larger_bound_is_tried_than_the_first_that_cuts_nothing(
    bound: int, verdict: str, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds: list[int] = []

    def counted(test: Program, model: Model, bound: int, *more: object, **names: object) -> EventGraph:
        bounds.append(bound)
        return events_under(test, model, bound, *more, **names)  # type: ignore[arg-type]

    monkeypatch.setattr("ptxmm.encodings.events_under", counted)
    (program,) = lit.read(ADDING.replace("$ADD", ADD), "adding.lit")
    result = check(program, read_model("ptx-9.4"), Options(bound=bound))
    assert (result.verdict, result.bound, sorted(set(bounds))) == (verdict, bound, tried)
