"""Tables of values: what an expression over them says is what it says of each choice of one value from each."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ptxmm import arith
from ptxmm.arith import Type
from ptxmm.formula import Formulas
from ptxmm.program import Binary, Expr, Reg
from ptxmm.values import Table, truth

HALVES = Type("f", 32, 2)
KINDS = [Type("u", 8), Type("s", 8), Type("b", 16), Type("f", 16), HALVES]
NUMBERS = [0, 1, 2, 0x80, 0xFF, 0x100, 0x8000, 0x7E00, 0x3C003C00, 0x3C000000, 0x00003C00, -1]


@settings(deadline=None)
@given(
    op=some.sampled_from(sorted(arith.COMPARISONS)),
    kind=some.sampled_from(KINDS),
    left=some.sets(some.sampled_from(NUMBERS), min_size=1, max_size=4),
    right=some.sets(some.sampled_from(NUMBERS), min_size=1, max_size=4),
)
def test_a_comparison_of_tables_holds_exactly_where_it_holds_of_the_values(
    op: str, kind: Type, left: set[int], right: set[int]
) -> None:
    formulas = Formulas()
    tables: dict[Expr, Table] = {
        Reg("a"): {value: formulas.var() for value in sorted(left)},
        Reg("b"): {value: formulas.var() for value in sorted(right)},
    }
    literal = truth(formulas, Binary(op, Reg("a"), Reg("b"), kind), tables.__getitem__)
    for a, b in product(sorted(left), sorted(right)):
        chosen = {tables[Reg("a")][a]: True, tables[Reg("b")][b]: True}
        known = formulas.value([literal], chosen)
        holds = known[literal] if literal > 0 else not known[-literal]
        assert holds == bool(arith.binary(op, a, b, kind))


@pytest.mark.parametrize(("other", "same"), [(0x3C003C00, 1), (0x3C000000, 0), (0x00003C00, 0), (0, 0)])
def test_packed_halves_are_equal_where_both_are(other: int, same: int) -> None:
    ones = 0x3C003C00
    assert [arith.binary(op, ones, other, HALVES) for op in ("==", "!=")] == [same, 1 - same]
    assert arith.binary("<", other, ones, HALVES) == (other == 0)


@pytest.mark.parametrize(("op", "value", "kind", "found"), [
    ("-", 0x3C003C00, HALVES, 0xBC00BC00),
    ("abs", 0xBC003C00, HALVES, 0x3C003C00),
    ("abs", 0xC0100000, Type("f", 32), 0x40100000),
    ("abs", 0xBF80, Type("bf", 16), 0x3F80),
    ("abs", 0x80, Type("s", 8), 0x80),
])  # fmt: skip
def test_the_sign_of_a_floating_number_is_a_bit_of_each_element(op: str, value: int, kind: Type, found: int) -> None:
    assert arith.unary(op, value, kind) == found


@pytest.mark.parametrize("kind", [Type("f", 32), Type("f", 64), Type("f", 16), Type("bf", 16)])
def test_minus_zero_is_below_zero_for_min_and_max_and_equal_to_it_else(kind: Type) -> None:
    zero, minus = 0, 1 << kind.bits - 1
    for pair in ((zero, minus), (minus, zero)):
        assert [arith.binary(op, *pair, kind) for op in ("min", "max", "==", "<")] == [minus, zero, 1, 0]
