"""What a model says of a test that did not end on a GPU, or ended in an error: whether it may hang, or is undefined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxmm.check import check
from ptxmm.compare.standing import Hanging
from ptxmm.deadline import Deadline
from ptxmm.encodings import Encodings
from ptxmm.errors import Undecided, Unsupported
from ptxmm.gpu.log import Run
from ptxmm.hangs import hang
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Program
from ptxmm.verdict import Answer

STARTED, ORDINARY = "fair", "obe"
"""What CUDA promises of scheduling where all threads have started, and of any grid (`docs/progress.md`)."""

SLOW = "it was only slow, or the harness or the chip does not keep the promise of progress"
WRONG = "the harness, the assembler, the model or the chip is wrong"
GIVEN_UP = "an error says nothing where a wait is given up before it"


def hanging(program: Program, model: Model, options: Options, steps: Answer | None = None) -> Hanging:
    """Whether a test may hang on a GPU, as far as a model and the promises of CUDA go.

    The CTAs of a launch of `ptxmm run` are resident, and the threads of a test meet before each round: they all have
    started, so that everybody makes progress (`fair`). Kernels may starve each other, so that of a test of several
    no more is promised than of any grid (`obe`). Nothing is promised where an execution is undefined: `steps` is the
    answer to that, where it is known.
    """
    several = len({thread.place.kernel for thread in program.threads}) > 1
    promised = ORDINARY if several else STARTED
    encodings = Encodings(program, model, Deadline.after(options.timeout))
    found = _asked(encodings, promised, options)
    if found.verdict == "yes":
        return Hanging("yes", promised, found.why)
    steps = steps or undefined(program, model, options)
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


def undefined(program: Program, model: Model, options: Options) -> Answer:
    """Whether an execution of a test reaches a step that PTX leaves undefined."""
    found = check(program, model, replace(options, properties=frozenset({"undefined"})))
    if found.verdict == "unsupported":
        raise Unsupported(found.why)
    return found.undefined


def error_sentence(steps: Answer) -> str:
    """What a model says of a test that ended in an error, in words."""
    match steps.verdict:
        case "yes":
            return f"the test reaches an undefined step: {steps.why}"
        case "no":
            return f"by the model all its steps are defined: {WRONG}"
    return f"whether it reaches an undefined step is unknown: {steps.why}"


def hang_sentence(found: Hanging) -> str:
    """What a model says of a test that did not end, in words."""
    match found.verdict:
        case "yes":
            return f"by the model this test may hang: {found.why}"
        case "undefined":
            return error_sentence(Answer("yes", why=found.why))
        case "unknown":
            return f"whether it may hang is unknown: {found.why}"
    ends = "always ends (obe)" if found.ordinary == "no" else "ends where all threads have started (fair)"
    return f"by the model it {ends}: {SLOW}"


def unended(runs: Sequence[Run]) -> list[str]:
    """What did not end, or ended in an error: instances, and whole launches with their profiles where these differ."""
    stuck = sum(run.counted.stuck for run in runs if run.counted is not None)
    every = stuck == sum(run.counted.instances for run in runs if run.counted is not None)
    told = [f"{'all ' if every else ''}{stuck:,} stuck: a wait reached its bound"] if stuck else []
    whole: dict[str, list[str]] = {}
    for run in runs:
        if why := run.hung or run.failed:
            whole.setdefault(why, []).append(run.profile.name)
    apart = len(whole) > 1 or any(run.counted is not None for run in runs)
    return told + [f"{', '.join(names)}: {why}" if apart else why for why, names in whole.items()]
