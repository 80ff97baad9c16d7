"""No input makes the `.lit` reader fail otherwise than with an InputError, or take minutes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxmm.errors import InputError
from ptxmm.resources import litmus_dir
from ptxmm.syntax.lit import read
from ptxmm.syntax.print_lit import to_lit

MEMORY = "ptx t .global .u32 x; "


def code(body: str) -> str:
    return f"{MEMORY}thread A @ d0.b0 {{ {body} }}"


ROWS = "".join(f"v{i} | {i}\n" for i in range(1200))
LARGE = {
    "parentheses": code("r = " + "(" * 5000 + "1" + ")" * 5000 + ";"),
    "signs": code("r = " + "-" * 20000 + "1;"),
    "sums": code("r = 1" + " + 1" * 20000 + ";"),
    "conditional operators": code("r = " + "1 ? 1 : " * 5000 + "1;"),
    "blocks": code("if (1) {" * 500 + "}" * 500),
    "else if": code("if (1) { }" + "else if (1) { }" * 5000),
    "repeat": code("repeat (1000000000) { r = 1; }"),
    "nested repeat": code("repeat (20000) {" * 4 + "}" * 4),
    "nested copies": code("repeat (20000) {" * 4 + "r = 1;" + "}" * 4),
    "arrays": "ptx t " + "".join(f".global .u32 x{i}[65536];" for i in range(2000)),
    "registers": code("".join(f".reg .u32 r{i}x<4096>;" for i in range(2000))),
    "views": "ptx t .global .u32 x; .alias y0 = x; " + "".join(f".alias y{i + 1} = y{i};" for i in range(3000)),
    "a number": code("r = " + "9" * 100_000 + ";"),
    "a shift": code("r = 1 << 100000000000;"),
    "a product": code("r = " + " * ".join(["99999999999"] * 150) + ";"),
    "a word": code("st.weak" + ".x" * 50_000 + " [x], 1;"),
    "holes": MEMORY + "$" * 100_000,
    "quotes": MEMORY + '"\\' * 50_000,
    "comments": MEMORY + "/*" * 50_000,
    "bars": MEMORY + "\nvariants\n" + " | " * 50_000 + "\nend",
    "variants": code("st [x], $V;" * 300) + f"\nvariants\nname | V\n{ROWS}end",
    "unfinished": code("st.u32 [x], 1"),
    "a control character": MEMORY + "\x01",
    "a lone surrogate": MEMORY + "\ud800",
    "nothing": "",
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_hostile_tests_are_refused_soon(text: str) -> None:
    start = time.process_time()
    with pytest.raises(InputError):
        read(text, "t.lit")
    assert time.process_time() - start < 10


def test_a_large_test_is_read() -> None:
    stores = "".join(f"st.weak.u32 [x], {i};\n" for i in range(1000))
    conditions = " && ".join(["x != 1"] * 1000)
    (program,) = read(f"{code(stores)} exists ({conditions})", "t.lit")
    assert len(program.threads[0].body) == 1000


def test_a_thousand_variants_are_read() -> None:
    rows = "".join(f"v{i} | {i}\n" for i in range(1000))
    assert len(read(f"{code('st.u32 [x], $V;')}\nvariants\nname | V\n{rows}end\n", "t.lit")) == 1000


def survives(text: str) -> None:
    try:
        programs = read(text, "t.lit")
    except InputError:
        return
    for program in programs:
        to_lit(program)


SEEDS = [file.read_text(encoding="utf-8") for file in sorted(litmus_dir().rglob("*.lit"))][::6]
PIECES = [
    ";", "{", "}", "(", ")", "[", "]", "@p", "@(", "r0", "%r1", "x", "&x", "a[", "= 1", "==", "|| ", " | ", "~",
    "exists", "expect",
    "variants\n", "end\n", "$A", "thread", ".u32", ".global", "ld.weak.u32 r0, [x];", "0x", "1.5",
    "99999999999",
    "if (", "while (1) {", "repeat (3) {", "bra L;", "L:", '"', "//", "/*", "s@b1", "d0.c0.*", "\n", ",", "-", "?", ":",
    "dialect dartagnan;", "launch k1 with k0;", "race on", "under", "hang[", "_", "{r0, r1}", ".reg .u64 r0 = 1;",
]  # fmt: skip


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A shipped test after a few cuts, copies and insertions."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.sampled_from(["", text[start:stop] * 2, *PIECES])) + text[stop:]
    return text


@settings(deadline=None)
@given(mutants())
def test_a_mutilated_test_is_read_or_refused(text: str) -> None:
    survives(text)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join))
def test_any_pieces_of_the_language_are_read_or_refused(text: str) -> None:
    survives("ptx t .global .u32 x; .global .u32 a[2]; thread A @ d0.c0.b0 { " + text)
    survives("ptx t .global .u32 x; " + text)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    survives(text)
    survives(code(text))
