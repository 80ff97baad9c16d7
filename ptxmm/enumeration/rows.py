"""Sets and relations of a few events as numbers: a bit for each event, and a row of bits for what it is related to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import and_, or_

Rows = tuple[int, ...]
Pairs = frozenset[tuple[int, int]]


def bits(mask: int) -> Iterator[int]:
    """The events of a set, in rising order.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask(events: Iterable[int]) -> int:
    """A set from its events."""
    found = 0
    for event in events:
        found |= 1 << event
    return found


def rows(pairs: Iterable[tuple[int, int]], size: int) -> Rows:
    """A relation from its pairs."""
    found = [0] * size
    for a, b in pairs:
        found[a] |= 1 << b
    return tuple(found)


def pairs(relation: Rows) -> Pairs:
    """The pairs of a relation."""
    return frozenset((a, b) for a, row in enumerate(relation) for b in bits(row))


def union(left: Rows, right: Rows) -> Rows:
    """`left | right`."""
    return tuple(map(or_, left, right))


def intersection(left: Rows, right: Rows) -> Rows:
    """`left & right`."""
    return tuple(map(and_, left, right))


def difference(left: Rows, right: Rows) -> Rows:
    """`left` without `right`."""
    return tuple(a & ~b for a, b in zip(left, right, strict=True))


def complement(relation: Rows) -> Rows:
    """All other pairs."""
    everything = (1 << len(relation)) - 1
    return tuple(everything ^ row for row in relation)


def product(left: int, right: int, size: int) -> Rows:
    """All pairs from one set to another."""
    return tuple(right if left >> event & 1 else 0 for event in range(size))


def identity(events: int, size: int) -> Rows:
    """Each event of a set with itself."""
    return tuple(events & 1 << event for event in range(size))


def inverse(relation: Rows) -> Rows:
    """Each pair the other way round."""
    found = [0] * len(relation)
    for a, row in enumerate(relation):
        for b in bits(row):
            found[b] |= 1 << a
    return tuple(found)


def sequence(left: Rows, right: Rows) -> Rows:
    """`left ; right`."""
    found = []
    for row in left:
        onward = 0
        while row:
            low = row & -row
            onward |= right[low.bit_length() - 1]
            row ^= low
        found.append(onward)
    return tuple(found)


def starting(events: int, relation: Rows) -> Rows:
    """The pairs that start in a set."""
    return tuple(row if events >> event & 1 else 0 for event, row in enumerate(relation))


def ending(relation: Rows, events: int) -> Rows:
    """The pairs that end in a set."""
    return tuple(row & events for row in relation)


def closure(relation: Rows) -> Rows:
    """The transitive closure: paths through the first events, one more at a time.

    >>> closure((0b010, 0b100, 0b000))
    (6, 4, 0)
    """
    found = list(relation)
    for middle, through in enumerate(relation):
        through = found[middle]
        if through:
            for start, row in enumerate(found):
                if row >> middle & 1:
                    found[start] = row | through
    return tuple(found)


def domain(relation: Rows) -> int:
    """The events that are related to some."""
    return mask(event for event, row in enumerate(relation) if row)


def image(relation: Rows) -> int:
    """The events that some are related to."""
    found = 0
    for row in relation:
        found |= row
    return found


def irreflexive(relation: Rows) -> bool:
    """Whether no event is related to itself."""
    return not any(row >> event & 1 for event, row in enumerate(relation))


def acyclic(relation: Rows) -> bool:
    """Whether events can be taken away, each when nothing left leads to it, until none is left."""
    left = domain(relation)
    while left:
        targets = 0
        for event in bits(left):
            targets |= relation[event]
        kept = left & targets
        if kept == left:
            return False
        left = kept
    return True
