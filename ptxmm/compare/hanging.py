"""Whether a model says that a test may hang: asked where a wait reached its bound, or a launch did not end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxmm.check import check
from ptxmm.compare.standing import Hanging
from ptxmm.deadline import Deadline
from ptxmm.encodings import Encodings
from ptxmm.errors import Undecided
from ptxmm.gpu.log import Run
from ptxmm.hangs import hang
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.verdict import Answer

STARTED, ORDINARY = "fair", "obe"
"""What CUDA promises of scheduling where all threads have started, and of any grid (`docs/progress.md`)."""

SLOW = "it was only slow, or the harness or the chip does not keep the promise of progress"


def hanging(program: Program, model: Model, options: Options) -> Hanging:
    """Whether a test may hang on a GPU, as far as a model and the promises of CUDA go.

    The CTAs of a launch of `ptxmm run` are resident, and the threads of a test meet before each round: they all have
    started, so that everybody makes progress (`fair`). Kernels may starve each other, so that of a test of several
    no more is promised than of any grid (`obe`). Nothing is promised where an execution is undefined.
    """
    several = len({thread.place.kernel for thread in program.threads}) > 1
    promised = ORDINARY if several else STARTED
    encodings = Encodings(program, model, Deadline.after(options.timeout))
    found = _asked(encodings, promised, options)
    if found.verdict == "yes":
        return Hanging("yes", promised, found.why)
    steps = check(program, model, replace(options, properties=frozenset({"undefined"}))).undefined
    if steps.verdict == "yes":
        return Hanging("undefined", promised, steps.why)
    doubt = next((answer.why for answer in (found, steps) if answer.verdict == "unknown"), "")
    if doubt:
        return Hanging("unknown", promised, doubt)
    ordinary = found if several else _asked(encodings, ORDINARY, options)
    return Hanging("no", promised, ordinary=ordinary.verdict)


def _asked(encodings: Encodings, progress: str, options: Options) -> Answer:
    try:
        return hang(encodings, progress, options.bound)
    except Undecided as reason:
        return Answer("unknown", why=str(reason))


def sentence_of(found: Hanging) -> str:
    """What a model says of a test that did not end, in words."""
    match found.verdict:
        case "yes":
            return f"by the model this test may hang: {found.why}"
        case "undefined":
            return f"the test reaches an undefined step: {found.why}"
        case "unknown":
            return f"whether it may hang is unknown: {found.why}"
    ends = "always ends (obe)" if found.ordinary == "no" else "ends where all threads have started (fair)"
    return f"by the model it {ends}: {SLOW}"


def unended(runs: Sequence[Run]) -> list[str]:
    """What did not end: instances, counted, and whole launches, with their profiles where other profiles ended."""
    stuck = sum(run.counted.stuck for run in runs if run.counted is not None)
    every = stuck == sum(run.counted.instances for run in runs if run.counted is not None)
    told = [f"{'all ' if every else ''}{stuck:,} stuck: a wait reached its bound"] if stuck else []
    hung: dict[str, list[str]] = {}
    for run in runs:
        if run.hung is not None:
            hung.setdefault(run.hung, []).append(run.profile.name)
    apart = any(run.hung is None for run in runs)
    return told + [f"{', '.join(names)}: {why}" if apart else why for why, names in hung.items()]
