"""The rows of the instruction table for asynchronous copies, stores and reductions."""

from __future__ import annotations

from ptxmm.isa_copy_rules import bulk, direction, elements, relaxed, sent, tile
from ptxmm.isa_form import Requirement, Row, Slot
from ptxmm.isa_slots import HINT, MMIO, PREFETCH, need, words

SECTION = "Data Movement and Conversion Instructions"
AMPERE: Requirement = ((7, 0), 80)
HOPPER: Requirement = ((8, 0), 90)
REMOTE: Requirement = ((8, 1), 90)

INTO = Slot("destination space", words("global shared::cta shared::cluster"), implied=True)
OUT_OF = Slot("source space", words("global shared::cta"), implied=True)
BYTES = "mbarrier::complete_tx::bytes"
COMPLETION = Slot("completion", (BYTES, "bulk_group"), implied=True, short=(("mbarrier", BYTES),))
ON_MBARRIER = Slot("completion", (BYTES,), short=(("mbarrier", BYTES),))
MULTICAST = Slot("multicast", ("multicast::cluster",))
PAIR = Slot("CTA group", words("cta_group::1 cta_group::2"))
DIMENSIONS = Slot("dimensions", words("1d 2d 3d 4d 5d"), implied=True)
MODES = words("tile tile::gather4 tile::scatter4 im2col im2col::w im2col::w::128 im2col_no_offs")
MODE = Slot("mode", MODES)
BLACKWELL = words("tile::gather4 tile::scatter4 im2col::w im2col::w::128 cta_group::1 cta_group::2")
ORDER = Slot("order", words("weak relaxed"))
RELAXED = Slot("order", ("relaxed",))
SCOPE = Slot("scope", words("cta cluster gpu sys"))
OPERATION = Slot("operation", words("and or xor add inc dec min max"), required=True)
REDUCED = Slot("type", words("f16 bf16 b32 u32 s32 b64 u64 s64 f32 f64"), required=True)
NOFTZ = Slot("noftz", ("noftz",))
STORED = Slot("type", words("b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"), implied=True)
REDUCED_SHARED = Slot("type", words("b32 u32 s32 u64 s64"), implied=True)
REMOTE_OR_GLOBAL = Slot("space", words("global shared::cluster"))

HINTS = (need("L2::cache_hint", (7, 4)), *(need(f"L2::{size}B", (7, 4)) for size in (64, 128, 256)))
OWN = need(f"shared::cta global {BYTES}", (8, 6))
ORDERED = (need("weak", (9, 3)), need("relaxed", (9, 3)))


def _waits(name: str, bulk_: bool, *slots: Slot) -> Row:
    opcode = ("cp", "async", *(("bulk",) if bulk_ else ()), name)
    builds = "commit_group" if name == "commit_group" else "wait_group"
    return Row(opcode, f"{SECTION}: {'.'.join(opcode)}", slots, builds, since=HOPPER if bulk_ else AMPERE)


ROWS: tuple[Row, ...] = (
    Row(
        ("cp", "async"),
        f"{SECTION}: cp.async",
        (
            Slot("cache operator", words("ca cg"), required=True),
            Slot("destination space", words("shared shared::cta"), implied=True),
            Slot("source space", ("global",), implied=True),
            HINT,
            PREFETCH,
        ),
        "copy",
        needs=(need("shared::cta", (7, 8)), *HINTS),
        since=AMPERE,
    ),
    _waits("commit_group", False),
    _waits("wait_group", False),
    _waits("wait_all", False),
    Row(
        ("cp", "async", "bulk"),
        f"{SECTION}: cp.async.bulk",
        (
            ORDER,
            SCOPE,
            INTO,
            OUT_OF,
            COMPLETION,
            MULTICAST,
            HINT,
            Slot("bounds", ("ignore_oob",)),
            Slot("mask", ("cp_mask",)),
            Slot("type", ("b128",)),
        ),
        "bulk_copy",
        (direction, bulk, relaxed),
        (OWN, need("cp_mask", (8, 6), 100), need("ignore_oob", (9, 2)), *ORDERED),
        HOPPER,
    ),
    _waits("commit_group", True),
    _waits("wait_group", True, Slot("reads", ("read",))),
    Row(
        ("cp", "async", "bulk", "tensor"),
        f"{SECTION}: cp.async.bulk.tensor",
        (DIMENSIONS, INTO, OUT_OF, MODE, COMPLETION, MULTICAST, PAIR, HINT),
        "tile_copy",
        (direction, tile),
        (
            *(need(mode, (8, 6), 100, specific=True) for mode in BLACKWELL),
            OWN,
        ),
        HOPPER,
    ),
    Row(
        ("cp", "reduce", "async", "bulk"),
        f"{SECTION}: cp.reduce.async.bulk",
        (RELAXED, SCOPE, INTO, OUT_OF, COMPLETION, HINT, OPERATION, NOFTZ, REDUCED),
        "bulk_reduce",
        (direction, relaxed, elements),
        (need("relaxed", (9, 3)),),
        HOPPER,
    ),
    Row(
        ("cp", "reduce", "async", "bulk", "tensor"),
        f"{SECTION}: cp.reduce.async.bulk.tensor",
        (DIMENSIONS, INTO, OUT_OF, OPERATION, MODE, COMPLETION, HINT),
        "tile_reduce",
        (direction, tile),
        since=HOPPER,
    ),
    Row(
        ("cp", "async", "bulk", "prefetch", "L2"),
        f"{SECTION}: cp.async.bulk.prefetch",
        (Slot("source space", ("global",), implied=True), HINT),
        "bulk_prefetch",
        since=HOPPER,
    ),
    Row(
        ("cp", "async", "bulk", "prefetch", "tensor"),
        f"{SECTION}: cp.async.bulk.prefetch.tensor",
        (
            DIMENSIONS,
            Slot("level", ("L2",), required=True),
            Slot("source space", ("global",), implied=True),
            MODE,
            HINT,
        ),
        "tile_prefetch",
        (tile,),
        tuple(need(mode, (8, 6), 100, specific=True) for mode in ("tile::gather4", "im2col::w", "im2col::w::128")),
        HOPPER,
    ),
    Row(
        ("st", "async"),
        f"{SECTION}: st.async",
        (
            MMIO,
            Slot("order", words("weak release")),
            Slot("scope", words("gpu sys")),
            REMOTE_OR_GLOBAL,
            ON_MBARRIER,
            Slot("vector", words("v2 v4")),
            STORED,
        ),
        "async_store",
        (sent,),
        (need("release", (8, 7), 100), need("mmio", (8, 7), 100)),
        REMOTE,
    ),
    Row(
        ("red", "async"),
        "Parallel Synchronization and Communication Instructions: red.async",
        (
            MMIO,
            Slot("order", words("relaxed release")),
            Slot("scope", words("cluster gpu sys")),
            REMOTE_OR_GLOBAL,
            ON_MBARRIER,
            OPERATION,
            REDUCED_SHARED,
        ),
        "async_red",
        (sent,),
        (need("release", (8, 7), 100), need("mmio", (8, 7), 100)),
        REMOTE,
    ),
)
