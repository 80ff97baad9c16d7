"""JSON values become frozen dataclasses of exactly the annotated types, or are refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest

from ptxmm.records import record


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Leaf:
    name: str
    size: int = 0


@dataclass(frozen=True)
class Tree:
    leaf: Leaf
    height: float
    grown: bool
    colour: Colour
    other: Leaf | None = None
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[str, int] = ("", 0)


WHOLE = {
    "leaf": {"name": "a"}, "height": 2, "grown": True, "colour": "red", "other": None,
    "leaves": [{"name": "b", "size": 1}], "pair": ["c", 3],
}  # fmt: skip


def test_an_object_becomes_the_dataclass_that_it_holds() -> None:
    assert record(Tree, WHOLE) == Tree(Leaf("a"), 2, True, Colour.RED, None, (Leaf("b", 1),), ("c", 3))


@pytest.mark.parametrize(
    "change",
    [
        {"leaf": None}, {"leaf": []}, {"leaf": {"name": 1}}, {"leaf": {"name": "a", "size": True}}, {"leaf": {}},
        {"height": "2"}, {"height": float("nan")}, {"height": float("inf")}, {"height": True}, {"grown": 1},
        {"colour": "blue"}, {"colour": []}, {"other": 0}, {"leaves": {"name": "b"}}, {"leaves": [None]},
        {"pair": ["c"]}, {"pair": ["c", 3, 4]}, {"pair": [3, "c"]}, {"more": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_value_of_another_kind_is_refused(change: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        record(Tree, WHOLE | change)
