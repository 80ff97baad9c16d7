"""What CTAs do that play no test: loads and stores all over a part of memory that no test uses, until the others end.

Each thread that plays a test counts when it has ended; the sum tells the others to end too.
"""

from __future__ import annotations

from ptxmm.gpu.code import Code

ENDED = 8
"""Where in the scratch memory the threads that have ended are counted."""

FIRST = 64
"""Bytes of scratch memory before those that are only read and written at random."""

SHIFT = 14
WORDS = 1 << 32 - SHIFT
"""Words of scratch memory: as many as the upper bits of a random word can number."""

AT_ONCE = 8
"""Accesses between two looks at the count."""

LOOKS = 1 << 18
"""Looks at the count before a thread gives up."""


def step(code: Code, state: str, address: str, scratch: str) -> None:
    """The next random word in `state`, and an address in scratch memory that depends on it."""
    number = code.fresh(32)
    code.add(f"mad.lo.u32 {state}, {state}, 1664525, 1013904223", f"shr.u32 {number}, {state}, {SHIFT}")
    code.add(f"mad.wide.u32 {address}, {number}, 4, {scratch}")


def ended(code: Code) -> None:
    """Say that this thread has ended, where others wait for that."""
    code.add(f"@stressed red.relaxed.{code.scope}.global.add.u32 [scratch+{ENDED}], 1")


def lines(scope: str) -> list[str]:
    """The scope of the CTAs that stress, which look for those that end in a scope of memory."""
    code = Code(scope)
    add = code.add
    for bits, names in (
        (64, ("scratch", "at")),
        (32, ("state", "sum", "got", "looks", "way", "number")),
        (0, ("stores", "over")),
    ):
        for name in names:
            code.register(name, bits)
    add("ld.param.u64 scratch, [in0_scratch]", "ld.param.u32 state, [in0_seed]", "mov.u32 sum, 0", "mov.u32 looks, 0")
    add(
        "mov.u32 got, %tid.x",
        "mov.u32 number, %ctaid.x",
        "mad.lo.u32 got, number, 1024, got",
        "mad.lo.u32 state, got, 0x9e3779b9, state",
    )
    add("MORE:")
    for _ in range(AT_ONCE):
        step(code, "state", "at", "scratch")
        past, load = code.label("NEXT"), code.label("LOAD")
        add("and.b32 way, state, 0x2000", "setp.ne.u32 stores, way, 0", f"@!stores bra {load}")
        add(f"st.weak.global.u32 [at+{FIRST}], state", f"bra {past}", f"{load}:")
        add(f"ld.weak.global.u32 got, [at+{FIRST}]", "add.u32 sum, sum, got", f"{past}:")
    add(
        f"ld.relaxed.{code.scope}.global.u32 got, [scratch+{ENDED}]",
        "sub.s32 got, got, enough",
        "setp.ge.s32 over, got, 0",
    )
    add("@over bra STRESSED", "add.u32 looks, looks, 1", f"setp.lt.u32 over, looks, {LOOKS}", "@over bra MORE")
    add("STRESSED:", "setp.eq.u32 over, sum, 0x12345678", "@over st.global.u32 [scratch], sum", "ret")
    return ["STRESS:", "{", *code.declarations(), *code.lines, "}"]
