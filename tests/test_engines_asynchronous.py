"""The solver and the enumeration agree on mbarriers, copies, tensor maps, clusters and kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from building import model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from random_asynchronous import (
    ANEW,
    BROKEN,
    CLUSTER,
    GENERIC,
    KERNELS,
    LANES,
    LIVES,
    MAPS,
    ONE_CTA,
    PADDING,
    TILES,
    TRIGGERS,
    asynchronous,
)

from ptxmm import check as solver
from ptxmm import enumeration
from ptxmm.batch import Piece, decide
from ptxmm.cat import DEFAULT_MODEL
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.report.text import Standing, standing
from ptxmm.request import Request
from ptxmm.states import Asking, columns, enumerate_states
from ptxmm.syntax.lit import read
from ptxmm.verdict import Answer, Result

LITMUS = Path(__file__).parent.parent / "litmus"
FOLDERS = ("mbarrier", "async", "tensormap", "cluster")
SMALL = (
    "mbarrier/token",
    "async/bulk-load",
    "async/dependent-grid",
    "tensormap/map-replace-warp",
    "cluster/init-fence",
)
READINGS = ("ptx-9.4", "ptx-9.4-strict", "ptx-9.4-literal")
SCENES = {
    "one CTA": ONE_CTA, "cp.async": GENERIC, "cluster": CLUSTER, "tensor maps": MAPS, "tiles": TILES,
    "padding": PADDING, "kernels": KERNELS,
    "lives": LIVES, "lanes": LANES, "made anew": ANEW, "triggers": TRIGGERS, "broken": BROKEN,
}  # fmt: skip
ASKED = Options(frozenset({"outcome", "race", "undefined", "hang"}), bound=2, timeout=20.0)
QUICK = settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
SAID = frozenset({"yes", "no", "allowed", "forbidden", "unsupported"})
Found = dict[str, object]


def said(answer: Answer) -> object:
    """An answer, without its evidence; None where it is open."""
    return (answer.verdict, answer.on) if answer.verdict in SAID else None


def answers(program: Program, under: str) -> tuple[Found, Found]:
    """What each engine says, without what either leaves open."""
    both: list[Found] = []
    for engine in (enumeration, solver):
        result = engine.check(program, model(under), ASKED)
        states = engine.outcomes(program, model(under), ASKED)
        both.append(
            {
                "verdict": result.verdict if result.verdict in SAID else None,
                "race": said(result.race),
                "undefined": said(result.undefined),
                "hang": said(result.hang),
                "states": sorted(state.values for state in states.states) if states.complete else None,
                "columns": states.columns,
            }
        )
    for key in both[0]:
        if None in (both[0][key], both[1][key]):
            both[0][key] = both[1][key] = None
    return both[0], both[1]


def agree(program: Program, under: str) -> None:
    ours, its = answers(program, under)
    assert ours == its


@pytest.mark.parametrize("scene", SCENES)
@QUICK
@given(data=some.data())
def test_both_engines_say_the_same_of_small_asynchronous_tests(scene: str, data: some.DataObject) -> None:
    agree(data.draw(asynchronous((SCENES[scene],), moves=4)), data.draw(some.sampled_from(READINGS)))


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
@LONG
@given(data=some.data())
def test_both_engines_say_the_same_of_larger_asynchronous_tests(scene: str, data: some.DataObject) -> None:
    agree(data.draw(asynchronous((SCENES[scene],))), data.draw(some.sampled_from(READINGS)))


# --- the library -----------------------------------------------------------------------------------------------------


def results(path: Path) -> list[Result]:
    """What the second engine says of all variants of a litmus file, and whether they expect it."""
    request = Request(Options(timeout=60, engine="enumeration"))
    return [one for one in decide(Piece(path), request) if isinstance(one, Result)]


@pytest.mark.parametrize("name", SMALL)
def test_the_second_engine_follows_asynchronous_files(name: str) -> None:
    for result in results(LITMUS / f"{name}.lit"):
        assert standing(result) is Standing.EXPECTED, (result.name, result.model, result.why, result.surprises)


LARGE = ("cuda-barrier", "ordered-sequence", "load-compute-store", "dsmem-reduce")
"""What has too many paths, values or candidates for the second engine: it must not say otherwise."""


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_second_engine_gives_every_verdict_of_the_asynchronous_library_but_of_large_tests(folder: str) -> None:
    found = [(path.stem, one) for path in sorted((LITMUS / folder).glob("*.lit")) for one in results(path)]
    assert found
    for stem, one in found:
        fine = (Standing.EXPECTED, Standing.UNKNOWN) if stem in LARGE else (Standing.EXPECTED,)
        assert standing(one) in fine, (one.name, one.model, one.surprises)


# --- what once set the engines apart ---------------------------------------------------------------------------------

TWO_COPIES = """ptx two-copies
.shared @ d0.c0.b0 .u32 s[4];
.global .u32 g[4] = {1, 0, 0, 0};
thread A @ d0.c0.b0 { cp.async.ca.shared::cta.global [s], [g], 16; }
thread B @ d0.c0.b0 { cp.async.ca.shared::cta.global [s], [g], 16; }
exists (s == 0)
"""


def test_copies_of_two_threads_race_also_where_both_are_the_first_instruction() -> None:
    found = enumeration.check(read(TWO_COPIES, "two.lit")[0], model(DEFAULT_MODEL), ASKED)
    assert (found.race.on, found.undefined.verdict) == (("s",), "yes")


SPOILT = """ptx spoilt
.shared @ d0.c0.b0 .mbarrier m(1);
.shared @ d0.c0.b0 .u32 x;
.shared @ d0.c0.b0 .u32 f;
thread A @ d0.c0.b0 { st.weak.shared::cta.u32 [x], 1; bar.sync 0; }
thread B @ d0.c0.b0 { st.weak.shared::cta.u32 [x], 2; bar.sync 0; CODE }
thread C @ d0.c0.b0 { bar.sync 0; st.relaxed.cta.shared::cta.u32 [f], 1; }
exists (x == 1)
"""
TWICE = "mbarrier.arrive.shared::cta.b64 _, [m], 2;"
IN_ONE_WAY = f"ld.relaxed.cta.shared::cta.u32 q, [f]; if (q == 0) {{ {TWICE} }}"


@pytest.mark.parametrize("engine", [solver.check, enumeration.check], ids=["z3", "enumeration"])
@pytest.mark.parametrize(
    ("code", "race"),
    [
        pytest.param(TWICE, "no", id="in every execution"),
        pytest.param(IN_ONE_WAY, "yes", id="in some"),
        pytest.param(f"bar.sync 1, 64; {TWICE}", "yes", id="behind a barrier that nobody else comes to"),
    ],
)
def test_a_race_before_an_undefined_step_counts_where_an_execution_does_without_that_step(
    engine: Callable[[Program, Model, Options], Result], code: str, race: str
) -> None:
    found = engine(read(SPOILT.replace("CODE", code), "spoilt.lit")[0], model("ptx-9.4"), ASKED)
    assert found.race.verdict == race


SOURCE = """ptx source
.shared @ d0.c0.b0 .u32 s[4];
.global .u32 h[4];
thread A @ d0.c0.b0 { st.relaxed.cta.shared::cta.u32 [s], 1; }
thread B @ d0.c0.b0 {
    cp.reduce.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.add.u32 [h], [s], 16;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
}
exists (h == 0)
"""
IDLE = """ptx idle
.global .u32 x;
thread A @ k0.d0.c0.b0 { st.weak.global.u32 [x], 1; }
thread B @ k1.d0.c1.b1 { griddepcontrol.wait; ld.weak.global.u32 r, [x]; }
launch k1 with k0;
exists (B.r == 0)
"""
WHOLE = """ptx whole
.shared @ d0.c0.b0 .mbarrier m(1);
.shared @ d0.c0.b0 .u32 s[4];
.global .u32 g[4] = {1, 2, 3, 4};
thread A @ d0.c0.b0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];
    await mbarrier.try_wait.parity.shared::cta.b64 [m], 0;
}
"""


def test_the_source_of_a_reduction_is_read_weakly() -> None:
    for engine in (enumeration, solver):
        found = engine.check(read(SOURCE, "source.lit")[0], model(DEFAULT_MODEL), ASKED)
        assert (found.race.on, found.undefined.verdict) == (("s",), "yes")


def test_a_kernel_that_depends_on_none_does_not_stay_at_griddepcontrol_wait() -> None:
    for engine in (enumeration, solver):
        assert engine.check(read(IDLE, "idle.lit")[0], model(DEFAULT_MODEL), ASKED).hang.verdict == "no"


def test_without_a_condition_all_of_a_copy_is_shown() -> None:
    for engine in (enumeration, solver):
        found = engine.outcomes(read(WHOLE, "whole.lit")[0], model(DEFAULT_MODEL), ASKED)
        (state,) = found.states
        shown = dict(zip(found.columns, state.values, strict=True))
        assert [shown[f"s[{at}]"] for at in range(4)] == [1, 2, 3, 4]


WIDE = """ptx wide
.shared @ d0.c0.b0 .u32 s[4] = {1, 5, 0, 0};
.global .u32 h[4];
thread A @ d0.c0.b0 {
    cp.reduce.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.add.u64 [h], [s], 16;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
}
exists (h == 1 && h[1] == 5)
"""
MANY = """ptx many
.shared @ d0.c0.b0 .u32 s[4] = {1, 5, 0, 0};
.global .u32 h[4];
thread A @ d0.c0.b0 {
    ld.weak.global.u32 a, [h];
    ld.weak.global.u32 b, [h];
    ld.weak.global.u32 c, [h];
    st.weak.shared::cta.u32 [s], a + 64 * b + 4096 * c;
}
thread B @ d0.c0.b0 {
    REDUCE
}
exists (h == 0)
"""
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [h], [s], 16; "


def test_where_there_are_too_many_values_every_answer_is_open() -> None:
    found = enumeration.check(read(MANY.replace("REDUCE", 4 * REDUCE), "many.lit")[0], model(DEFAULT_MODEL), ASKED)
    assert {found.verdict, found.race.verdict, found.hang.verdict, found.undefined.verdict} == {"unknown"}


def test_a_reduction_of_elements_wider_than_what_is_asked_for_adds_each_once() -> None:
    program = read(WIDE, "wide.lit")[0]
    for engine in (enumeration, solver):
        assert engine.check(program, model(DEFAULT_MODEL), ASKED).verdict == "allowed"
        (state,) = engine.outcomes(program, model(DEFAULT_MODEL), ASKED).states
        assert state.values == (1, 5)


@pytest.mark.parametrize("engine", [solver.check, enumeration.check], ids=["z3", "enumeration"])
@pytest.mark.parametrize("code", ["bar.warp.sync 2;", "m = 6; bar.warp.sync m;", "elect.sync _|p, 2;"])
def test_a_mask_that_lacks_the_lane_that_executes_it_is_undefined(
    engine: Callable[[Program, Model, Options], Result], code: str
) -> None:
    (program,) = read(f"ptx lacks\nthread A @ d0.c0.b0.w0.l0 {{ {code} }} thread B @ d0.c0.b0.w0.l1 {{ }}", "lacks.lit")
    assert engine(program, model("ptx-9.4"), ASKED).undefined.verdict == "yes"


STORE = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [y], 1, [m];"
NO_COMPLETE = "mbarrier.arrive.noComplete.shared::cta.b64 t, [m], 1; mbarrier.pending_count.b64 c, t;"


@pytest.mark.parametrize("engine", [solver.check, enumeration.check], ids=["z3", "enumeration"])
@pytest.mark.parametrize(
    ("code", "more", "verdict"),
    [
        pytest.param(STORE, "", "yes", id="st.async in a cluster of one CTA"),
        pytest.param(STORE, "thread B @ d0.c0.b1 { }", "no", id="st.async in a cluster of two"),
        pytest.param(NO_COMPLETE, "", "no", id="the count of a state that tells it"),
        pytest.param(
            "mbarrier.arrive.shared::cta.b64 t, [m]; mbarrier.pending_count.b64 c, t;", "", "yes", id="no count"
        ),
        pytest.param("mov.u64 t, 5; mbarrier.pending_count.b64 c, t;", "", "yes", id="no state"),
    ],
)
def test_what_asynchronous_stores_and_pending_counts_require(
    engine: Callable[[Program, Model, Options], Result], code: str, more: str, verdict: str
) -> None:
    wait = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 4; mbarrier.arrive.shared::cta.b64 _, [m], 2; "
    wait += "await mbarrier.try_wait.parity.shared::cta.b64 [m], 0;"
    text = ".shared @ d0.c0.b0 .mbarrier m(2); .shared @ d0.c0.b0 .u32 y;"
    thread = f"thread A @ d0.c0.b0 {{ {code} {wait if code is STORE else ''} }}"
    (program,) = read(f"ptx required\n{text}\n{thread}\n{more}", "required.lit")
    assert engine(program, model("ptx-9.4"), ASKED).undefined.verdict == verdict


@pytest.mark.parametrize("engine", [solver.check, enumeration.check], ids=["z3", "enumeration"])
@pytest.mark.parametrize("loads", [True, False], ids=["load", "store"])
@pytest.mark.parametrize(
    ("corner", "address", "verdict"),
    [((0, 0), 0, "no"), ((4, 1), 0, "no"), ((8, 0), 0, "no"), ((2, 0), 0, "yes"), ((7, 1), 0, "yes"),
     ((0, 0), 16, "no"), ((0, 0), 4, "yes"), ((1, 0), 12, "yes")],
)  # fmt: skip
def test_a_tensor_copy_begins_at_a_multiple_of_16_bytes_of_an_array_that_does_so_too(
    engine: Callable[[Program, Model, Options], Result],
    loads: bool,
    corner: tuple[int, int],
    address: int,
    verdict: str,
) -> None:
    box = f"[D, {{{corner[0]}, {corner[1]}}}]"
    load = f"cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], {box}, [m];"
    arm, wait = (
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 32;",
        "await mbarrier.try_wait.parity.shared::cta.b64",
    )
    store = f"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group {box}, [s];"
    copy = (
        f"{arm} {load} {wait} [m], 0;" if loads else f"{store} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    )
    fences = "fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [D], 128;"
    text = f"""ptx begins
.global .u32 a[32]; .global .tensormap D -> a dims(8, 2) box(4, 2);
.shared @ d0.c0.b0 .u32 s[8]; .shared @ d0.c0.b0 .mbarrier m(1);
thread A @ d0.c0.b0 {{ st.weak.global.u64 [D], &a + {address}; {fences} {copy} }}"""
    (program,) = read(text, "begins.lit")
    assert engine(program, model("ptx-9.4"), ASKED).undefined.verdict == verdict


@pytest.mark.parametrize(
    ("copy", "asked"),
    [
        ("cp.async.bulk.global.shared::cta.bulk_group [a], [s], 64;", ""),
        ("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [D, {0, 0}], [s];", ""),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [a], [s], 16;", ""),
        ("cp.async.bulk.global.shared::cta.bulk_group [a], [s], 64;", "locations [a[9]; a[15]]"),
    ],
)
def test_every_element_that_is_shown_of_a_long_copy_is_what_was_copied(copy: str, asked: str) -> None:
    ends = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    source = f".shared @ d0.c0.b0 .u32 s[16] = {{{', '.join(map(str, range(1, 17)))}}};"
    objects = f".global .u32 a[40];\n{source}\n.global .tensormap D -> a dims(8, 4) box(4, 4) acquired;"
    (program,) = read(f"ptx long\n{objects}\nthread A @ d0.c0.b0 {{ {copy} {ends} }}\n{asked}", "long.lit")
    (ours,) = enumerate_states(program, model("ptx-9.4"), ASKED).states
    (theirs,) = enumeration.outcomes(program, model("ptx-9.4"), ASKED).states
    assert ours.values == theirs.values
    leaves = columns(program)
    state, other = tuple(zip(leaves, ours.values, strict=True)), tuple((leaf, 99) for leaf in leaves)
    asking = Asking(program, model("ptx-9.4"), ASKED, leaves)
    assert [one.verdict for one in asking.reached([state, other])] == ["allowed", "forbidden"]
