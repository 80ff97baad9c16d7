"""Processes that read machine code beside a run, and hold up neither the launches nor the results of other tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from multiprocessing import get_context

from ptxmm.gpu.log import Audit

AUDITORS = os.cpu_count() or 1
"""Processes that read, each a kernel after the other."""

POLITE = 10
"""How much later than others they get a processor: the process that launches must not wait for one."""

ENDED = Audit(remarks=("the process that read the machine code ended",))


@contextmanager
def auditors() -> Iterator[Executor]:
    """The processes, each started when it is needed first; whoever leaves does not wait for what they still read."""
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(AUDITORS, mp_context=get_context("spawn"), initializer=_aside)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _aside() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(POLITE)


def asked(pool: Executor, text: str, code: bytes) -> Future[Audit]:
    """The audit of a kernel from its text and its machine code, on its way."""
    from ptxmm.gpu import audit

    try:
        return pool.submit(audit.audit_of, text, code)
    except BrokenExecutor:
        found: Future[Audit] = Future()
        found.set_result(ENDED)
        return found


def answered(audit: Future[Audit]) -> Audit:
    """What an audit came to; a process that ended has found nothing."""
    try:
        return audit.result()
    except BrokenExecutor:
        return ENDED
