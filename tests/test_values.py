"""Tables of values: what an expression over them says is what it says of each choice of one value from each."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as some

from ptxmm import arith
from ptxmm.arith import Type
from ptxmm.formula import Formulas
from ptxmm.program import Binary, Expr, Reg
from ptxmm.values import Table, truth

KINDS = [Type("u", 8), Type("s", 8), Type("b", 16), Type("f", 16)]
NUMBERS = [0, 1, 2, 0x80, 0xFF, 0x100, 0x8000, 0x7E00, -1]


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
