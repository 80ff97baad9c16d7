"""Asynchronous tests of any size: copies in flight on one mbarrier, and pipelines from producers to consumers."""

from __future__ import annotations

from dataclasses import dataclass

RIGHT = "expect forbidden, no race, no hang, no undefined;"
COPY = "cp.async.bulk.shared::{space}.global.mbarrier::complete_tx::bytes{cast}"
MEET = "barrier.cluster.arrive; barrier.cluster.wait;"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A full/empty pipeline: `copies` a stage on one mbarrier, `consumers` in each of `ctas`, for `rounds` of `stages`.

    A consumer frees a stage by `arrivals` at once, as the lanes of some warps together. With several CTAs, each copies
    its slice of every tile to all of them, and a consumer frees the stage in each CTA. `fence` stands before it does.
    """

    stages: int
    rounds: int
    copies: int = 1
    consumers: int = 1
    arrivals: int = 1
    ctas: int = 1
    fence: str = "fence.proxy.async.shared::cta;"

    @property
    def name(self) -> str:
        """The sizes in short."""
        parts = [f"{self.stages}x{self.rounds}"]
        extra = (("copies", 1), ("consumers", 1), ("arrivals", 1), ("ctas", 1))
        parts += [f"{getattr(self, name)}-{name}" for name, usual in extra if getattr(self, name) != usual]
        return "-".join(parts)

    @property
    def iterations(self) -> int:
        """How often a stage is filled."""
        return self.stages * self.rounds

    def text(self) -> str:
        """The test."""
        lines = [f"ptx pipeline-{self.name}", *self._memory()]
        for cta in range(self.ctas):
            lines += [f"thread P{cta} @ d0.c0.b{cta} {{", *self._around(self._producer(cta)), "}"]
            for number in range(self.consumers):
                consumer = self._around(self._consumer())
                lines += [f"thread C{cta}{number} @ d0.c0.b{cta} {{", *consumer, "}"]
        wrong = [
            f"C{cta}{number}.r{tile}_{copy}_{piece} != {self._value(tile, copy, piece)}"
            for cta in range(self.ctas)
            for number in range(self.consumers)
            for tile in range(self.iterations)
            for copy in range(self.copies)
            for piece in range(self.ctas)
        ]
        return "\n".join([*lines, f"~exists ({' || '.join(wrong)})", RIGHT, ""])

    def _value(self, tile: int, copy: int, piece: int) -> int:
        return 1 + (tile * self.copies + copy) * self.ctas + piece

    def _memory(self) -> list[str]:
        where = "d0.c0.*" if self.ctas > 1 else "d0.c0.b0"
        lines = []
        for stage in range(self.stages):
            lines += [f".shared @ {where} .u32 s{stage}_{copy}[{4 * self.ctas}];" for copy in range(self.copies)]
            freed = self.consumers * self.arrivals * self.ctas
            lines.append(f".shared @ {where} .mbarrier full{stage}(1);")
            lines.append(f".shared @ {where} .mbarrier empty{stage}({freed});")
        for tile in range(self.iterations):
            for copy in range(self.copies):
                values = [f"{self._value(tile, copy, piece)}, 0, 0, 0" for piece in range(self.ctas)]
                lines.append(f".global .u32 g{tile}_{copy}[{4 * self.ctas}] = {{{', '.join(values)}}};")
        return lines

    def _around(self, code: list[str]) -> list[str]:
        return [MEET, *code, MEET] if self.ctas > 1 else code

    def _await(self, what: str, parity: int) -> str:
        scope = ".acquire.cluster" if self.ctas > 1 else ""
        return f"await mbarrier.try_wait.parity{scope}.shared::cta.b64 [{what}], {parity};"

    def _producer(self, cta: int) -> list[str]:
        several = self.ctas > 1
        copy = COPY.format(space="cluster" if several else "cta", cast=".multicast::cluster" if several else "")
        mask, shift = (f", {(1 << self.ctas) - 1}", f" + {16 * cta}") if several else ("", "")
        lines = []
        for tile in range(self.iterations):
            stage, parity = tile % self.stages, tile // self.stages % 2
            lines.append(self._await(f"empty{stage}", 1 - parity))
            size = 16 * self.copies * self.ctas
            lines.append(f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [full{stage}], {size};")
            lines += [
                f"{copy} [s{stage}_{number}{shift}], [g{tile}_{number}{shift}], 16, [full{stage}]{mask};"
                for number in range(self.copies)
            ]
        return lines

    def _consumer(self) -> list[str]:
        lines = []
        for tile in range(self.iterations):
            stage, parity = tile % self.stages, tile // self.stages % 2
            lines.append(self._await(f"full{stage}", parity))
            lines += [
                f"ld.weak.shared::cta.u32 r{tile}_{copy}_{piece}, [s{stage}_{copy} + {16 * piece}];"
                for copy in range(self.copies)
                for piece in range(self.ctas)
            ]
            lines += [self.fence, *self._free(f"empty{stage}")]
        return lines

    def _free(self, empty: str) -> list[str]:
        count = f", {self.arrivals}" if self.arrivals > 1 else ""
        if self.ctas == 1:
            return [f"mbarrier.arrive.shared::cta.b64 _, [{empty}]{count};"]
        arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _,"
        return [f"{arrive} [{empty}@b{cta}]{count};" for cta in range(self.ctas)]


def in_flight(copies: int, *, expected: int | None = None, each: bool = False, overlapping: bool = False) -> str:
    """Copies in flight on one mbarrier; what the waiting thread reads of them.

    The bytes of so many copies are `expected`, at once or by `each` alone; two go to one place if `overlapping`.
    """
    expected = copies if expected is None else expected
    places = [n - 1 if overlapping and n == copies - 1 else n for n in range(copies)]
    lines = [f"ptx in-flight-{copies}", ".shared @ d0.c0.b0 .mbarrier full(1);"]
    lines += [f".shared @ d0.c0.b0 .u32 s{n}[4];" for n in sorted(set(places))]
    lines += [f".global .u32 g{n}[4] = {{{n + 1}, 0, 0, 0}};" for n in range(copies)]
    lines.append("thread T @ d0.c0.b0 {")
    if each:
        lines += ["mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full], 16;" for _ in range(expected)]
        lines.append("mbarrier.arrive.shared::cta.b64 _, [full];")
    else:
        lines.append(f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {16 * expected};")
    lines += [f"{COPY.format(space='cta', cast='')} [s{at}], [g{n}], 16, [full];" for n, at in enumerate(places)]
    lines.append("await mbarrier.try_wait.parity.shared::cta.b64 [full], 0;")
    lines += [f"ld.weak.shared::cta.u32 r{n}, [s{n}];" for n in sorted(set(places))]
    lines += ["}", "~exists (" + " || ".join(f"T.r{n} != {n + 1}" for n in sorted(set(places))) + ")"]
    return "\n".join([*lines, RIGHT, ""])
