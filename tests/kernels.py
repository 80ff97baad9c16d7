"""Small kernels in the shape of those of `ptxmm run`: roles between labels, for tests of the audit of machine code.

`python tests/kernels.py` assembles them and records the listings in `tests/golden/sass`; it needs ptxas and nvdisasm.
"""

from __future__ import annotations

from pathlib import Path

from ptxmm.gpu.sass import listing

RECORDED = Path(__file__).parent / "golden" / "sass"
ARCHITECTURE = "sm_90a"

HEAD = """.version 8.6
.target sm_90
.address_size 64

.visible .entry litmus(.param .u64 in_x, .param .u64 in_zero, .param .u64 in_out)
{
    .reg .b64 x, z, out;
    .reg .b32 role, r<8>, sink32;
    .reg .pred p<8>;
    ld.param.u64 x, [in_x];
    ld.param.u64 z, [in_zero];
    ld.param.u64 out, [in_out];
    mov.u32 r3, %laneid;
    mad.wide.u32 x, r3, 4, x;
    add.s64 z, x, z;
    mov.b32 r0, 0;
    mov.b32 r1, 0;
    mov.u32 role, %ctaid.x;
"""

KERNELS = {
    "release-acquire": (
        ["st.weak.global.u32 [x], 1;", "st.release.gpu.global.u32 [x+256], 1;"],
        ["ld.acquire.gpu.global.u32 r0, [x+256];", "ld.weak.global.u32 r1, [x];"],
    ),
    "two-loads": (
        ["st.weak.global.u32 [x], 1;"],
        ["ld.weak.global.u32 r0, [x];", "ld.weak.global.u32 r1, [x];"],
    ),
    "two-loads-opaque": (
        ["st.weak.global.u32 [x], 1;"],
        ["ld.relaxed.gpu.global.u32 r0, [x];", "ld.relaxed.gpu.global.u32 r1, [z];"],
    ),
    "two-stores": (
        ["st.relaxed.gpu.global.u32 [x], 1;", "st.relaxed.gpu.global.u32 [x], 2;"],
        ["ld.relaxed.gpu.global.u32 r0, [x];"],
    ),
    "store-load": (
        ["st.weak.global.u32 [x], 1;", "ld.weak.global.u32 r0, [x+256];"],
        ["st.weak.global.u32 [x+256], 1;", "ld.weak.global.u32 r0, [x];"],
    ),
    "fences": (
        ["st.relaxed.gpu.global.u32 [x], 1;", "fence.sc.gpu;", "ld.relaxed.gpu.global.u32 r0, [x+256];"],
        ["st.relaxed.gpu.global.u32 [x+256], 1;", "fence.acq_rel.cta;", "ld.relaxed.gpu.global.u32 r0, [x];"],
    ),
    "wait-closed": (
        ["st.weak.global.u32 [x], 1;", "red.release.gpu.global.add.u32 [x+256], 1;"],
        [
            "T1_0:",
            "ld.relaxed.gpu.global.u32 r0, [x+256];",
            "setp.ne.u32 p1, r0, 1;",
            "@p1 bra T1_0;",
            "ld.acquire.gpu.global.u32 r2, [x+256];",
            "ld.weak.global.u32 r1, [x];",
            "add.u32 r1, r1, r2;",
        ],
    ),
    "acquire-thrown-away": (
        ["st.weak.global.u32 [x], 1;", "red.release.gpu.global.add.u32 [x+256], 1;"],
        ["ld.acquire.gpu.global.u32 sink32, [x+256];", "ld.weak.global.u32 r1, [x];"],
    ),
    "wait-closed-in-cta": (
        ["st.weak.global.u32 [x], 1;", "red.release.cta.global.add.u32 [x+256], 1;"],
        [
            "T1_0:",
            "ld.relaxed.cta.global.u32 r0, [x+256];",
            "setp.ne.u32 p1, r0, 1;",
            "@p1 bra T1_0;",
            "ld.acquire.cta.global.u32 r2, [x+256];",
            "ld.weak.global.u32 r1, [x];",
            "add.u32 r1, r1, r2;",
        ],
    ),
    "weak-poll": (
        ["st.weak.global.u32 [x], 1;"],
        ["T1_0:", "ld.weak.global.u32 r0, [x];", "setp.ne.u32 p1, r0, 1;", "@p1 bra T1_0;"],
    ),
    "thrown-away": (
        ["st.weak.global.u32 [x], 1;"],
        ["ld.relaxed.gpu.global.u32 sink32, [x];", "ld.weak.global.u32 r0, [x+256];"],
    ),
    "part-of-a-vector": (
        ["st.relaxed.gpu.global.u32 [x], 1;"],
        ["ld.relaxed.gpu.global.v2.u32 {r0, sink32}, [x];"],
    ),
    "atomic-thrown-away": (
        ["atom.release.gpu.global.add.u32 sink32, [x], role;", "st.weak.global.u32 [x+256], 1;"],
        ["ld.acquire.gpu.global.u32 r0, [x];", "ld.weak.global.u32 r1, [x+256];"],
    ),
    "election-of-lanes": (
        ["elect.sync _|p1, 3;", "bar.warp.sync 3;", "st.relaxed.gpu.global.u32 [x], 1;", "selp.u32 r1, 1, 0, p1;"],
        ["ld.relaxed.gpu.global.u32 r0, [x];", "elect.sync _|p1, 3;", "bar.warp.sync 3;", "selp.u32 r1, 1, 0, p1;"],
    ),
    "election-thrown-away-by-lanes": (
        ["elect.sync _|p1, 3;", "st.relaxed.gpu.global.u32 [x], 1;"],
        ["ld.relaxed.gpu.global.u32 r0, [x];", "elect.sync _|p1, 3;"],
    ),
    "copies-and-barriers": (
        [
            ".shared .align 16 .b64 m[1];",
            ".shared .align 16 .b64 s[2];",
            "griddepcontrol.wait;",
            "mbarrier.init.shared::cta.b64 [m], 1;",
            "fence.proxy.async;",
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [m], 16;",
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [x], 16, [m];",
            "T0_0:",
            "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p1, [m], 0;",
            "@!p1 bra T0_0;",
            "cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16;",
            "cp.async.bulk.commit_group;",
            "cp.async.bulk.wait_group 0;",
            "griddepcontrol.launch_dependents;",
        ],
        [
            "cp.async.ca.shared::cta.global [s], [x], 4;",
            "cp.async.wait_all;",
            "barrier.cluster.arrive.release;",
            "barrier.cluster.wait.acquire;",
            "barrier.cta.sync 0;",
            "fence.proxy.alias;",
            "fence.proxy.tensormap::generic.acquire.gpu [x], 128;",
            "ld.weak.shared::cta.u32 r0, [s];",
        ],
    ),
}  # fmt: skip


def text(name: str) -> str:
    """The PTX of a kernel."""
    first, second = KERNELS[name]
    lines = ["mov.u32 role, %laneid;"] if name.endswith("lanes") else []
    lines += ["setp.eq.u32 p0, role, 1;", "@p0 bra ROLE1;"]
    for number, body in enumerate((first, second)):
        lines += [f"ROLE{number}:", f"TEST{number}:", *body, f"DONE{number}:"]
        lines += ["st.global.u32 [out], r0;", "st.global.u32 [out+4], r1;", "bra PLAYED;"]
    indented = [line if line.endswith(":") else f"    {line}" for line in [*lines, "PLAYED:", "ret;"]]
    return HEAD + "\n".join(indented) + "\n}\n"


def recorded(name: str) -> str:
    """The listing of a kernel's machine code, as it was recorded."""
    return (RECORDED / f"{name}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    RECORDED.mkdir(parents=True, exist_ok=True)
    for each in KERNELS:
        (RECORDED / f"{each}.txt").write_text(listing(text(each), ARCHITECTURE), encoding="utf-8")
