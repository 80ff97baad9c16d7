"""Logs of runs that never happened: for tests of what is made of logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ptxmm.evidence import type_of
from ptxmm.gpu.log import Audit, Control, Counted, Device, Outcome, Profile, Run
from ptxmm.program import Program
from ptxmm.states import column_name, columns
from ptxmm.syntax.lit import read
from ptxmm.syntax.print_lit import condition, to_lit

GPU = Device(name="GPU", capability="9.0", multiprocessors=132, driver="580", cupy="14", ptxas="13.0")
Seen = Mapping[tuple[int, ...], int]

MP = """ptx MP
.global .u32 x; .global .u32 f;
thread A @ d0.c0.b0 { st.weak.u32 [x], 1; st$S.u32 [f], 1; }
thread B @ d0.c1.b1 { ld$L.u32 r0, [f]; ld.weak.u32 r1, [x]; }
exists (B.r0 == 1 && B.r1 == 0)
variants
    name    | S            | L            | expect
    release | .release.gpu | .acquire.gpu | forbidden
    relaxed | .relaxed.gpu | .relaxed.gpu | allowed
end"""


def mp(variant: str) -> Program:
    """Message passing; the states are those of B's flag and value."""
    return next(test for test in read(MP, "MP.lit") if test.variant == variant)


def counted(test: Program, seen: Seen, *, label: str = "as written", stuck: int = 0, unlisted: int = 0) -> Counted:
    """A count of final states in warps whose lanes are independent."""
    from ptxmm.compare.logged import holds

    leaves = tuple(columns(test))
    outcomes = tuple(Outcome(values=v, holds=holds(test, leaves, v), count=n) for v, n in seen.items())
    holding, total = sum(o.count for o in outcomes if o.holds), sum(seen.values()) + stuck + unlisted
    groups = max(1, total // 32)
    squares = round(groups * ((holding / groups) ** 2 + holding / groups * (1 - holding / max(1, total))))
    return Counted(instances=total, outcomes=outcomes, stuck=stuck, unlisted=unlisted, groups=groups, squares=squares,
                   audit=Audit(label=label))  # fmt: skip


def ran(test: Program, seen: Seen, *, control: tuple[Program, Seen] | None = None, label: str = "as written",
        profile: str = "pair", stuck: int = 0, unlisted: int = 0) -> Run:  # fmt: skip
    """A run of a test in which its final states were `seen` so often."""
    leaves = columns(test)
    weaker = None
    if control is not None:
        sibling, its = control
        sibling = replace(sibling, name=test.name, variant=test.variant, condition=test.condition)
        weaker = Control(change="relaxed", text=to_lit(sibling), counted=counted(sibling, its))
    return Run(
        test=test.name, variant=test.variant, path=test.path, text=to_lit(test), condition=condition(test),
        columns=tuple(column_name(test, leaf) for leaf in leaves),
        types=tuple(str(type_of(test, leaf)) for leaf in leaves),
        profile=Profile(name=profile), seed=1, device=GPU,
        counted=counted(test, seen, label=label, stuck=stuck, unlisted=unlisted), control=weaker, seconds=0.1,
    )  # fmt: skip
