"""What the code of a thread means: types of registers, arithmetic, sugar, control flow."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmm.arith import PRED, Type, binary, signed, unary, wrap
from ptxmm.errors import InputError
from ptxmm.program import (
    Addr,
    Assign,
    Atomic,
    Binary,
    Branch,
    Const,
    Exit,
    Expr,
    Label,
    Load,
    Nop,
    Reg,
    Select,
    Store,
    Thread,
    Unary,
)
from ptxmm.syntax.lit import read

MEMORY = (
    "ptx t .global .u32 x = 7; .global .s32 n = -7; .global .u64 q; .global .u8 c; .global .u32 a[4]; .global .f32 f;"
)


def thread(body: str) -> Thread:
    (program,) = read(f"{MEMORY} thread A @ d0.b0 {{ {body} }}", "t.lit")
    return program.threads[0]


def refused(body: str) -> str:
    with pytest.raises(InputError) as caught:
        thread(body)
    return caught.value.message


def types(body: str) -> dict[str, str]:
    return {name: str(type_) for name, type_ in thread(body).types.items()}


def evaluate(expr: Expr, registers: dict[str, int]) -> int:
    """The value of an expression over registers."""
    match expr:
        case Const(value):
            return value
        case Reg(name):
            return registers.get(name, 0)
        case Unary(op, arg, type_):
            return unary(op, evaluate(arg, registers), type_)
        case Binary(op, left, right, type_):
            return binary(op, evaluate(left, registers), evaluate(right, registers), type_)
        case Select(cond, then, other):
            return evaluate(then if evaluate(cond, registers) else other, registers)
    raise AssertionError(expr)


def run(code: Thread, steps: int = 10_000) -> dict[str, int]:
    """The registers at the end of a thread that touches no memory."""
    labels = {s.name: i for i, s in enumerate(code.body) if isinstance(s, Label)}
    registers = {name: value.value for name, value in code.init.items() if isinstance(value, Const)}
    at = 0
    while at < len(code.body):
        steps -= 1
        assert steps, "the thread does not end"
        statement = code.body[at]
        at += 1
        if statement.guard is not None and not evaluate(statement.guard, registers):
            continue
        match statement:
            case Assign(dst=dst, value=value):
                registers[dst] = wrap(evaluate(value, registers), code.types[dst].bits)
            case Branch(target=target):
                at = labels[target]
            case Exit():
                break
            case Label() | Nop():
                pass
            case _:
                raise AssertionError(statement)
    return registers


def result(body: str, register: str = "r") -> int:
    return run(thread(body))[register]


# --- types ------------------------------------------------------------------------------------------------------------


def test_a_register_has_the_type_of_the_instruction_that_writes_it() -> None:
    assert types("ld.weak.u32 r0, [x]; ld.s32 %r1, [n]; ld.u64 r2, [q]; atom.add.u32 r3, [x], 1; ld r4, [x];") == {
        "r0": "u32",
        "r1": "s32",
        "r2": "u64",
        "r3": "u32",
        "r4": "u32",
    }


def test_an_8_bit_load_gives_a_register_of_16_bits() -> None:
    assert types("ld.u8 r0, [c]; ld.s8 r1, [c];") == {"r0": "u16", "r1": "s16"}


def test_a_register_that_loads_write_is_as_wide_as_its_other_instructions_need() -> None:
    assert types("ld.s8 r0, [c]; st.u32 [x], r0;") == {"r0": "s32"}
    assert types("ld.u8 r0, [c]; st.u64 [q], r0;") == {"r0": "u64"}
    assert types("mov.u32 r0, 0; ld.s8 r0, [c];") == {"r0": "s32"}
    assert types("ld.s8 r0, [c]; ld.u32 r1, [x]; add.u32 r2, r1, r0;")["r0"] == "s32"
    assert types("ld.s8 r0, [c]; atom.add.u32 _, [x], r0;") == {"r0": "s32"}
    assert types("ld.u8 r0, [c]; st.u8 [c], r0;") == {"r0": "u16"}
    assert types("ld.u32 r0, [x]; ld.u64 r0, [q];") == {"r0": "u64"}


def test_where_nothing_says_how_wide_a_loaded_register_is_the_hint_says_how_to() -> None:
    for body, declared in (
        ("ld.s8 r0, [c]; ld.u32 r1, [x]; r2 = r1 + r0;", "`.reg .b32 r0;`"),
        ("ld.u32 r0, [x]; st.u64 [q], r0;", "`.reg .b64 r0;`"),
    ):
        with pytest.raises(InputError, match="width mismatch") as caught:
            thread(body)
        assert declared in caught.value.hint
        assert thread(declared.strip("`") + body)


@pytest.mark.parametrize(
    "line",
    [
        "st.f32 [f], 1;",
        "st [f], 1;",
        "st.f32 [f], 0x3f800000;",
        "mov.f32 r, 1;",
        "add.f32 r, 1.0, 1;",
        "setp.eq.f32 p, 1.0, 1;",
        "atom.add.f32 _, [f], 1;",
    ],
)
def test_an_integer_in_an_instruction_of_a_floating_type_is_refused_as_by_ptxas(line: str) -> None:
    with pytest.raises(InputError, match="is an integer") as caught:
        thread(line)
    assert "`0f3F800000`" in caught.value.hint


def test_denormals_are_not_flushed() -> None:
    for line in ("add.ftz.f32 r, 1.0, 1.0;", "mul.rn.ftz.f32 r, 1.0, 1.0;", "min.ftz.f32 r, 1.0, 1.0;"):
        assert "denormal" in refused(line)


def test_a_register_is_signed_where_it_is_loaded_as_signed() -> None:
    assert types("ld.s32 r0, [n]; add.u32 r0, r0, 1;")["r0"] == "s32"
    assert types("ld.u32 r0, [x]; add.s32 r0, r0, 1;")["r0"] == "u32"


def test_assigned_registers_take_the_type_of_their_operands_in_any_order() -> None:
    found = types("r3 = r2; r2 = r1 + 1; r1 = r0; r4 = 1; p = r0 == 1; z = p; w = p + 1; ld.s32 r0, [n]; v = 1 << 40;")
    assert found == {
        "r0": "s32",
        "r1": "s32",
        "r2": "s32",
        "r3": "s32",
        "r4": "u32",
        "p": "pred",
        "z": "pred",
        "w": "u32",
        "v": "u64",
    }


def test_registers_that_assign_each_other_have_32_bits() -> None:
    assert types("a1 = b1; b1 = a1;") == {"a1": "u32", "b1": "u32"}


def test_declared_registers_have_their_type_and_first_value() -> None:
    code = thread(".reg .u64 r0 = 5; .reg .pred p; .reg .b32 %t<3>; r0 = r0 + 1; %t1 = 2; p = r0 == 6;")
    assert {k: str(v) for k, v in code.types.items()} == {"r0": "u64", "p": "pred", "t1": "b32"}
    assert code.init == {"r0": Const(5)}
    assert run(code) == {"r0": 6, "t1": 2, "p": 1}


def test_a_comparison_is_signed_where_both_sides_are() -> None:
    body = "ld.s32 r0, [n]; ld.u32 r1, [x]; p = r0 < 0; p1 = r0 < r1; p2 = r1 > 2;"
    compared = [s.value for s in thread(body).body if isinstance(s, Assign)]
    assert [c.type for c in compared if isinstance(c, Binary)] == [Type("s", 32), Type("u", 32), Type("u", 32)]


def test_widths_that_conflict_are_refused() -> None:
    assert "width mismatch" in refused("mov.u32 r0, 1; ld.u64 r0, [q];")
    assert "width mismatch" in refused("atom.add.u32 r0, [x], 1; ld.u64 r0, [q];")
    assert "width mismatch" in refused("mov.f32 r0, 1.0; ld.u8 r0, [c];")
    assert "width mismatch" in refused("ld.u32 r0, [x]; ld.u64 r1, [q]; r2 = r0 + r1;")
    assert "width mismatch" in refused("ld.u32 r0, [x]; ld.u64 r1, [q]; if (r0 == r1) { exit; }")
    assert "width mismatch" in refused("ld.u64 r0, [q]; atom.add.u32 _, [x], r0;")
    assert "width mismatch" in refused("ld.u32 r0, [x]; st.u64 [q], r0;")
    assert "width mismatch" in refused("ld.u32 r0, [x]; @p exit; mov.u32 p, r0; setp.eq.u32 p, r0, 1;")


def test_what_is_written_has_the_width_of_the_access() -> None:
    assert "width mismatch" in refused("ld.u64 r0, [q]; atom.add.u32 _, [x], r0 + 1;")
    assert "width mismatch" in refused("ld.u32 r0, [x]; st.v2.u64 [a], {r0, 1};")
    assert "width mismatch" in refused("st.u32 [x], q; st.u64 [q], x; atom.exch.b32 _, [x], q;")
    assert "width mismatch" in refused("ld.u32 r0, [x]; p = r0 == 1; st.u32 [x], p;")
    assert "no predicate" in refused("ld.u32 r0, [x]; bar.red.popc.u32 r1, 0, r0;")
    assert len(thread("ld.u32 r0, [x]; st.u32 [x], r0 == 1; st.u64 [q], x; cvt.u64.u32 r1, r0;").body) == 4


def test_shared_memory_of_another_cta_is_reached_by_the_cluster_window() -> None:
    memory = "ptx t .shared @ d0.c0.b1 .u32 s; "
    with pytest.raises(InputError, match="another CTA") as caught:
        read(memory + "thread A @ d0.c0.b0 { st.weak.shared.u32 [s], 1; }", "t.lit")
    assert caught.value.hint == "write `st.weak.shared::cluster.u32`"
    for space in (".shared::cluster", ""):
        assert read(f"{memory} thread A @ d0.c0.b0 {{ st.weak{space}.u32 [s], 1; }}", "t.lit")


def test_a_store_may_cut_a_wider_register() -> None:
    assert isinstance(thread("ld.u64 r0, [q]; st.u32 [x], r0; st.u8 [c], r0;").body[1], Store)


def test_a_register_that_nothing_writes_is_refused_wherever_it_is_read() -> None:
    for body in (
        "st.u32 [x], r1;",
        "ld.u32 r0, [r1];",
        "r0 = r1;",
        "@r1 exit;",
        "if (r1) { }",
        "atom.add.u32 _, [x], r1;",
    ):
        assert "nothing writes register `r1`" in refused(body)


# --- addresses --------------------------------------------------------------------------------------------------------


def address(body: str) -> Expr:
    last = thread(body).body[-1]
    assert isinstance(last, Load | Store | Atomic)
    return last.address


def test_static_addresses_are_byte_offsets() -> None:
    assert address("ld.u32 r0, [a+8];") == Addr("a", 8)
    assert address("ld.u32 r0, [a[1]];") == Addr("a", 4)
    assert address("ld.u32 r0, [a[1] + 4];") == Addr("a", 8)
    assert address("ld.u32 r0, [4 + a];") == Addr("a", 4)


def test_addresses_in_registers_are_computed_with_64_bits() -> None:
    assert address("mov.u64 r1, a; ld.u32 r0, [r1+4];") == Binary("+", Reg("r1"), Const(4), Type("u", 64))
    index = Binary("*", Reg("r1"), Const(4), Type("u", 64))
    assert address("ld.u32 r1, [x]; ld.u32 r0, [a[r1]];") == Binary("+", Addr("a"), index, Type("u", 64))


def test_a_signed_index_counts_backwards() -> None:
    where = address("ld.s32 r1, [n]; ld.u32 r0, [a[r1]];")
    assert isinstance(where, Binary)
    assert signed(evaluate(where.right, {"r1": wrap(-2, 32)}), 64) == -8


def test_the_address_of_memory_is_a_value() -> None:
    values = [s.value for s in thread("r1 = &x; mov.u64 r2, x; mov.u64 r3, a+4; r4 = &a[1]; r5 = &a + 4;").body]  # type: ignore[union-attr]
    assert values == [Addr("x"), Addr("x"), Addr("a", 4), Addr("a", 4), Addr("a", 4)]


# --- arithmetic -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mov.u32 r, 7;", 7),
        ("add.u32 r, 4294967295, 2;", 1),
        ("sub.s32 r, 1, 2;", 0xFFFFFFFF),
        ("mul.lo.u32 r, 65536, 65537;", 65536),
        ("mul.wide.u32 r, 65536, 65536;", 1 << 32),
        ("mov.s32 q1, -2; mul.wide.s32 r, q1, 3;", (1 << 64) - 6),
        ("mad.lo.u32 r, 3, 4, 5;", 17),
        ("div.s32 r, -7, 2;", 0xFFFFFFFD),
        ("rem.u32 r, 7, 4;", 3),
        ("and.b32 r, 12, 10;", 8),
        ("or.b32 r, 12, 10;", 14),
        ("xor.b32 r, 12, 10;", 6),
        ("not.b32 r, 0;", 0xFFFFFFFF),
        ("neg.s32 r, 1;", 0xFFFFFFFF),
        ("abs.s32 r, -5;", 5),
        ("shl.b32 r, 1, 4;", 16),
        ("shr.u32 r, 0x80000000, 31;", 1),
        ("shr.s32 r, 0x80000000, 31;", 0xFFFFFFFF),
        ("min.s32 r, -1, 1;", 0xFFFFFFFF),
        ("min.u32 r, -1, 1;", 1),
        ("max.u32 r, -1, 1;", 0xFFFFFFFF),
        ("popc.b32 r, 255;", 8),
        ("mov.u64 w, 255; popc.b64 r, w;", 8),
        ("setp.lt.s32 r, -1, 0;", 1),
        ("setp.lt.u32 r, -1, 0;", 0),
        ("setp.eq.u32 p, 1, 1; setp.eq.and.u32 r, 1, 2, p;", 0),
        ("setp.ne.u32 p, 1, 1; selp.u32 r, 10, 20, p;", 20),
        ("mov.u32 s1, 5; cvt.u64.u32 r, s1;", 5),
        ("mov.s32 s1, -5; cvt.s64.s32 r, s1;", (1 << 64) - 5),
        ("mov.u64 w, 0x100000007; cvt.u32.u64 r, w;", 7),
        ("mov.u16 h, 0x1ff; cvt.u32.u8 r, h;", 0xFF),
        ("mov.u16 h, 0x1ff; cvt.s32.s8 r, h;", 0xFFFFFFFF),
        ("mov.f32 r, 1.5;", 0x3FC00000),
        ("add.f32 r, 1.5, 1.0;", 0x40200000),
        ("add.f32 r, 1.5, 0f3F800000;", 0x40200000),
    ],
)
def test_register_arithmetic_computes_what_ptx_computes(line: str, expected: int) -> None:
    assert result(line) == expected


@pytest.mark.parametrize("text", ["1 == 1", "0 != 0", "!(1 < 0)", "!0"])
def test_a_comparison_of_numbers_is_a_predicate(text: str) -> None:
    assert thread(f"p = {text}; bar.red.popc.u32 r, 0, p;").types["p"] == PRED


def test_a_predicate_guards_an_instruction() -> None:
    assert result("setp.eq.u32 p, 1, 1; @p mov.u32 r, 1; @!p mov.u32 r, 2; @(p && 1 == 1) r = r + 10;") == 11


WRONG = [
    "add r0, 1, 2;",
    "add.u33 r0, 1, 2;",
    "add.f32.u32 r0, 1, 2;",
    "mul.u32 r0, 1, 2;",
    "add.u32 r0, 1;",
    "setp.lt.b32 p, 1, 2;",
]


@pytest.mark.parametrize("line", WRONG)
def test_wrong_arithmetic_is_refused(line: str) -> None:
    assert refused(line)


# --- sugar ------------------------------------------------------------------------------------------------------------

NUMBERS = st.integers(0, 2**32 - 1)
OPERATORS = st.sampled_from(["+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||"])


@st.composite
def c_expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """C text over `a1` and `b1`, fully parenthesised, so that Python reads it alike."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(["a1", "b1"]))
    left, right = draw(c_expressions(depth - 1)), draw(c_expressions(depth - 1))
    return f"({left} {draw(OPERATORS)} {right})"


ARITHMETIC: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def c_value(text: str, names: dict[str, int]) -> int:
    """The value of a C expression over 32-bit unsigned registers, by Python's own parser."""

    def value(node: ast.expr) -> int:
        match node:
            case ast.Name(id=name):
                return names[name]
            case ast.BoolOp(op=ast.And(), values=[x, y]):
                return int(bool(value(x)) and bool(value(y)))
            case ast.BoolOp(op=ast.Or(), values=[x, y]):
                return int(bool(value(x)) or bool(value(y)))
            case ast.Compare(left=x, ops=[op], comparators=[y]):
                return int(ARITHMETIC[type(op)](value(x), value(y)))
            case ast.BinOp(left=x, op=op, right=y):
                return ARITHMETIC[type(op)](value(x), value(y)) & 0xFFFFFFFF
        raise AssertionError(ast.dump(node))

    return value(ast.parse(text.replace("&&", "and").replace("||", "or"), mode="eval").body)


@given(c_expressions(), NUMBERS, NUMBERS)
def test_expressions_mean_what_c_means(text: str, a: int, b: int) -> None:
    body = f"mov.u32 a1, {a}; mov.u32 b1, {b}; mov.u32 r, 0; r = {text};"
    assert result(body) == c_value(text, {"a1": a, "b1": b})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("1 << 2 + 1", 8),
        ("7 & 3 == 3", 1),
        ("1 | 2 ^ 3 & 1", 3),
        ("!0 + 1", 2),
        ("~0", 0xFFFFFFFF),
        ("-1 >> 28", 0xFFFFFFFF),
        ("a1 >> 28", 0xF),
        ("a1 ? 3 : 4", 3),
        ("a1 == 0 ? 3 : a1 == 1 ? 4 : 5", 5),
        ("min(a1, 2) + max(1, 2)", 4),
        ("popc(a1)", 32),
        ("lt.s32(a1, 0) + 1", 2),
        ("7 / 2 + 7 % 2", 4),
        ("a1 == -1", 1),
        ("0x10 + 0b11 + 7u", 26),
    ],
)
def test_precedence_is_that_of_c(text: str, expected: int) -> None:
    assert result(f"mov.u32 a1, -1; mov.u32 r, 0; r = {text};") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (1 == 1) { r = 1; } else { r = 2; }", 1),
        ("if (1 == 2) { r = 1; } else { r = 2; }", 2),
        ("if (1 == 2) { r = 1; } else if (2 == 2) { r = 3; } else { r = 2; }", 3),
        ("if (r) { r = 1; }", 0),
        ("while (r < 5) { r = r + 1; }", 5),
        ("do { r = r + 1; } while (r < 0);", 1),
        ("repeat (4) { r = r + 2; }", 8),
        ("repeat (0) { r = 1; }", 0),
        ("repeat (3) { r = r + 1; if (r == 2) { bra L; } r = r + 10; L: r = r; }", 33),
        ("repeat (2) { repeat (3) { r = r + 1; } }", 6),
        ("r = 1; exit; r = 2;", 1),
        ("r = 1; setp.eq.u32 p, r, 1; @p bra END; r = 2; END: ret;", 1),
        ("i = 0; while (i < 3) { j = 0; do { r = r + 1; j = j + 1; } while (j < 2); i = i + 1; }", 6),
    ],
)
def test_control_flow_runs_as_in_c(body: str, expected: int) -> None:
    assert result(f".reg .u32 r = 0; r = r; {body}") == expected


def test_labels_that_are_made_differ_from_those_of_the_test() -> None:
    code = thread("if_1: endif_1: if (1 == 1) { r0 = 1; } bra endif_1;")
    labels = [s.name for s in code.body if isinstance(s, Label)]
    assert len(labels) == len(set(labels)) == 3


def test_assume_keeps_its_condition() -> None:
    (assumed,) = [s for s in thread("ld.u32 r0, [x]; assume (r0 == 1);").body if type(s).__name__ == "Assume"]
    assert assumed.cond == Binary("==", Reg("r0"), Const(1), Type("u", 32))  # type: ignore[union-attr]


def test_a_predicate_register_in_a_condition_needs_no_comparison() -> None:
    branch = next(s for s in thread("setp.eq.u32 p, 1, 2; if (!p) { exit; }").body if isinstance(s, Branch))
    assert branch.guard == Reg("p")
    assert thread("setp.eq.u32 p, 1, 2; @!p exit;").body[-1].guard == Unary("!", Reg("p"), PRED)
