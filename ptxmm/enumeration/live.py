"""Which registers still matter at each place of a thread's code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import get_args

from ptxmm.enumeration.unroll import written
from ptxmm.program import (
    Assign,
    Assume,
    Atomic,
    Barrier,
    Branch,
    Exit,
    Expr,
    Label,
    Load,
    Statement,
    Store,
    WarpSync,
    registers,
)  # fmt: skip

EXPRESSIONS = get_args(Expr)


def live(body: tuple[Statement, ...]) -> list[tuple[str, ...]]:
    """For each instruction the registers whose values before it may be used; at the end all of them are.

    >>> from ptxmm.program import Const
    >>> live((Assign(dst="a", value=Const(1)), Exit()))
    [(), ('a',)]
    """
    labels = {item.name: pc for pc, item in enumerate(body) if isinstance(item, Label)}
    everything = {name for item in body for name in (*written(item), *used(item))}
    found: list[set[str]] = [set() for _ in body] + [everything]
    waiting = list(range(len(body)))
    before = {pc: set[int]() for pc in range(len(body) + 1)}
    for pc, item in enumerate(body):
        for onward in successors(body, labels, pc, item):
            before[onward].add(pc)
    while waiting:
        pc = waiting.pop()
        item = body[pc]
        after = set().union(*(found[onward] for onward in successors(body, labels, pc, item)))
        now = (after if item.guard is not None else after.difference(written(item))).union(used(item))
        if now != found[pc]:
            found[pc] = now
            waiting.extend(before[pc])
    return [tuple(sorted(one)) for one in found[:-1]]


def successors(body: tuple[Statement, ...], labels: dict[str, int], pc: int, item: Statement) -> Iterator[int]:
    """Where control may go after an instruction."""
    if not isinstance(item, Branch | Exit) or item.guard is not None:
        yield pc + 1
    if isinstance(item, Branch):
        yield labels[item.target]
    if isinstance(item, Exit):
        yield len(body)


def used(item: Statement) -> frozenset[str]:
    """The registers that an instruction reads."""
    expressions: tuple[Expr | None, ...] = ()
    match item:
        case Load():
            expressions = (item.address,)
        case Store():
            expressions = (item.address, *item.values)
        case Atomic():
            expressions = (item.address, *item.operands)
        case Assign():
            expressions = (item.value,)
        case Assume():
            expressions = (item.cond,)
        case Barrier():
            expressions = (item.id, item.count, item.pred)
        case WarpSync():
            expressions = (item.mask,)
        case _:
            expressions = inputs(item)
    return registers(item.guard).union(*(registers(one) for one in expressions))


def inputs(item: Statement) -> tuple[Expr, ...]:
    """All operands of an instruction that it reads."""
    found: list[Expr] = []
    for one in fields(item):
        value = getattr(item, one.name)
        found += [each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, EXPRESSIONS)]
    return tuple(found)
