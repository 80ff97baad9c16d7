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

ACCESSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"st\.async", ("STAS",)),
    (r"red\.async", ("REDAS",)),
    (r"ld\.const", ("LDC", "ULDC")),
    (r"ld\.", LOADS),
    (r"st\.", STORES),
    (r"tex\.", ("TLD", "TEX")),
    (r"suld\.", ("SULD",)),
    (r"sust\.", ("SUST",)),
    (r"atom\.", ATOMS),
    (r"red\.", REDS),
    (r"cp\.async\.bulk\.commit_group", ("UTMACMDFLUSH",)),
    (r"cp\.async\.(bulk\.)?wait", ("DEPBAR",)),
    (r"cp\.async\.commit_group", ("LDGDEPBAR",)),
    (r"cp\.async\.mbarrier\.arrive", ("ARRIVES",)),
    (r"cp\.reduce\.async\.bulk\.tensor", ("UTMAREDG",)),
    (r"cp\.reduce\.async\.bulk", ("UBLKRED",)),
    (r"cp\.async\.bulk\.tensor", ("UTMALDG", "UTMASTG")),
    (r"cp\.async\.bulk\.prefetch", ()),
    (r"cp\.async\.bulk", ("UBLKCP",)),
    (r"cp\.async\.", ("LDGSTS",)),
    (r"mbarrier\.pending_count", ()),
    (r"mbarrier\.", ("SYNCS",)),
    (r"barrier\.cluster\.arrive", ("UCGABAR_ARV",)),
    (r"barrier\.cluster\.wait", ("UCGABAR_WAIT",)),
    (r"(bar|barrier)\.(cta\.)?(sync|arrive|red)", ("BAR",)),
    (r"tensormap\.replace", (*LOADS, *STORES)),
    (r"tensormap\.cp_fenceproxy", (*STORES, *ATOMS)),
    (r"fence\.mbarrier_init", ()),
    (r"fence\.proxy\.async::generic\.acquire", ()),
    (r"fence\.proxy\.async", ("FENCE",)),
    (r"fence\.proxy\.tensormap::generic\.acquire", ("UTMACCTL",)),
    (r"fence\.proxy", ("MEMBAR",)),
    (r"fence\.acquire", ()),
    (r"fence\.release\.sync_restrict", ("MEMBAR",)),
    (r"fence|membar", ("MEMBAR",)),
)
SHARED = ("LDS", "STS", "ATOMS")
ORDERING = ("MEMBAR", "CCTL", "FENCE", "UTMACCTL")


@dataclass(frozen=True, slots=True)
class Needed:
    """What must be at a line of PTX: one of the `accesses`, at a `level` of strength (None for weak), of so many bits.

    `before` is the level of a MEMBAR that precedes it, `after` says that L1 is emptied behind it. `idle` says that it
    is an acquire whose value nobody uses: what it orders is all that it is for.
    """

    accesses: tuple[str, ...]
    level: int | None = None
    bits: int = 0
    before: int | None = None
    after: bool = False
    idle: bool = False

    @property
    def nothing(self) -> bool:
        return not self.accesses and self.before is None and not self.after


def needed(instruction: str) -> Needed | None:
    """What an instruction must become; None for one that touches no memory and orders nothing.

    >>> needed("ld.acquire.gpu.global.u32 v1, [p]")
    Needed(accesses=('LD', 'LDG', 'LDS'), level=1, bits=32, before=None, after=True, idle=False)
    >>> needed("fence.sc.cta").level, needed("add.u32 a, b, c")
    (0, None)
    """
    text = re.sub(r"^@!?\w+\s+", "", instruction.strip().rstrip(";"))
    mnemonic, _, operands = text.partition(" ")
    accesses = next((row for pattern, row in ACCESSES if re.match(pattern, mnemonic)), None)
    if accesses is None:
        return None
    words = mnemonic.split(".")
    scope = next((SCOPES[word] for word in words if word in SCOPES), None)
    scope = 2 if "volatile" in words or "mmio" in words else scope
    if words[0] in ("fence", "membar"):
        return _fence(mnemonic, words, accesses, scope)
    acquires = bool({"acquire", "acq_rel"} & set(words))
    releases = bool({"release", "acq_rel"} & set(words))
    idle = words[0] == "ld" and acquires and operands.startswith(("sink", "_"))
    tracked = words[0] in ("mbarrier", "barrier", "tensormap")
    before = scope if releases and not (tracked and not scope) and words[0] != "tensormap" else None
    bits = _bits(words) if words[0] in ("ld", "st") and words[1] != "async" else 0
    strong = scope if words[0] in ("ld", "st", "atom", "red") and words[1] != "async" else None
    return Needed(accesses, strong, bits, before, acquires and bool(scope), idle)


def _fence(mnemonic: str, words: list[str], accesses: tuple[str, ...], scope: int | None) -> Needed:
    """A fence is its MEMBAR; one that acquires beyond the CTA also empties L1."""
    if "proxy" in words or "sync_restrict" in mnemonic or "mbarrier_init" in words:
        return Needed(accesses)
    if words[0] == "membar":
        scope = {"cta": 0, "gl": 1, "sys": 2}.get(words[1], 1)
    acquires = "release" not in words and bool(scope)
    return Needed(accesses, scope, after=acquires)


def _bits(words: list[str]) -> int:
    """The bits of an access: of its type, times the elements of a vector."""
    lanes = next((int(word[1:]) for word in words if re.fullmatch(r"v\d", word)), 1)
    kind = re.fullmatch(r"[a-z]+(\d+)(x\d)?", words[-1])
    return lanes * int(kind[1]) * (2 if kind[2] else 1) if kind else 0


def level_of(words: tuple[str, ...]) -> int | None:
    """The level of strength that a machine instruction names."""
    return next((LEVELS[word] for word in reversed(words) if word in LEVELS), None)


def bits_of(words: tuple[str, ...]) -> int:
    """The bits of a machine access."""
    return next((BITS[word] for word in words[1:] if word in BITS), 32)
