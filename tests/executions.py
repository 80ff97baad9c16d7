"""A hand-made execution: a message is passed, a fence in the way, and the reader sees the old `x`."""

from __future__ import annotations

from ptxmm.program import Object, Order, Place, Program, Scope, Thread
from ptxmm.verdict import Answer, Execution, Happening, Race, Result

LOAD = "ld.acquire.gpu.u32 r0, [y];"
ATOM = "atom.relaxed.gpu.global.add.u32 r0, [y], 1;"
GPU = Scope.GPU

EVENTS = (
    Happening(0, "I", None, 0, "", place="x", value=0),
    Happening(1, "I", None, 0, "", place="y", value=0),
    Happening(2, "W", "P", 0, "st.weak.global.u32 [x], 1;", place="x", value=1, line=5),
    Happening(3, "F", "P", 1, "fence.acq_rel.gpu;", order=Order.ACQ_REL, scope=GPU, line=6),
    Happening(4, "R", "P", 2, ATOM, place="y", value=0, order=Order.RELAXED, scope=GPU, line=7),
    Happening(5, "W", "P", 3, ATOM, place="y", value=1, order=Order.RELAXED, scope=GPU, line=7),
    Happening(6, "R", "C", 0, LOAD, place="y", value=1, order=Order.ACQUIRE, scope=GPU, line=10),
    Happening(7, "R", "C", 1, "ld.weak.u32 r1, [x];", place="x", value=0, line=11),
    Happening(8, "W", "D", 0, "st.weak.u32 [x], 2;", place="x", value=2, line=14),
)
EDGES = {
    "po": frozenset({(2, 3), (3, 4), (4, 5), (6, 7)}),
    "rf": frozenset({(1, 4), (5, 6), (0, 7)}),
    "co": frozenset({(0, 2), (2, 8), (1, 5)}),
    "fr": frozenset({(4, 5), (7, 2)}),
    "rmw": frozenset({(4, 5)}),
    "sync": frozenset({(3, 6)}),
}
MESSAGE = Execution(EVENTS, EDGES, {("P", "r0"): 0, ("C", "r0"): 1, ("C", "r1"): 0}, {"x": 2, "y": 1})
RACE = Race("x", 2, 7, False, "nothing orders them", MESSAGE)

PROGRAM = Program(
    "mp",
    (Object("x"), Object("y")),
    (Thread("P", Place(0, 0, 0), ()), Thread("C", Place(0, 1, 1), ()), Thread("D", Place(0, 1, 2), ())),
)

AS_EXPECTED = Result(
    "mp.lit", "mp", "right", "ptx-9.4", "~exists", "forbidden", ("causality",), race=Answer("no"),
    expected=("forbidden", "no race"), ok=True, seconds=0.0042, line=20,
)  # fmt: skip
SURPRISE = Result(
    "mp.lit", "mp", None, "ptx-9.4", "exists", "allowed", witness=MESSAGE, race=Answer("yes", ("x",), (RACE,)),
    expected=("forbidden",), ok=False, surprises=("expected forbidden, but it is allowed",), program=PROGRAM, line=20,
)  # fmt: skip
UNKNOWN = Result("mp.lit", "mp", None, "sc", "exists", "unknown", why="time-out after 60 s", expected=("forbidden",))
UNSUPPORTED = Result("tex.lit", "tex", None, "ptx-9.4", verdict="unsupported", why="no texture proxy")
UNREADABLE = Result("bad.lit", "bad", None, "", verdict="error", why="bad.lit:3:1: error: what is this", line=3)
EVERY = (AS_EXPECTED, SURPRISE, UNKNOWN, UNSUPPORTED, UNREADABLE)
