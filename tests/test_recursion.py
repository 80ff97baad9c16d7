"""`let rec` of a model on relations of which not everything is certain."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxmm.cat import read_model
from ptxmm.compilation import plan_of
from ptxmm.evaluation import Evaluation
from ptxmm.formula import Formulas
from ptxmm.relation import Rel, Symbolic

SIZE = 4
PAIRS = list(product(range(SIZE), repeat=2))
ROW_BY_ROW = "let rec r = rf | ((r & co) ; fr) ; co?"
TOGETHER = "let rec a = rf | (b & co) ; fr and b = a | (b ; rf) & co"
BOTH_SIDES = "let rec r = rf | (r ; r) & co | r ; fr"
RECURSIONS = {"row by row": ROW_BY_ROW, "two together": TOGETHER, "on both sides": BOTH_SIDES}

edges = st.lists(st.sampled_from(PAIRS), unique=True, max_size=7)


def evaluated(text: str, name: str, folder: Path, base: dict[str, Rel], formulas: Formulas) -> Rel:
    (folder / "m.cat").write_text(f'"M"\n{text}\n')
    plan = plan_of(read_model(str(folder / "m.cat")))
    found = Evaluation(plan, Symbolic(SIZE, formulas), base.__getitem__).named(name)
    assert found is not None
    return found


def certain(pairs: list[tuple[int, int]]) -> Rel:
    return Rel([sum(1 << j for i, j in pairs if i == row) for row in range(SIZE)], {})


@pytest.mark.parametrize("text", RECURSIONS.values(), ids=RECURSIONS)
@given(rf=edges, co=edges, fr=edges, data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_recursion_means_the_same_before_and_after_it_is_known_which_pairs_there_are(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    rf: list[tuple[int, int]],
    co: list[tuple[int, int]],
    fr: list[tuple[int, int]],
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.mktemp("model")
    name, formulas = text.split()[2], Formulas()
    given_pairs = {"rf": rf, "co": co, "fr": fr}
    open_pairs = {
        key: Rel([0] * SIZE, {i: {j: formulas.var() for k, j in pairs if k == i} for i, _ in pairs})
        for key, pairs in given_pairs.items()
    }
    found = evaluated(text, name, folder, open_pairs, formulas)
    for _ in range(4):
        chosen = {key: [p for p in pairs if data.draw(st.booleans())] for key, pairs in given_pairs.items()}
        assignment = {
            open_pairs[key].lit(*pair): pair in chosen[key] for key, pairs in given_pairs.items() for pair in pairs
        }
        expected = evaluated(text, name, folder, {key: certain(pairs) for key, pairs in chosen.items()}, Formulas())
        literals = {pair: found.lit(*pair) for pair in PAIRS}
        known = formulas.value(literals.values(), assignment)
        truth = {pair: known[abs(literal)] == (literal > 0) for pair, literal in literals.items()}
        assert truth == {pair: expected.lit(*pair) == 1 for pair in PAIRS}
