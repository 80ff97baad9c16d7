"""Interchangeable threads: swapping two of them maps a test to itself, so one order of the threads stands for all.

Two threads are interchangeable where they run the same code up to the names of labels and registers, in places that
every other thread sees alike, and the words that only one of them uses are swapped with them. Every execution then has
a mirror image, and a question that the swap does not change has the same answer in both. Where all threads of a group
surely write one word, in an order that is total, it is enough to look at the executions in which that order is the
threads' own. That holds for the existence of an execution only: outcomes and their number need all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ptxmm.encode import Encoding
from ptxmm.events import Event
from ptxmm.formula import Lit
from ptxmm.program import Binary, Expr, FinalMem, FinalReg, Program, Select, Unary, leaves
from ptxmm.swaps import Outline, Word, overlap, swap

GROUPED = frozenset({"&&", "||", "&", "|", "^", "+", "*"})
EITHER_WAY = GROUPED | {"==", "!="}


@dataclass(frozen=True, slots=True)
class Group:
    """Threads each of which can be swapped with the first; `moved` are the objects with words that move with them."""

    threads: tuple[int, ...]
    moved: frozenset[str]


def groups(program: Program, asked: Sequence[Expr] = ()) -> tuple[Group, ...]:
    """The interchangeable threads of a test, where the formulas `asked` over final states must not change either."""
    outlines = [Outline(thread, program) for thread in program.threads]
    found: list[tuple[list[int], set[str]]] = []
    for index in range(len(program.threads)):
        for members, moved in found:
            words = swap(program, outlines, members[0], index)
            if words is not None and all(_same(program, outlines, members[0], index, words, one) for one in asked):
                members.append(index)
                moved.update(name for word, other in words.items() if word != other for name in (word[0], other[0]))
                break
        else:
            found.append(([index], set()))
    return tuple(Group(tuple(members), frozenset(moved)) for members, moved in found if len(members) > 1)


def interchangeable(encoding: Encoding, asked: Sequence[Expr] = ()) -> tuple[Group, ...]:
    """The groups of a test's threads that `one_order` can order: none where no word is written in a total order."""
    return groups(encoding.program, asked) if encoding.base.choices.chains else ()


def one_order(encoding: Encoding, found: Iterable[Group], fixed: str = "") -> Lit:
    """The literal that interchangeable threads write a word in their own order, where all of them surely write it.

    Executions in which it holds stand for all, as far as a question is concerned that no swap changes. One about the
    object `fixed` is changed by the swaps that move it.
    """
    before, formulas = encoding.base.choices.before, encoding.formulas
    steps: list[Lit] = []
    for group in found:
        if fixed in group.moved:
            continue
        for writers in encoding.base.choices.writers.values():
            firsts = _firsts(group, writers)
            pairs = [(a, b) for place, a in enumerate(firsts) for b in firsts[:place]]
            if firsts and all(before[a, b] == -before[b, a] for a, b in pairs):
                steps += [before[a, b] for a, b in pairwise(firsts)]
                break
    return formulas.conj(steps)


def _firsts(group: Group, writers: list[Event]) -> list[int]:
    """The first write of each thread of a group, if each has one in every execution, all by the same instruction."""
    found: dict[int, Event] = {}
    for event in writers:
        if event.guard == 1 and event.thread in group.threads:
            found.setdefault(event.thread, event)
    alike = len(found) == len(group.threads) and len({event.node for event in found.values()}) == 1
    return [found[thread].id for thread in group.threads] if alike else []


def _same(program: Program, outlines: list[Outline], i: int, j: int, words: dict[Word, Word], formula: Expr) -> bool:
    """Whether a formula over final states says the same when two threads are swapped, up to the order of its parts."""
    names = {program.threads[i].name: (i, j), program.threads[j].name: (j, i)}
    swapped: dict[Expr, Expr] = {}
    for leaf in leaves(formula):
        if isinstance(leaf, FinalReg) and leaf.thread in names:
            mine, other = names[leaf.thread]
            place = outlines[mine].registers.get(leaf.reg)
            if place is None and leaf.reg not in outlines[mine].others:
                return False
            reg = leaf.reg if place is None else list(outlines[other].registers)[place]
            swapped[leaf] = FinalReg(program.threads[other].name, reg)
        elif isinstance(leaf, FinalMem):
            here = (leaf.name, leaf.offset, leaf.type.size)
            if any(overlap(word, here) and word not in (here, words[word]) for word in words):
                return False
            name, offset, _ = words.get(here, here)
            swapped[leaf] = FinalMem(name, offset, leaf.type)
    return _sorted(formula, {}) == _sorted(formula, swapped)


def _sorted(expr: Expr, swapped: dict[Expr, Expr]) -> object:
    """A formula with leaves replaced and the operands of commutative operations in a fixed order."""
    match expr:
        case Unary(op, arg, kind):
            return (op, kind, _sorted(arg, swapped))
        case Select(cond, then, other):
            return ("select", *(_sorted(part, swapped) for part in (cond, then, other)))
        case Binary(op, left, right, kind):
            parts = _operands(expr) if op in GROUPED and not kind.floating else [left, right]
            found = [_sorted(part, swapped) for part in parts]
            return (op, kind, *(sorted(found, key=repr) if op in EITHER_WAY and not kind.floating else found))
    return swapped.get(expr, expr)


def _operands(expr: Binary) -> list[Expr]:
    """The operands of a chain of one operation."""
    found: list[Expr] = []
    stack: list[Expr] = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, Binary) and (part.op, part.type) == (expr.op, expr.type):
            stack += [part.left, part.right]
        else:
            found.append(part)
    return found
