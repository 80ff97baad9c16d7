"""How to decide a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PROGRESS = ("fair", "hsa", "obe", "hsa-obe", "lobe", "unfair")


@dataclass(frozen=True, slots=True)
class Options:
    """Which properties, how far to unroll loops, seconds a test, whether to keep executions, engine, progress model."""

    properties: frozenset[str] = frozenset({"outcome"})
    bound: int = 4
    timeout: float = 60.0
    witness: bool = False
    engine: str = "z3"
    progress: str = "fair"


def depths(bound: int) -> Iterator[int]:
    """The bounds that are tried one after another: what no loop is cut at is decided, and the first ones are quick.

    >>> list(depths(1)), list(depths(4)), list(depths(100))
    ([1], [2, 4], [2, 8, 32, 100])
    """
    depth = 2
    while depth < bound:
        yield depth
        depth *= 4
    yield bound
