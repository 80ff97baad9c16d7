"""Small random tests with mbarriers, copies, tensor maps, clusters and kernels, as text: two or three threads.

A scene is what memory there is, where the threads are, and what they may do; a move that begins with `@` and numbers
is for those threads only.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as some

from ptxmm.program import Program
from ptxmm.syntax.lit import read

WAIT = "await mbarrier.try_wait.parity{how}.shared::cta.b64 [m], {p};"
FENCES = (
    "fence.proxy.async;",
    "fence.proxy.async.shared::cta;",
    "fence.proxy.async.global;",
    "fence.acq_rel.cta;",
    "fence.acq_rel.cluster;",
)
WAITS = tuple(
    WAIT.format(how=how, p=p)
    for how in ("", ".acquire.cluster", ".relaxed.cta")
    for p in (0, 0, 1)
)  # fmt: skip
ARRIVALS = (
    "mbarrier.arrive.shared::cta.b64 _, [m];",
    "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m];",
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16;",
)
FLAG = ("st.release.gpu.global.u32 [f], 1;", "st.relaxed.gpu.global.u32 [f], 1;", "ld.acquire.gpu.global.u32 r, [f];")
GROUPS = (
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 1;",
)
LOAD = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];"
ARMED = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; " + LOAD
STORE = "cp.async.bulk.global.shared::cta.bulk_group [h], [s], 16;"


@dataclass(frozen=True)
class Scene:
    """What a test declares, the places of its threads, what they may do, and what memory the question names."""

    memory: str
    places: tuple[str, ...]
    moves: tuple[str, ...]
    asked: tuple[str, ...] = ()
    launch: tuple[str, ...] = ("",)


ONE_CTA = Scene(
    """.shared @ d0.c0.b0 .mbarrier m({count});
    .shared @ d0.c0.b0 .u32 s[4];
    .global .u32 g[4] = {{1, 0, 0, 0}};
    .global .u32 h[4];
    .global .u32 f;""",
    ("d0.c0.b0", "d0.c0.b0", "d0.c0.b0"),
    (
        ARMED, ARMED, LOAD, *ARRIVALS, *WAITS, *FENCES, *FLAG, STORE + GROUPS[1], STORE + GROUPS[2], STORE, *GROUPS,
        "ld.weak.shared::cta.u32 r, [s];", "ld.weak.shared::cta.u32 r, [s];", "st.weak.shared::cta.u32 [s], 2;",
        "st.relaxed.cta.shared::cta.u32 [s], 2;", "st.weak.global.u32 [g], 3;", "ld.weak.global.u32 r, [h];",
        "bar.sync 0;", "ld.relaxed.cta.shared::cta.u32 r, [s];",
        "mbarrier.test_wait.parity.shared::cta.b64 r, [m], 0;", "mbarrier.test_wait.parity.shared::cta.b64 r, [m], 1;",
        "mbarrier.arrive.shared::cta.b64 t, [m]; await mbarrier.try_wait.shared::cta.b64 [m], t;",
        "mbarrier.arrive_drop.shared::cta.b64 _, [m];", "mbarrier.inval.shared::cta.b64 [m];",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 16;",
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 16;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [h], [s], 16;" + GROUPS[1],
        "atom.relaxed.gpu.global.add.u32 r, [h], 1;",
    ),
    ("s", "h"),
)  # fmt: skip
GENERIC = Scene(
    ONE_CTA.memory,
    ONE_CTA.places,
    (
        "cp.async.ca.shared::cta.global [s], [g], 16;", "cp.async.ca.shared::cta.global [s], [g], 4;",
        "cp.async.ca.shared::cta.global [s], [g], 16; cp.async.wait_all;",
        "cp.async.ca.shared::cta.global [s], [g], 8, 4;", "ld.weak.shared::cta.u64 r, [s];",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [m];", "cp.async.mbarrier.arrive.shared::cta.b64 [m];",
        "cp.async.commit_group;", "cp.async.wait_group 0;", "cp.async.wait_group 1;", "cp.async.wait_all;",
        *ARRIVALS[:2], *WAITS, *FLAG, "ld.weak.shared::cta.u32 r, [s];", "st.weak.shared::cta.u32 [s], 2;",
        "st.weak.global.u32 [g], 3;", "bar.sync 0;", "fence.acq_rel.cta;",
    ),
    ("s",),
)  # fmt: skip
CLUSTER = Scene(
    """.shared @ d0.c0.* .mbarrier m({count});
    .shared @ d0.c0.* .u32 s[4];
    .global .u32 g[4] = {{1, 0, 0, 0}};
    .global .u32 h[4];
    .global .u32 f;""",
    ("d0.c0.b0", "d0.c0.b1", "d0.c0.b1"),
    (
        ARMED, LOAD, *ARRIVALS, *WAITS, *FENCES, *FLAG, STORE + GROUPS[1],
        "ld.weak.shared::cta.u32 r, [s];", "st.weak.shared::cta.u32 [s], 2;", "st.weak.shared::cluster.u32 [s@b1], 3;",
        "ld.weak.shared::cluster.u32 r, [s@b1];", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [m@b1];",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [m@b1];",
        "barrier.cluster.arrive; barrier.cluster.wait;", "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
        "barrier.cluster.arrive; barrier.cluster.wait;",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [s@b1], 4, [m@b1];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [s@b1], 5, [m@b1];",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 4;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [m], 3;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s@b1], [g], 16, [m@b1];",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;",
        "fence.release.sync_restrict::shared::cta.cluster;", "fence.acquire.sync_restrict::shared::cluster.cluster;",
    ),
    ("s@b1",),
)  # fmt: skip
MAPS = Scene(
    """.shared @ d0.c0.b0 .mbarrier m({count});
    .shared @ d0.c0.b0 .u32 s[4];
    .shared @ d0.c0.b0 .tensormap E -> b;
    .global .u32 a[4] = {{1, 0, 0, 0}};
    .global .u32 b[4] = {{2, 0, 0, 0}};
    .global .tensormap D -> a{acquired};
    .global .u32 f;""",
    ("d0.c0.b0", "d0.c0.b0", "d0.c1.b1"),
    (
        "@01 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; cp.async.bulk.tensor.1d.shared::cta.global.tile"
        ".mbarrier::complete_tx::bytes [s], [D, {0}], [m];",
        "@01 cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [D, {0}], [s];" + GROUPS[1],
        "@01 " + ARRIVALS[0], "@01 " + WAITS[0], "@01 ld.weak.shared::cta.u32 r, [s];",
        "ld.weak.global.u32 r, [a];", *FLAG,
        "st.weak.global.u64 [D], &b;", "tensormap.replace.tile.global_address.global.b1024.b64 [D], &b;",
        "fence.proxy.tensormap::generic.release.gpu;", "fence.proxy.tensormap::generic.release.cta;",
        "fence.proxy.tensormap::generic.acquire.gpu [D], 128;", "fence.proxy.tensormap::generic.acquire.sys [D], 128;",
        "@01 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [D], [E], 128;",
        "bar.sync 0;", "st.weak.global.u32 [a], 3;", "fence.proxy.async;",
    ),
    ("a", "b"),
)  # fmt: skip
TILES = Scene(
    """.shared @ d0.c0.b0 .mbarrier m({count});
    .shared @ d0.c0.b0 .u32 s[8];
    .shared @ d0.c0.b0 .tensormap E -> a dims(4, 2) box(4, 1);
    .global .u32 a[8] = {{1, 0, 0, 0, 2, 0, 0, 0}};
    .global .tensormap D -> a dims(4, 2) box(4, 1){acquired};
    .global .u32 f;""",
    ("d0.c0.b0", "d0.c0.b0", "d0.c1.b1"),
    (
        "@01 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; cp.async.bulk.tensor.2d.shared::cta.global.tile"
        ".mbarrier::complete_tx::bytes [s], [D, {0, 1}], [m];",
        "@01 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 32; cp.async.bulk.tensor.2d.shared::cta.global.tile"
        ".mbarrier::complete_tx::bytes [s], [D, {0, 0}], [m];",
        "@01 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [D, {0, 1}], [s];" + GROUPS[1],
        "@01 " + ARRIVALS[0], "@01 " + WAITS[0], "@01 ld.weak.shared::cta.u32 r, [s];", "ld.weak.global.u32 r, [a];",
        "@01 st.weak.shared::cta.u32 [s], 3;", *FLAG,
        "tensormap.replace.tile.box_dim.global.b1024.b32 [D], 1, 2;",
        "tensormap.replace.tile.global_dim.global.b1024.b32 [D], 1, 1;",
        "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [D], 0;",
        "@01 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [E], 1, 1;",
        "fence.proxy.tensormap::generic.release.gpu;", "fence.proxy.tensormap::generic.acquire.gpu [D], 128;",
        "@01 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [D], [E], 128;",
        "bar.sync 0;", "fence.proxy.async;",
    ),
    ("a", "s"),
)  # fmt: skip
PADDING = Scene(
    """.shared @ d0.c0.b0 .mbarrier m({count});
    .shared @ d0.c0.b0 .u32 s[8] = {{1, 2, 3, 4, 5, 6, 7, 8}};
    .global .u32 a[16];
    .global .u32 b[5];
    .global .tensormap D -> a dims(6, 2) box(4, 2) strides(32){acquired};
    .global .tensormap E -> b dims(5) box(8) acquired;
    .global .u32 f;""",
    ("d0.c0.b0", "d0.c0.b0", "d0.c1.b1"),
    (
        "@01 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [D, {4, 0}], [s];" + GROUPS[1],
        "@01 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [D, {4, 1}], [s];" + GROUPS[1],
        "@01 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [D, {4, 1}], [s];" + GROUPS[2],
        "@01 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [D, {4, 1}], [s];" + GROUPS[1],
        "@01 cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [E, {0}], [s];" + GROUPS[1],
        "@01 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 32; cp.async.bulk.tensor.2d.shared::cta.global.tile"
        ".mbarrier::complete_tx::bytes [s], [D, {4, 0}], [m]; " + WAITS[0],
        "@01 ld.weak.shared::cta.u32 r, [s+8];", "@01 st.weak.shared::cta.u32 [s+8], 9;",
        "ld.weak.global.u32 r, [a+56];", "ld.relaxed.gpu.global.u32 r, [a+56];", "st.weak.global.u32 [a+24], 3;",
        "st.relaxed.gpu.global.u32 [a+60], 3;", "atom.relaxed.gpu.global.add.u32 r, [a+56], 1;", *FLAG,
        "tensormap.replace.tile.global_dim.global.b1024.b32 [D], 0, 7;", "bar.sync 0;", "fence.proxy.async;",
    ),
    ("a[6]", "a[14]", "a[15]"),
)  # fmt: skip
KERNELS = Scene(
    """.shared @ k0.d0.c0.b0 .u32 s[4] = {{1, 0, 0, 0}};
    .shared @ k1.d0.c1.b1 .mbarrier m({count});
    .shared @ k1.d0.c1.b1 .u32 t[4];
    .global .u32 g[4];
    .global .u32 f;""",
    ("k0.d0.c0.b0", "k1.d0.c1.b1", "k0.d0.c2.b2"),
    (
        "@0 cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;" + GROUPS[1],
        "@0 cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;" + GROUPS[2],
        "@1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; cp.async.bulk.shared::cta.global"
        ".mbarrier::complete_tx::bytes [t], [g], 16, [m]; await mbarrier.try_wait.parity.shared::cta.b64 [m], 0;",
        "@1 ld.weak.shared::cta.u32 r, [t];", "st.weak.global.u32 [g], 2;", "ld.weak.global.u32 r, [g];", *FLAG,
        "@1 griddepcontrol.wait;", "@0 griddepcontrol.launch_dependents;", "@2 griddepcontrol.launch_dependents;",
        "fence.acq_rel.sys;", "fence.acq_rel.gpu;", "fence.proxy.async;",
    ),
    ("g",),
    ("", "launch k1 with k0;", "launch k1 dependent k0;", "launch k1 dependent k0;"),
)  # fmt: skip
LIVES = Scene(
    """.shared @ d0.c0.b0 .b64 m;
    .shared @ d0.c0.b0 .u32 s[4];
    .global .u32 g[4] = {{1, 0, 0, 0}};
    .global .u32 f;""",
    ("d0.c0.b0", "d0.c0.b1", "d0.c0.b0"),
    (
        "@0 mbarrier.init.shared::cta.b64 [m], {count};", "@0 mbarrier.init.shared::cta.b64 [m], {count};",
        "@02 mbarrier.inval.shared::cta.b64 [m];", "fence.mbarrier_init.release.cluster;", "fence.acq_rel.cluster;",
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait;", "barrier.cluster.arrive; barrier.cluster.wait;",
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait;", "@02 bar.sync 0;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [m];", "@02 mbarrier.arrive.shared::cta.b64 _, [m];",
        "@02 " + WAITS[0], "@02 " + WAITS[3], "@0 " + ARMED, *FLAG, "@02 ld.weak.shared::cta.u64 r, [m];",
        "st.weak.shared::cluster.u32 [s], 2;", "@02 ld.weak.shared::cta.u32 r, [s];", "@0 fence.proxy.async;",
    ),
    ("s",),
)  # fmt: skip
LANES = Scene(
    """.shared @ d0.c0.b0 .mbarrier m({count});
    .shared @ d0.c0.b0 .u32 x;
    .shared @ d0.c0.b0 .u32 s[4];
    .global .u32 g[4] = {{1, 0, 0, 0}};""",
    ("d0.c0.b0.w0.l0", "d0.c0.b0.w0.l1", "d0.c0.b0.w1"),
    (
        "@01 elect.sync _|p, 3; if (p) { mbarrier.arrive.shared::cta.b64 _, [m]; }",
        "@01 elect.sync _|p, 3; if (p) { st.weak.shared::cta.u32 [x], 1; }",
        "@01 elect.sync _|p, 3; if (p) { " + ARMED + " }", "@01 bar.warp.sync 3;", "@01 bar.warp.sync 3;",
        "@01 elect.sync r|p, 3;", "@0 elect.sync r|p, 1; st.weak.shared::cta.u32 [x], r;", "@2 elect.sync _|p;",
        "ld.weak.shared::cta.u32 r, [x];", "ld.weak.shared::cta.u32 r, [s];", *WAITS[:2],
        "st.weak.shared::cta.u32 [x], 2;", "mbarrier.arrive.shared::cta.b64 _, [m];", "bar.sync 0;", "barrier.sync 1;",
        "fence.proxy.async;",
    ),
    ("x",),
)  # fmt: skip
MADE = "mbarrier.inval.shared::cta.b64 [m]; mbarrier.init.shared::cta.b64 [m], {count};"
ANEW = Scene(
    ONE_CTA.memory,
    ONE_CTA.places,
    (
        "@0 " + MADE, f"@0 bar.sync 0; {MADE} bar.sync 0;", f"@0 bar.sync 0; {MADE} bar.sync 0;",
        "@12 bar.sync 0; bar.sync 0;", "@12 bar.sync 0; bar.sync 0;",
        *ARRIVALS[:2], *ARRIVALS[:2], WAITS[0], WAITS[0], WAITS[2], WAITS[6],
        ARRIVALS[0] + " " + WAITS[0], "@0 " + ARMED, "@0 " + ARMED, "fence.proxy.async;", "fence.acq_rel.cta;",
        "ld.weak.shared::cta.u32 r, [s];", "st.weak.shared::cta.u32 [s], 2;",
        "mbarrier.test_wait.parity.shared::cta.b64 r, [m], 0;",
        "mbarrier.arrive.shared::cta.b64 t, [m]; await mbarrier.try_wait.shared::cta.b64 [m], t;",
    ),
    ("s",),
)  # fmt: skip
TRIGGERS = Scene(
    """.global .u32 x;
    .global .u32 f;
    .global .u32 a[4];
    .global .u32 b[4] = {{2, 0, 0, 0}};
    .global .tensormap D -> a acquired;
    .shared @ k1.d0.c1.b1 .mbarrier m({count});
    .shared @ k1.d0.c1.b1 .u32 t[4];""",
    ("k0.d0.c0.b0", "k1.d0.c1.b1", "k0.d0.c0.b0"),
    (
        "@02 griddepcontrol.launch_dependents;", "@02 fence.acq_rel.gpu; griddepcontrol.launch_dependents;",
        "@02 griddepcontrol.launch_dependents;", "@1 griddepcontrol.wait;", "@02 bar.sync 0;", "@02 bar.sync 0;",
        "@02 ld.relaxed.gpu.global.u32 q, [f]; if (q == 0) { griddepcontrol.launch_dependents; }",
        "fence.acq_rel.gpu;", "@02 st.weak.global.u32 [x], 1;", "@1 ld.weak.global.u32 r, [x];", *FLAG,
        "@02 tensormap.replace.tile.global_address.global.b1024.b64 [D], b;",
        "@02 fence.proxy.tensormap::generic.release.gpu;", "@1 fence.proxy.tensormap::generic.acquire.gpu [D], 128;",
        "@1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; cp.async.bulk.tensor.1d.shared::cta.global.tile"
        ".mbarrier::complete_tx::bytes [t], [D, {0}], [m]; " + WAITS[0],
        "@1 ld.weak.shared::cta.u32 r, [t];",
    ),
    ("x",),
    ("launch k1 dependent k0;",),
)  # fmt: skip
BROKEN = Scene(
    ONE_CTA.memory,
    ONE_CTA.places,
    (
        "bar.sync 0;", "bar.sync 0;", "bar.sync 0;", "@01 barrier.sync 1, 64;", "bar.arrive 2, 64;", "bar.sync 2, 64;",
        "mbarrier.arrive.shared::cta.b64 _, [m], 2;", "mbarrier.init.shared::cta.b64 [m], 1;", ARRIVALS[0], WAITS[0],
        "ld.relaxed.cta.global.u32 q, [f]; if (q == 0) { mbarrier.arrive.shared::cta.b64 _, [m], 2; }",
        "ld.relaxed.cta.global.u32 q, [f]; if (q == 1) { mbarrier.inval.shared::cta.b64 [m]; } bar.sync 0;",
        "mbarrier.test_wait.parity.shared::cta.b64 p, [m], 0; if (p) { bar.sync 0; }",
        "do { ld.relaxed.cta.global.u32 q, [f]; } while (q == 0);", *FLAG[:2],
        "st.weak.shared::cta.u32 [s], 2;", "ld.weak.shared::cta.u32 r, [s];", "ld.weak.shared::cta.u32 r, [s];",
    ),
    ("s",),
)  # fmt: skip
SCENES = (ONE_CTA, GENERIC, CLUSTER, MAPS, TILES, PADDING, KERNELS, LIVES, LANES)


def fits(move: str, number: int) -> str:
    """What a thread does in this move; nothing, where it is for others."""
    who, _, text = move.partition(" ") if move[0] == "@" else ("", "", move)
    return text if not who or str(number) in who else ""


@some.composite
def asynchronous_texts(draw: some.DrawFn, scenes: tuple[Scene, ...] = SCENES, moves: int = 6) -> str:
    """The text of a small test, with so many moves at most."""
    scene = draw(some.sampled_from(scenes))
    places = scene.places[: draw(some.sampled_from((2, 2, 3)))]
    bodies: list[list[str]] = [[] for _ in places]
    fitting = [[text for move in scene.moves if (text := fits(move, n))] for n in range(len(places))]
    for _ in range(draw(some.integers(2, moves))):
        number = draw(some.integers(0, len(places) - 1))
        bodies[number].append(draw(some.sampled_from(fitting[number])))
    count, acquired = draw(some.sampled_from((1, 1, 2))), draw(some.sampled_from((" acquired", "")))
    threads, asked = [], [f"{one} == 0" for one in scene.asked]
    for number, (place, body) in enumerate(zip(places, bodies, strict=True)):
        lines = []
        for at, move in enumerate(body):
            line = move.replace("{count}", str(count)).replace(" r, ", f" r{at}, ")
            asked += [f"T{number}.r{at} == 0"] if f" r{at}, " in line else []
            lines.append(line)
        threads.append(f"thread T{number} @ {place} {{\n    " + "\n    ".join(lines) + "\n}")
    memory = scene.memory.format(count=count, acquired=acquired)
    launch = draw(some.sampled_from(scene.launch))
    return "\n".join(["ptx drawn", memory, *threads, launch, f"exists ({' && '.join(asked)})"])


def asynchronous(scenes: tuple[Scene, ...] = SCENES, moves: int = 6) -> some.SearchStrategy[Program]:
    """A small test."""
    return asynchronous_texts(scenes, moves).map(lambda text: read(text, "drawn.lit")[0])
