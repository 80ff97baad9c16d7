"""Barriers that count threads: the generations that their arrivals fall into, and the results of `bar.red`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxmm.errors import Undecided
from ptxmm.events import Event
from ptxmm.formula import Lit
from ptxmm.program import Bar, Barrier
from ptxmm.values import Table, combined

if TYPE_CHECKING:
    from ptxmm.barriers import Barriers, Members

WARP = 32


def two(weight: int, yes: Lit) -> Table:
    """A table of `weight` where `yes` holds, else 0."""
    return {weight: 1} if yes == 1 else {0: 1} if yes == -1 else {weight: yes, 0: -yes}


def _weight(barriers: Barriers, event: Event) -> int:
    """How many threads an event arrives for: a thread without a lane is a warp."""
    return WARP if barriers.program.threads[event.thread].place.lane is None else 1


def form_counted(barriers: Barriers, members: Members) -> None:
    """Choose a generation for each arrival; number 0 is the one that never completes."""
    formulas, count = barriers.formulas, members.events[0].barrier[1]
    assert count is not None
    if count <= 0 or count % WARP:
        raise Undecided(f"a barrier count of {count} is not a multiple of the warp size, which PTX leaves undefined")
    most = sum(_weight(barriers, e) for e in members.events) // count
    for event in members.events:
        table = {number: formulas.var() for number in range(most + 1)} if most else {0: 1}
        if most:
            formulas.at_most_one(list(table.values()))
            formulas.require(*table.values())
        members.generation[event.id] = table
        if event.id in barriers.graph.passes:
            formulas.require(-barriers.passed(event), -table.get(0, -1))
    for number in range(most + 1):
        total: Table = {0: 1}
        for event in members.events:
            inside = formulas.both(event.guard, members.generation[event.id][number])
            total = combined(formulas, total, two(_weight(barriers, event), inside), lambda a, b: a + b)
        if number:
            formulas.require(total.get(count, -1), total.get(0, -1))
        else:
            for value, literal in total.items():
                if value >= count:
                    formulas.require(-literal)
    _in_turn(barriers, members, most)


def _in_turn(barriers: Barriers, members: Members, most: int) -> None:
    """A thread's arrivals fall in later and later generations, and no generation is left out."""
    formulas, generation = barriers.formulas, members.generation
    for place, first in enumerate(members.events):
        for second in members.events[place + 1 :]:
            if first.thread != second.thread:
                continue
            strict = first.id in barriers.graph.passes
            for a, la in generation[first.id].items():
                for b, lb in generation[second.id].items():
                    if (a == 0 and b != 0) or (b != 0 and (b < a or (strict and b == a))):
                        formulas.require(-first.guard, -second.guard, -la, -lb)
    for number in range(2, most + 1):
        before = [formulas.both(e.guard, generation[e.id][number - 1]) for e in members.events]
        for event in members.events:
            formulas.require(-event.guard, -generation[event.id][number], *before)


def form_results(barriers: Barriers, members: Members) -> None:
    """The result of `bar.red` is that of the predicates of its generation; sync and red do not mix in one."""
    formulas = barriers.formulas
    for event in members.events:
        statement = event.statement
        assert isinstance(statement, Barrier)
        if statement.kind is not Bar.RED:
            continue
        total: Table = {0: 1} if statement.op != "and" else {1: 1}
        for other in members.events:
            together = barriers.together(members, event, other) if other.id != event.id else event.guard
            assert isinstance(other.statement, Barrier)
            if other.statement.kind is not Bar.RED or other.statement.op != statement.op:
                if together != -1:
                    raise Undecided(
                        "bar.red meets another kind of barrier in one generation, which PTX leaves undefined"
                    )
                continue
            holds = other.predicate
            weight = _weight(barriers, other)
            yes, no = formulas.both(together, holds), formulas.both(together, -holds)
            match statement.op:
                case "popc":
                    total = combined(formulas, total, two(weight, yes), lambda a, b: a + b)
                case "or":
                    total = combined(formulas, total, two(1, yes), lambda a, b: a | b)
                case _:
                    total = combined(formulas, total, {1: -no, 0: no} if no not in (1, -1) else {int(no == -1): 1},
                                     lambda a, b: a & b)  # fmt: skip
        formulas.at_most_one(list(event.table.values()))
        passed = barriers.passed(event)
        formulas.require(-passed, *event.table.values())
        for value, literal in total.items():
            formulas.require(-passed, -literal, event.table.get(value, -1))
