"""What the runs of one test say: its final states with their counts, checked against the text of the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ptxmm import evidence
from ptxmm.compare.standing import Contradiction, Seen
from ptxmm.events import asked_leaves
from ptxmm.gpu.log import Run
from ptxmm.program import Addr, Expr, FinalMem, FinalReg, Program
from ptxmm.states import Leaf, column_name, columns
from ptxmm.values import Possible, Table, truth

MERGED = "merged"
WORST = (MERGED, "reordered by ptxas", "not audited", "as written")


def by_test(runs: Iterable[Run]) -> list[tuple[Run, ...]]:
    """The runs of each test together, tests in the order in which they come first; a run that comes twice is one.

    What was counted, in so many seconds, comes twice where a log and a copy of it are read.
    """
    found: dict[tuple[str, str], list[Run]] = {}
    counted: set[Run] = set()
    for run in runs:
        if run.counted is not None and run.seconds:
            if run in counted:
                continue
            counted.add(run)
        found.setdefault((run.name, run.hash), []).append(run)
    return [tuple(some) for some in found.values()]


def named(program: Program, ran: list[Run]) -> tuple[Leaf, ...]:
    """The registers and memory that the columns of a log name."""
    known = [*columns(replace(program, condition=None, filter=None, locations=())), *asked_leaves(program)]
    by_name = {column_name(program, leaf): leaf for leaf in known}
    by_type = {(column_name(program, leaf), str(evidence.type_of(program, leaf))): leaf for leaf in known}
    first = ran[0]
    if any((run.columns, run.types) != (first.columns, first.types) for run in ran):
        raise Contradiction("two runs of one test have different columns")
    found = [by_type.get(pair, by_name.get(pair[0])) for pair in zip(first.columns, first.types, strict=True)]
    for column, leaf in zip(first.columns, found, strict=True):
        if leaf is None:
            raise Contradiction(f"the test has no {column}, which the log counts")
    return tuple(leaf for leaf in found if leaf is not None)


def seen_states(program: Program, leaves: tuple[Leaf, ...], ran: list[Run]) -> tuple[Seen, ...]:
    """The final states of all runs together, those that were seen most often first."""
    counts: Counter[tuple[int, ...]] = Counter()
    holding: dict[tuple[int, ...], bool] = {}
    for run in ran:
        assert run.counted is not None
        if not run.counted.adds_up or (run.control is not None and not run.control.counted.adds_up):
            raise Contradiction(f"the counts of the profile {run.profile.name} do not add up")
        for outcome in run.counted.outcomes:
            if len(outcome.values) != len(leaves):
                raise Contradiction(f"the state {outcome.values} has not as many values as the log has columns")
            for leaf, value in zip(leaves, outcome.values, strict=True):
                if value >> evidence.type_of(program, leaf).bits:
                    raise Contradiction(f"{column_name(program, leaf)} cannot be {value}, which the log counts")
            counts[outcome.values] += outcome.count
            holding[outcome.values] = outcome.holds
            if outcome.holds != holds(program, leaves, outcome.values):
                raise Contradiction(f"the log is wrong about the condition in the state {outcome.values}")
    return tuple(Seen(values, number, holding[values], "unknown") for values, number in counts.most_common() if number)


def holds(program: Program, leaves: tuple[Leaf, ...], values: tuple[int, ...]) -> bool:
    """Whether the formula of a test's condition holds in a final state; false where there is none."""
    if program.condition is None:
        return False
    known = {_bits(leaf): value for leaf, value in zip(leaves, values, strict=True)}

    def value_of(leaf: Expr) -> Table:
        return {program.address(leaf) if isinstance(leaf, Addr) else known[_bits(leaf)]: 1}

    try:
        return truth(Possible(), program.condition.formula, value_of) == 1
    except KeyError:
        raise Contradiction("the condition asks for more than the log has columns for") from None


def _bits(leaf: Expr) -> tuple[object, ...]:
    """What a column holds, whatever its type makes of it."""
    if isinstance(leaf, FinalMem):
        return leaf.name, leaf.offset, leaf.type.bits
    assert isinstance(leaf, FinalReg)
    return leaf.thread, leaf.reg


def worst_label(ran: list[Run]) -> str:
    """The label of the audit that says least for the runs."""
    return min((run.counted.audit.label for run in ran if run.counted is not None), key=WORST.index)


def remarks(ran: list[Run]) -> Iterator[str]:
    """What the reader of the results should know: what is not listed, and what the assembler changed."""
    counted = [run.counted for run in ran if run.counted is not None]
    if unlisted := sum(one.unlisted for one in counted):
        yield f"{unlisted:,} ended in states that the log does not list"
    for label in (MERGED, "reordered by ptxas"):
        if remarks := [remark for one in counted if one.audit.label == label for remark in one.audit.remarks]:
            yield f"{label}: {'; '.join(dict.fromkeys(remarks))}"
