"""Tests on a GPU, from programs to the runs of a log: kernels and controls made, sent, counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache

from ptxmm import __version__
from ptxmm.errors import PtxmmError
from ptxmm.gpu.auditors import AUDITORS, answered, asked, auditors
from ptxmm.gpu.columns import column_name, column_type, columns
from ptxmm.gpu.controls import Control as Weaker
from ptxmm.gpu.counting import Tally, counted
from ptxmm.gpu.devices import devices_of
from ptxmm.gpu.jobs import Done, Job, Played
from ptxmm.gpu.kernel import Kernel, entry
from ptxmm.gpu.log import Audit, Control, Counted, Profile, Run, uncounted
from ptxmm.gpu.prepared import Prepared, prepared, without
from ptxmm.gpu.session import Answer, Session
from ptxmm.gpu.statistics import rate_of
from ptxmm.program import Program, Quantifier
from ptxmm.syntax.print_lit import condition, to_lit

BEHIND = 4 * AUDITORS
"""Results that wait for the audits of those before them; then nothing more is launched until one of them is there."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How tests are run."""

    profiles: tuple[Profile, ...]
    seconds: float
    seed: int
    controls: bool = True
    audit: bool = False


def runs(
    programs: Iterable[Program], session: Session, wish: Wish, pool: Executor | None = None
) -> Iterator[list[Run]]:
    """The runs of each test, in order: one for each profile, or one that says why it was skipped.

    What reads machine code does so in `pool`, or else in processes of its own.
    """
    with auditors() if wish.audit and pool is None else nullcontext(pool) as readers:
        yield from _Runs(session, wish, readers).all(programs)


class _Runs:
    """Tests on their way to the device and back."""

    def __init__(self, session: Session, wish: Wish, pool: Executor | None) -> None:
        self.session, self.wish, self.pool = session, wish, pool
        self.order: list[Prepared] = []
        self.audits: dict[str, Future[Audit]] = {}

    def all(self, programs: Iterable[Program]) -> Iterator[list[Run]]:
        """The runs of each test; those whose machine code is still read hold up the ones behind them."""
        waiting: deque[tuple[Prepared, Done, Future[Audit] | None]] = deque()
        told = 0
        for answer in self.session.answers(self._jobs(programs)):
            for skipped in self.order[told : answer[0].number]:
                waiting.append((skipped, Done(0), None))
            told = answer[0].number + 1
            waiting.append(self._audited(answer))
            while waiting and (len(waiting) > BEHIND or _ready(waiting[0][2])):
                yield self._runs(*waiting.popleft())
        for skipped in self.order[told:]:
            waiting.append((skipped, Done(0), None))
        yield from (self._runs(*each) for each in waiting)

    def _jobs(self, programs: Iterable[Program]) -> Iterator[Job]:
        wish = self.wish
        for program in programs:
            session = self.session
            here = prepared(program, session.capability, session.reach, with_controls=wish.controls)
            self.order.append(here)
            if here.entry is not None:
                failing, number = _failing(program), len(self.order) - 1
                yield Job(number, here.entry, wish.profiles, wish.seconds, wish.seed, failing, wish.audit, here.bold)

    def _audited(self, answer: Answer) -> tuple[Prepared, Done, Future[Audit] | None]:
        """An answer with the audit of what ran, begun once for each text."""
        done, code = answer
        here = self.order[done.number]
        if self.pool is None or not self.wish.audit or done.failed or here.entry is None:
            return here, done, None
        text = entry(*here.entry.kernels[: done.kernels]).text if done.spoilt else here.entry.text
        if text not in self.audits:
            self.audits[text] = asked(self.pool, text, code)
        return here, done, self.audits[text]

    def _runs(self, here: Prepared, done: Done, audit: Future[Audit] | None) -> list[Run]:
        if done.failed:
            here = without(here, done.failed)
        if here.skipped is not None:
            return [uncounted(self._run(here, self.wish.profiles[0]), here.skipped)]
        label = answered(audit) if audit is not None else Audit()
        played = zip(self.wish.profiles, done.played, strict=True)
        return [self._played(here, done, profile, each, label) for profile, each in played]

    def _played(self, here: Prepared, done: Done, profile: Profile, played: Played, audit: Audit) -> Run:
        spoilt = done.spoilt if done.spoilt and done.kernels == 1 else None
        run = replace(self._run(here, profile), seconds=played.seconds, uncontrolled=spoilt)
        try:
            test, *others = played.tallies
            assert test is not None
            assert here.entry is not None
            seen = replace(counted(here.program, here.entry.kernels[0], test), audit=audit)
        except PtxmmError as wrong:
            return uncounted(run, str(wrong))
        shown, wrong_ones = _shown(here.controls, here.entry.kernels[1:], others)
        if not shown:
            return replace(run, counted=seen, uncontrolled=run.uncontrolled or next(iter(wrong_ones), None))
        rates = {number: rate_of(its, failing=_failing(here.program)).low for number, its in shown}
        best = max(shown, key=lambda one: rates[one[0]]) if any(rates.values()) else shown[-1]
        changes = {number: change(here.controls[number]) for number, _ in shown}
        number, its = best
        text, beside = _text(here.controls[number].program), played.beside[number + 1]
        control = Control(change=changes.pop(number), text=text, counted=its, beside=beside)
        return replace(run, counted=seen, control=control, tried=tuple(changes.values()))

    def _run(self, here: Prepared, profile: Profile) -> Run:
        program = here.program
        shown = columns(program)
        return Run(
            test=program.name,
            variant=program.variant,
            path=program.path,
            text=_text(program),
            condition=condition(program) if program.condition is not None else "",
            columns=tuple(column_name(program, column) for column in shown),
            types=tuple(str(column_type(program, column)) for column in shown),
            profile=profile,
            seed=self.wish.seed,
            device=self.session.device,
            gpus=len(devices_of(program)) or 1,
            ptxmm=__version__,
        )


def _shown(
    controls: tuple[Weaker, ...], kernels: tuple[Kernel, ...], tallies: list[Tally | None]
) -> tuple[list[tuple[int, Counted]], list[str]]:
    """What was counted of each control that had a turn, and what is wrong with the counts of others."""
    shown, wrong_ones = [], []
    for number, (control, kernel, tally) in enumerate(zip(controls, kernels, tallies, strict=False)):
        if tally is not None:
            try:
                shown.append((number, counted(control.program, kernel, tally)))
            except PtxmmError as wrong:
                wrong_ones.append(str(wrong))
    return shown, wrong_ones


@lru_cache(maxsize=32)
def _text(program: Program) -> str:
    """A test as text, which is read back to be sure: once for all profiles."""
    return to_lit(program)


def _failing(program: Program) -> bool:
    """Whether what a test must not show is that its condition fails."""
    return program.condition is not None and program.condition.quantifier is Quantifier.FORALL


def _ready(audit: Future[Audit] | None) -> bool:
    return audit is None or audit.done()


def change(control: Weaker) -> str:
    """What was taken from a test, in words."""
    return f"{control.kind}: {'; '.join(control.changes)}"
