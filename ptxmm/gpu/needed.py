"""What an instruction of PTX must become: the machine instructions that have to be at its line, and how strong.

The rows come from what ptxas 13.0 makes of every instruction of the library for sm_90a.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LEVELS = {"SM": 0, "CTA": 0, "VC": 1, "GPU": 1, "SYS": 2}
SCOPES = {"cta": 0, "cluster": 1, "gpu": 1, "sys": 2}
BITS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128}

LOADS, STORES = ("LD", "LDG", "LDS"), ("ST", "STG", "STS")
ATOMS, REDS = ("ATOM", "ATOMG", "ATOMS"), ("RED", "REDG", "REDS", "ATOM", "ATOMG", "ATOMS")

WAITING = "WARPSYNC"
"""Waits for lanes; it stands at the end of the code, where a divided warp goes."""

ACCESSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"st\.async", ("STAS",)),
    (r"red\.async", ("REDAS",)),
    (r"ld\.weak\.const", ()),
    (r"ld\.const", ("LDC", "ULDC")),
    (r"ld\.", LOADS),
    (r"st\.", STORES),
    (r"tex\.", ("TLD", "TEX")),
    (r"suld\.", ("SULD",)),
    (r"sust\.", ("SUST",)),
    (r"atom\.", ATOMS),
    (r"red\.", REDS),
    (r"cp\.async\.bulk\.commit_group", ("UTMACMDFLUSH",)),
    (r"cp\.async\.(bulk\.)?wait", ("DEPBAR.LE",)),
    (r"cp\.async\.commit_group", ("LDGDEPBAR",)),
    (r"cp\.async\.mbarrier\.arrive", ("ARRIVES",)),
    (r"cp\.reduce\.async\.bulk\.tensor", ("UTMAREDG",)),
    (r"cp\.reduce\.async\.bulk", ("UBLKRED",)),
    (r"cp\.async\.bulk\.prefetch\.tensor", ("UTMAPF",)),
    (r"cp\.async\.bulk\.prefetch", ("UBLKPF",)),
    (r"cp\.async\.bulk\.tensor.*\.mbarrier", ("UTMALDG",)),
    (r"cp\.async\.bulk\.tensor", ("UTMASTG",)),
    (r"cp\.async\.bulk.*\.multicast", ("UBLKCP.MULTICAST",)),
    (r"cp\.async\.bulk", ("UBLKCP",)),
    (r"cp\.async\.", ("LDGSTS",)),
    (r"mbarrier\.pending_count", ()),
    (r"mbarrier\.init", ("SYNCS.EXCH",)),
    (r"mbarrier\.inval", ("SYNCS.CCTL.IV",)),
    (r"mbarrier\.try_wait", ("SYNCS.PHASECHK.TRYWAIT",)),
    (r"mbarrier\.test_wait", ("SYNCS.PHASECHK",)),
    (r"mbarrier\.arrive_drop", ("SYNCS.ARRIVE.OPTOUT",)),
    (r"mbarrier\.", ("SYNCS.ARRIVE",)),
    (r"barrier\.cluster\.arrive", ("UCGABAR_ARV",)),
    (r"barrier\.cluster\.wait", ("UCGABAR_WAIT",)),
    (r"bar\.warp\.sync", (WAITING,)),
    (r"(bar|barrier)\.(cta\.)?sync", ("BAR.SYNC",)),
    (r"(bar|barrier)\.(cta\.)?arrive", ("BAR.ARV",)),
    (r"(bar|barrier)\.(cta\.)?red", ("BAR.RED",)),
    (r"elect\.sync", ("ELECT",)),
    (r"griddepcontrol\.wait", ("ACQBULK",)),
    (r"griddepcontrol\.launch_dependents", ("PREEXIT",)),
    (r"tensormap\.replace", (*LOADS, *STORES)),
    (r"tensormap\.cp_fenceproxy", (*STORES, *ATOMS)),
    (r"prefetch\.tensormap", ("UTMACCTL.PF",)),
    (r"fence\.mbarrier_init", ()),
    (r"fence\.proxy\.async::generic\.acquire", ()),
    (r"fence\.proxy\.async\.global", ("FENCE.VIEW.ASYNC.G",)),
    (r"fence\.proxy\.async", ("FENCE.VIEW.ASYNC.S",)),
    (r"fence\.proxy\.tensormap::generic\.acquire", ("UTMACCTL.IV",)),
    (r"fence\.proxy\.alias", ("MEMBAR.SYS",)),
    (r"fence\.proxy", ("MEMBAR",)),
    (r"fence\.acquire", ()),
    (r"fence\.release\.sync_restrict", ("MEMBAR",)),
    (r"fence\.sc|membar", ("MEMBAR.SC",)),
    (r"fence", ("MEMBAR",)),
)

WITH: tuple[tuple[str, str], ...] = (
    (r"elect\.sync", WAITING),
    (r"cp\.async\.wait_all", "LDGDEPBAR"),
    (r"cp\.async\.bulk\.wait_group$", "CCTL.IVALL"),
    (r"fence\.proxy\.alias", "CCTL.IVALL"),
    (r"fence\.proxy\.async(\.shared|$)", "MEMBAR"),
    (r"fence\.release\.sync_restrict", "FENCE.VIEW.ASYNC.S"),
)
"""What stands beside it, for the same instruction."""

SHARED = ("LDS", "STS", "ATOMS")
EMPTIES = ("CCTL.IVALL",)
ORDERING = ("MEMBAR", *EMPTIES, "FENCE", "UTMACCTL.IV")
COMBINING = ("VOTE", "VOTEU", "REDUX")
"""Beside an atomic operation: the lanes that have the same address make one of theirs."""
DIVIDED = ("BRA.DIV",)
"""Where a divided warp goes to a wait for lanes: there the instruction is."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What must be at a line of PTX: one of the `accesses`, at a `level` of strength (None for weak), of so many bits.

    `before` is the level of a MEMBAR that precedes it, `after` says that L1 is emptied behind it. `also` is what stands
    beside it. A machine instruction is named by its opcode and those of its modifiers that matter.
    """

    accesses: tuple[str, ...]
    level: int | None = None
    bits: int = 0
    before: int | None = None
    after: bool = False
    also: str = ""

    @property
    def nothing(self) -> bool:
        return not self.accesses and self.before is None and not self.after


def needed(instruction: str) -> Needed | None:
    """What an instruction must become; None for one that touches no memory and orders nothing.

    >>> needed("ld.acquire.gpu.global.u32 v1, [p]")
    Needed(accesses=('LD', 'LDG', 'LDS'), level=1, bits=32, before=None, after=True, also='')
    >>> needed("elect.sync _|p, 3").accesses, needed("elect.sync _|p, 3").also
    (('ELECT',), 'WARPSYNC')
    >>> needed("fence.sc.cta").level, needed("add.u32 a, b, c")
    (0, None)
    """
    mnemonic = re.sub(r"^@!?\w+\s+", "", instruction.strip().rstrip(";")).partition(" ")[0]
    accesses = next((row for pattern, row in ACCESSES if re.match(pattern, mnemonic)), None)
    if accesses is None:
        return None
    also = next((what for pattern, what in WITH if re.match(pattern, mnemonic)), "")
    words = mnemonic.split(".")
    scope = next((SCOPES[word] for word in words if word in SCOPES), None)
    scope = 2 if "volatile" in words or "mmio" in words else scope
    if words[0] in ("fence", "membar"):
        return _fence(mnemonic, words, accesses, also, scope)
    acquires = bool({"acquire", "acq_rel"} & set(words))
    releases = bool({"release", "acq_rel"} & set(words))
    tracked = words[0] in ("mbarrier", "tensormap")
    before = scope if releases and not (tracked and not scope) and words[0] != "tensormap" else None
    bits = _bits(words) if words[0] in ("ld", "st") and words[1] != "async" else 0
    strong = scope if words[0] in ("ld", "st", "atom", "red") and words[1] != "async" else None
    return Needed(accesses, strong, bits, before, acquires and bool(scope), also)


def _fence(mnemonic: str, words: list[str], accesses: tuple[str, ...], also: str, scope: int | None) -> Needed:
    """A fence is its MEMBAR; one that acquires beyond the CTA also empties L1."""
    if "proxy" in words or "sync_restrict" in mnemonic or "mbarrier_init" in words:
        leveled = accesses == ("MEMBAR",) and "sync_restrict" not in mnemonic
        return Needed(accesses, scope if leveled else None, also=also)
    if words[0] == "membar":
        scope = {"cta": 0, "gl": 1, "sys": 2}.get(words[1], 1)
    acquires = "release" not in words and bool(scope)
    return Needed(accesses, scope, after=acquires, also=also)


def _bits(words: list[str]) -> int:
    """The bits of an access: of its type, times the elements of a vector."""
    lanes = next((int(word[1:]) for word in words if re.fullmatch(r"v\d", word)), 1)
    kind = re.fullmatch(r"[a-z]+(\d+)(x\d)?", words[-1])
    return lanes * int(kind[1]) * (2 if kind[2] else 1) if kind else 0


def level_of(words: tuple[str, ...]) -> int | None:
    """The level of strength that a machine instruction names."""
    return next((LEVELS[word] for word in reversed(words) if word in LEVELS), None)


def is_one(words: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether a machine instruction is one of those that are named.

    >>> is_one(("SYNCS", "PHASECHK", "TRANS64", "TRYWAIT"), ("BAR", "SYNCS.PHASECHK.TRYWAIT"))
    True
    """
    return any(words[0] == name[0] and set(name) <= set(words) for name in (each.split(".") for each in names))


def bits_of(words: tuple[str, ...]) -> int:
    """The bits of a machine access."""
    return next((BITS[word] for word in words[1:] if word in BITS), 32)
