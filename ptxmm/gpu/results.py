"""What threads leave of a round: results in memory of the harness, and from them, after the pass, final states."""

from __future__ import annotations

from ptxmm.arith import Type
from ptxmm.errors import Unsupported
from ptxmm.gpu.body import Body
from ptxmm.gpu.code import PREDICATE, Code, width
from ptxmm.gpu.columns import Column, column_type, columns
from ptxmm.gpu.epochs import Initial, decoded, epochs, one_writer_each
from ptxmm.gpu.initial import host_of, maps
from ptxmm.gpu.kept import ALWAYS_KEPT
from ptxmm.gpu.layout import WARP, Layout, layout
from ptxmm.gpu.short import short_addresses, shown_addresses
from ptxmm.gpu.shown import ensure_shown, has_addresses, shown
from ptxmm.gpu.views import address_lines
from ptxmm.isa import form_of
from ptxmm.program import Addr, AsyncCopy, AsyncStore, FinalMem, FinalReg, Program, ProxyFence, Space

LANE_SHIFT = 5
"""How far the lanes of one role are turned against those of the role before."""


class Results:
    """A kernel's threads, its slots, and where each result of a copy is."""

    def __init__(self, program: Program, shape: Layout | None = None) -> None:
        self.program = program
        own = layout(program)
        self.layout = shape or own
        if own.once and not self.layout.once:
            raise Unsupported("its threads end for good, and those that it is played beside do not")
        self.initial: Initial | None = epochs(program)
        self.code = Code(self.layout.devices.scope)
        self.columns = columns(program)
        self.types = {column: column_type(program, column) for column in self.columns}
        self.asynchronous = any(
            isinstance(s, AsyncCopy | AsyncStore | ProxyFence) for thread in program.threads for s in thread.body
        )
        self.kernel_maps = bool(maps(program))
        ensure_shown(program)
        self.points = has_addresses(program)
        short, self.windows = short_addresses(program), shown_addresses(program)
        self.bodies = [
            Body(program, self.layout, number, self.code, short, self.initial) for number in range(len(program.threads))
        ]
        self.judged: list[Body] = []
        self.observer: Body | None = None
        self.status: dict[int, int] = {}
        self.places = self._result_places()
        self.meetings = [0] * len(self.layout.stages)

    def locate(self, *, turned: bool) -> None:
        """The slot of this lane in this round."""
        code, shape = self.code, self.layout
        code.add("mad.lo.u32 slot_here, round, teams, team")
        if shape.packed:
            code.add("mov.u32 turned, lane")
            if turned:
                code.add(f"mad.lo.u32 turned, role, {LANE_SHIFT}, lane", f"and.b32 turned, turned, {WARP - 1}")
            code.add(f"mad.lo.u32 slot_here, slot_here, {WARP}, turned")
        code.add("mad.wide.u32 here, slot_here, slot, memory")
        if shape.shared:
            own = code.fresh(32)
            code.add(f"mad.lo.u32 {own}, round, {shape.teams}, inside")
            if shape.packed:
                code.add(f"mad.lo.u32 {own}, {own}, {WARP}, turned")
            code.add(
                "mov.u64 shared_here, dynamic", f"mad.wide.u32 shared_here, {own}, {shape.shared_size}, shared_here"
            )

    def each_round(self, start: str) -> tuple[str, str]:
        """Open a loop over rounds."""
        top, end, over = self.code.label("ROUND"), self.code.label("END"), self.code.fresh(PREDICATE)
        self.code.add(f"mov.u32 round, {start}", f"{top}:", f"setp.ge.u32 {over}, round, rounds", f"@{over} bra {end}")
        return top, end

    def close(self, loop: tuple[str, str], step: int) -> None:
        self.code.add(f"add.u32 round, round, {step}", f"bra {loop[0]}", f"{loop[1]}:")

    def _result_places(self) -> dict[Column, int]:
        """Where the results of a copy are: columns that a thread hands over, wide ones first."""
        handed = [c for c in self.columns if isinstance(c, FinalReg) or self.is_shared(c)]
        places, end = {}, 0
        for column in sorted(handed, key=lambda c: -max(32, self.types[c].bits)):
            places[column] = end
            end += max(4, self.types[column].bits // 8)
        self.result_bytes = end
        return places

    def find_observer(self) -> Body | None:
        """The thread whose registers alone are asked for, where it can count them itself and rounds need no meeting.

        Then a pass does not end with fences. What may still be under way from an earlier round is the stores of a
        word's only writer, which come in order and which a later round reads as the initial value.
        """
        names = {column.thread if isinstance(column, FinalReg) else None for column in self.columns}
        names |= {body.thread.name for body in self.judged}
        whole = self.layout.packed and not self.layout.staged
        if self.initial is None or not whole or len(names) != 1 or not one_writer_each(self.program):
            return None
        return next((body for body in self.bodies if body.thread.name in names), None)

    def place_status(self) -> None:
        self.status = {}
        for body in self.judged:
            self.status[body.number] = self.result_bytes
            self.result_bytes += 4

    def is_shared(self, column: FinalMem) -> bool:
        return self.program.physical(column.name).owner is not None

    def _result(self, offset: int, size: int) -> str:
        """The address of a result of this copy: one array for each, so that lanes lie side by side."""
        made = self.code.fresh(64)
        self.code.add(
            f"mad.lo.s64 {made}, all, {offset}, results_here", f"mad.wide.u32 {made}, slot_here, {size}, {made}"
        )
        return made

    def hand_over(self, body: Body) -> None:
        """Store the results of a thread; other registers are used too, so that they are loaded."""
        name, code = body.thread.name, self.code
        for column, place in self.places.items():
            if isinstance(column, FinalReg) and column.thread == name:
                bits = width(self.types[column])
                value = code.fitted(body.register(column.reg), bits, 32) if bits < 32 else body.register(column.reg)
                value, size = self._windowed(body, column, value), max(bits, 32)
                code.add(f"st.global.b{size} [{self._result(place, size // 8)}], {value}")
        if body.number in self.status:
            code.add(f"st.global.b32 [{self._result(self.status[body.number], 4)}], status{body.number}")
        named = {c.reg for c in self.columns if isinstance(c, FinalReg) and c.thread == name}
        rest = {body.register(r): width(body.type_of(r)) for r in body.thread.types if r not in named}
        used = {register: bits for register, bits in rest.items() if bits in ALWAYS_KEPT} | body.kept
        for register, bits in used.items():
            for word in code.halves(register) if bits == 128 else (register,):
                code.add(f"add.s64 waste, waste, {code.fitted(word, min(bits, 64), 64)}")
        use = code.fresh(PREDICATE)
        code.add(f"setp.eq.u64 {use}, waste, 0x5ca1ab1e0ddba11", f"@{use} st.global.u64 [scratch], waste")

    def _windowed(self, body: Body, column: FinalReg, value: str) -> str:
        """An address of shared memory, as this thread has it, as the number that the test knows it by."""
        names = self.windows.get((column.thread, column.reg)) or ()
        if not names:
            return value
        code, result = self.code, self.code.fresh(64)
        code.add(f"mov.b64 {result}, {value}")
        for item in (each for each in self.program.objects if each.name in names):
            start, distance, inside = code.fresh(64), code.fresh(64), code.fresh(PREDICATE)
            code.lines += body.located(start, item.name, "generic")
            code.add(f"sub.s64 {distance}, {value}, {start}", f"setp.lt.u64 {inside}, {distance}, {item.size}")
            code.add(f"@{inside} add.s64 {result}, {distance}, {self.program.address(Addr(item.name))}")
        return result

    def hand_over_shared(self, threads: tuple[int, ...]) -> None:
        """What the shared memory of CTAs of some threads holds in the end becomes a result, through one of them."""
        for column, place in self.places.items():
            number = -1 if isinstance(column, FinalReg) else host_of(self.program, self.program.physical(column.name))
            if isinstance(column, FinalReg) or number not in threads:
                continue
            past, code = self.code.label("PAST"), self.code
            other = code.fresh(PREDICATE)
            code.add(f"setp.ne.u32 {other}, role, {number}", f"@{other} bra {past}")
            loop = self.each_round("0")
            self.locate(turned=False)
            bits = self.types[column].bits
            value = code.fresh(max(16, bits))
            at = self.layout.shared[self.program.physical(column.name).name] + column.offset
            code.add(f"ld.volatile.shared.b{bits} {value}, [shared_here+{at}]")
            value = code.fitted(value, 16, 32) if bits < 32 else value
            code.add(f"st.global.b{max(32, bits)} [{self._result(place, max(32, bits) // 8)}], {value}")
            self.close(loop, 1)
            code.add(f"{past}:")
            if self.layout.packed:
                code.add("bar.warp.sync 0xffffffff")

    def final(self, column: Column) -> tuple[str, ...]:
        """The words of a column in this round."""
        code, type_ = self.code, self.types[column]
        bits = max(16, type_.bits)
        if column in self.places:
            size = max(32, type_.bits)
            value, bits = code.fresh(size), size
            code.add(f"ld.volatile.global.b{size} {value}, [{self._result(self.places[column], size // 8)}]")
        else:
            assert isinstance(column, FinalMem)
            value = code.fresh(bits)
            item = self.program.physical(column.name)
            at = code.fresh(64)
            code.add(*address_lines(self.program, item.name, at))
            how = "const" if item.space is Space.CONST else f"relaxed.{code.scope}.global"
            load = f"ld.{how}.b{type_.bits}"
            code.need(*form_of(load).requirement)
            code.add(f"{load} {value}, [{at}+{column.offset}]")
            if self.initial is not None:
                plain = code.fresh(32)
                decoded(code, value, plain, self.initial[item.name, column.offset])
                value = plain
        if type_.bits == 128:
            return code.halves(value)
        return (self._named(code.fitted(value, bits, 64), type_),)

    def own(self, body: Body, column: Column) -> tuple[str, ...]:
        """The words of a column that is a register of this thread."""
        assert isinstance(column, FinalReg)
        type_, register = self.types[column], body.register(column.reg)
        if type_.bits == 128:
            return self.code.halves(register)
        return (self._named(self.code.fitted(register, width(type_), 64), type_),)

    def own_status(self, body: Body) -> str | None:
        return f"status{body.number}" if body.judged else None

    def _named(self, value: str, type_: Type) -> str:
        """An address of this copy as the number that the test knows it by."""
        return shown(self.code, self.program, value) if type_.bits == 64 and self.points else value

    def worst(self) -> str:
        """How the round ended: left out if a thread says so, else stuck if one was."""
        code = self.code
        worst = code.fresh(32)
        code.add(f"mov.u32 {worst}, 0")
        for place in self.status.values():
            value = code.fresh(32)
            code.add(
                f"ld.volatile.global.u32 {value}, [{self._result(place, 4)}]", f"max.u32 {worst}, {worst}, {value}"
            )
        return worst
