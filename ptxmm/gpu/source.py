"""From a litmus test to the PTX text of a kernel that runs many copies of it and counts their final states."""

from __future__ import annotations

from ptxmm.gpu import harness
from ptxmm.gpu.code import PREDICATE, Operand
from ptxmm.gpu.columns import Column
from ptxmm.gpu.initial import Rounds, initialise, map_shape, maps
from ptxmm.gpu.kernel import Kernel
from ptxmm.gpu.layout import Layout
from ptxmm.gpu.names import OPAQUE
from ptxmm.gpu.preload import busy, preload
from ptxmm.gpu.results import Results
from ptxmm.program import (
    Addr,
    Expr,
    FinalMem,
    FinalReg,
    Program,
    Space,
)

ASYNC = "fence.proxy.async"


def kernel(program: Program, shape: Layout | None = None) -> Kernel:
    """The kernel of a test, in the layout of another that has the same threads; Unsupported says why there is none."""
    return _Writer(program, shape).kernel()


class _Writer(Results):
    """A kernel while it is written."""

    def kernel(self) -> Kernel:
        for body in self.bodies:
            body.write()
            with body.into(body.pre):
                preload(self.program, body)
        self.judged = [body for body in self.bodies if body.judged]
        self.place_status()
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
            registers=tuple(self.code.declarations()),
            lines=tuple(self.code.lines),
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
        if any(isinstance(c, FinalMem) and self.is_shared(c) for c in self.columns):
            self.hand_over_shared()
            self._meet(ordered=True)
        self._count()
        add("add.u32 pass, pass, 1", f"setp.lt.u32 {more}, pass, passes", f"@{more} bra PASS")
        harness.epilogue(code)

    def _meet(self, *, ordered: bool) -> None:
        self.meetings += ordered
        harness.meet(self.code, self.layout, ordered=ordered, fences=(ASYNC,) if ordered and self.asynchronous else ())

    def _initial(self) -> None:
        """Write the initial values: those in global memory by the thread that counts the round, others in their CTA."""
        rounds = Rounds(self.each_round, self.close, lambda: self.locate(turned=False))
        initialise(self.program, self.layout, self.code, rounds)
        self._meet(ordered=True)

    def _rounds(self) -> None:
        code, add = self.code, self.code.add
        loop = self.each_round("0")
        self.locate(turned=True)
        chosen = code.fresh(PREDICATE)
        for body in self.bodies[1:]:
            add(f"setp.eq.u32 {chosen}, role, {body.number}", f"@{chosen} bra ROLE{body.number}")
        for body in self.bodies:
            add(f"ROLE{body.number}:")
            code.lines += body.pre
            self._meet(ordered=False)
            busy(self.program, body)
            code.lines += [*body.main, *body.after]
            self.hand_over(body)
            add("bra PLAYED")
        add("PLAYED:")
        if self.layout.packed:
            add("bar.warp.sync 0xffffffff")
        self.close(loop, 1)

    # --- counting ----------------------------------------------------------------------------------------------------

    def _count(self) -> None:
        code = self.code
        loop = self.each_round("role")
        self.locate(turned=False)
        values: dict[Column, tuple[str, ...]] = {column: self.final(column) for column in self.columns}
        status = self.worst() if self.judged else None

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
        self.close(loop, len(self.bodies))
