"""What the runs of one test say: its final states with their counts, checked against the text of the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ptxmm import evidence
from ptxmm.compare.standing import Contradiction, Seen
from ptxmm.events import asked_leaves
from ptxmm.gpu.log import Counted, Run
from ptxmm.program import Addr, Expr, FinalMem, FinalReg, Program
from ptxmm.states import Leaf, column_name, columns
from ptxmm.syntax import lit
from ptxmm.syntax.print_lit import condition
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


def only_test(text: str, path: str) -> Program:
    """The test that a text of a log holds, of which there is one."""
    tests = lit.read(text, path)
    if len(tests) != 1:
        raise Contradiction(f"a text holds {len(tests)} tests, and it is that of one")
    return tests[0]


def the_test(runs: Sequence[Run]) -> Program:
    """The test of runs that have one text; what they say of it themselves is what the text says."""
    program = only_test(runs[0].text, runs[0].path)
    asked = condition(program) if program.condition is not None else ""
    if any(run.name != program.full_name for run in runs):
        raise Contradiction(f"its text is that of {program.full_name}")
    if any(run.condition != asked for run in runs):
        raise Contradiction("its condition is not that of its text")
    return program


def named(program: Program, ran: list[Run]) -> tuple[Leaf, ...]:
    """The registers and memory that the columns of a log name."""
    known = [*columns(replace(program, condition=None, filter=None, locations=())), *asked_leaves(program)]
    by_type = {(column_name(program, leaf), str(evidence.type_of(program, leaf))): leaf for leaf in known}
    first = ran[0]
    if any((run.columns, run.types) != (first.columns, first.types) for run in ran):
        raise Contradiction("two runs of one test have different columns")
    found = [by_type.get(pair) for pair in zip(first.columns, first.types, strict=True)]
    for column, type_, leaf in zip(first.columns, first.types, found, strict=True):
        if leaf is None:
            kind = f" of type `{type_}`" if column in {name for name, _ in by_type} else ""
            raise Contradiction(f"the test has no {column}{kind}, which the log counts")
    return tuple(leaf for leaf in found if leaf is not None)


def seen_states(program: Program, leaves: tuple[Leaf, ...], ran: list[Run]) -> tuple[Seen, ...]:
    """The final states of all runs together, those that were seen most often first."""
    counts: Counter[tuple[int, ...]] = Counter()
    holding: dict[tuple[int, ...], bool] = {}
    for run in ran:
        assert run.counted is not None
        for counted in (run.counted, *([run.control.counted] if run.control is not None else [])):
            if not (counted.adds_up and _grouped(counted)):
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


def _grouped(counted: Counted) -> bool:
    """Whether groups make up the instances, and the condition held so often in them as in the states; 0 is unknown."""
    if not counted.groups:
        return True
    lanes = -(-counted.instances // counted.groups)
    fits = counted.holding <= counted.squares <= counted.holding * lanes
    return counted.groups <= counted.instances and (fits or counted.unlisted > 0)


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
