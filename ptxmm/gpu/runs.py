"""Tests on a GPU, from programs to the runs of a log: kernels and controls made, sent, counted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ptxmm import __version__
from ptxmm.errors import PtxmmError, Unsupported
from ptxmm.gpu.assembler import architecture_of
from ptxmm.gpu.columns import column_name, column_type, columns
from ptxmm.gpu.controls import controls
from ptxmm.gpu.counting import counted
from ptxmm.gpu.log import Audit, Control, Profile, Run
from ptxmm.gpu.source import Kernel, kernel
from ptxmm.program import Program
from ptxmm.syntax.print_lit import condition, to_lit

if TYPE_CHECKING:
    from ptxmm.gpu.launch import Done, Job
    from ptxmm.gpu.session import Session


AUDITORS = os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Wish:
    """How tests are run."""

    profiles: tuple[Profile, ...]
    seconds: float
    seed: int
    controls: bool = True
    audit: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A test with its kernel and that of its control; or `skipped` with the reason. The audit is on its way."""

    program: Program
    text: str
    kernel: Kernel | None = None
    control: Program | None = None
    control_kernel: Kernel | None = None
    control_text: str = ""
    change: str = ""
    audit: Future[Audit] | None = None
    skipped: str | None = None


def prepared(program: Program, *, with_control: bool) -> Prepared:
    """The kernels of a test."""
    here = Prepared(program, to_lit(program))
    try:
        here = replace(here, kernel=kernel(program))
    except Unsupported as wrong:
        return replace(here, skipped=str(wrong))
    for control in controls(program) if with_control else ():
        try:
            made = kernel(control.program)
        except Unsupported:
            continue
        change = f"{control.kind}: {'; '.join(control.changes)}"
        text = to_lit(control.program)
        return replace(here, control=control.program, control_kernel=made, control_text=text, change=change)
    return here


def too_new(made: Kernel, capability: str) -> str | None:
    """Why a device cannot run a kernel, or None."""
    found = re.fullmatch(r"sm_(\d+)(\d)(a?)", made.target)
    assert found is not None
    wanted, have = (int(found[1]), int(found[2])), tuple(map(int, capability.split(".")))
    if wanted > have or (found[3] and wanted != have):
        return f"it needs {made.target}, and this device has compute capability {capability}"
    return None


def required(program: Program, capability: str) -> str | None:
    """Why a device is not what the test requires, or None."""
    wanted = program.hardware.require
    found = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", wanted or "")
    if found is None or (int(found[1]), int(found[2])) <= tuple(map(int, capability.split("."))):
        return None
    return f"it requires {wanted}, and this device has compute capability {capability}"


def runs(programs: Iterable[Program], session: Session, wish: Wish) -> Iterator[list[Run]]:
    """The runs of each test, in order: one for each profile, or one that says why it was skipped."""
    from ptxmm.gpu.launch import Job

    order: list[Prepared] = []
    audits: dict[str, Future[Audit]] = {}
    capability = session.device.capability
    with ThreadPoolExecutor(AUDITORS) as auditors:

        def jobs() -> Iterator[Job]:
            for program in programs:
                here = prepared(program, with_control=wish.controls)
                if here.kernel is not None:
                    refused = required(program, capability) or too_new(here.kernel, capability)
                    here = replace(here, kernel=None, skipped=refused) if refused else here
                if here.kernel is not None:
                    kernels = (here.kernel, *([here.control_kernel] if here.control_kernel is not None else []))
                    if wish.audit:
                        here = replace(here, audit=_audit(here.kernel, capability, auditors, audits))
                    order.append(here)
                    yield Job(len(order) - 1, kernels, wish.profiles, wish.seconds, wish.seed)
                else:
                    order.append(here)

        yield from _in_order(order, session.answers(jobs()), session, wish)


def _audit(
    made: Kernel, capability: str, auditors: ThreadPoolExecutor, known: dict[str, Future[Audit]]
) -> Future[Audit]:
    """The audit of a kernel, begun once."""
    from ptxmm.gpu.audit import audit

    if made.text not in known:
        known[made.text] = auditors.submit(audit, made.text, architecture_of(capability))
    return known[made.text]


def _in_order(order: list[Prepared], answers: Iterable[Done], session: Session, wish: Wish) -> Iterator[list[Run]]:
    told = 0
    for done in answers:
        while told < done.number:
            yield [_skipped(order[told], session, wish)]
            told += 1
        yield _answered(order[told], done, session, wish)
        told += 1
    for rest in order[told:]:
        yield [_skipped(rest, session, wish)]


def _answered(here: Prepared, done: Done, session: Session, wish: Wish) -> list[Run]:
    assert here.kernel is not None
    if done.failed:
        return [_skipped(replace(here, skipped=done.failed), session, wish)]
    audit = here.audit.result() if here.audit is not None else Audit()
    found = []
    for profile, tallies in zip(wish.profiles, done.tallies, strict=True):
        run = replace(_run(here, session, wish, profile), seconds=done.seconds / len(wish.profiles))
        try:
            seen = replace(counted(here.program, here.kernel, tallies[0]), audit=audit)
            run = replace(run, counted=seen)
            if here.control is not None and here.control_kernel is not None:
                seen = counted(here.control, here.control_kernel, tallies[1])
                run = replace(run, control=Control(change=here.change, text=here.control_text, counted=seen))
        except PtxmmError as wrong:
            run = replace(run, counted=None, control=None, skipped=str(wrong))
        found.append(run)
    return found


def _skipped(here: Prepared, session: Session, wish: Wish) -> Run:
    return replace(_run(here, session, wish, wish.profiles[0]), skipped=here.skipped)


def _run(here: Prepared, session: Session, wish: Wish, profile: Profile) -> Run:
    program = here.program
    shown = columns(program)
    return Run(
        test=program.name,
        variant=program.variant,
        path=program.path,
        text=here.text,
        condition=condition(program) if program.condition is not None else "",
        columns=tuple(column_name(program, column) for column in shown),
        types=tuple(str(column_type(program, column)) for column in shown),
        profile=profile,
        seed=wish.seed,
        device=session.device,
        ptxmm=__version__,
    )
