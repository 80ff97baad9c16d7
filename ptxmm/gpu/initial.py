"""Initial values, written by the harness before the rounds of a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptxmm.gpu.code import PREDICATE, Code
from ptxmm.gpu.layout import Layout, cta_of
from ptxmm.gpu.maps import MAP_BYTES
from ptxmm.gpu.views import address_lines
from ptxmm.program import Addr, Const, Object, Program, Space

Loop = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rounds:
    """How the harness goes through the rounds of a pass, and finds the slot of each."""

    open: Callable[[str], Loop]
    close: Callable[[Loop, int], None]
    locate: Callable[[], None]


def initialise_global(program: Program, layout: Layout, code: Code, rounds: Rounds) -> None:
    """Write the initial values in global memory: those of a round by the thread that counts it."""
    loop = rounds.open("role")
    rounds.locate()
    for item in global_objects(program):
        at = code.fresh(64)
        code.add(*address_lines(program, item.name, at))
        _store(program, layout, code, item, "global", at)
    rounds.close(loop, len(program.threads))
    if any(item.tensormap is not None and item.space is Space.GLOBAL for item in program.objects):
        code.add(f"fence.proxy.tensormap::generic.release.{code.scope}")


def initialise_shared(program: Program, layout: Layout, code: Code, rounds: Rounds, threads: tuple[int, ...]) -> None:
    """Write the initial values in the shared memory of the CTAs of some threads: each by its first thread."""
    shared = [item for item in program.objects if item.space is Space.SHARED and host_of(program, item) in threads]
    for host in sorted({host_of(program, item) for item in shared}):
        past, other = code.label("PAST"), code.fresh(PREDICATE)
        code.add(f"setp.ne.u32 {other}, role, {host}", f"@{other} bra {past}")
        loop = rounds.open("0")
        rounds.locate()
        for item in shared:
            if host_of(program, item) == host:
                at = code.fresh(64)
                code.add(f"add.s64 {at}, shared_here, {layout.shared[item.name]}")
                _store(program, layout, code, item, "shared", at)
        rounds.close(loop, 1)
        code.add(f"{past}:")
    if layout.cluster_size > 1 and any(item.mbarrier is not None for item in shared):
        code.add("fence.mbarrier_init.release.cluster")
    if any(item.tensormap is not None for item in shared):
        code.add(f"fence.proxy.tensormap::generic.release.{code.scope}")


def global_objects(program: Program) -> list[Object]:
    """The objects in global memory, in the order of their arrays."""
    return [item for item in program.objects if item.space is Space.GLOBAL]


def maps(program: Program) -> list[Object]:
    """The tensor maps that the harness writes, in the order of their templates."""
    return [item for item in program.objects if item.tensormap is not None and item.space is not Space.PARAM]


def host_of(program: Program, item: Object) -> int:
    """The first thread of the CTA that owns a shared object."""
    assert item.owner is not None
    owner = cta_of(item.owner)
    return next(number for number, thread in enumerate(program.threads) if cta_of(thread.place) == owner)


def _store(program: Program, layout: Layout, code: Code, item: Object, space: str, at: str) -> None:
    if item.mbarrier is not None:
        for offset in range(0, item.size, item.type.size):
            code.add(f"mbarrier.init.shared.b64 [{at}+{offset}], {item.mbarrier}")
        return
    if item.tensormap is not None:
        _copy_map(program, code, item, space, at)
        return
    for offset, value, size in _words(item):
        if isinstance(value, Addr):
            source = address(program, layout, code, value)
        else:
            source = code.fresh(64)
            code.add(f"mov.u64 {source}, {value}")
        word = f"b{8 * size}"
        if size < 8:
            narrow = code.fresh(max(16, 8 * size))
            code.add(f"cvt.u{max(16, 8 * size)}.u64 {narrow}, {source}")
            source = narrow
        code.add(f"st.{space}.{word} [{at}+{offset}], {source}")


def _copy_map(program: Program, code: Code, item: Object, space: str, at: str) -> None:
    """A tensor map is the host's template with the address of this copy's object."""
    assert item.tensormap is not None
    number, word, target = maps(program).index(item), code.fresh(64), code.fresh(64)
    code.add(*_in_global(program, item.tensormap.target, target))
    code.add(f"st.{space}.b64 [{at}], {target}")
    for offset in range(8, MAP_BYTES, 8):
        code.add(f"ld.global.b64 {word}, [templates+{number * MAP_BYTES + offset}]")
        code.add(f"st.{space}.b64 [{at}+{offset}], {word}")


def _words(item: Object) -> list[tuple[int, int | Addr, int]]:
    """Offset, value and size of what is stored: whole words of 8 bytes where they fit."""
    if any(isinstance(value, Addr) for value in item.init):
        return [
            (place * item.type.size, value if isinstance(value, Addr) else value.value, item.type.size)
            for place, value in enumerate(item.init)
        ]
    size = item.type.size
    numbers = [value.value % (1 << 8 * size) for value in item.init if isinstance(value, Const)]
    content = b"".join(number.to_bytes(size, "little") for number in numbers)
    found, at = [], 0
    while at < len(content):
        step = next(s for s in (8, 4, 2, 1) if at % s == 0 and at + s <= len(content))
        found.append((at, int.from_bytes(content[at : at + step], "little"), step))
        at += step
    return [(offset, value, step) for offset, value, step in found]


def address(program: Program, layout: Layout, code: Code, value: Addr) -> str:
    """The address that a pointer to an object of this copy holds: a generic one."""
    item, made = program.physical(value.name), code.fresh(64)
    if item.space is Space.GLOBAL:
        code.add(*_in_global(program, value.name, made))
    else:
        code.add(f"add.s64 {made}, shared_here, {layout.shared[item.name]}", f"cvta.shared.u64 {made}, {made}")
    code.add(f"add.s64 {made}, {made}, {value.offset}")
    return made


def _in_global(program: Program, name: str, register: str) -> tuple[str, ...]:
    """What puts the address of an object of this copy in global memory into a register: its second, for an alias."""
    item = program.physical(name)
    number = [each.name for each in global_objects(program)].index(item.name)
    second = () if name == item.name else (f"add.s64 {register}, {register}, alias",)
    return (f"mad.lo.s64 {register}, array, {number}, here", *second)
