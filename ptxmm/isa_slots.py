"""The slots that several rows of the instruction table share, and what their qualifiers need."""

from __future__ import annotations

from ptxmm.isa_form import Need, Slot
from ptxmm.isa_rules import L1_HINTS


def words(text: str) -> tuple[str, ...]:
    """Words of a sentence, as a tuple."""
    return tuple(text.split())


def need(words: str, version: tuple[int, int], target: int = 0, *, specific: bool = False) -> Need:
    """What a form with all of these qualifiers needs."""
    return Need(frozenset(words.split()), version, target, specific)


SCOPE = Slot("scope", words("cta cluster gpu sys"))
SPACE = Slot("space", words("global shared shared::cta shared::cluster const param param::entry param::func local"))
ATOMIC_SPACE = Slot("space", words("global shared shared::cta shared::cluster"))
TYPE = Slot("type", words("b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"))
ATOMIC_TYPE = Slot("type", words("b16 b32 b64 b128 u32 u64 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64"))
VECTOR = Slot("vector", words("v2 v4 v8"))
L1 = Slot("L1 priority", L1_HINTS)
L2 = Slot("L2 priority", words("L2::evict_normal L2::evict_first L2::evict_last"))
HINT = Slot("cache hint", ("L2::cache_hint",))
PREFETCH = Slot("prefetch size", words("L2::64B L2::128B L2::256B"))
NOFTZ = Slot("noftz", ("noftz",))
MMIO = Slot("mmio", ("mmio",))
ALIGNED = Slot("aligned", ("aligned",))

CLUSTER = (
    need("cluster", (7, 8), 90),
    need("shared::cta", (7, 8)),
    need("shared::cluster", (7, 8), 90),
)
HINTS = (
    *(need(hint, (7, 4), 70) for hint in L1.words),
    *(need(hint, (8, 8), 100) for hint in L2.words),
    need("L2::cache_hint", (7, 4), 80),
    need("L2::64B", (7, 4), 75),
    need("L2::128B", (7, 4), 75),
    need("L2::256B", (7, 4), 80),
)
ACCESS = (
    *CLUSTER,
    *HINTS,
    need("b128", (8, 3), 70),
    need("b128 sys", (8, 4), 70),
    need("v8", (8, 8), 100),
    *(need(f"v4 {type_}", (8, 8), 100) for type_ in ("b64", "u64", "s64", "f64")),
    need("param::entry", (8, 3)),
    need("param::func", (8, 3)),
    need("mmio", (8, 2), 70),
    need("mmio acquire", (9, 3), 75),
    need("mmio release", (9, 3), 75),
)
ATOMIC = (
    *CLUSTER,
    *HINTS,
    need("cas b16", (6, 3), 70),
    need("f16", (6, 3), 70),
    need("f16x2", (6, 2), 70),
    need("bf16", (7, 8), 90),
    need("bf16x2", (7, 8), 90),
    need("b128", (8, 3), 90),
    need("b128 sys", (8, 4), 90),
    *(need(vector, (8, 1), 90) for vector in VECTOR.words),
)
ARTIFACT = (Slot("order", ("weak",)), TYPE)
