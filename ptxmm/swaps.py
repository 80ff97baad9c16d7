"""Two threads of a test swapped: whether they run the same code in places that look alike, and the words that move."""

from __future__ import annotations

from dataclasses import fields

from ptxmm.events import same_cta
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
)  # fmt: skip

Word = tuple[str, int, int]
EXPRESSIONS = (Const, Reg, Addr, Unary, Binary, Select, FinalReg, FinalMem)
KNOWN = (
    Load, Store, Atomic, Fence, ProxyFence, Barrier, ClusterBarrier, WarpSync, Assign, Assume, Label, Branch, Exit, Nop
)  # fmt: skip


class Outline:
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


def swap(program: Program, outlines: list[Outline], i: int, j: int) -> dict[Word, Word] | None:
    """What becomes of the words that two threads name when they are swapped; None where the test does not stay."""
    if outlines[i].key != outlines[j].key or not _seen_alike(program, i, j):
        return None
    words: dict[Word, Word] = {}
    for one, other in zip(outlines[i].words, outlines[j].words, strict=True):
        if words.setdefault(one, other) != other or words.setdefault(other, one) != one:
            return None
    moved = [word for word, other in words.items() if word != other]
    named = [word for k, outline in enumerate(outlines) for word in outline.words if k not in (i, j)]
    if any(overlap(a, b) for a in moved for b in named) or (
        moved and any(outline.computed or not outline.known for outline in outlines)
    ):
        return None
    if any(a != b and overlap(a, b) for a in moved for b in words):
        return None
    return words if all(_alike(program, word, words[word]) for word in moved) else None


def overlap(one: Word, other: Word) -> bool:
    """Whether two words have bytes in common."""
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
