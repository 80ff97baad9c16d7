"""From a litmus test to the PTX text of a kernel that runs many copies of it and counts their final states."""

from __future__ import annotations

from ptxmm.errors import Unsupported
from ptxmm.gpu import harness
from ptxmm.gpu.code import PREDICATE, Operand
from ptxmm.gpu.columns import Column
from ptxmm.gpu.constants import declarations
from ptxmm.gpu.devices import placed
from ptxmm.gpu.endings import leaving
from ptxmm.gpu.initial import Rounds, host_of, initialise_global, initialise_shared, maps
from ptxmm.gpu.kernel import Kernel
from ptxmm.gpu.layout import Layout
from ptxmm.gpu.maps import described
from ptxmm.gpu.names import OPAQUE
from ptxmm.gpu.parameters import VERSION, described_parameters
from ptxmm.gpu.preload import busy, preload
from ptxmm.gpu.results import Results
from ptxmm.gpu.stages import Stage
from ptxmm.gpu.views import views
from ptxmm.program import Addr, Expr, FinalMem, FinalReg, Program, Proxy, Space

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
        self.observer = self.find_observer()
        if self.observer is None:
            self.place_status()
        else:
            self.places, self.result_bytes = {}, 0
        self._write()
        version = max(body.needs[0] for body in self.bodies)
        version = max(
            version,
            (7, 8) if self.layout.shared or self.layout.cluster_size > 1 else (7, 0),
            (8, 3) if self._wide() else (7, 0),
            VERSION if self.layout.parameters else (7, 0),
            self.code.needs[0],
        )
        target = max(
            max(body.needs[1] for body in self.bodies),
            self.code.needs[1],
            70,
            90 if self.layout.cluster_size > 1 else 70,
        )
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
            meetings=tuple(self.meetings),
            result_bytes=self.result_bytes,
            objects=sum(item.space is Space.GLOBAL for item in self.program.objects),
            object_bytes=max((o.size for o in self.program.objects if o.space is Space.GLOBAL), default=4),
            version=version,
            target=name,
            stamped=self.initial is not None,
            maps=tuple(described(self.program, item) for item in maps(self.program)),
            parameters=described_parameters(self.program, self.layout.parameters),
            aliased=any(view.proxy is Proxy.GENERIC for view in self.program.views),
            views=views(self.program),
            constants=declarations(self.program),
            placed=placed(self.program, self.layout.devices),
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
        copies = code.fresh(32)
        add(
            "mov.u64 array, stride",
            f"mul.lo.u32 {copies}, teams, rounds",
            f"mul.wide.u32 all, {copies}, {shape.copies}",
        )
        add("mov.u64 waste, 0")
        if self.layout.staged:
            self._staged()
        else:
            self._passes()
        harness.epilogue(code)

    def _passes(self) -> None:
        """All passes of a launch that plays the whole test."""
        code, add, everyone = self.code, self.code.add, self.layout.stages[0]
        more = code.fresh(PREDICATE)
        add("mov.u32 pass, 0", "PASS:")
        add("add.u32 epoch, first, pass", "shl.b32 epoch, epoch, 4")
        odd, bytes_ = code.fresh(32), code.fresh(64)
        add(
            f"and.b32 {odd}, pass, 1",
            f"cvt.u64.u32 results_here, {odd}",
            f"mul.lo.u64 {bytes_}, all, {self.result_bytes}",
        )
        add(f"mad.lo.u64 results_here, results_here, {bytes_}, results")
        if self.initial is None:
            initialise_global(self.program, self.layout, code, self._each())
            initialise_shared(self.program, self.layout, code, self._each(), everyone.threads)
            self._meet(everyone, ordered=True)
        self._rounds(everyone)
        if self.observer is None:
            self._meet(everyone, ordered=True)
            if self._asks_shared(everyone):
                self.hand_over_shared(everyone.threads)
                self._meet(everyone, ordered=True)
            self._count()
        add("add.u32 pass, pass, 1", f"setp.lt.u32 {more}, pass, passes", f"@{more} bra PASS")

    def _staged(self) -> None:
        """One launch of a pass that has several: initial values, then each stage of the test, then counting."""
        code, add = self.code, self.code.add
        other, played = code.fresh(PREDICATE), len(self.layout.stages)
        add("shl.b32 epoch, first, 4", "mov.u64 results_here, results")
        for number in range(played + 2):
            past = code.label("STAGE")
            add(f"setp.ne.u32 {other}, stage, {number}", f"@{other} bra {past}")
            if not number and self.initial is None:
                initialise_global(self.program, self.layout, code, self._each())
            if 0 < number <= played:
                self._stage(self.layout.stages[number - 1], past)
            if number > played:
                self._count()
            add(f"{past}:")

    def _stage(self, stage: Stage, past: str) -> None:
        """One stage of the test: threads of others pass by; shared memory lives as long as the launch."""
        code, plays = self.code, self.code.fresh(PREDICATE)
        for thread in stage.threads:
            here = code.fresh(PREDICATE)
            code.add(f"setp.eq.u32 {here}, role, {thread}")
            code.add(f"or.pred {plays}, {plays}, {here}" if thread != stage.threads[0] else f"mov.pred {plays}, {here}")
        code.add(f"@!{plays} bra {past}")
        before = len(code.lines)
        initialise_shared(self.program, self.layout, code, self._each(), stage.threads)
        if len(code.lines) > before:
            self._meet(stage, ordered=True)
        self._rounds(stage)
        if self._asks_shared(stage):
            if self.layout.once:
                self._leave(stage, past)
            self._meet(stage, ordered=True)
            self.hand_over_shared(stage.threads)

    def _leave(self, stage: Stage, past: str) -> None:
        """Threads that no shared memory needs any more end here, so that nobody waits for them."""
        hosts = self._hosts(stage)
        if hosts & leaving(self.program):
            raise Unsupported("the thread that shows shared memory of its CTA exits before others meet there")
        stays = self.code.fresh(PREDICATE)
        for number in sorted(hosts):
            self.code.add(f"setp.eq.u32 {stays}, role, {number}", f"@{stays} bra STAY{number}")
        harness.depart(self.code, self.layout, self._fences(ordered=True))
        self.code.add(f"bra {past}", *(f"STAY{number}:" for number in sorted(hosts)))

    def _each(self) -> Rounds:
        return Rounds(self.each_round, self.close, lambda: self.locate(turned=False))

    def _asks_shared(self, stage: Stage) -> bool:
        """Whether a final state has shared memory of some thread's CTA."""
        return bool(self._hosts(stage))

    def _hosts(self, stage: Stage) -> set[int]:
        """The threads that show what is asked for in the shared memory of their CTAs."""
        asked = [c for c in self.columns if isinstance(c, FinalMem) and self.is_shared(c)]
        return {host_of(self.program, self.program.physical(c.name)) for c in asked} & set(stage.threads)

    def _meet(self, stage: Stage, *, ordered: bool) -> None:
        self.meetings[self.layout.stages.index(stage)] += ordered
        fences = self._fences(ordered=ordered)
        harness.meet(self.code, self.layout, len(stage.threads), ordered=ordered, fences=fences)

    def _fences(self, *, ordered: bool) -> tuple[str, ...]:
        return (ASYNC,) if ordered and self.asynchronous else ()

    def _rounds(self, stage: Stage) -> None:
        code, add = self.code, self.code.add
        loop = self.each_round("0")
        self.locate(turned=True)
        chosen, played = code.fresh(PREDICATE), code.label("PLAYED")
        bodies = [self.bodies[number] for number in stage.threads]
        for body in bodies[1:]:
            add(f"setp.eq.u32 {chosen}, role, {body.number}", f"@{chosen} bra ROLE{body.number}")
        for body in bodies:
            add(f"ROLE{body.number}:")
            code.lines += body.pre
            self._meet(stage, ordered=False)
            busy(self.program, body)
            code.lines += [*body.main, *body.after]
            self.hand_over(body)
            if body is self.observer:
                self._counted({column: self.own(body, column) for column in self.columns}, self.own_status(body))
            add(f"bra {played}")
            code.lines += body.aside
        add(f"{played}:")
        if self.layout.packed:
            add("bar.warp.sync 0xffffffff")
        self.close(loop, 1)

    # --- counting ----------------------------------------------------------------------------------------------------

    def _count(self) -> None:
        """All rounds of a pass, shared among the roles."""
        loop = self.each_round("role")
        self.locate(turned=False)
        self._counted({column: self.final(column) for column in self.columns}, self.worst() if self.judged else None)
        self.close(loop, len(self.bodies))

    def _counted(self, values: dict[Column, tuple[str, ...]], status: str | None) -> None:
        """Count one final state."""
        code = self.code

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
