"""Which values copies may carry, and what other asynchronous instructions may give to registers, over every way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from ptxmm.arith import Type, atomic, wrap
from ptxmm.enumeration.asynchronous import LANES, electorate
from ptxmm.enumeration.counted import TOKEN
from ptxmm.enumeration.expressions import evaluate
from ptxmm.enumeration.legs import MAP, WORD, Undefined, Value, place, spread, straight, tensor_map
from ptxmm.enumeration.limits import GaveUp
from ptxmm.enumeration.live import used
from ptxmm.enumeration.memory import Spot
from ptxmm.enumeration.pieces import Leg
from ptxmm.enumeration.tiles import boxed, looked_at
from ptxmm.enumeration.unroll import Node
from ptxmm.program import (
    AsyncCopy,
    AsyncStore,
    Elect,
    MbarrierArrive,
    MbarrierPending,
    MbarrierWait,
    Statement,
    TensormapCopy,
    TensormapReplace,
)  # fmt: skip
from ptxmm.tensor_maps import OTHERS, word_of

if TYPE_CHECKING:
    from ptxmm.enumeration.table import Some, State
    from ptxmm.enumeration.values import Collector

MOST_WAYS = 2_000
Source = tuple[int, Node, int, str]


def carried(collector: Collector, node: Node, item: Statement, state: State) -> dict[str, frozenset[int]]:
    """Note what an instruction may write to memory; the values that it may give to registers."""
    tokens, found = collector.table.tokens, dict[str, frozenset[int]]()
    match item:
        case AsyncCopy() | AsyncStore() | TensormapReplace() | TensormapCopy():
            for way in Ways(collector, node, item, state):
                way.run()
        case MbarrierArrive(dst=str(dst)):
            found[dst] = frozenset((*tokens.values, *tokens.counted))
        case MbarrierWait(dst=str(dst)):
            found[dst] = frozenset({0, 1})
        case MbarrierPending(dst=dst, token=token):
            found[dst] = frozenset(value // TOKEN for value in collector.value(token, state).values)
        case Elect(dst=dst, pred=pred, mask=mask):
            found |= {pred: frozenset({0, 1})} if pred is not None else {}
            masks = collector.value(mask, state).values if mask is not None else (LANES,)
            lanes = frozenset(lane for one in masks for lane in electorate(collector.program, collector.thread, one))
            found |= {dst: lanes or frozenset({0})} if dst is not None else {}
    return found


class Ways:
    """An instruction once for each combination of what its registers may hold."""

    def __init__(self, collector: Collector, node: Node, item: Statement, state: State) -> None:
        self.collector, self.node, self.item, self.state = collector, node, item, state

    def __iter__(self) -> Iterator[Way]:
        names = sorted(used(self.item))
        held: list[Some] = [self.collector.held(self.state, name) for name in names]
        sources = frozenset[Source]().union(*(one.sources for one in held))
        for number, chosen in enumerate(product(*(sorted(one.values) for one in held))):
            if number > MOST_WAYS:
                raise GaveUp(f"thread {self.collector.thread.name} has too many ways to copy to enumerate")
            value = partial(evaluate, program=self.collector.program, regs=dict(zip(names, chosen, strict=True)))
            yield Way(self.collector, self.node, self.item, value, sources)


class Way:
    """One way to execute a copy; `operands` are the reads that its operands come from."""

    def __init__(self, collector: Collector, node: Node, item: Statement, value: Value,
                 operands: frozenset[Source]) -> None:  # fmt: skip
        self.collector, self.node, self.item, self.value, self.operands = collector, node, item, value, operands
        self.table, self.program, self.thread = collector.table, collector.program, collector.thread

    def run(self) -> None:
        """Note what it may write; where it is undefined, it writes nothing."""
        try:
            match self.item:
                case AsyncCopy():
                    self.copy(self.item)
                case AsyncStore():
                    self.store(self.item)
                case TensormapReplace():
                    self.rewrite(self.item)
                case TensormapCopy():
                    source = place(self.program, self.thread, self.value(self.item.source), MAP, MAP)
                    target = place(self.program, self.thread, self.value(self.item.destination), MAP, MAP, writes=True)
                    self.move(Leg(source, target, MAP, WORD), frozenset())
        except Undefined:
            return

    def copy(self, item: AsyncCopy) -> None:
        mask = self.value(item.multicast) if item.multicast is not None else None
        if item.map is None:
            ways = [straight(self.program, self.thread, item, self.value)]
            described = frozenset[Source]()
        else:
            at, declared = tensor_map(self.program, self.thread, self.value(item.map))
            spots, ways = looked_at(self.program, at), list[Leg]()
            described = frozenset(self.read(spot) for spot in spots.values())
            for found in product(*(self.table(spot) for spot in spots.values())):
                words = dict(zip(spots, found, strict=True))
                try:
                    box = boxed(self.program, self.thread, item, self.value, declared, words)
                except Undefined:
                    continue
                ways += box.ways
                for rest in box.rests:
                    with suppress(Undefined):
                        ways.append(rest.leg(self.program, self.thread, item))
        for way in ways:
            for target in spread(self.program, self.thread, mask, way.target):
                self.move(replace(way, target=target), described, item)

    def move(self, way: Leg, described: frozenset[Source], item: AsyncCopy | None = None,
             without: int | None = None) -> None:  # fmt: skip
        """Note what a copy may write; of a tensor map, `without` the word that a replacement writes."""
        self.table.pieces.add(way)
        for first, end in self.table.pieces.of(way):
            if first // WORD == without:
                continue
            source = replace(way.source, offset=way.source.offset + first, size=end - first)
            target = replace(way.target, offset=way.target.offset + first, size=end - first)
            given: tuple[int, ...] = (0,)
            sources = described
            if first < way.known:
                sources = sources | {self.read(source)}
                given = self.table(source)
            if item is not None and item.reduce is not None:
                kind = item.type or self.program.physical(target.object).type
                self.combine(item.reduce, kind, target, given, sources)
            else:
                self.write(target, given, sources)

    def store(self, item: AsyncStore) -> None:
        size = item.type.size
        whole = size * len(item.values)
        spot = place(self.program, self.thread, self.value(item.address), whole, whole, writes=True)
        for at, expr in enumerate(item.values):
            element = replace(spot, offset=spot.offset + at * size, size=size)
            given = (wrap(self.value(expr), item.type.bits),)
            if item.op is None:
                self.write(element, given, frozenset())
            else:
                self.combine(item.op, item.type, element, given, frozenset())

    def rewrite(self, item: TensormapReplace) -> None:
        spot = place(self.program, self.thread, self.value(item.address), MAP, WORD, writes=True)
        number = word_of(item)
        word = replace(spot, size=WORD, offset=spot.offset + number * WORD)
        self.move(Leg(spot, spot, MAP, WORD), frozenset(), without=number)
        self.write(word, (wrap(self.value(item.value), 8 * WORD) if number != OTHERS else 0,), frozenset())

    def combine(self, op: str, kind: Type, target: Spot, given: tuple[int, ...], sources: frozenset[Source]) -> None:
        for at in range(0, target.size, kind.size):
            spot, shift = replace(target, offset=target.offset + at, size=kind.size), 8 * at
            own = self.read(spot)
            values = {
                new for old in self.table(spot) for one in given
                if (new := atomic(op, old, (wrap(one >> shift, kind.bits),) * 2, kind)) is not None
            }  # fmt: skip
            self.write(spot, tuple(values), sources | {own})

    def key(self, spot: Spot, kind: str) -> Source:
        """The number of what this instruction reads or writes at a spot."""
        numbers = self.table.numbers
        source = self.collector.index, self.node, numbers.setdefault(spot, len(numbers)), kind
        self.table.places[source] = (frozenset({spot}), bool(self.operands))
        self.table.touch(spot)
        return source

    def read(self, spot: Spot) -> Source:
        """Note a read."""
        source = self.key(spot, "R")
        self.table.flows.setdefault(source, set()).update(self.operands)
        return source

    def write(self, spot: Spot, values: tuple[int, ...], sources: frozenset[Source]) -> None:
        """Note a write of one of some values."""
        self.table.flows.setdefault(self.key(spot, "W"), set()).update(self.operands, sources)
        self.table.put(spot, values)
