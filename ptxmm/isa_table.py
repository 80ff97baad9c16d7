"""The instruction table: one row for each PTX instruction that ptxmm decides, and the ones it names but does not."""

from __future__ import annotations

from ptxmm.isa_form import Need, Row, Slot
from ptxmm.isa_rules import (
    L1_HINTS,
    atomic_type,
    barrier_kind,
    caching,
    fence_scope,
    mmio,
    private,
    readonly,
    strength,
    vector_access,
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _need(words: str, version: tuple[int, int], target: int = 0) -> Need:
    return Need(frozenset(words.split()), version, target)


SCOPE = Slot("scope", _words("cta cluster gpu sys"))
SPACE = Slot("space", _words("global shared shared::cta shared::cluster const param param::entry param::func local"))
ATOMIC_SPACE = Slot("space", _words("global shared shared::cta shared::cluster"))
TYPE = Slot("type", _words("b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"))
ATOMIC_TYPE = Slot("type", _words("b16 b32 b64 b128 u32 u64 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64"))
VECTOR = Slot("vector", _words("v2 v4 v8"))
L1 = Slot("L1 priority", L1_HINTS)
L2 = Slot("L2 priority", _words("L2::evict_normal L2::evict_first L2::evict_last"))
HINT = Slot("cache hint", ("L2::cache_hint",))
PREFETCH = Slot("prefetch size", _words("L2::64B L2::128B L2::256B"))
NOFTZ = Slot("noftz", ("noftz",))
MMIO = Slot("mmio", ("mmio",))
ALIGNED = Slot("aligned", ("aligned",))

CLUSTER = (
    _need("cluster", (7, 8), 90),
    _need("shared::cta", (7, 8)),
    _need("shared::cluster", (7, 8), 90),
)
HINTS = (
    *(_need(hint, (7, 4), 70) for hint in L1.words),
    *(_need(hint, (8, 8), 100) for hint in L2.words),
    _need("L2::cache_hint", (7, 4), 80),
    _need("L2::64B", (7, 4), 75),
    _need("L2::128B", (7, 4), 75),
    _need("L2::256B", (7, 4), 80),
)
ACCESS = (
    *CLUSTER,
    *HINTS,
    _need("b128", (8, 3), 70),
    _need("b128 sys", (8, 4), 70),
    _need("v8", (8, 8), 100),
    *(_need(f"v4 {type_}", (8, 8), 100) for type_ in ("b64", "u64", "s64", "f64")),
    _need("param::entry", (8, 3)),
    _need("param::func", (8, 3)),
    _need("mmio", (8, 2), 70),
    _need("mmio acquire", (9, 3), 75),
    _need("mmio release", (9, 3), 75),
)
ATOMIC = (
    *CLUSTER,
    *HINTS,
    _need("cas b16", (6, 3), 70),
    _need("f16", (6, 3), 70),
    _need("f16x2", (6, 2), 70),
    _need("bf16", (7, 8), 90),
    _need("bf16x2", (7, 8), 90),
    _need("b128", (8, 3), 90),
    _need("b128 sys", (8, 4), 90),
    *(_need(vector, (8, 1), 90) for vector in VECTOR.words),
)
ARTIFACT = (Slot("order", ("weak",)), TYPE)

ROWS: tuple[Row, ...] = (
    Row(
        ("ld",),
        "Data Movement and Conversion Instructions: ld, ld.global.nc",
        (
            MMIO,
            Slot("order", _words("weak relaxed acquire volatile")),
            SCOPE,
            SPACE,
            Slot("cache operator", _words("ca cg cs lu cv")),
            Slot("non-coherence", ("nc",)),
            L1,
            L2,
            HINT,
            PREFETCH,
            VECTOR,
            TYPE,
        ),
        "load",
        (mmio, strength, private, readonly, caching, vector_access),
        ACCESS,
    ),
    Row(
        ("st",),
        "Data Movement and Conversion Instructions: st",
        (
            MMIO,
            Slot("order", _words("weak relaxed release volatile")),
            SCOPE,
            SPACE,
            Slot("cache operator", _words("wb cg cs wt")),
            L1,
            L2,
            HINT,
            VECTOR,
            TYPE,
        ),
        "store",
        (mmio, strength, private, caching, vector_access),
        ACCESS,
    ),
    Row(
        ("atom",),
        "Parallel Synchronization and Communication Instructions: atom",
        (
            Slot("order", _words("relaxed acquire release acq_rel")),
            SCOPE,
            ATOMIC_SPACE,
            Slot("operation", _words("and or xor cas exch add inc dec min max"), required=True),
            NOFTZ,
            HINT,
            VECTOR,
            ATOMIC_TYPE,
        ),
        "atom",
        (atomic_type, caching),
        ATOMIC,
    ),
    Row(
        ("red",),
        "Parallel Synchronization and Communication Instructions: red",
        (
            Slot("order", _words("relaxed release")),
            SCOPE,
            ATOMIC_SPACE,
            Slot("operation", _words("and or xor add inc dec min max"), required=True),
            NOFTZ,
            HINT,
            VECTOR,
            ATOMIC_TYPE,
        ),
        "red",
        (atomic_type, caching),
        ATOMIC,
    ),
    Row(
        ("fence",),
        "Parallel Synchronization and Communication Instructions: membar, fence",
        (
            Slot("order", _words("sc acq_rel acquire release")),
            Slot("restriction", _words("sync_restrict::shared::cta sync_restrict::shared::cluster")),
            SCOPE,
        ),
        "fence",
        (fence_scope,),
        (*CLUSTER, _need("acquire", (8, 6), 90), _need("release", (8, 6), 90)),
    ),
    Row(
        ("membar",),
        "Parallel Synchronization and Communication Instructions: membar, fence",
        (Slot("level", _words("cta gl sys"), required=True),),
        "membar",
    ),
    Row(
        ("fence", "proxy"),
        "Parallel Synchronization and Communication Instructions: membar, fence",
        (Slot("proxy", ("alias",), required=True),),
        "proxy_fence",
        since=((7, 5), 70),
    ),
    Row(
        ("membar", "proxy"),
        "Parallel Synchronization and Communication Instructions: membar, fence",
        (Slot("proxy", ("alias",), required=True),),
        "proxy_fence",
        since=((7, 5), 70),
    ),
    *(
        Row(("fence", "proxy", kind), "NVIDIA's mixed-proxy model artifact", (), "artifact_fence", real=False)
        for kind in ("texture", "surface", "constant")
    ),
    *(
        Row((name,), "NVIDIA's mixed-proxy model artifact", ARTIFACT, "view_load", real=False)
        for name in ("tld", "suld", "ldc")
    ),
    Row(("sust",), "NVIDIA's mixed-proxy model artifact", ARTIFACT, "view_store", real=False),
    Row(
        ("bar",),
        "Parallel Synchronization and Communication Instructions: bar, barrier",
        (
            Slot("level", ("cta",)),
            Slot("action", _words("sync arrive red"), required=True),
            Slot("operation", _words("popc and or")),
            Slot("type", _words("u32 pred")),
        ),
        "barrier",
        (barrier_kind,),
        (_need("cta", (7, 8)),),
    ),
    Row(
        ("barrier",),
        "Parallel Synchronization and Communication Instructions: bar, barrier",
        (
            Slot("level", ("cta",)),
            Slot("action", _words("sync arrive red"), required=True),
            Slot("operation", _words("popc and or")),
            ALIGNED,
            Slot("type", _words("u32 pred")),
        ),
        "barrier",
        (barrier_kind,),
        (_need("cta", (7, 8)),),
    ),
    Row(
        ("barrier", "cluster", "arrive"),
        "Parallel Synchronization and Communication Instructions: barrier.cluster",
        (Slot("order", _words("release relaxed")), ALIGNED),
        "cluster_arrive",
        needs=(_need("release", (8, 0)), _need("relaxed", (8, 0))),
        since=((7, 8), 90),
    ),
    Row(
        ("barrier", "cluster", "wait"),
        "Parallel Synchronization and Communication Instructions: barrier.cluster",
        (Slot("order", ("acquire",)), ALIGNED),
        "cluster_wait",
        needs=(_need("acquire", (8, 0)),),
        since=((7, 8), 90),
    ),
    Row(
        ("bar", "warp", "sync"),
        "Parallel Synchronization and Communication Instructions: bar.warp.sync",
        (),
        "warp_sync",
    ),
    Row(
        ("nanosleep",),
        "Miscellaneous Instructions: nanosleep",
        (Slot("type", ("u32",), required=True),),
        "nanosleep",
        since=((6, 3), 70),
    ),
    Row(
        ("prefetch",),
        "Data Movement and Conversion Instructions: prefetch, prefetchu",
        (
            Slot("space", _words("global local")),
            Slot("level", _words("L1 L2 L2::evict_last L2::evict_normal"), required=True),
        ),
        "prefetch",
        needs=(_need("L2::evict_last", (7, 4), 80), _need("L2::evict_normal", (7, 4), 80)),
    ),
    Row(
        ("prefetchu",),
        "Data Movement and Conversion Instructions: prefetch, prefetchu",
        (Slot("level", ("L1",), required=True),),
        "prefetch",
    ),
)

BY_OPCODE = {row.opcode: row for row in ROWS}
_PLACES = tuple((word, slot.name) for row in ROWS for slot in row.slots for word in slot.words) + tuple(
    (word, "opcode") for row in ROWS for word in row.opcode[1:]
)
QUALIFIERS = {word: frozenset(name for other, name in _PLACES if other == word) for word, _ in _PLACES}
"""Every qualifier, with the names of the slots where it may stand."""

LATER = tuple(
    tuple(name.split("."))
    for name in _words(
        "mbarrier cp st.async st.bulk red.async tensormap fence.mbarrier_init fence.proxy.async fence.proxy.tensormap"
        " membar.proxy.async membar.proxy.tensormap fence.proxy.generic fence.proxy.fabric"
        " fence.proxy.alias.acquire fence.proxy.alias.release wgmma tcgen05 griddepcontrol"
        " elect multimem clusterlaunchcontrol prefetch.tensormap ldmatrix stmatrix vote match redux shfl activemask"
        " fabric"
    )
)
"""Opcodes that PTX has and ptxmm does not decide."""

ELSEWHERE = _words("mov add sub mul and or xor not shl shr min max setp selp popc bra exit")
"""Opcodes of arithmetic and control flow, which the readers know: offered when a name is misspelt."""
