"""From a litmus test to the PTX text of a kernel that runs many copies of it and counts their final states."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.arith import U32, Type
from ptxmm.gpu import harness
from ptxmm.gpu.body import OPAQUE, Body, decoded
from ptxmm.gpu.code import PREDICATE, Code, Operand, width
from ptxmm.gpu.epochs import Initial, epochs
from ptxmm.gpu.initial import MapShape, Rounds, global_objects, host_of, initialise, map_shape, maps
from ptxmm.gpu.layout import WARP, Layout, layout
from ptxmm.gpu.preload import busy, preload
from ptxmm.program import (
    Addr,
    AsyncCopy,
    AsyncStore,
    Expr,
    FinalMem,
    FinalReg,
    Program,
    ProxyFence,
    Space,
    leaves,
)

ENTRY = "litmus"

LANE_SHIFT = 5
"""How far the lanes of one role are turned against those of the role before."""

ASYNC = "fence.proxy.async"

Column = FinalReg | FinalMem


@dataclass(frozen=True, slots=True)
class Kernel:
    """PTX text and what launching it needs: its layout, what it counts, and how its memory is arranged.

    `meetings` is how often a team meets in a pass beyond once a round. `result_bytes` are those of a copy's results,
    `objects` the number of global objects and `object_bytes` the size of the largest, `words` how many words of 64 bits
    each column has. `stamped` says that values tell rounds apart, `maps` what the tensor maps describe,
    `aliased` that global memory has a second address.
    """

    text: str
    layout: Layout
    columns: tuple[Column, ...]
    words: tuple[int, ...]
    meetings: int
    result_bytes: int
    objects: int
    object_bytes: int
    version: tuple[int, int]
    target: str
    stamped: bool
    maps: tuple[MapShape, ...]
    aliased: bool


def columns(program: Program) -> tuple[Column, ...]:
    """What a final state consists of: what the condition, `locations` and the filter name, or everything."""
    formulas: list[Expr] = [program.condition.formula] if program.condition is not None else []
    formulas += [*program.locations, *([program.filter] if program.filter is not None else [])]
    found: list[Column] = [leaf for f in formulas for leaf in leaves(f) if isinstance(leaf, FinalReg | FinalMem)]
    return tuple(dict.fromkeys(found or program.everything))


def column_name(program: Program, column: Column) -> str:
    """A column as the test would write it."""
    if isinstance(column, FinalReg):
        return f"{column.thread}.{column.reg}"
    item = program.physical(column.name)
    if column.type.size == item.type.size and column.offset % item.type.size == 0:
        return column.name if item.length == 1 else f"{column.name}[{column.offset // item.type.size}]"
    return f"{column.name}+{column.offset}" if column.offset else column.name


def column_type(program: Program, column: Column) -> Type:
    """The type at which a column is shown."""
    return column.type if isinstance(column, FinalMem) else program.thread(column.thread).types.get(column.reg, U32)


def kernel(program: Program) -> Kernel:
    """The kernel of a test; Unsupported says why there is none."""
    return _Writer(program).kernel()


class _Writer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.layout = layout(program)
        self.initial: Initial | None = epochs(program)
        self.code = Code()
        self.columns = columns(program)
        self.types = {column: column_type(program, column) for column in self.columns}
        self.asynchronous = any(
            isinstance(s, AsyncCopy | AsyncStore | ProxyFence) for thread in program.threads for s in thread.body
        )
        self.kernel_maps = bool(maps(program))
        self.bodies = [
            Body(program, self.layout, number, self.code, self.initial) for number in range(len(program.threads))
        ]
        self.places = self._result_places()
        self.meetings = 0

    def kernel(self) -> Kernel:
        for body in self.bodies:
            body.write()
            with body.into(body.pre):
                preload(self.program, body)
        self.judged = [body for body in self.bodies if body.judged]
        self._place_status()
        self._write()
        version = max(body.needs[0] for body in self.bodies)
        version = max(
            version,
            (7, 8) if self.layout.shared or self.layout.cluster_size > 1 else (7, 0),
            (8, 3) if self._wide() else (7, 0),
        )
        target = max(max(body.needs[1] for body in self.bodies), 70, 90 if self.layout.cluster_size > 1 else 70)
        if self.asynchronous or self.kernel_maps:
            version, target = max(version, (8, 3) if self.kernel_maps else (8, 0)), max(target, 90)
        if any(item.mbarrier is not None for item in self.program.objects):
            target = max(target, 80)
        name = f"sm_{target}" + ("a" if any(body.specific for body in self.bodies) else "")
        return Kernel(
            text=self._text(version, name),
            layout=self.layout,
            columns=self.columns,
            words=tuple(2 if self.types[column].bits == 128 else 1 for column in self.columns),
            meetings=self.meetings,
            result_bytes=self.result_bytes,
            objects=sum(item.space is Space.GLOBAL for item in self.program.objects),
            object_bytes=max((o.size for o in self.program.objects if o.space is Space.GLOBAL), default=4),
            version=version,
            target=name,
            stamped=self.initial is not None,
            maps=tuple(map_shape(self.program, item) for item in maps(self.program)),
            aliased=bool(self.program.views),
        )

    def _wide(self) -> bool:
        return 128 in self.code.declared.values()

    def _text(self, version: tuple[int, int], target: str) -> str:
        lines = [f".version {version[0]}.{version[1]}", f".target {target}", ".address_size 64", ""]
        if self.layout.shared:
            lines += [".extern .shared .align 128 .b8 dynamic[];", ""]
        lines += [f".visible .entry {ENTRY}(", ",\n".join(harness.parameters()), ")"]
        lines.append(f".maxntid {self.layout.threads}, 1, 1")
        if self.layout.cluster_size > 1:
            lines += [".explicitcluster", f".reqnctapercluster {self.layout.cluster_size}, 1, 1"]
        return "\n".join([*lines, "{", *self.code.declarations(), *self.code.lines, "}"]) + "\n"

    # --- results -----------------------------------------------------------------------------------------------------

    def _result_places(self) -> dict[Column, int]:
        """Where the results of a copy are: columns that a thread hands over, wide ones first."""
        handed = [c for c in self.columns if isinstance(c, FinalReg) or self._is_shared(c)]
        places, end = {}, 0
        for column in sorted(handed, key=lambda c: -max(32, self.types[c].bits)):
            places[column] = end
            end += max(4, self.types[column].bits // 8)
        self.result_bytes = end
        return places

    def _place_status(self) -> None:
        self.status = {}
        for body in self.judged:
            self.status[body.number] = self.result_bytes
            self.result_bytes += 4

    def _is_shared(self, column: FinalMem) -> bool:
        return self.program.physical(column.name).owner is not None

    def _result(self, offset: int, size: int) -> str:
        """The address of a result of this copy: one array for each, so that lanes lie side by side."""
        made = self.code.fresh(64)
        self.code.add(
            f"mad.lo.s64 {made}, all, {offset}, results_here", f"mad.wide.u32 {made}, slot_here, {size}, {made}"
        )
        return made

    # --- the kernel --------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        code, shape, add = self.code, self.layout, self.code.add
        zeros = min(OPAQUE, max((n for body in self.bodies for n in body.uses.values()), default=0))
        harness.prologue(code, shape, max(zeros, 1))
        for name, bits in (("pass", 32), ("round", 32), ("epoch", 32), ("slot_here", 32), ("turned", 32)):
            code.register(name, bits)
        for name in ("array", "here", "all", "results_here", "shared_here", "waste"):
            code.register(name, 64)
        more, copies = code.fresh(PREDICATE), code.fresh(32)
        add(
            "mov.u64 array, stride",
            f"mul.lo.u32 {copies}, teams, rounds",
            f"mul.wide.u32 all, {copies}, {shape.copies}",
        )
        add("mov.u32 pass, 0", "mov.u64 waste, 0", "PASS:")
        add("add.u32 epoch, first, pass", "shl.b32 epoch, epoch, 4")
        odd, bytes_ = code.fresh(32), code.fresh(64)
        add(
            f"and.b32 {odd}, pass, 1",
            f"cvt.u64.u32 results_here, {odd}",
            f"mul.lo.u64 {bytes_}, all, {self.result_bytes}",
        )
        add(f"mad.lo.u64 results_here, results_here, {bytes_}, results")
        if self.initial is None:
            self._initial()
        self._rounds()
        self._meet(ordered=True)
        if any(isinstance(c, FinalMem) and self._is_shared(c) for c in self.columns):
            self._hand_over_shared()
            self._meet(ordered=True)
        self._count()
        add("add.u32 pass, pass, 1", f"setp.lt.u32 {more}, pass, passes", f"@{more} bra PASS")
        harness.epilogue(code)

    def _meet(self, *, ordered: bool) -> None:
        self.meetings += ordered
        harness.meet(self.code, self.layout, ordered=ordered, fences=(ASYNC,) if ordered and self.asynchronous else ())

    def _locate(self, *, turned: bool) -> None:
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

    def _each_round(self, start: str) -> tuple[str, str]:
        """Open a loop over rounds."""
        top, end, over = self.code.label("ROUND"), self.code.label("END"), self.code.fresh(PREDICATE)
        self.code.add(f"mov.u32 round, {start}", f"{top}:", f"setp.ge.u32 {over}, round, rounds", f"@{over} bra {end}")
        return top, end

    def _close(self, loop: tuple[str, str], step: int) -> None:
        self.code.add(f"add.u32 round, round, {step}", f"bra {loop[0]}", f"{loop[1]}:")

    def _initial(self) -> None:
        """Write the initial values: those in global memory by the thread that counts the round, others in their CTA."""
        rounds = Rounds(self._each_round, self._close, lambda: self._locate(turned=False))
        initialise(self.program, self.layout, self.code, rounds)
        self._meet(ordered=True)

    def _rounds(self) -> None:
        code, add = self.code, self.code.add
        loop = self._each_round("0")
        self._locate(turned=True)
        chosen = code.fresh(PREDICATE)
        for body in self.bodies[1:]:
            add(f"setp.eq.u32 {chosen}, role, {body.number}", f"@{chosen} bra ROLE{body.number}")
        for body in self.bodies:
            add(f"ROLE{body.number}:")
            code.lines += body.pre
            self._meet(ordered=False)
            busy(self.program, body)
            code.lines += [*body.main, *body.after]
            self._hand_over(body)
            add("bra PLAYED")
        add("PLAYED:")
        if self.layout.packed:
            add("bar.warp.sync 0xffffffff")
        self._close(loop, 1)

    def _hand_over(self, body: Body) -> None:
        """Store the results of a thread; other registers are used too, so that they are loaded."""
        name, code = body.thread.name, self.code
        for column, place in self.places.items():
            if isinstance(column, FinalReg) and column.thread == name:
                bits = width(self.types[column])
                value = code.fitted(body.register(column.reg), bits, 32) if bits < 32 else body.register(column.reg)
                size = max(bits, 32)
                code.add(f"st.global.b{size} [{self._result(place, size // 8)}], {value}")
        if body.number in self.status:
            code.add(f"st.global.b32 [{self._result(self.status[body.number], 4)}], status{body.number}")
        named = {c.reg for c in self.columns if isinstance(c, FinalReg) and c.thread == name}
        for register in body.thread.types:
            bits = width(body.type_of(register))
            if register not in named and bits in (32, 64):
                wide = code.fitted(body.register(register), bits, 64)
                code.add(f"xor.b64 waste, waste, {wide}")
        use = code.fresh(PREDICATE)
        code.add(f"setp.eq.u64 {use}, waste, 0x5ca1ab1e0ddba11", f"@{use} st.global.u64 [scratch], waste")

    def _hand_over_shared(self) -> None:
        """What shared memory holds in the end becomes a result, through a thread of its CTA."""
        for column, place in self.places.items():
            if isinstance(column, FinalReg):
                continue
            number = host_of(self.program, self.program.physical(column.name))
            past, code = self.code.label("PAST"), self.code
            other = code.fresh(PREDICATE)
            code.add(f"setp.ne.u32 {other}, role, {number}", f"@{other} bra {past}")
            loop = self._each_round("0")
            self._locate(turned=False)
            bits = self.types[column].bits
            value = code.fresh(max(16, bits))
            at = self.layout.shared[self.program.physical(column.name).name] + column.offset
            code.add(f"ld.volatile.shared.b{bits} {value}, [shared_here+{at}]")
            value = code.fitted(value, 16, 32) if bits < 32 else value
            code.add(f"st.global.b{max(32, bits)} [{self._result(place, max(32, bits) // 8)}], {value}")
            self._close(loop, 1)
            code.add(f"{past}:")
            if self.layout.packed:
                code.add("bar.warp.sync 0xffffffff")

    # --- counting ----------------------------------------------------------------------------------------------------

    def _count(self) -> None:
        code = self.code
        loop = self._each_round("role")
        self._locate(turned=False)
        values: dict[Column, tuple[str, ...]] = {column: self._final(column) for column in self.columns}
        status = self._worst() if self.judged else None

        def leaf(expr: Expr) -> Operand:
            if isinstance(expr, FinalReg | FinalMem):
                words = values[expr]
                if len(words) == 2:
                    whole = code.fresh(128)
                    code.add(f"mov.b128 {whole}, {{{words[0]}, {words[1]}}}")
                    return whole, 128
                return words[0], 64
            assert isinstance(expr, Addr)
            number = code.fresh(64)
            code.add(f"mov.u64 {number}, {self.program.address(expr)}")
            return number, 64

        flags = {}
        if self.program.condition is not None:
            flags["holds"] = code.value(self.program.condition.formula, PREDICATE, leaf)
        if self.program.filter is not None:
            flags["keeps"] = code.value(self.program.filter, PREDICATE, leaf)
        harness.count(code, self.layout, [w for words in values.values() for w in words], status, flags)
        self._close(loop, len(self.bodies))

    def _final(self, column: Column) -> tuple[str, ...]:
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
            place = [each.name for each in global_objects(self.program)].index(item.name)
            at = code.fresh(64)
            code.add(f"mad.lo.s64 {at}, array, {place}, here")
            code.add(f"ld.relaxed.gpu.global.b{type_.bits} {value}, [{at}+{column.offset}]")
            if self.initial is not None:
                plain = code.fresh(32)
                decoded(code, value, plain, self.initial[item.name, column.offset])
                value = plain
        if type_.bits == 128:
            return code.halves(value)
        return (self._named(code.fitted(value, bits, 64), type_),)

    def _named(self, value: str, type_: Type) -> str:
        """An address of this copy as the number that the test knows it by."""
        if type_.bits != 64 or not self._points():
            return value
        code, plain = self.code, global_objects(self.program)
        result = code.fresh(64)
        code.add(f"mov.u64 {result}, {value}")
        for place, item in enumerate(plain):
            start, distance, inside = code.fresh(64), code.fresh(64), code.fresh(PREDICATE)
            code.add(f"mad.lo.s64 {start}, array, {place}, here", f"sub.s64 {distance}, {value}, {start}")
            code.add(f"setp.lt.u64 {inside}, {distance}, {item.size}")
            code.add(f"@{inside} add.s64 {result}, {distance}, {self.program.address(Addr(item.name))}")
        return result

    def _points(self) -> bool:
        """Whether the test has addresses as values."""
        return any(isinstance(value, Addr) for item in self.program.objects for value in item.init) or any(
            isinstance(leaf, Addr)
            for thread in self.program.threads
            for statement in thread.body
            for expr in (*getattr(statement, "values", ()), getattr(statement, "value", None))
            if isinstance(expr, Expr)
            for leaf in leaves(expr)
        )

    def _worst(self) -> str:
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
