"""Whether the machine code of a kernel still is the test: each instruction there, as strong, and in order.

    lines of PTX between `TEST` and `DONE` of a role -> what each must become -> the machine code at that line

These are all instructions that touch memory, wait, or order: accesses, fences, barriers, mbarriers, copies,
`elect.sync`, `griddepcontrol`. `merged` says that one is gone, or less than it was: what is seen then, or not seen, is
of another test. `reordered by ptxas` says that all are there, in another order.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from ptxmm.errors import PtxmmError
from ptxmm.gpu.held import READS, held
from ptxmm.gpu.lineless import placed
from ptxmm.gpu.log import Audit
from ptxmm.gpu.needed import (
    ATOMS,
    COMBINING,
    DIVIDED,
    EMPTIES,
    ORDERING,
    REDS,
    SHARED,
    WAITING,
    Needed,
    bits_of,
    is_one,
    level_of,
    needed,
)
from ptxmm.gpu.sass import Machine, disassembled, listing, machine

MERGED, REORDERED, AS_WRITTEN = "merged", "reordered by ptxas", "as written"


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction of the test as it stands in the kernel."""

    number: int
    text: str
    needed: Needed


@dataclass(frozen=True, slots=True)
class Role:
    """The instructions of one thread of the test, and its loops, in numbers of lines; `text` has all of its lines."""

    name: str
    lines: tuple[Line, ...]
    loops: tuple[range, ...]
    branches: bool
    text: tuple[tuple[int, str], ...]


def audit(ptx: str, architecture: str) -> Audit:
    """The audit of a kernel as the `ptxas` at hand assembles it; `not audited` where a tool is missing or fails."""
    return _told(lambda: audited(ptx, listing(ptx, architecture)))


def audit_of(ptx: str, code: bytes) -> Audit:
    """The audit of the first kernel of an entry, in the machine code that ran; none if the driver assembled."""
    if not code:
        return Audit(remarks=("the driver assembled it, since there is no ptxas",))
    return _told(lambda: audited(ptx, disassembled(code)))


def _told(find: Callable[[], Audit]) -> Audit:
    try:
        return find()
    except PtxmmError as failed:
        return Audit(remarks=(str(failed),))


def audited(ptx: str, disassembly: str) -> Audit:
    """The audit of a kernel against a listing of its machine code with lines."""
    instructions, leaders = machine(disassembly)
    if not any(one.line for one in instructions):
        return Audit(remarks=("the listing has no lines of PTX",))
    instructions = placed(ptx, instructions)
    lost: list[str] = []
    moved: list[str] = []
    held: list[str] = []
    for role in roles(ptx):
        here = {line.number: [i for i in instructions if i.line == line.number] for line in role.lines}
        for line in role.lines:
            lost += [f"{role.name}: `{line.text}`: {word}" for word in missing(line.needed, here[line.number])]
        moved += [f"{role.name}: {word}" for word in _moved(role, here, leaders)]
        lost += [f"{role.name}: {word}" for word in _hoisted(role, here, instructions)]
        held += [f"{role.name}: {word}" for word in _held(role, here, instructions, leaders)]
    if lost:
        return Audit(label=MERGED, remarks=tuple(dict.fromkeys(lost)))
    return Audit(label=REORDERED if moved else AS_WRITTEN, remarks=tuple(dict.fromkeys(moved + held)))


# --- the kernel ------------------------------------------------------------------------------------------------------


def roles(ptx: str) -> list[Role]:
    """The roles of a kernel, each with the test's own instructions; of an entry, those of its first kernel."""
    lines = ptx.splitlines()
    others = next((n for n, text in enumerate(lines) if text.startswith("KERNEL1:")), len(lines))
    starts = {int(m[1]): n for n, text in enumerate(lines[:others]) if (m := re.match(r"ROLE(\d+):", text))}
    found = []
    for index, start in sorted(starts.items()):
        end = next(n for n in range(start, others) if lines[n].startswith(f"DONE{index}:"))
        first = next(n for n in range(start, end) if lines[n].startswith(f"TEST{index}:"))
        found.append(_role(f"thread {index}", lines, first + 1, end))
    return found


def _role(name: str, lines: list[str], first: int, end: int) -> Role:
    at = {m[1]: n for n in range(first, end) if (m := re.match(r"(\w+):", lines[n]))}
    jumps = [(at[m[1]], n) for n in range(first, end) if (m := re.search(r"\bbra (\w+)", lines[n])) and m[1] in at]
    loops = tuple(range(target + 1, n + 2) for target, n in jumps if target <= n)
    own = []
    for n in range(first, end):
        text = lines[n].strip().rstrip(";")
        what = needed(text)
        if what is not None and not what.nothing:
            own.append(Line(n + 1, text, what))
    whole = tuple((n + 1, lines[n].strip().rstrip(";")) for n in range(first, end))
    return Role(name, tuple(own), loops, bool(at) or any("bra " in text for _, text in whole), whole)


# --- what is there ---------------------------------------------------------------------------------------------------


GONE, STALE = "there is no such instruction in the machine code", "L1 is not emptied behind it"


def missing(want: Needed, here: list[Machine]) -> Iterator[str]:
    """What an instruction lacks in the machine code at its line."""
    accesses = [one for one in here if is_one(one.words, want.accesses)]
    if want.accesses and not accesses:
        yield GONE
        if want.after and not any(is_one(one.words, EMPTIES) for one in here):
            yield STALE
        return
    first = min((one.at for one in accesses), default=0)
    if want.level is not None and accesses and not any(_strong(one, want.level) for one in accesses):
        yield f"{accesses[0].opcode} is weaker"
    if accesses and sum(bits_of(one.words) for one in accesses) < want.bits:
        yield f"{accesses[0].opcode} is narrower"
    barriers = [one for one in here if one.words[0] == "MEMBAR" and one.at <= first]
    if want.before is not None and not any((level_of(one.words) or 0) >= want.before for one in barriers):
        yield "no MEMBAR precedes it"
    if want.after and not any(is_one(one.words, EMPTIES) and one.at >= first for one in here):
        yield STALE
    if want.also and not any(is_one(one.words, (want.also,)) for one in here):
        yield f"there is no {want.also} beside it"
    if want.accesses in (ATOMS, REDS):
        yield from (f"{one.opcode}: lanes share one operation" for one in here if is_one(one.words, COMBINING))


def _strong(one: Machine, wanted: int) -> bool:
    """Whether a machine instruction is as strong as wanted; in shared memory every access is."""
    if one.words[0] in SHARED:
        return True
    level = level_of(one.words)
    return level is not None and level >= wanted


def _own(line: Line, here: list[Machine]) -> list[Machine]:
    """Where an instruction stands."""
    if WAITING in line.needed.accesses:
        return _meeting(here)
    return [one for one in here if is_one(one.words, (*line.needed.accesses, *ORDERING, *DIVIDED))]


def _meeting(here: list[Machine]) -> list[Machine]:
    """Where lanes meet: a divided warp leaves for the end of the code there, and one that is together has a NOP."""
    waits = [one for one in here if is_one(one.words, (WAITING,))]
    divided = [one for one in here if is_one(one.words, DIVIDED)]
    passed = [one for one in here if one.words[0] == "NOP" and waits and one.at < waits[0].at]
    return divided or passed[-1:] or waits


def _moved(role: Role, here: dict[int, list[Machine]], leaders: frozenset[int]) -> Iterator[str]:
    """Instructions that stand before others that precede them in the test."""
    standing = sorted((one.at, line) for line in role.lines for one in _own(line, here[line.number]))
    if not role.branches:
        firsts = {line.number: at for at, line in reversed(standing)}
        standing = [(at, line) for at, line in standing if firsts[line.number] == at]
    for (at, one), (then, other) in pairwise(standing):
        together = not role.branches or not any(at < leader <= then for leader in leaders)
        again = any(one.number in loop and other.number in loop for loop in role.loops)
        if together and other.number < one.number and not again:
            yield f"`{one.text}` comes before `{other.text}`"


def _hoisted(role: Role, here: dict[int, list[Machine]], instructions: tuple[Machine, ...]) -> Iterator[str]:
    """Accesses that a loop of the test repeats and the machine code does not."""
    for loop in role.loops:
        backward = [i for i in instructions if i.target is not None and i.target <= i.at and i.line in loop]
        if not backward:
            continue
        for line in role.lines:
            found = _own(line, here[line.number])
            if line.number in loop and found and not any(b.target <= f.at <= b.at for b in backward for f in found):  # type: ignore[operator]
                yield f"`{line.text}` is outside of its loop"


def _held(
    role: Role, here: dict[int, list[Machine]], instructions: tuple[Machine, ...], leaders: frozenset[int]
) -> Iterator[str]:
    """Instructions that are issued only when a load has come, though nothing in the test asks for that."""
    for line in role.lines:
        if not here[line.number] or line.needed.after or not READS.match(line.text):
            continue
        at = here[line.number][0].at
        end = min((leader for leader in leaders if leader > at), default=sys.maxsize)
        block = [one for one in instructions if at < one.at < end]
        behind = [each for each in role.text if each[0] > line.number]
        found = held((line.number, line.text), behind, here, block)
        yield from (f"`{text}` waits for `{line.text}`" for text in found)
