"""Expressions of a model as trees: their parts and names, and what follows from their form alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ptxmm.model import (
    Complement,
    Diff,
    Domain,
    Empty,
    Expr,
    Inter,
    Name,
    Optional,
    Plus,
    Range,
    Seq,
    Star,
    Union,
)  # fmt: skip


def parts(expr: Expr) -> list[Expr]:
    """The direct operands of an expression."""
    return [] if isinstance(expr, Name | Empty) else [getattr(expr, name) for name in type(expr).__match_args__]


def united(expr: Expr) -> list[Expr]:
    """The parts of a union."""
    return [*united(expr.left), *united(expr.right)] if isinstance(expr, Union) else [expr]


def names(expr: Expr) -> Iterator[str]:
    """The names in an expression."""
    if isinstance(expr, Name):
        yield expr.text
    for below in parts(expr):
        yield from names(below)


def renamed(expr: Expr, latest: Mapping[str, str]) -> Expr:
    """An expression with each name replaced by its present definition."""
    if isinstance(expr, Name):
        return Name(latest[expr.text])
    return type(expr)(*(renamed(below, latest) for below in parts(expr)))


def without(expr: Expr, nothing: Collection[str]) -> Expr:
    """An expression in which some names denote nothing.

    >>> from ptxmm.model import Seq
    >>> without(Union(Seq(Name("po"), Name("sync")), Name("po")), {"sync"}) == Name("po")
    True
    """
    if isinstance(expr, Name | Empty):
        return Empty() if isinstance(expr, Name) and expr.text in nothing else expr
    if isinstance(expr, Complement):
        return expr
    expr = type(expr)(*(without(below, nothing) for below in parts(expr)))
    match expr:
        case Union(Empty(), other) | Union(other, Empty()) | Diff(other, Empty()):
            return other
        case Optional(Empty()) | Star(Empty()):
            return Name("id")
    return Empty() if Empty() in parts(expr)[: 1 if isinstance(expr, Diff) else 2] else expr


def stage(expr: Expr, stages: Mapping[str, int]) -> int:
    """When all names in an expression have values."""
    return max((stages[name] for name in names(expr)), default=0)


def is_set(expr: Expr, sets: Collection[str]) -> bool:
    """Whether an expression denotes a set of events, not a relation."""
    match expr:
        case Name(text):
            return text in sets
        case Domain() | Range():
            return True
        case Union(left, right) | Inter(left, right) | Diff(left, right):
            return is_set(left, sets) or is_set(right, sets)
        case Complement(arg):
            return is_set(arg, sets)
    return False


def variance(expr: Expr, known: Mapping[str, int]) -> int:
    """How an expression changes when names do; what holds of single pairs changes as its parts do."""
    match expr:
        case Name(text):
            return known[text]
        case Diff(left, right):
            return variance(left, known) if variance(right, known) == 0 else 2
        case Complement(arg):
            return 0 if variance(arg, known) == 0 else 2
    most = max((variance(below, known) for below in parts(expr)), default=0)
    return max(most, 1) if isinstance(expr, Seq | Plus | Star | Domain | Range) else most
