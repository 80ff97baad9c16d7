"""Arithmetic in kernels of `ptxmm run`: at every type as the model computes it, and as an assembler takes it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from building import model
from machine.runs import seen, states

from ptxmm import arith, check, enumeration
from ptxmm.arith import Type
from ptxmm.errors import Unsupported
from ptxmm.gpu.source import kernel
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.syntax.lit import read

PTXAS = shutil.which("ptxas")
WHOLE = ("+", "-", "*", "/", "%", "&", "|", "^")
NAMED = ("min", "max")
ORDERS = tuple(sorted(arith.COMPARISONS))
BITS = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}
NUMBERS = {"f16": (0xBC00, 0x3E00), "bf16": (0xBF80, 0x3FC0), "f32": (0xBF800000, 0x3FC00000),
           "f64": (0xBFF0000000000000, 0x3FF8000000000000)}  # fmt: skip
"""-1 and 1.5 at each floating type."""


def only(text: str) -> Program:
    (program,) = read(text, "t.lit")
    return program


def type_of(name: str) -> Type:
    if name in NUMBERS:
        return Type(name[: name.index("f") + 1], int(name[name.index("f") + 1 :]))
    return Type(name[0], BITS[name])


def asked(name: str, left: int, right: int) -> Program:
    """A test that asks what every operator gives, for two words of memory of a type."""
    kind = type_of(name)
    ops = [f"{op}({{}}, {{}})" for op in NAMED] + [f"{{}} {op} {{}}" for op in (("+", "-", "*"), WHOLE)[name in BITS]]
    values = [(text, arith.binary(text.split("(")[0] if "(" in text else text[3:-3], left, right, kind))
              for text in ops]  # fmt: skip
    values += [(f"{{}} {op} 3", arith.binary(op, left, 3, kind)) for op in ("<<", ">>") if name in BITS]
    values += [("-({})", arith.unary("-", left, kind)), ("abs({})", arith.unary("abs", left, kind))]
    values += [("~{}", arith.unary("~", left, kind)), ("popc({})", arith.unary("popc", left, kind))][
        : 2 * (name in BITS)
    ]
    atoms = [f"{text.format('x', 'y')} == {shown(value, name)}" for text, value in values]
    truths = [f"{'' if arith.binary(op, left, right, kind) else '!'}(x {op} y)" for op in ORDERS]
    load = "b16" if name in ("f16", "bf16") else name
    thread = f"thread A @ d0.c0.b0 {{ ld.weak.global.{load} r, [x]; }}"
    words = f".global .{name} x = {shown(left, name)}; .global .{name} y = {shown(right, name)};"
    return only(f"ptx asked\n{words}\n{thread}\nexists ({' && '.join([*atoms, *truths])})\nlocations [x; y]")


def shown(value: int, name: str) -> str:
    return hex(value) if name in NUMBERS else str(arith.number(value, type_of(name)))


PAIRS = [(name, *pair) for name, pair in NUMBERS.items()]
PAIRS += [(name, (1 << bits) - 7, 1 << (bits - 1)) for name, bits in BITS.items()]


@pytest.mark.parametrize(("name", "left", "right"), PAIRS, ids=[name for name, *_ in PAIRS])
def test_a_question_is_computed_at_every_type_as_the_model_computes_it(name: str, left: int, right: int) -> None:
    (counted,) = seen(asked(name, left, right), warps=1)
    assert states(counted) == {(left, right)}
    assert counted.holding == counted.instances > 0


def needs(declared: str, code: str, condition: str = "") -> tuple[tuple[int, int], str]:
    made = kernel(only(f"ptx needs\n{declared}\nthread A @ d0.c0.b0 {{ {code} }}\n{condition}"))
    return made.version, made.target


HALF = ".global .{0} x; .global .{0} y;"
LOADS = "ld.weak.global.b16 r, [x]; ld.weak.global.b16 q, [y];"


@pytest.mark.parametrize(("kind", "question", "least"), [
    ("bf16", "x < y", ((7, 8), "sm_90")),
    ("bf16", "-x == y", ((7, 8), "sm_90")),
    ("f16", "x < y", ((7, 0), "sm_70")),
    ("f16", "max(x, y) == x", ((7, 0), "sm_80")),
    ("u16", "max(x, y) == x", ((7, 0), "sm_70")),
])  # fmt: skip
def test_arithmetic_of_halves_needs_the_target_that_has_it(
    kind: str, question: str, least: tuple[tuple[int, int], str]
) -> None:
    assert needs(HALF.format(kind), LOADS, f"exists ({question})") == least


def test_one_of_two_values_of_128_bits_is_chosen_by_halves() -> None:
    wide = 0x112233445566778899AABBCCDDEEFF00
    code = "ld.weak.b128 r, [x]; ld.weak.b128 q, [y]; ld.weak.u32 k, [c]; .reg .b128 t; t = k ? r : q;"
    test = only(f"""ptx chosen
        .global .b128 x = {wide}; .global .b128 y = 5; .global .u32 c = 1;
        thread A @ d0.c0.b0 {{ {code} st.weak.b128 [y], t; }}
        exists (y == {wide})""")
    (counted,) = seen(test, warps=1)
    assert states(counted) == {(wide,)}


@pytest.mark.parametrize(("device", "version"), [(0, (8, 3)), (1, (8, 4))])
def test_the_final_read_of_128_bits_in_system_scope_needs_a_newer_version(
    device: int, version: tuple[int, int]
) -> None:
    other = f"thread B @ d{device}.c1.b1 {{ ld.weak.global.b128 r, [x]; }}"
    assert needs(f".global .b128 x; {other}", "st.weak.global.b128 [x], 1;", "exists (x == 1)")[0] == version


def test_two_numbers_at_once_are_not_computed_with() -> None:
    with pytest.raises(Unsupported, match=r"two numbers at once \(`\.f16x2`\)"):
        needs(".global .f16x2 x;", "ld.weak.global.b32 r, [x];", "exists (x == 0)")


@pytest.mark.skipif(PTXAS is None, reason="there is no ptxas")
@pytest.mark.parametrize(
    ("name", "left", "right"), PAIRS[:: len(PAIRS) // 5], ids=[n for n, *_ in PAIRS][:: len(PAIRS) // 5]
)
def test_an_assembler_takes_what_a_question_computes(name: str, left: int, right: int, tmp_path: Path) -> None:
    source = tmp_path / "kernel.ptx"
    source.write_text(kernel(asked(name, left, right)).text)
    command = [PTXAS or "ptxas", "-arch=sm_90a", str(source), "-o", str(tmp_path / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


NOT_A_NUMBER = """ptx not-a-number
.global .b{bits} x = {nan}; .global .{kind} y = {one};
thread A @ d0.c0.b0 {{ .reg .{kind} a, b; ld.weak.global.b{bits} a, [x]; ld.weak.global.b{bits} b, [y];
    setp.ne.{kind} p, a, b; q = a != b; setp.eq.{kind} r, a, a; setp.gt.{kind} s, a, b; min.{kind} c, a, b;
    abs.{kind} d, b; neg.{kind} e, d; setp.ne.{kind} t, e, d; }}
exists (!A.p && A.q && !A.r && !A.s && A.c == y && A.d == y && A.e == -A.d && A.t)
"""


@pytest.mark.parametrize(("kind", "nan", "one"), [
    ("f16", 0x7FFF, 0x3C00), ("bf16", 0x7FC0, 0x3F80), ("f32", 0x7FC00000, 0x3F800000),
    ("f64", 0x7FF8 << 48, 0x3FF0 << 48),
])  # fmt: skip
def test_what_is_no_number_differs_by_an_operator_and_not_by_setp_ne(kind: str, nan: int, one: int) -> None:
    bits = int(kind.removeprefix("b")[1:])
    test = only(NOT_A_NUMBER.format(bits=bits, kind=kind, nan=hex(nan), one=hex(one)))
    (counted,) = seen(test, warps=1)
    assert counted.holding == counted.instances > 0
    for engine in (check, enumeration):
        assert engine.check(test, model("ptx-9.4"), Options()).verdict == "allowed"
