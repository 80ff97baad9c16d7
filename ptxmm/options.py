"""How to decide a test."""

from __future__ import annotations

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
