"""The readers of Dartagnan's and NVIDIA's dialects."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmm.arith import PRED, S64, U32
from ptxmm.errors import InputError
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    Atomic,
    Bar,
    Barrier,
    Binary,
    Branch,
    Condition,
    Const,
    Expr,
    Fence,
    FinalMem,
    FinalReg,
    Label,
    Load,
    Order,
    Place,
    Program,
    Proxy,
    ProxyFence,
    Quantifier,
    Reg,
    Scope,
    Statement,
    Store,
    Unary,
    View,
    children,
)
from ptxmm.syntax import dartagnan, lit, nvidia
from ptxmm.syntax.print_lit import to_lit

PEERS = Path(__file__).resolve().parents[1].parent / "shared" / "peers"
COLUMNS = sorted((PEERS / "dat3m" / "litmus").rglob("*.litmus"))
BLOCKS = sorted((PEERS / "nvlitmus").glob("*.test"))

MP = """PTX two-threads
"A flag is passed"
"from CTA 0 to CTA 3"
{
x=0; flag=7;
P1:r0=0; P1:r5=-1; P1:r6=x;
y @ generic aliases x; s @ surface aliases y;
}
 P0@cta 0,gpu 0        | P1@cta 3, gpu 1          ;
 st.weak x, 1          | ld.acquire.gpu r0, flag  ;
 st.release.gpu flag, 1| suld.weak r1, s          ;
                       | (* nothing *)            ;
exists (P1:r0 == 1 /\\ ~(1:r1 = 1 \\/ x != 0x1))
"""

TABLE = """// what a surface load sees
.global x;
.global y physically aliases x;
.surfref s virtually aliases x;

d0.b0.t0 {
  st [x], 1;  // generic
  $0
  suld r0, [s];
}

$1(r0 $2 1) as seen;

$$
                     | permit | !=
# without a fence nothing is certain
fence.proxy.surface; | assert | ==
"""


def one(code: str, init: str = "x=0;", head: str = "P0@cta 0,gpu 0", question: str = "") -> Program:
    (program,) = dartagnan.read(f"PTX t\n{{ {init} }}\n{head} ;\n{code} ;\n{question}", "t.litmus")
    return program


def statement(code: str) -> Statement:
    return one(code).threads[0].body[0]


def block(code: str, rest: str = "") -> Program:
    return nvidia.read(f".global x;\nd0.b0.t0 {{ {code} }}\n{rest}", "t.test")[0]


def refusal(read: Callable[[], object]) -> InputError:
    with pytest.raises(InputError) as caught:
        read()
    return caught.value


# --- Dartagnan's dialect ---


def test_columns_are_threads_in_their_places() -> None:
    (program,) = dartagnan.read(MP, "mp.litmus")
    assert program.name == "two-threads"
    assert program.purpose == "A flag is passed from CTA 0 to CTA 3"
    assert [thread.name for thread in program.threads] == ["P0", "P1"]
    assert program.threads[1].place == Place(device=1, cluster=3, cta=3)
    assert [s.text for s in program.threads[1].body] == ["ld.acquire.gpu r0, flag", "suld.weak r1, s"]
    assert program.threads[1].body[1].at.line == 11


def test_initial_values_pointers_and_aliases() -> None:
    (program,) = dartagnan.read(MP, "mp.litmus")
    assert {obj.name: obj.init for obj in program.objects} == {"x": (Const(0),), "flag": (Const(7),)}
    assert program.threads[1].init == {"r5": Const(-1), "r6": Addr("x")}
    assert program.views == (View("y", "x", Proxy.GENERIC), View("s", "y", Proxy.SURFACE))
    assert program.physical("s").name == "x"


def test_a_location_equal_to_another_copies_its_initial_value() -> None:
    assert [obj.init for obj in one("st.weak x, 1", "x=3; y=x; z=&y;").objects] == [(Const(3),)] * 3


def test_a_location_that_is_only_used_starts_at_zero() -> None:
    assert [obj.name for obj in one("ld.weak r0, z", "").objects] == ["z"]


def test_every_register_and_location_has_one_type() -> None:
    (program,) = dartagnan.read(MP, "mp.litmus")
    assert {obj.type for obj in program.objects} == {S64}
    assert program.threads[1].types == dict.fromkeys(("r0", "r5", "r6", "r1"), S64)


def test_the_condition_binds_not_before_and_before_or() -> None:
    r0, r1, x = FinalReg("P1", "r0"), FinalReg("P1", "r1"), FinalMem("x", 0, S64)
    either = Binary("||", Binary("==", r1, Const(1), S64), Binary("!=", x, Const(1), S64), PRED)
    both = Binary("&&", Binary("==", r0, Const(1), S64), Unary("!", either, PRED), PRED)
    assert dartagnan.read(MP, "mp.litmus")[0].condition == Condition(Quantifier.EXISTS, both)


@pytest.mark.parametrize(
    ("question", "quantifier"),
    [
        ("exists (x == 0)", Quantifier.EXISTS),
        ("~exists x = 0;", Quantifier.NOT_EXISTS),
        ("not exists (x = 0)", Quantifier.NOT_EXISTS),
        ("forall (0 == 0)", Quantifier.FORALL),
    ],
)
def test_quantifiers(question: str, quantifier: Quantifier) -> None:
    condition = one("st.weak x, 1", question=question).condition
    assert condition is not None
    assert condition.quantifier is quantifier


def test_locations_and_filter_stand_before_the_condition() -> None:
    program = one("ld.weak r0, x", question="locations [x; 0:r0;]\nfilter (P0:r0 == 1) exists (x == 0)")
    assert program.locations == (FinalMem("x", 0, S64), FinalReg("P0", "r0"))
    assert program.filter == Binary("==", FinalReg("P0", "r0"), Const(1), S64)


def test_a_register_that_only_the_condition_names_is_the_threads_own() -> None:
    program = one("st.weak x, 1", question="exists (P0:r9 == 0)")
    assert program.threads[0].types == {"r9": S64}


def test_a_final_value_seen_through_an_alias_is_that_of_the_object() -> None:
    program = one("st.weak x, 1", "x=0; y @ generic aliases x;", question="exists (y == 1)")
    assert program.condition == Condition(Quantifier.EXISTS, Binary("==", FinalMem("x", 0, S64), Const(1), S64))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ld.weak r0, x", Load(dst=("r0",), address=Addr("x"), type=S64)),
        (
            "ld.acquire.sys r0, x",
            Load(dst=("r0",), address=Addr("x"), type=S64, order=Order.ACQUIRE, scope=Scope.SYS),
        ),
        ("tld.weak r0, x", Load(dst=("r0",), address=Addr("x"), type=S64, proxy=Proxy.TEXTURE)),
        ("cold.weak r0, x", Load(dst=("r0",), address=Addr("x"), type=S64, proxy=Proxy.CONSTANT)),
        ("sust.weak x, r1", Store(values=(Reg("r1"),), address=Addr("x"), type=S64, proxy=Proxy.SURFACE)),
        (
            "st.relaxed.cta x, -2",
            Store(values=(Const(-2),), address=Addr("x"), type=S64, order=Order.RELAXED, scope=Scope.CTA),
        ),
        ("ld r0, 1", Assign(dst="r0", value=Const(1))),
        ("ld r0, r1", Assign(dst="r0", value=Reg("r1"))),
        ("sub r0, r1, 2", Assign(dst="r0", value=Binary("-", Reg("r1"), Const(2), S64))),
        (
            "atom.acq_rel.gpu.sub r0, x, 1",
            Atomic(op="sub", dst=("r0",), address=Addr("x"), operands=(Const(1),), type=S64, order=Order.ACQ_REL),
        ),
        (
            "atom.relaxed.cta.cas r0, x, 0, r2",
            Atomic(
                op="cas", dst=("r0",), address=Addr("x"), operands=(Const(0), Reg("r2")), type=S64, scope=Scope.CTA
            ),
        ),
        (
            "red.acquire.gpu.add x, 1",
            Atomic(
                op="add", dst=(None,), address=Addr("x"), operands=(Const(1),), type=S64, order=Order.ACQUIRE,
                reduction=True,
            ),
        ),
        ("fence.sc.sys", Fence(order=Order.SC, scope=Scope.SYS)),
        ("fence.proxy.alias", ProxyFence(kind="alias")),
        ("bar.cta.sync 1", Barrier(kind=Bar.SYNC, id=Const(-1), instance="1")),
        ("bar.cta.sync 1, r2", Barrier(kind=Bar.SYNC, id=Reg("r2"), instance="1")),
        ("bar.cta.arrive 2, 1, 3", Barrier(kind=Bar.ARRIVE, id=Const(1), count=Const(3), instance="2")),
        ("LC00:", Label(name="LC00")),
    ],
)  # fmt: skip
def test_instructions(code: str, expected: Statement) -> None:
    assert statement(code) == expected


def test_branches_compare_and_go_to_labels_of_their_thread() -> None:
    body = one("LC00: ; bge r0, 1, LC01 ; goto LC00 ; LC01:").threads[0].body
    assert body[1] == Branch(target="LC01", guard=Binary(">=", Reg("r0"), Const(1), S64))
    assert body[2] == Branch(target="LC00")


def test_the_dialect_states_its_conventions() -> None:
    conventions = one("st.weak x, 1").conventions
    assert conventions.failed_cas_writes
    assert conventions.reductions_read
    assert conventions.named_instances
    assert conventions.branches_control_the_rest


@pytest.mark.parametrize(
    ("code", "message", "column"),
    [
        ("st.wek x, 1", "`st.wek` does not take `.wek` here", 4),
        ("st.weak.gpu x, 1", "a weak access takes no scope", 1),
        ("st.relaxed x, 1", "`st.relaxed` needs a scope", 1),
        ("st.acquire.gpu x, 1", "`st.acquire.gpu` takes no `.acquire`", 4),
        ("ld.gpu.relaxed r0, x", "`ld.gpu.relaxed` does not take `.relaxed` here", 8),
        ("sts.weak x, 1", "there is no instruction `sts`", 1),
        ("ld.weak x, r0", "`x` is not a register", 9),
        ("ld.weak r0", "`ld.weak` takes 2 operands, here are 1", 1),
        ("st.weak x, y", "`y` is neither a register nor a number", 12),
        ("st.weak x, 99999999999999999999", "this number has more than 64 bits", 12),
        ("red.relaxed.gpu.cas x, 1, 2", "`red.relaxed.gpu.cas` needs an operation", 1),
        ("atom.sc.gpu.add r0, x, 1", "`atom.sc.gpu.add` takes no `.sc`", 6),
        ("suatom.relaxed.gpu.add r0, x, 1", "atomic operations through the surface proxy are not supported", 1),
        ("fence.proxy.textures", "there is no `fence.proxy.textures`", 13),
        ("bar.cta.sync r0", "the instance of a barrier is a number", 14),
        ("beq r0, 1, LC09", "thread P0 has no label `LC09`", 1),
        ("add.u32 r0, r1, 1", "`add.u32` does not take `.u32` here", 5),
    ],
)
def test_a_wrong_instruction_is_pointed_at(code: str, message: str, column: int) -> None:
    error = refusal(lambda: one(code))
    assert (error.message, error.at.line, error.at.column) == (message, 4, column)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected `PTX NAME` at the start"),
        ("AArch64 t {}", "expected `PTX NAME` at the start"),
        ("PTX t", "expected `{` and initial values"),
        ("PTX t { x=0;", "the initial values do not end"),
        ("PTX t { x=0; }", "expected the threads"),
        ("PTX t { x=0; } P0@cta 0 ;", "expected a thread"),
        ("PTX t { x=0; } P0@cta 0,gpu 0 | P0@cta 0,gpu 0 ;", "there are two threads P0"),
        ("PTX t { P1:r0=0; } P0@cta 0,gpu 0 ;", "there is no thread P1"),
        ("PTX t { x=0; x=1; } P0@cta 0,gpu 0 ;", "`x` is declared twice"),
        ("PTX t { y @ generic aliases x; } P0@cta 0,gpu 0 ;", "there is no location `x`"),
        ("PTX t { x=0; y @ textur aliases x; } P0@cta 0,gpu 0 ;", "there is no proxy `textur`"),
        ("PTX t { x[2]; } P0@cta 0,gpu 0 ;", "expected an initial value"),
        (
            "PTX t { } P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ; st.weak x, 1 ;",
            "this row has 1 columns, and there are 2 threads",
        ),
        ("PTX t { } P0@cta 0,gpu 0 ; st.weak x, 1", "this row does not end"),
        ("PTX t { } P0@cta 0,gpu 0 ; exists (x == 0)", "there is no location `x`"),
        ("PTX t { x=0; } P0@cta 0,gpu 0 ; exists (x)", "expected a comparison, found `)`"),
        ("PTX t { x=0; } P0@cta 0,gpu 0 ; exists (r0 == 1)", "`r0` is a register of which thread?"),
        ("PTX t { x=0; } P0@cta 0,gpu 0 ; exists (x == 1", "expected `)` to close the parenthesis, found the end"),
        ("PTX t { x=0; } P0@cta 0,gpu 0 ; exists (x == 1) or", "expected the end of the file, found `or`"),
        ("PTX t { x=0; } P0@cta 0,gpu 0 ; exists " + "(" * 9999, "parentheses more than 64 deep"),
        ("PTX t { x=0; } P0@cta 0,gpu 0 ; ~forall (x == 1)", "expected a condition, found `forall`"),
        ("PTX t { } P0@cta 0,gpu 0 ; LC00: ; LC00: ;", "thread P0 has the label `LC00` twice"),
    ],
)
def test_a_wrong_file_is_pointed_at(text: str, message: str) -> None:
    assert refusal(lambda: dartagnan.read(text, "t.litmus")).message == message


def depth(expr: Expr) -> int:
    return 1 + max(map(depth, children(expr)), default=0)


def test_a_condition_of_thousands_of_parts_stays_shallow() -> None:
    condition = one("st.weak x, 1", question="exists " + " /\\ ".join(["~~x == 1"] * 5000)).condition
    assert condition is not None
    assert depth(condition.formula) < 100


# --- NVIDIA's dialect ---


def test_each_row_of_the_table_is_a_test_with_its_own_verdict() -> None:
    first, second = nvidia.read(TABLE, "dir/surface.test")
    assert [first.full_name, second.full_name] == ["surface[1]", "surface[2]"]
    assert [type(s) for s in second.threads[0].body] == [Store, ProxyFence, Load]
    seen = FinalReg("d0_b0_t0", "r0")
    assert first.condition == Condition(Quantifier.EXISTS, Binary("!=", seen, Const(1), U32))
    assert second.condition == Condition(Quantifier.FORALL, Binary("==", seen, Const(1), U32))
    assert [str(p.expects[0].words[0]) for p in (first, second)] == ["allowed", "holds"]
    assert first.expects[0].models == ("ptx-7.5",)
    assert second.views == (View("y", "x", Proxy.GENERIC), View("s", "x", Proxy.SURFACE))


def test_each_command_is_a_test_of_its_own() -> None:
    source = ".global x; d1.b2.t3 { ld r0, [x]; } assert (r0 == 0) as zero; permit (r0 != 0) as other;"
    assert [p.full_name for p in nvidia.read(source, "c.test")] == ["c[zero]", "c[other]"]
    assert nvidia.read(source, "c.test")[0].threads[0].place == Place(device=1, cluster=2, cta=2)


def test_a_value_to_return_is_a_constraint_after_the_load() -> None:
    load, assume = block("ld.acquire.cta r0, [x] == 1;").threads[0].body
    assert load == Load(dst=("r0",), address=Addr("x"), type=U32, order=Order.ACQUIRE, scope=Scope.CTA)
    assert assume == Assume(cond=Binary("==", Reg("r0"), Const(1), U32))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("st [x], 1;", Store(values=(Const(1),), address=Addr("x"), type=U32)),
        (
            "st.volatile [x], 1;",
            Store(values=(Const(1),), address=Addr("x"), type=U32, order=Order.RELAXED, scope=Scope.SYS),
        ),
        (
            "atom.add.acq_rel.sys r1, [x], 1;",
            Atomic(
                op="add", dst=("r1",), address=Addr("x"), operands=(Const(1),), type=U32, order=Order.ACQ_REL,
                scope=Scope.SYS,
            ),
        ),
        (
            "atom.cas r1, [x], 0, 1;",
            Atomic(op="cas", dst=("r1",), address=Addr("x"), operands=(Const(0), Const(1)), type=U32),
        ),
        ("ldc r1, [x];", Load(dst=("r1",), address=Addr("x"), type=U32, proxy=Proxy.CONSTANT)),
        ("fence.alias;", ProxyFence(kind="alias")),
        ("fence.acq_rel.cta;", Fence(order=Order.ACQ_REL, scope=Scope.CTA)),
    ],
)  # fmt: skip
def test_nvidias_instructions(code: str, expected: Statement) -> None:
    assert block(code).threads[0].body[0] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no threads"),
        (".global x", "expected a declaration, a thread or a command"),
        (".texrf t virtually aliases x;", "there is no `.texrf`"),
        (".texref t virtually aliases x;", "there is no location `x`"),
        (".global x; d0.b0.t0 { st x, 1; }", "`x` is not an address"),
        (".global x; d0.b0.t0 { st [x], r1; }", "no instruction of this thread before this one writes `r1`"),
        (".global x; d0.b0.t0 { st [x], 1 }", "this instruction does not end"),
        (".global x; d0.b0.t0 { st [x], 1 == 1; }", "only a load or an `atom` returns a value"),
        (".global x; d0.b0.t0 { ld r0, [x]; } d0.b0.t1 { ld r0, [x]; }", "`r0` is a register of another thread"),
        (".global x; d0.b0.t0 { ld r0, [x]; } assert (r1 == 0) as n;", "no instruction writes `r1`"),
        (".global x; d0.b0.t0 { ld r0, [x]; } asert (r0 == 0) as n;", "there is no command `asert`"),
        (
            ".global x; d0.b0.t0 { ld r0, [x]; } assert (not r0 == 0 && r0 == 1) as n;",
            "how far does this `not` reach?",
        ),
        (".global x; d0.b0.t0 { st [x], $1; } $$\n1", "this row has 1 cells, and the test uses `$1`"),
        (".global x; d0.b0.t0 { st [x], $0; } $$\n-", "`-` is neither a register nor a number, in row 1 of the table"),
        (".global x; d0.b0.t0 { st [x], 1; } $$\n", "the table has no rows"),
    ],
)
def test_a_wrong_test_of_nvidias_is_pointed_at(text: str, message: str) -> None:
    assert refusal(lambda: nvidia.read(text, "t.test")).message == message


# --- all files, good and bad ---


@pytest.mark.skipif(not COLUMNS, reason="the peers' tests are not here")
def test_all_of_dartagnans_tests_are_read() -> None:
    programs = [dartagnan.read(path.read_text(), str(path))[0] for path in COLUMNS]
    assert all(program.condition is not None and program.threads for program in programs)


@pytest.mark.skipif(not BLOCKS, reason="the peers' tests are not here")
def test_all_of_nvidias_tests_are_read() -> None:
    programs = [program for path in BLOCKS for program in nvidia.read(path.read_text(), str(path))]
    assert len({program.full_name for program in programs}) == len(programs) == 31
    assert all(program.expects for program in programs)


def converted(program: Program) -> Program:
    """The program written as `.lit` and read again."""
    (back,) = lit.read(to_lit(program), program.path)
    return back


@pytest.mark.parametrize("program", [*dartagnan.read(MP, "mp.litmus"), *nvidia.read(TABLE, "surface.test")])
def test_a_program_written_as_lit_reads_back_the_same(program: Program) -> None:
    assert converted(program) == program


@pytest.mark.skipif(not COLUMNS, reason="the peers' tests are not here")
def test_the_peers_tests_written_as_lit_read_back_the_same() -> None:
    sample = [path for path in COLUMNS if "CADP" not in path.parts]
    programs = [program for path in sample for program in dartagnan.read(path.read_text(), str(path))]
    programs += [program for path in BLOCKS for program in nvidia.read(path.read_text(), str(path))]
    assert [program.full_name for program in programs if converted(program) != program] == []


def either(text: str) -> None:
    """Both readers read a text or refuse it with an error that can be printed."""
    for reader in (dartagnan, nvidia):
        said = ""
        try:
            reader.read(text, "t")
        except InputError as error:
            said = str(error)
        assert not said or said.startswith("t:")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    either(text)
    either("PTX t {" + text)
    either("PTX t { x=0; } P0@cta 0,gpu 0 ;" + text)
    either(".global x; d0.b0.t0 {" + text + "}")


@given(st.randoms(use_true_random=False), st.sampled_from([MP, TABLE]))
def test_any_damaged_test_is_read_or_refused(rng: random.Random, text: str) -> None:
    for _ in range(rng.randint(1, 4)):
        at, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        piece = rng.choice(["", "(" * 500, "9" * 500, "not ~", ";", "|", "{", "}", "é\0", "$0", "$$\n", text[at:end]])
        text = text[:at] + piece + text[min(end, at + rng.randint(0, 30)) :]
    either(text)
