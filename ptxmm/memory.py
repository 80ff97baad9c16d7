"""Which bytes the accesses of a test touch, split into cells, and which values each cell can hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from ptxmm.arith import wrap
from ptxmm.program import Addr, Object, Program
from ptxmm.values import WIDEST, TooWide

Range = tuple[int, int]
Step = tuple[int, int, int]


def part(value: int, whole: Range, cell: Range) -> int:
    """The bytes of `cell` in a value stored at `whole` (offset and size in bytes, little endian).

    >>> hex(part(0x11223344, (0, 4), (2, 2)))
    '0x1122'
    """
    return wrap(value >> 8 * (cell[0] - whole[0]), 8 * cell[1])


def initial(program: Program, item: Object, cell: Range) -> int:
    """The initial value of some bytes of an object; elements without an initial value are zero."""
    step, bits = item.type.size, 8 * item.type.size
    value = 0
    first, last = cell[0] // step, (cell[0] + cell[1] - 1) // step
    for index in range(first, min(last, item.length - 1) + 1):
        given = item.init[index] if index < len(item.init) else None
        number = 0 if given is None else program.address(given) if isinstance(given, Addr) else given.value
        value |= wrap(number, bits) << (bits * (index - first))
    return wrap(value >> 8 * (cell[0] - first * step), 8 * cell[1])


@dataclass
class Memory:
    """What is known of memory while the possible values grow: the byte ranges accessed and what is stored to each."""

    program: Program
    ranges: dict[str, set[Range]] = field(default_factory=dict)
    stored: dict[tuple[str, Range], set[int]] = field(default_factory=dict)
    fresh: dict[tuple[str, Range], set[int]] = field(default_factory=dict)
    steps: dict[tuple[str, Range], dict[Step, int]] = field(default_factory=dict)
    mixed: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    _cells: dict[str, list[Range]] = field(default_factory=dict)
    _domains: dict[tuple[str, Range], tuple[int, ...]] = field(default_factory=dict)

    def copy(self) -> Memory:
        """The same knowledge, that grows by itself."""
        return Memory(
            self.program,
            ranges={name: set(held) for name, held in self.ranges.items()},
            stored={key: set(held) for key, held in self.stored.items()},
            fresh={key: set(held) for key, held in self.fresh.items()},
            steps={key: dict(held) for key, held in self.steps.items()},
            mixed=set(self.mixed),
            touched=set(self.touched),
        )

    def touch(self, name: str, where: Range) -> None:
        """An access of these bytes is possible."""
        known = self.ranges.setdefault(name, set())
        if where not in known:
            known.add(where)
            self._cells.pop(name, None)
            self._domains.clear()
            self.touched.add(name)

    def store(self, name: str, where: Range, values: Iterable[int]) -> None:
        """These values may be stored there; reads see them after the next `advance`."""
        known = self.stored.setdefault((name, where), set())
        fresh = {wrap(value, 8 * where[1]) for value in values} - known
        if fresh:
            self.fresh.setdefault((name, where), set()).update(fresh)

    def add(self, name: str, where: Range, step: Step, amount: int) -> bool:
        """An atomic operation, told apart by `step`, may add `amount` once; False where that is not enough to know.

        What a word can hold is then a stored value and a sum of such amounts, each used at most once.
        """
        if name in self.mixed:
            return False
        known = self.steps.setdefault((name, where), {})
        if step not in known:
            known[step] = amount
            self.touched.add(name)
            self._domains.clear()
        return True

    def advance(self) -> set[str]:
        """Let reads see what was stored since the last time; the objects of which something new is known."""
        changed, self.touched = self.touched | {name for name, _ in self.fresh}, set()
        for key, values in self.fresh.items():
            self.stored[key] |= values
        self.fresh.clear()
        self._domains.clear()
        return changed

    def cells(self, name: str) -> list[Range]:
        """The cells of an object: the finest pieces that its accesses cut it into."""
        if name not in self._cells:
            ranges = sorted(self.ranges.get(name, ()))
            if all(a[0] + a[1] <= b[0] for a, b in pairwise(ranges)):
                self._cells[name] = ranges
            else:
                edges = sorted({edge for offset, size in ranges for edge in (offset, offset + size)})
                pieces = [(a, b - a) for a, b in pairwise(edges)]
                self._cells[name] = [p for p in pieces if any(_inside(p, r) for r in ranges)]
        return self._cells[name]

    def cover(self, name: str, where: Range) -> list[Range]:
        """The cells that make up an accessed range, lowest first."""
        cells = self.cells(name)
        return [where] if where in cells else [cell for cell in cells if _inside(cell, where)]

    def domain(self, name: str, where: Range) -> tuple[int, ...]:
        """Every value that a read of the range may return, as far as known."""
        key = (name, where)
        if key not in self._domains:
            item = self.program.by_name[name]
            assert isinstance(item, Object)
            values = {0}
            for cell in self.cover(name, where):
                shift = 8 * (cell[0] - where[0])
                here = self._cell_values(item, cell)
                if len(values) * len(here) > WIDEST:
                    raise TooWide
                values = {value | piece << shift for value in values for piece in here}
            self._domains[key] = tuple(sorted(values))
        return self._domains[key]

    def _cell_values(self, item: Object, cell: Range) -> set[int]:
        values = {initial(self.program, item, cell)}
        if (item.name, cell) not in self.steps and any(name == item.name for name, _ in self.steps):
            self._mix(item.name)
        for where in self.ranges.get(item.name, ()):
            if _inside(cell, where):
                values.update(part(value, where, cell) for value in self.stored.get((item.name, where), ()))
        for amount in self.steps.get((item.name, cell), {}).values():
            values |= {wrap(value + amount, 8 * cell[1]) for value in values}
            if len(values) > WIDEST:
                raise TooWide
        return values

    def _mix(self, name: str) -> None:
        """Accesses of other sizes reach a word with additions: its values are followed one by one instead."""
        if name not in self.mixed:
            self.mixed.add(name)
            self.touched.add(name)


def _inside(cell: Range, where: Range) -> bool:
    return where[0] <= cell[0] and cell[0] + cell[1] <= where[0] + where[1]
