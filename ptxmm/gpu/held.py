"""Instructions of a test that the machine code holds up until a load has come, though nothing in the test asks for it.

A load's value may be used early by what belongs to the harness. Then the thread waits there, and what follows the load
in the test can never come before it: a zero of such a test says less than it seems to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptxmm.gpu.needed import bits_of
from ptxmm.gpu.sass import Machine

LOADS = ("LDG", "LD", "LDS", "ATOMG", "ATOM", "ATOMS")
REGISTER = re.compile(r"\bR(\d+)\b")
READS = re.compile(r"(@!?\w+ )?(ld|atom)\.")
"""Instructions of PTX that bring a value from memory."""

ORDERS = re.compile(r"(@!?\w+ )?(fence\.(?!proxy)|membar|bar\.|barrier\.|\S*\.(release|acq_rel)\b)")
ACCESS = re.compile(r"(@!?\w+ )?(ld|st|atom|red|cp|mbarrier|tex|suld|sust)\.")
NAME = re.compile(r"(?<![\w.%])[a-z]\w*(?![\w.:])")

Text = tuple[int, str]
"""A line of PTX and its number."""


def held(load: Text, behind: Sequence[Text], here: dict[int, list[Machine]], code: Sequence[Machine]) -> Iterator[str]:
    """The instructions behind a load that wait for it without need.

    `here` has the machine code of each line, `code` what follows the load in its block.

    >>> from dataclasses import replace
    >>> one, use = Machine(0, 1, "LDG.E", None, "R4, desc[UR4][R2.64]"), Machine(16, 9, "IADD3", None, "R5, R4, 1")
    >>> store = Machine(32, 2, "STG.E", None, "desc[UR4][R6.64], R7")
    >>> behind = [(2, "st.u32 [p], 1")]
    >>> list(held((1, "ld.u32 v1, [q]"), behind, {1: [one], 2: [store]}, [use, store]))
    ['st.u32 [p], 1']
    >>> list(held((1, "ld.u32 v1, [q]"), behind, {1: [one], 2: [store]}, [store, replace(use, at=48)]))
    []
    """
    number, text = load
    lines = {number, *(line for line, _ in behind)}
    waiting = [(line, access, [one.at for one in here.get(line, [])]) for line, access in independent(text, behind)]
    for machine in here.get(number, []):
        for user in users(machine, code):
            for line, access, places in waiting:
                own = user.line in lines and user.line < line
                issued = any(machine.at < at < user.at for at in places)
                if not (own or issued) and any(at > user.at for at in places):
                    yield access


def independent(load: str, behind: Sequence[Text]) -> Iterator[Text]:
    """The accesses behind a load that need not its value, up to a branch that does, or to what waits for all loads.

    >>> behind = [(2, "add.u32 v2, v1, 1"), (3, "st.u32 [p], v2"), (4, "st.u32 [s], 1"), (5, "fence.acq_rel.gpu")]
    >>> list(independent("ld.u32 v1, [q]", [*behind, (6, "st.u32 [s], 2")]))
    [(4, 'st.u32 [s], 1')]
    """
    known = set(_written(load))
    for number, text in behind:
        if ORDERS.match(text):
            return
        if known & set(NAME.findall(text)):
            if "bra " in text:
                return
            known |= set(_written(text))
        elif ACCESS.match(text):
            yield number, text


def _written(text: str) -> list[str]:
    """The registers in front of the first address or, where there is none, of the second operand."""
    operands = text.partition(" ")[2] if not text.startswith("@") else text.partition(" ")[2].partition(" ")[2]
    before = operands.partition("[")[0] if "[" in operands or "{" in operands else operands.partition(",")[0]
    return NAME.findall(before)


def users(load: Machine, code: Sequence[Machine]) -> Iterator[Machine]:
    """Machine instructions behind a load that need its value or write its registers."""
    found = REGISTER.search(load.operands.partition("[")[0]) if load.words[0] in LOADS else None
    if found is None:
        return
    registers = range(int(found[1]), int(found[1]) + max(1, bits_of(load.words) // 32))
    for one in code:
        if one.at > load.at and any(int(number) in registers for number in REGISTER.findall(one.operands)):
            yield one
