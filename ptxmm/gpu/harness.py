"""The part of a kernel that is the same for every test: roles, rounds, meetings, and the table of final states.

A launch runs `passes` passes of `rounds` rounds; each round of a pass has memory of its own. The warps of a team meet
before each round without a fence, which would empty the caches that the test is about, and with fences at the end
of a pass: then what they left is counted, and the next pass may use the memory again.
"""

from __future__ import annotations

from ptxmm.gpu.code import Code
from ptxmm.gpu.layout import WARP, Layout
from ptxmm.gpu.stress import ended

POLLS = 1 << 17
"""Polls before a thread of the harness gives up: a tenth of a second, a hundred times the bound of a wait; twice as
many where several GPUs meet, whose launches begin one after the other."""

STATES = 512
"""Rows of the table of final states."""

COPIES = 128
"""Copies of the counters, so that CTAs do not wait for each other."""

COUNTERS = ("instances", "stuck", "filtered", "unlisted", "holding", "squares")
"""What each copy of the counters counts, in words of 64 bits."""

COUNTED = COPIES * STATES * 8
"""Where in the table the counters begin, a row of 8 for each copy; before them are the counts of states."""

KEYS = COUNTED + COPIES * 64
"""Where the keys of states begin; behind them are the states."""

VALUES = KEYS + STATES * 8

HEADER = 256
"""Bytes before the first meeting point: a count of failed meetings, and from byte 64 zeros."""

MEETING = 32
"""Bytes from one team's meeting points to the next: a word for each launch of a pass."""


def prologue(code: Code, layout: Layout, zeros: int) -> None:
    """Who this thread is: its unit, its team, its role; threads without one leave."""
    add, register = code.add, code.register
    for number in range(zeros):
        add(f"ld.volatile.global.u64 {register(f'zero{number}', 64)}, [sync+{64 + 8 * number}]")
    for name in (
        "lane",
        "warp",
        "unit",
        "rank",
        "cluster",
        "team",
        "inside",
        "teams",
        "role",
        "key",
        "meetings",
    ):
        register(name, 32)
    register("lead", 0)
    add("mov.u32 lane, %tid.x", "shr.u32 warp, lane, 5", "and.b32 lane, lane, 31")
    add(f"rem.u32 rank, cta, {layout.cluster_size}", f"div.u32 unit, cta, {layout.cluster_size}")
    here, before = ("clusters_here", "clusters_before") if layout.devices.spread else (str(layout.clusters), "")
    add(f"rem.u32 cluster, unit, {here}", f"div.u32 unit, unit, {here}")
    if before:
        add(f"add.u32 cluster, cluster, {before}")
    add("mad.lo.u32 unit, cluster, turn, unit", "rem.u32 unit, unit, units")
    add(f"div.u32 inside, warp, {layout.warps}", f"rem.u32 warp, warp, {layout.warps}")
    add(f"mad.lo.u32 team, unit, {layout.teams}, inside", f"mul.lo.u32 teams, units, {layout.teams}")
    outside = code.fresh(0)
    add(f"setp.ge.u32 {outside}, inside, {layout.teams}", f"@{outside} bra LEAVE")
    add(f"mad.lo.u32 key, cluster, {layout.cluster_size}, rank", f"mad.lo.u32 key, key, {layout.warps}, warp")
    if not layout.packed:
        add(f"mad.lo.u32 key, key, {WARP}, lane")
    add("mov.u32 role, 0xffffffff")
    here = code.fresh(0)
    for number, seat in enumerate(layout.seats):
        key = (seat.cluster * layout.cluster_size + seat.rank) * layout.warps + seat.warp
        add(f"setp.eq.u32 {here}, key, {key if layout.packed else key * WARP + seat.lane}")
        add(f"@{here} mov.u32 role, {number}")
    add(f"setp.eq.u32 {here}, role, 0xffffffff", f"@{here} bra LEAVE")
    add("setp.eq.u32 lead, lane, 0" if layout.packed else "setp.eq.u32 lead, lane, lane")
    point = register("point", 64)
    add(f"mad.wide.u32 {point}, team, {MEETING}, sync", f"add.s64 {point}, {point}, {HEADER}")
    add(f"mad.wide.u32 {point}, stage, 4, {point}")
    add("mov.u32 meetings, met", f"mov.u32 {register('polls', 32)}, {POLLS * (2 if layout.devices.spread else 1)}")
    for name in COUNTERS:
        if name != "unlisted":
            add(f"mov.u32 {register(f'n_{name}', 32)}, 0")


def _row(code: Code, start: int, size: int) -> str:
    """Where this CTA counts: computed where it is needed, since registers that are kept cost resident CTAs."""
    number, place = code.fresh(32), code.fresh(64)
    code.add(f"mov.u32 {number}, %ctaid.x", f"and.b32 {number}, {number}, {COPIES - 1}")
    code.add(f"mad.wide.u32 {place}, {number}, {size}, table", f"add.s64 {place}, {place}, {start}")
    return place


def meet(code: Code, layout: Layout, seats: int, *, ordered: bool, fences: tuple[str, ...] = ()) -> None:
    """So many threads of the team come to this point; `ordered` makes what they did before visible behind it."""
    add, seen, enough, tries = code.add, code.fresh(32), code.fresh(0), code.fresh(32)
    poll, met = code.label("POLL"), code.label("MET")
    add(f"add.u32 meetings, meetings, {seats}", *fences)
    if layout.packed:
        add("bar.warp.sync 0xffffffff", f"@!lead bra {met}")
    if ordered:
        add(f"fence.acq_rel.{code.scope}")
    add(f"red.relaxed.{code.scope}.global.add.u32 [point], 1", f"mov.u32 {tries}, 0", f"{poll}:")
    add(f"ld.relaxed.{code.scope}.global.u32 {seen}, [point]", f"sub.s32 {seen}, {seen}, meetings")
    add(f"setp.ge.s32 {enough}, {seen}, 0", f"@{enough} bra {met}_OK", f"add.u32 {tries}, {tries}, 1")
    add(f"setp.lt.u32 {enough}, {tries}, polls", f"@{enough} bra {poll}")
    add(f"red.relaxed.{code.scope}.global.add.u32 [sync], 1", "mov.u32 polls, 1", f"{met}_OK:")
    if ordered:
        add(f"fence.acq_rel.{code.scope}")
    add(f"{met}:")
    if layout.packed:
        add("bar.warp.sync 0xffffffff")
    add(*fences)


def depart(code: Code, layout: Layout, fences: tuple[str, ...]) -> None:
    """Come to the next point where the team meets in order, and wait for nobody there."""
    past = code.label("DEPARTED")
    code.add(*fences)
    if layout.packed:
        code.add("bar.warp.sync 0xffffffff", f"@!lead bra {past}")
    code.add(f"fence.acq_rel.{code.scope}", f"red.relaxed.{code.scope}.global.add.u32 [point], 1", f"{past}:")


def count(code: Code, layout: Layout, words: list[str], status: str | None, flags: dict[str, str]) -> None:
    """Count one final state: its `words` of 64 bits, whether it is one that counts, and what holds in it."""
    add, fresh = code.add, code.fresh
    end, alive, left_out = code.label("COUNTED"), "0xffffffff", fresh(0)
    members, mine = fresh(32), fresh(32)
    add(f"add.u32 n_instances, n_instances, {layout.copies}")
    sifted = status is not None or "keeps" in flags
    if sifted:
        _leave_out(code, layout, status, flags.get("keeps"), left_out, members)
        alive = members
    if "holds" in flags:
        _holding(code, layout, flags["holds"], left_out if sifted else None)
    if sifted:
        add(f"@{left_out} bra {end}")
    key, step = fresh(64), fresh(64)
    add(f"mov.u64 {key}, 0x243f6a8885a308d3")
    for word in words:
        add(f"xor.b64 {key}, {key}, {word}", f"mul.lo.u64 {key}, {key}, 0x9e3779b97f4a7c15")
        add(f"shr.u64 {step}, {key}, 32", f"xor.b64 {key}, {key}, {step}")
    add(f"or.b64 {key}, {key}, 1")
    number = fresh(64)
    if layout.packed:
        below, first = fresh(32), fresh(0)
        add(f"match.any.sync.b64 {mine}, {key}, {alive}", f"mov.u32 {below}, %lanemask_lt")
        add(f"and.b32 {below}, {below}, {mine}", f"setp.ne.u32 {first}, {below}, 0", f"@{first} bra {end}")
        add(f"popc.b32 {mine}, {mine}", f"cvt.u64.u32 {number}, {mine}")
    else:
        add(f"mov.u64 {number}, 1")
    _listed(code, words, key, number)
    add(f"{end}:")
    if layout.packed:
        add("bar.warp.sync 0xffffffff")


def _leave_out(code: Code, layout: Layout, status: str | None, keeps: str | None, left_out: str, members: str) -> None:
    add, fresh = code.add, code.fresh
    filtered, stuck = fresh(0), fresh(0)
    add(f"setp.ne.u32 {stuck}, 0, 0", f"setp.ne.u32 {filtered}, 0, 0")
    if status is not None:
        add(f"setp.eq.u32 {stuck}, {status}, 1", f"setp.gt.u32 {filtered}, {status}, 1")
    if keeps is not None:
        rest = fresh(0)
        add(f"not.pred {rest}, {keeps}", f"or.pred {filtered}, {filtered}, {rest}")
        add(f"not.pred {rest}, {stuck}", f"and.pred {filtered}, {filtered}, {rest}")
    add(f"or.pred {left_out}, {stuck}, {filtered}")
    for name, which in (("stuck", stuck), ("filtered", filtered)):
        if layout.packed:
            mask = fresh(32)
            add(f"vote.sync.ballot.b32 {mask}, {which}, 0xffffffff", f"popc.b32 {mask}, {mask}")
            add(f"add.u32 n_{name}, n_{name}, {mask}")
        else:
            add(f"@{which} add.u32 n_{name}, n_{name}, 1")
    if layout.packed:
        kept = fresh(0)
        add(f"not.pred {kept}, {left_out}", f"vote.sync.ballot.b32 {members}, {kept}, 0xffffffff")


def _holding(code: Code, layout: Layout, holds: str, left_out: str | None) -> None:
    """Count the instances in which the condition holds, and the square of how many there are side by side."""
    add = code.add
    if left_out is not None:
        both, kept = code.fresh(0), code.fresh(0)
        add(f"not.pred {kept}, {left_out}", f"and.pred {both}, {holds}, {kept}")
        holds = both
    if not layout.packed:
        add(f"@{holds} add.u32 n_holding, n_holding, 1", f"@{holds} add.u32 n_squares, n_squares, 1")
        return
    mask = code.fresh(32)
    add(f"vote.sync.ballot.b32 {mask}, {holds}, 0xffffffff", f"popc.b32 {mask}, {mask}")
    add(f"add.u32 n_holding, n_holding, {mask}", f"mad.lo.u32 n_squares, {mask}, {mask}, n_squares")


def _listed(code: Code, words: list[str], key: str, number: str) -> None:
    """Add to the count of a state, after giving it a row of the table if it has none."""
    add, fresh = code.add, code.fresh
    at, place, found, tries = fresh(32), fresh(64), fresh(64), fresh(32)
    is_it, free = fresh(0), fresh(0)
    probe, there, row = (code.label(stem) for stem in ("PROBE", "THERE", "NEXT"))
    add(f"cvt.u32.u64 {at}, {key}", f"shr.u32 {at}, {at}, 7", f"mov.u32 {tries}, 0", f"{probe}:")
    add(f"and.b32 {at}, {at}, {STATES - 1}", f"mad.wide.u32 {place}, {at}, 8, table")
    add(f"add.s64 {place}, {place}, {KEYS}")
    add(f"ld.weak.global.u64 {found}, [{place}]", f"setp.eq.u64 {is_it}, {found}, {key}", f"@{is_it} bra {there}")
    add(f"setp.ne.u64 {free}, {found}, 0", f"@{free} bra {row}")
    add(f"atom.relaxed.{code.scope}.global.cas.b64 {found}, [{place}], 0, {key}")
    add(f"setp.eq.u64 {is_it}, {found}, {key}", f"@{is_it} bra {there}")
    add(f"setp.ne.u64 {free}, {found}, 0", f"@{free} bra {row}")
    target = fresh(64)
    add(f"mad.wide.u32 {target}, {at}, {max(1, len(words)) * 8}, table", f"add.s64 {target}, {target}, {VALUES}")
    add(*(f"st.global.u64 [{target}+{8 * number_}], {word}" for number_, word in enumerate(words)), f"bra {there}")
    add(f"{row}:", f"add.u32 {at}, {at}, 1", f"add.u32 {tries}, {tries}, 1")
    add(f"setp.lt.u32 {free}, {tries}, {STATES}", f"@{free} bra {probe}")
    unlisted, done = _row(code, COUNTED + 8 * COUNTERS.index("unlisted"), 64), code.label("ADDED")
    add(f"red.relaxed.{code.scope}.global.add.u64 [{unlisted}], {number}", f"bra {done}", f"{there}:")
    add(f"mad.wide.u32 {place}, {at}, 8, {_row(code, 0, STATES * 8)}")
    add(f"red.relaxed.{code.scope}.global.add.u64 [{place}], {number}", f"{done}:")


def epilogue(code: Code) -> None:
    """Hand over what this thread counted in registers."""
    wide = code.fresh(64)
    code.add("@!lead bra LEAVE")
    row = _row(code, COUNTED, 64)
    for place, name in enumerate(COUNTERS):
        if name != "unlisted":
            code.add(f"cvt.u64.u32 {wide}, n_{name}")
            code.add(f"red.relaxed.{code.scope}.global.add.u64 [{row}+{8 * place}], {wide}")
    ended(code)
    code.add("LEAVE:", "ret")
