"""Logs of runs on a GPU held against a model: whether it allows each final state that was seen.

    runs of one test -> its program, from the log's own text -> final states and rates -> the model -> a standing

Of instances and launches that did not end the model is asked whether the test may hang, and of those that ended in an
error whether it is undefined.

The log is not believed where it can be checked: its counts add up, its texts have their hashes, what it says of the
condition in a state is computed again, and a control must be weaker than its test.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace

from ptxmm.compare.asked import asked_of, of_controls, verdict
from ptxmm.compare.deciding import only_asked
from ptxmm.compare.hanging import GIVEN_UP, error_sentence, hang_sentence, hanging, undefined, unended
from ptxmm.compare.logged import MERGED, by_test, named, only_test, remarks, seen_states, the_test, worst_label
from ptxmm.compare.standing import Comparison, Hanging, Seen, Standing
from ptxmm.errors import InputError, PtxmmError, Undecided, Unsupported
from ptxmm.gpu.log import Run, kinds
from ptxmm.gpu.statistics import Rate, exercised, rate_of, sentence, together
from ptxmm.model import Model
from ptxmm.options import Options
from ptxmm.program import Program, Quantifier
from ptxmm.request import unforeseen
from ptxmm.states import Reached

UNENDED = {
    "yes": Standing.HUNG,
    "no": Standing.SHOULD_END,
    "undefined": Standing.UNDEFINED,
    "unknown": Standing.UNKNOWN,
}
FAILED = {"yes": Standing.UNDEFINED, "no": Standing.SHOULD_RUN}
SURPRISES = (Standing.FORBIDDEN_SEEN, Standing.UNDEFINED)
"""Where final states say more than what did not end."""

__all__ = ["Comparison", "Hanging", "Seen", "Standing", "by_test", "compare", "lost", "since"]


def compare(runs: tuple[Run, ...], model: Model, options: Options) -> Comparison:
    """All runs of one test against a model."""
    start, blank = time.perf_counter(), _blank(runs, model.name)
    try:
        result = _compared(runs, model, options, blank)
    except Unsupported as reason:
        result = replace(blank, verdict="unsupported", told=str(reason))
    except Undecided as reason:
        result = replace(blank, standing=Standing.UNKNOWN, verdict="unknown", told=str(reason))
    except PtxmmError as wrong:
        text = f"a text cannot be read: line {wrong.at.line}: {wrong.message}" if isinstance(wrong, InputError) else ""
        result = replace(blank, standing=Standing.BROKEN, verdict="not asked", told=text or str(wrong))
    except Exception as failed:
        if os.environ.get("PTXMM_DEBUG"):
            raise
        told = unforeseen(failed)
        result = replace(blank, standing=Standing.BROKEN, verdict="not asked", told=told)
    return replace(result, seconds=time.perf_counter() - start)


def _blank(runs: tuple[Run, ...], model: str) -> Comparison:
    first, standing = runs[0], Standing.UNSUPPORTED
    return Comparison(first.test, first.variant, first.path, first.hash, model, standing, condition=first.condition)


def _compared(runs: tuple[Run, ...], model: Model, options: Options, blank: Comparison) -> Comparison:
    launched = [run for run in runs if run.counted is not None or run.hung or run.failed]
    if not launched:
        return replace(blank, verdict="not asked", told="; ".join(dict.fromkeys(run.skipped or "" for run in runs)))
    program = the_test(launched)
    ran = [run for run in launched if run.counted is not None]
    found = replace(
        blank,
        verdict="not asked",
        profiles=tuple(dict.fromkeys(run.profile.name for run in launched)),
        device="; ".join(dict.fromkeys(run.device.name for run in launched if run.device is not None)),
        hung=sum(run.hung is not None for run in launched),
        failed=sum(run.failed is not None for run in launched),
    )
    if ran:
        found = _states(program, ran, model, options, found)
    if found.failed:
        return _fails(program, launched, model, options, found)
    return _ends(program, launched, model, options, found) if found.stuck or found.hung else found


def _states(program: Program, ran: list[Run], model: Model, options: Options, found: Comparison) -> Comparison:
    """What comes of the final states of runs that were counted."""
    leaves = named(program, ran)
    states = seen_states(program, leaves, ran)
    told, asked = asked_of(program, model, options, leaves, states)
    of_control, control_verdict = of_controls(ran, program, model, options, leaves, told, asked)
    judged = replace(
        found,
        verdict=verdict(program, asked),
        columns=ran[0].columns,
        types=ran[0].types,
        control_verdict=control_verdict,
        states=(*told, *of_control),
        stuck=sum(run.counted.stuck for run in ran if run.counted is not None),
        label=worst_label(ran),
        notes=tuple(remarks(ran)),
    )
    return _stand(program, asked, ran, judged)


def _fails(program: Program, ran: list[Run], model: Model, options: Options, found: Comparison) -> Comparison:
    """What comes of launches that ended in an error: their standing, where no state was seen that says more."""
    steps = undefined(program, model, options)
    said = hanging(program, model, options, steps) if steps.verdict == "no" else None
    sentence, standing = error_sentence(steps), FAILED.get(steps.verdict, Standing.UNKNOWN)
    if said is not None and said.verdict != "no":
        sentence, standing = f"{GIVEN_UP}; {hang_sentence(said)}", Standing.UNKNOWN
    found, told = replace(found, undefined=steps, hanging=said), "; ".join((*unended(ran), sentence))
    if found.standing in SURPRISES:
        return replace(found, notes=(told, *found.notes))
    return replace(found, standing=standing, told=told)


def _ends(program: Program, ran: list[Run], model: Model, options: Options, found: Comparison) -> Comparison:
    """What comes of instances and launches that did not end: their standing, where nothing else was seen."""
    said = hanging(program, model, options)
    told = "; ".join((*unended(ran), hang_sentence(said)))
    ended = any(run.counted.instances > run.counted.stuck for run in ran if run.counted is not None)
    if found.standing in SURPRISES or (ended and not (found.hung and said.verdict == "no")):
        return replace(found, hanging=said, notes=(told, *found.notes))
    return replace(found, hanging=said, standing=UNENDED[said.verdict], told=told)


def lost(runs: tuple[Run, ...], model: str, why: str) -> Comparison:
    """What is known of a test whose comparison did not end."""
    return replace(_blank(runs, model), standing=Standing.UNKNOWN, verdict="unknown", told=why)


def since(result: Comparison, runs: tuple[Run, ...], present: Program | None) -> Comparison:
    """The comparison with a note where the test that ran is not the `present` one of its name."""
    if result.standing is Standing.BROKEN or (present is not None and _same(runs[0], present)):
        return result
    note = "`--tests` has no test of this name" if present is None else "the test is another one by now"
    return replace(result, notes=(*result.notes, note))


def _same(run: Run, present: Program) -> bool:
    ran = only_test(run.text, run.path)
    return only_asked(ran) == only_asked(present)


def _stand(program: Program, asked: Reached | None, ran: list[Run], found: Comparison) -> Comparison:
    failing = program.condition is not None and program.condition.quantifier is Quantifier.FORALL
    tests = [(run, rate_of(run.counted, failing=failing)) for run in ran if run.counted is not None]
    rates = [rate for _, rate in tests]
    controls = [rate_of(run.control.counted, failing=failing) for run in ran if run.control is not None]
    found = replace(found, rate=together(rates), control=together(controls) if controls else None)
    surprises = [state for state in found.states if state.verdict == "forbidden"]
    if surprises:
        return replace(found, standing=Standing.FORBIDDEN_SEEN, told=_number(surprises))
    undefined = [state for state in found.states if state.verdict == "undefined" and not state.control]
    if undefined:
        return replace(found, standing=Standing.UNDEFINED, told=f"{_number(undefined)}: {undefined[0].why}")
    doubts = [state.why for state in found.states if state.verdict == "unknown" and not state.control]
    doubts += [asked.why] if asked is not None and asked.verdict == "unknown" else []
    if doubts:
        return replace(found, standing=Standing.UNKNOWN, told=doubts[0])
    if asked is None:
        return replace(found, standing=Standing.AGREE, told=_allowed(len(found.states)))
    if together(rates).seen:
        return replace(found, standing=Standing.SEEN, told=sentence(together(rates), found.control))
    if asked.verdict == "allowed":
        return replace(found, standing=Standing.NOT_SEEN, told=f"0 of {together(rates).instances:,}")
    return _zero(tests, failing, found)


def _allowed(states: int) -> str:
    return f"{states} final states, all allowed" if states != 1 else "1 final state, which is allowed"


def _number(surprises: list[Seen]) -> str:
    times = sum(state.count for state in surprises)
    states = len({state.values for state in surprises})
    return f"{states} final state{'s' if states > 1 else ''}, {times:,} times"


def _zero(tests: list[tuple[Run, Rate]], failing: bool, found: Comparison) -> Comparison:
    """What a forbidden outcome that was not seen means: nothing, unless a control says that it could have been."""
    whole = [(run, rate) for run, rate in tests if run.counted is not None and run.counted.audit.label != MERGED]
    nothing = replace(found, standing=Standing.NOT_EXERCISED)
    if not whole:
        return replace(nothing, told="not exercised: the accesses of the test were merged, so it never ran")
    if any(run.counted.unlisted for run, _ in whole if run.counted is not None):
        return replace(nothing, told="not exercised: some states are not listed")
    pairs = [
        (rate, rate_of(run.control.counted, failing=failing), run.control.change)
        for run, rate in whole
        if run.control is not None
    ]
    shown = [(rate, control, change) for rate, control, change in pairs if exercised(rate, control)]
    rate, control = together([r for r, *_ in shown or pairs] or [r for _, r in whole]), None
    changes = tuple(dict.fromkeys(change for *_, change in shown or pairs))
    if pairs:
        control = together([c for _, c, _ in shown or pairs])
    told = sentence(rate, control, kinds(changes))
    if not shown and (control is None or not exercised(rate, control)):
        why = "; the model forbids it in the control too" if found.control_verdict == "forbidden" else ""
        return replace(nothing, told=told + why, rate=rate, control=control, changes=changes)
    return replace(found, standing=Standing.AGREE, told=told, rate=rate, control=control, changes=changes)
