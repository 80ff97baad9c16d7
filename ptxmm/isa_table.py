"""The instruction table: one row for each PTX instruction that ptxmm decides."""

from __future__ import annotations

from ptxmm import isa_table_copies, isa_table_mbarrier, isa_table_proxies
from ptxmm.isa_form import Row, Slot
from ptxmm.isa_rules import (
    atomic_type,
    barrier_kind,
    caching,
    eviction,
    fence_scope,
    mmio,
    private,
    readonly,
    strength,
    vector_access,
    writable,
)
from ptxmm.isa_slots import (
    ACCESS,
    ALIGNED,
    ARTIFACT,
    ATOMIC,
    ATOMIC_SPACE,
    ATOMIC_TYPE,
    CLUSTER,
    HINT,
    L1,
    L2,
    MMIO,
    NOFTZ,
    PREFETCH,
    SCOPE,
    SPACE,
    TYPE,
    VECTOR,
    need,
    words,
)

ROWS: tuple[Row, ...] = (
    Row(
        ("ld",),
        "Data Movement and Conversion Instructions: ld, ld.global.nc",
        (
            MMIO,
            Slot("order", words("weak relaxed acquire volatile")),
            SCOPE,
            SPACE,
            Slot("cache operator", words("ca cg cs lu cv")),
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
        any_order=True,
    ),
    Row(
        ("st",),
        "Data Movement and Conversion Instructions: st",
        (
            MMIO,
            Slot("order", words("weak relaxed release volatile")),
            SCOPE,
            SPACE,
            Slot("cache operator", words("wb cg cs wt")),
            L1,
            L2,
            HINT,
            VECTOR,
            TYPE,
        ),
        "store",
        (writable, mmio, strength, private, caching, vector_access),
        ACCESS,
        any_order=True,
    ),
    Row(
        ("atom",),
        "Parallel Synchronization and Communication Instructions: atom",
        (
            Slot("order", words("relaxed acquire release acq_rel")),
            SCOPE,
            ATOMIC_SPACE,
            Slot("operation", words("and or xor cas exch add inc dec min max"), required=True),
            NOFTZ,
            HINT,
            VECTOR,
            ATOMIC_TYPE,
        ),
        "atom",
        (atomic_type, caching),
        ATOMIC,
        any_order=True,
    ),
    Row(
        ("red",),
        "Parallel Synchronization and Communication Instructions: red",
        (
            Slot("order", words("relaxed release")),
            SCOPE,
            ATOMIC_SPACE,
            Slot("operation", words("and or xor add inc dec min max"), required=True),
            NOFTZ,
            HINT,
            VECTOR,
            ATOMIC_TYPE,
        ),
        "red",
        (atomic_type, caching),
        ATOMIC,
        any_order=True,
    ),
    Row(
        ("fence",),
        "Parallel Synchronization and Communication Instructions: membar, fence",
        (
            Slot("order", words("sc acq_rel acquire release")),
            Slot("restriction", words("sync_restrict::shared::cta sync_restrict::shared::cluster")),
            SCOPE,
        ),
        "fence",
        (fence_scope,),
        (*CLUSTER, need("acquire", (8, 6), 90), need("release", (8, 6), 90)),
        any_order=True,
    ),
    Row(
        ("membar",),
        "Parallel Synchronization and Communication Instructions: membar, fence",
        (Slot("level", words("cta gl sys"), required=True),),
        "membar",
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
            Slot("action", words("sync arrive red"), required=True),
            Slot("operation", words("popc and or")),
            Slot("type", words("u32 pred")),
        ),
        "barrier",
        (barrier_kind,),
        (need("cta", (7, 8)),),
    ),
    Row(
        ("barrier",),
        "Parallel Synchronization and Communication Instructions: bar, barrier",
        (
            Slot("level", ("cta",)),
            Slot("action", words("sync arrive red"), required=True),
            Slot("operation", words("popc and or")),
            ALIGNED,
            Slot("type", words("u32 pred")),
        ),
        "barrier",
        (barrier_kind,),
        (need("cta", (7, 8)),),
    ),
    Row(
        ("barrier", "cluster", "arrive"),
        "Parallel Synchronization and Communication Instructions: barrier.cluster",
        (Slot("order", words("release relaxed")), ALIGNED),
        "cluster_arrive",
        needs=(need("release", (8, 0)), need("relaxed", (8, 0))),
        since=((7, 8), 90),
    ),
    Row(
        ("barrier", "cluster", "wait"),
        "Parallel Synchronization and Communication Instructions: barrier.cluster",
        (Slot("order", ("acquire",)), ALIGNED),
        "cluster_wait",
        needs=(need("acquire", (8, 0)),),
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
            Slot("space", words("global local")),
            Slot("level", words("L1 L2 L2::evict_last L2::evict_normal"), required=True),
        ),
        "prefetch",
        (eviction,),
        needs=(need("L2::evict_last", (7, 4), 80), need("L2::evict_normal", (7, 4), 80)),
    ),
    Row(
        ("prefetchu",),
        "Data Movement and Conversion Instructions: prefetch, prefetchu",
        (Slot("level", ("L1",), required=True),),
        "prefetch",
    ),
    *isa_table_mbarrier.ROWS,
    *isa_table_copies.ROWS,
    *isa_table_proxies.ROWS,
)

BY_OPCODE = {row.opcode: row for row in ROWS}
_PLACES = tuple((word, slot.name) for row in ROWS for slot in row.slots for word in slot.words) + tuple(
    (word, "opcode") for row in ROWS for word in row.opcode[1:]
)
QUALIFIERS = {word: frozenset(name for other, name in _PLACES if other == word) for word, _ in _PLACES}
"""Every qualifier, with the names of the slots where it may stand."""

ELSEWHERE = words("mov add sub mul and or xor not shl shr min max setp selp popc bra exit")
"""Opcodes of arithmetic and control flow, which the readers know: offered when a name is misspelt."""
