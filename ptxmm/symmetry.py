"""Interchangeable threads: swapping two of them maps a test to itself, so one order of the threads stands for all.

Two threads are interchangeable where they run the same code up to the names of labels and registers, in places that
every other thread sees alike, and the words that only one of them uses are swapped with them. Every execution then has
a mirror image, and a question that the swap does not change has the same answer in both. Where all threads of a group
surely write one word, in an order that is total, it is enough to look at the executions in which that order is the
threads' own. That holds for the existence of an execution only: outcomes and their number need all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

from ptxmm.encode import Encoding
from ptxmm.events import Event, same_cta
from ptxmm.formula import Lit
from ptxmm.memory import initial
from ptxmm.program import (
    Addr,
    Assign,
    Assume,
    Atomic,
    Barrier,
    Binary,
    Branch,
    ClusterBarrier,
    Const,
    Exit,
    Expr,
    Fence,
    FinalMem,
    FinalReg,
    Label,
    Load,
    Nop,
    Object,
    Place,
    Program,
    ProxyFence,
    Reg,
    Select,
    Store,
    Thread,
    Unary,
    WarpSync,
    leaves,
)  # fmt: skip

Word = tuple[str, int, int]
EXPRESSIONS = (Const, Reg, Addr, Unary, Binary, Select, FinalReg, FinalMem)
KNOWN = (
    Load, Store, Atomic, Fence, ProxyFence, Barrier, ClusterBarrier, WarpSync, Assign, Assume, Label, Branch, Exit, Nop
)  # fmt: skip
GROUPED = frozenset({"&&", "||", "&", "|", "^", "+", "*"})
EITHER_WAY = GROUPED | {"==", "!="}


@dataclass(frozen=True, slots=True)
class Group:
    """Threads each of which can be swapped with the first; `moved` are the objects with words that move with them."""

    threads: tuple[int, ...]
    moved: frozenset[str]


def groups(program: Program, asked: Sequence[Expr] = ()) -> tuple[Group, ...]:
    """The interchangeable threads of a test, where the formulas `asked` over final states must not change either."""
    shapes = [_Shape(thread, program) for thread in program.threads]
    found: list[tuple[list[int], set[str]]] = []
    for index in range(len(program.threads)):
        for members, moved in found:
            words = _swap(program, shapes, members[0], index)
            if words is not None and all(_same(program, shapes, members[0], index, words, one) for one in asked):
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


# --- what a swap does ------------------------------------------------------------------------------------------------


class _Shape:
    """A thread's code without the names it chooses: `key` is the same for the same code, the names stand in order."""

    def __init__(self, thread: Thread, program: Program) -> None:
        self.program = program
        self.registers: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        self.words: dict[Word, int] = {}
        self.computed = False
        self.known = all(isinstance(statement, KNOWN) for statement in thread.body)
        code = tuple(self._statement(statement) for statement in thread.body) if self.known else (thread.name,)
        given = {name: (thread.types.get(name), thread.init.get(name)) for name in {*thread.types, *thread.init}}
        own = tuple(given.get(name, (None, None)) for name in self.registers)
        self.others = frozenset(given) - set(self.registers)
        place = thread.place
        where = (place.kernel, place.device, place.lane is None, place.warp is None, thread.after)
        self.key = (code, own, frozenset((name, given[name]) for name in self.others), where)

    def _statement(self, statement: object) -> tuple[object, ...]:
        found: list[object] = [type(statement)]
        for field in fields(statement):  # type: ignore[arg-type]
            value = getattr(statement, field.name)
            if not field.compare:
                continue
            if isinstance(statement, (Load, Store, Atomic)) and field.name == "address":
                found.append(self._address(statement))
            elif field.name in ("dst", "name", "target"):
                table = self.registers if field.name == "dst" else self.labels
                names = value if isinstance(value, tuple) else (value,)
                found.append(tuple(name if name is None else table.setdefault(name, len(table)) for name in names))
            elif isinstance(value, tuple):
                found.append(tuple(self._expr(one) for one in value))
            else:
                found.append(self._expr(value) if isinstance(value, EXPRESSIONS) else value)
        return tuple(found)

    def _address(self, statement: Load | Store | Atomic) -> object:
        address = statement.address
        if not isinstance(address, Addr):
            self.computed = True
            return self._expr(address)
        count = len(statement.values) if isinstance(statement, Store) else len(statement.dst)
        word = (address.name, address.offset, statement.type.size * count)
        return self.words.setdefault(word, len(self.words))

    def _expr(self, expr: Expr) -> object:
        match expr:
            case Reg(name):
                return ("register", self.registers.setdefault(name, len(self.registers)))
            case Unary(op, arg, kind):
                return (op, self._expr(arg), kind)
            case Binary(op, left, right, kind):
                return (op, self._expr(left), self._expr(right), kind)
            case Select(cond, then, other):
                return ("select", self._expr(cond), self._expr(then), self._expr(other))
            case Addr():
                self.computed = True
        return expr


def _swap(program: Program, shapes: list[_Shape], i: int, j: int) -> dict[Word, Word] | None:
    """What becomes of the words that two threads name when they are swapped; None where the test does not stay."""
    if shapes[i].key != shapes[j].key or not _seen_alike(program, i, j):
        return None
    words: dict[Word, Word] = {}
    for one, other in zip(shapes[i].words, shapes[j].words, strict=True):
        if words.setdefault(one, other) != other or words.setdefault(other, one) != one:
            return None
    moved = [word for word, other in words.items() if word != other]
    named = [word for k, shape in enumerate(shapes) for word in shape.words if k not in (i, j)]
    if any(_overlap(a, b) for a in moved for b in named) or (
        moved and any(shape.computed or not shape.known for shape in shapes)
    ):
        return None
    if any(a != b and _overlap(a, b) for a in moved for b in words):
        return None
    return words if all(_alike(program, word, words[word]) for word in moved) else None


def _overlap(one: Word, other: Word) -> bool:
    return one[0] == other[0] and one[1] < other[1] + other[2] and other[1] < one[1] + one[2]


def _alike(program: Program, one: Word, other: Word) -> bool:
    """Whether two words differ in nothing but their names: they start alike, in memory of one kind, without views."""
    items = [program.by_name[name] for name, _, _ in (one, other)]
    viewed = {view.target for view in program.views}
    kinds = set()
    for (name, offset, size), item in zip((one, other), items, strict=True):
        if not isinstance(item, Object) or name in viewed or offset % size or not 0 <= offset <= item.size - size:
            return False
        kinds.add((item.type, item.space, item.owner, item.device, initial(program, item, (offset, size))))
    return len(kinds) == 1


def _seen_alike(program: Program, i: int, j: int) -> bool:
    """Whether two threads stand in the same places as seen by every other thread, by shared memory and by `after`."""
    one, other = program.threads[i], program.threads[j]
    masked = any(isinstance(s, WarpSync) and s.mask is not None for t in program.threads for s in t.body)
    if masked and one.place.lane is not None:
        return False
    rest = [thread.place for k, thread in enumerate(program.threads) if k not in (i, j)]
    rest += [item.owner for item in program.objects if item.owner is not None]
    if any(_sees(place, one.place) != _sees(place, other.place) for place in rest):
        return False
    awaited = {thread.after for thread in program.threads if thread.after is not None}
    return all(same_cta(program.thread(name), one) == same_cta(program.thread(name), other) for name in awaited)


def _sees(place: Place, other: Place) -> tuple[bool, ...]:
    """Whether two places share a device, a cluster, a CTA, a warp."""
    device = (place.kernel, place.device) == (other.kernel, other.device)
    cta = device and place.cta == other.cta
    return device, device and place.cluster == other.cluster, cta, cta and place.warp == other.warp


# --- questions -------------------------------------------------------------------------------------------------------


def _same(program: Program, shapes: list[_Shape], i: int, j: int, words: dict[Word, Word], formula: Expr) -> bool:
    """Whether a formula over final states says the same when two threads are swapped, up to the order of its parts."""
    names = {program.threads[i].name: (i, j), program.threads[j].name: (j, i)}
    swapped: dict[Expr, Expr] = {}
    for leaf in leaves(formula):
        if isinstance(leaf, FinalReg) and leaf.thread in names:
            mine, other = names[leaf.thread]
            place = shapes[mine].registers.get(leaf.reg)
            if place is None and leaf.reg not in shapes[mine].others:
                return False
            reg = leaf.reg if place is None else list(shapes[other].registers)[place]
            swapped[leaf] = FinalReg(program.threads[other].name, reg)
        elif isinstance(leaf, FinalMem):
            here = (leaf.name, leaf.offset, leaf.type.size)
            if any(_overlap(word, here) and word not in (here, words[word]) for word in words):
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
