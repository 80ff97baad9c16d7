"""What the machine code of a measurement's kernels is: each instruction between quotes there, and as strong.

The kernels are C++, so that an order is not judged: the compiler may place what is not between quotes as it likes. An
acquire whose value nobody uses may lose its access, and keep what it orders.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ptxmm.gpu.audit import AS_WRITTEN, GONE, MERGED, missing
from ptxmm.gpu.measure.results import Code
from ptxmm.gpu.needed import ORDERING, Needed, needed
from ptxmm.gpu.sass import Machine, machine

ENTRY = re.compile(r"\.entry\s+(\w+)\s*\(")
SECTION = re.compile(r"^\.text\.(\w+):", re.MULTILINE)
QUOTED, UNQUOTED = "// begin inline asm", "// end inline asm"
MEMORY = re.compile(
    r"(LD|ST|ATOM|RED|SYNCS|UBLK|UTMA|BAR|UCGABAR|DEPBAR|LDGDEPBAR|ARRIVES|STAS|REDAS|NANOSLEEP)|"
    + "|".join(ORDERING)
)  # fmt: skip


def facts(ptx: str, listing: str) -> tuple[Code, ...]:
    """The code of each kernel: what touches memory or orders in it, how often, and what the text has and it lacks."""
    found = dict(_functions(listing))
    return tuple(_code(name, lines, machine(found[name])[0]) for name, lines in _quoted(ptx).items() if name in found)


def _functions(listing: str) -> Iterator[tuple[str, str]]:
    """The listing of each kernel by its name."""
    pieces = SECTION.split(listing)
    return zip(pieces[1::2], pieces[2::2], strict=True)


def _quoted(ptx: str) -> dict[str, list[tuple[int, str, Needed]]]:
    """For each kernel its instructions between quotes that must become something, with their lines."""
    found: dict[str, list[tuple[int, str, Needed]]] = {}
    here: list[tuple[int, str, Needed]] = []
    inside = False
    for number, line in enumerate(ptx.splitlines(), 1):
        if entry := ENTRY.search(line):
            here = found.setdefault(entry[1], [])
        inside = line.strip() == QUOTED or (inside and line.strip() != UNQUOTED)
        for text in line.split(";") if inside else ():
            what = needed(text.strip(" \t{}"))
            if what is not None and not what.nothing:
                here.append((number, text.strip(" \t{}"), what))
    return found


def _code(name: str, lines: list[tuple[int, str, Needed]], instructions: tuple[Machine, ...]) -> Code:
    lost, noted = list[str](), list[str]()
    for number, text, what in lines:
        lacks = list(missing(what, [one for one in instructions if one.line == number]))
        only_orders = what.after and lacks == [GONE]
        (noted if only_orders else lost).extend(f"`{text.split()[0]}`: {word}" for word in lacks)
    counted = Counter(one.opcode for one in instructions if MEMORY.match(one.opcode))
    label, remarks = (MERGED, lost) if lost else (AS_WRITTEN, noted)
    return Code(name, label, tuple(sorted(counted.items())), tuple(dict.fromkeys(remarks)))
