"""What a `.lit` test declares, where its threads sit, what it asks and what it expects."""

from __future__ import annotations

import pytest

from ptxmm.arith import U64, Type
from ptxmm.errors import InputError
from ptxmm.program import (
    Addr,
    Binary,
    Const,
    FinalMem,
    FinalReg,
    Hardware,
    Object,
    Place,
    Program,
    Proxy,
    Quantifier,
    Space,
    Store,
    View,
    leaves,
)
from ptxmm.syntax.lit import read


def one(text: str) -> Program:
    (program,) = read("ptx t\n" + text, "t.lit")
    return program


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read("ptx t\n" + text, "t.lit")
    return caught.value.message


# --- memory -----------------------------------------------------------------------------------------------------------


def test_an_object_has_a_type_a_length_and_first_values() -> None:
    x, a, p, b = one(
        ".global .u32 x; .global .s8 a[4] = {1, -2}; .global .u64 p = &a + 1; .const .u16 b[] = {1, 2};"
    ).objects
    assert (x.type, x.length, x.init, x.space) == (Type("u", 32), 1, (Const(0),), Space.GLOBAL)
    assert (a.length, a.init) == (4, (Const(1), Const(-2), Const(0), Const(0)))
    assert p.init == (Addr("a", 1),)
    assert (b.length, b.space) == (2, Space.CONST)


def test_a_type_may_be_left_out_and_several_names_share_a_line() -> None:
    x, y, z = one(".global x, y = 2, z @ d1;").objects
    assert (x.type, y.init, z.device) == (Type("u", 32), (Const(2),), 1)


def test_floating_values_are_kept_as_bits() -> None:
    program = one(".global .f32 x = 1.5; .global .f32 y = 1; .global .f32 z = 0x3f800000; .global .f64 w = -0.5;")
    assert [o.init[0] for o in program.objects] == [
        Const(0x3FC00000),
        Const(0x3F800000),
        Const(0x3F800000),
        Const(0xBFE0000000000000),
    ]


def test_views_name_their_targets_in_any_order() -> None:
    views = one(".alias y = x; .texref t = y; .surfref s = x; .constref c = x; .global .u32 x;").views
    assert [(v.name, v.target, v.proxy) for v in views] == [
        ("y", "x", Proxy.GENERIC),
        ("t", "y", Proxy.TEXTURE),
        ("s", "x", Proxy.SURFACE),
        ("c", "x", Proxy.CONSTANT),
    ]
    assert isinstance(views[0], View)


SHARED = """
.shared @ d0.c0.* .u32 s[4];
thread A @ d0.c0.b0 { st.shared.u32 [s], 1; }
thread B @ d0.c0.b1 { st.shared.u32 [s], 2; st.u32 [s@b0], 3; st.u32 [s@b0[1]], 4; }
"""


def test_shared_memory_of_every_cta_is_one_object_a_cta() -> None:
    program = one(SHARED)
    assert [(o.name, o.owner) for o in program.objects] == [
        ("s@b0", Place(0, 0, 0)),
        ("s@b1", Place(0, 0, 1)),
    ]
    stores = [s for t in program.threads for s in t.body if isinstance(s, Store)]
    assert [s.address for s in stores] == [Addr("s@b0"), Addr("s@b1"), Addr("s@b0"), Addr("s@b0", 4)]


def test_shared_memory_of_one_cta_keeps_its_name_and_its_cluster_reaches_it() -> None:
    program = one(".shared @ d0.c0.b0 .u32 s; thread B @ d0.c0.b1 { st.shared::cluster.u32 [s], 1; }")
    assert (program.objects[0].name, program.objects[0].owner) == ("s", Place(0, 0, 0))
    assert "outside the cluster" in refused(".shared @ d0.c0.b0 .u32 s; thread B @ d0.c1.b1 { st.u32 [s], 1; }")
    assert "this CTA has no `s`" in refused(SHARED + "thread C @ d0.c1.b2 { st.u32 [s], 1; }")


# --- places -----------------------------------------------------------------------------------------------------------


def place(text: str) -> Place:
    return one(f"thread A @ {text} {{ }}").threads[0].place


def test_a_place_names_kernel_device_cluster_cta_warp_and_lane() -> None:
    assert place("k2.d1.c3.b4.w5.l6") == Place(1, 3, 4, 5, 6, 2)
    assert place("d1.c3.b4") == Place(1, 3, 4)


def test_a_cta_alone_has_a_cluster_that_no_other_has() -> None:
    threads = one("thread A @ d0.b0 { } thread B @ d0.b1 { } thread C @ d0.c1.b2 { } thread D @ d1.b2 { }").threads
    clusters = {(t.place.device, t.place.cluster) for t in threads}
    assert len(clusters) == 4


def test_threads_of_one_cta_that_name_no_cluster_share_it() -> None:
    a, b = one("thread A @ d0.b3 { } thread B @ d0.b3 { }").threads
    assert a.place == b.place


def test_a_cta_number_belongs_to_one_kernel() -> None:
    assert "already in kernel 0" in refused("thread A @ d0.c0.b0 { } thread B @ k1.d0.c1.b0 { }")


def test_a_thread_may_start_after_the_cta_of_another() -> None:
    assert one("thread A @ d0.b0 { } thread B @ d0.b1 after A { }").threads[1].after == "A"


# --- the question -----------------------------------------------------------------------------------------------------

BOTH = ".global .u32 x; .global .u8 c; .global .u32 a[2]; .alias y = x;\n"
CODE = BOTH + "thread A @ d0.b0 { ld.weak.u32 r0, [x]; ld.weak.s32 %r1, [x]; ld.weak.u8 r2, [c]; }\n"


@pytest.mark.parametrize(
    ("one_way", "another"),
    [
        ("exists (A.r0 == 1 && !(x == 2))", r"exists (A:r0 = 1 /\ ~(x = 2))"),
        ("exists (A.r0 == 1 || A.r1 == 2 && x == 3)", r"exists (A:r0=1 \/ (A:r1=2 /\ x=3))"),
        ("~exists (A.%r0 != 1)", "~ exists (A:r0 != 1);"),
        ("forall (not (x == 1))", "forall (!(x == 1))"),
        ("exists (a == 1)", "exists (a[0] = 1)"),
        ("exists (y == 1)", "exists ([x] = 1)"),
        ("exists (a[1] == 1)", "exists ([a+4] = 1)"),
    ],
)
def test_both_spellings_of_a_condition_mean_the_same(one_way: str, another: str) -> None:
    assert one(CODE + one_way).condition == one(CODE + another).condition


def formula(text: str) -> object:
    condition = one(f"{CODE}exists ({text})").condition
    assert condition is not None
    return condition.formula


def test_comparisons_are_at_the_type_of_what_is_compared() -> None:
    assert formula("A.r0 < 1") == Binary("<", FinalReg("A", "r0"), Const(1), Type("u", 32))
    assert formula("A.r1 < 1") == Binary("<", FinalReg("A", "r1"), Const(1), Type("s", 32))
    assert formula("A.r2 == c") == Binary("==", FinalReg("A", "r2"), FinalMem("c", 0, Type("u", 8)), Type("u", 16))


def test_memory_can_be_asked_at_another_type() -> None:
    assert formula(".u16 [x + 2] == 1") == Binary("==", FinalMem("x", 2, Type("u", 16)), Const(1), Type("u", 16))


def test_a_long_conjunction_is_a_shallow_tree() -> None:
    long = formula(" && ".join(["x == 1"] * 1000))
    assert isinstance(long, Binary)
    assert len(list(leaves(long))) == 2000

    def depth(expr: object) -> int:
        return 1 + max(depth(expr.left), depth(expr.right)) if isinstance(expr, Binary) else 0

    assert depth(long) < 15


def test_filter_and_locations() -> None:
    program = one(CODE + "filter (x == 1)\nexists (x == 1)\nlocations [x; A.r0; a[1];]")
    assert program.filter is not None
    assert program.locations == (FinalMem("x", 0, Type("u", 32)), FinalReg("A", "r0"), FinalMem("a", 4, Type("u", 32)))
    assert program.condition is not None
    assert program.condition.quantifier is Quantifier.EXISTS


def expectations(text: str) -> list[tuple[list[str], tuple[str, ...] | None]]:
    return [([str(w) for w in e.words], e.models) for e in one(CODE + "exists (x == 1)\n" + text).expects]


def test_every_word_of_expect() -> None:
    assert expectations(
        "expect allowed, no race, no hang, no undefined; expect forbidden, race under ptx-7.5, sc;"
    ) == [
        (["allowed", "no race", "no hang", "no undefined"], None),
        (["forbidden", "race"], ("ptx-7.5", "sc")),
    ]
    assert expectations("expect race on x, a, hang[obe], no hang[fair], undefined;") == [
        (["race on x, a", "hang[obe]", "no hang[fair]", "undefined"], None)
    ]
    assert expectations("expect unsupported under ptx-6.0;") == [(["unsupported"], ("ptx-6.0",))]


def test_lines_that_contradict_each_other_are_refused() -> None:
    lines = "exists (x == 1)\nexpect allowed; expect no race under sc; expect forbidden under sc;"
    assert one(CODE + lines)
    assert "contradicts" in refused(CODE + lines + "expect forbidden;")
    assert "contradicts" in refused(CODE + lines + "expect race under ptx-7.5, sc;")


def test_launches_and_notes_for_the_hardware() -> None:
    program = one(
        BOTH + "thread A @ k0.d0.b0 { } thread B @ k1.d0.b1 { }\nlaunch k1 with k0;\n"
        'hardware { require sm_90a; preload A: x, a; busy B: 32; skip "needs two GPUs"; }'
    )
    assert program.launches == ((1, "with", 0),)
    assert program.hardware == Hardware("sm_90a", (("A", ("x", "a")),), (("B", 32),), "needs two GPUs")


def test_comments_and_white_space_mean_nothing() -> None:
    plain = one(".global .u32 x; thread A @ d0.b0 { st.weak.u32 [x], 1; }")
    spaced = one("/* a\n b */ .global\t.u32 x ; // c\nthread A @ d0.b0\n{ st.weak.u32 [ x ] , 1 ; ; }\r\n")
    assert plain == spaced


def test_what_compilers_write_beside_instructions_means_nothing() -> None:
    pasted = """.global .u32 x; thread A @ d0.b0 {
	.reg .b32 	%r<3>;
	.loc	1 5 3, function_name $L__info_string0, inlined_at 1 20 3
	// begin inline asm
	atom.add.acq_rel.gpu.s32 %r1, [x], 1;
$L__BB0_1:
	.pragma "nounroll";
	bar.warp.sync 	-1;
	ret;
}"""
    assert [type(s).__name__ for s in one(pasted).threads[0].body] == ["Atomic", "Label", "WarpSync", "Exit"]


def test_names_may_be_words_of_the_language() -> None:
    program = one(
        ".global .u32 if; .global .u32 thread; thread exists @ d0.b0 { ld.u32 do, [if]; st.u32 [thread], do; }"
    )
    assert program.threads[0].types == {"do": Type("u", 32)}


# --- variants ---------------------------------------------------------------------------------------------------------

VARIANTS = """ptx t "purpose"
.global .u32 x;
thread A @ $PLACE { $PUB; st$Q.u32 [x], $V | 1; }
exists (x == 1)
variants
    name  | PUB                                   | Q           | PLACE    | V  | expect
    one   | -                                     | .weak       | d0.c0.b0 | 2  | allowed; forbidden under sc
    two   | st.weak.u32 [x], 1; r0 = 1            | .release.gpu | d0.c0.b1 | r0 | forbidden, race on x, no hang
end
"""


def test_each_row_of_variants_is_a_test_in_which_its_cells_are_put() -> None:
    one_, two = read(VARIANTS, "t.lit")
    assert (one_.full_name, two.full_name) == ("t[one]", "t[two]")
    assert [s.text for s in one_.threads[0].body] == ["st.weak.u32 [x], 2 | 1"]
    assert [s.text for s in two.threads[0].body] == ["st.weak.u32 [x], 1", "r0 = 1", "st.release.gpu.u32 [x], r0 | 1"]
    assert two.threads[0].place == Place(0, 0, 1)
    assert [e.models for e in one_.expects] == [None, ("sc",)]
    assert [str(w) for w in two.expects[0].words] == ["forbidden", "race on x", "no hang"]


def test_the_lines_of_statements_are_those_of_the_file() -> None:
    for program in read(VARIANTS, "t.lit"):
        assert {s.at.line for s in program.threads[0].body} == {3}
        assert all(e.at.line in (7, 8) for e in program.expects)


def test_dollars_in_the_names_of_labels_are_no_columns() -> None:
    body = one("thread A @ d0.b0 { $L__BB0_1: bra $L__BB0_1; }").threads[0].body
    assert len(body) == 2


def test_an_object_knows_its_size() -> None:
    assert isinstance(one(".global .u64 x[3];").objects[0], Object)
    assert one(".global .u64 x[3];").objects[0].size == 3 * U64.size
