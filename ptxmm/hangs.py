"""The answer to `hang`, with the execution that never ends and who waits for what in it."""

from __future__ import annotations

from ptxmm import arith, evidence, execution
from ptxmm.encodings import Encodings
from ptxmm.endless import endless, writes_in_loops
from ptxmm.errors import Undecided
from ptxmm.events import Event
from ptxmm.features import ensure_supported
from ptxmm.graph import inside
from ptxmm.mbarrier_replay import history
from ptxmm.mbarrier_state import phase_of
from ptxmm.options import depths
from ptxmm.progress import ENDINGS, EVEN, Progress
from ptxmm.question import ask
from ptxmm.sequential import is_exact
from ptxmm.solve import Truth
from ptxmm.symmetry import interchangeable, one_order
from ptxmm.verdict import Answer


def hang(encodings: Encodings, progress: str, bound: int) -> Answer:
    """Whether some execution of a test never ends under a progress model (one of `progress.PROGRESS`).

    Loops that write are looked at as they stand, in all interleavings, first of all where these are all executions.
    `unknown` where that does not decide and loops were cut in an execution that otherwise ends, or time ran out.
    """
    program, model, deadline = encodings.program, encodings.model, encodings.deadline
    ensure_supported(program, model)
    first = writes_in_loops(program) and is_exact(program, model)
    if first and (answer := endless(program, model, progress, deadline)).verdict != "unknown":
        return answer
    try:
        for depth in depths(bound):
            answer = _with_loops_cut(encodings, progress, depth)
            if answer.verdict != "unknown" or not deadline.left():
                break
    except Undecided as reason:
        answer = Answer("unknown", why=str(reason))
    if answer.verdict == "unknown" and not first and deadline.left():
        looked = endless(program, model, progress, deadline)
        return answer if looked.verdict == "unknown" else looked
    return answer


def _with_loops_cut(encodings: Encodings, progress: str, bound: int) -> Answer:
    """The answer from executions in which loops that only wait stand for all of their repetitions, others for a few."""
    encoding = encodings.of(ENDINGS[progress], bound, states=False)
    graph = encoding.graph
    doubts = ask(encoding, {"cut": graph.cut}, [-encoding.bad], alone=True)
    scheduling = Progress(encoding, progress)
    never = scheduling.never_ends()
    alike = interchangeable(encoding) if progress in EVEN else ()
    asserted = [*scheduling.required, -graph.cut, -encoding.bad, one_order(encoding, alike)]
    found = ask(encoding, {"hang": never}, asserted, alone=True)["hang"]
    if found.assignment is not None:
        one = execution.concrete(encoding, found.assignment)
        return Answer("yes", why="; ".join(_stories(scheduling, one)), witness=evidence.shown(one))
    if found.truth is Truth.UNKNOWN:
        return Answer("unknown", why=found.why)
    if doubts["cut"].truth is not Truth.UNSAT:
        return Answer("unknown", why=graph.tell_cut(bound))
    return Answer("no")


def _stories(scheduling: Progress, one: execution.Concrete) -> list[str]:
    """For each thread that does not end, what it waits for."""
    graph = one.encoding.graph
    told = []
    for index, thread in enumerate(one.encoding.program.threads):
        if not one.true(graph.ends[index]):
            told.append(f"{thread.name} {_story(scheduling, one, index)}")
    return told


def _story(scheduling: Progress, one: execution.Concrete, index: int) -> str:
    graph = one.encoding.graph
    if not one.true(graph.starts[index]):
        return "never starts"
    if one.true(graph.stops[index]) or not one.true(scheduling.leaves[index].progress):
        return "is not scheduled any more"
    for event in graph.events:
        stays = event.thread == index and event.id in graph.passes and not one.true(graph.passes[event.id])
        if stays and one.true(event.guard):
            return f"waits at {_text(event)} for threads that do not arrive"
    for retry in graph.retries:
        if retry.again.thread == index and one.true(retry.again.literal):
            events = [graph.events[number] for number in retry.reads]
            found = ", ".join(f"{_place(one, e)} = {arith.shown(one.constant(e.table), e.type)}" for e in events)
            return f"tries for ever{_line(events)} and finds {found}"
    for again in graph.again:
        if again.thread == index and one.true(again.literal):
            reads = [e for e in graph.events if e.kind == "R" and inside(graph, again, e) and one.true(e.guard)]
            tests = [e for e in graph.events if e.waits and inside(graph, again, e) and one.true(e.guard)]
            phases = " and ".join(_incomplete(one, e) for e in tests)
            if tests and not reads:
                return f"waits at {_text(tests[0])} for {phases}"
            seen = ", ".join(f"{_place(one, e)} = {evidence.value_text(one, e)}" for e in reads) or "nothing"
            for_what = f", and for {phases}" if tests else ""
            return f"waits for ever in its loop{_line(reads)} and reads {seen}{for_what}"
    return "does not end"


def _incomplete(one: execution.Concrete, event: Event) -> str:
    """The phase that a test waits for, and what keeps it from being complete."""
    state = history(one.encoding.base.mbarriers.all[event.object], one.true).state
    asked = state.phase if event.parity else phase_of(one.constant(event.asked))
    name = evidence.mbarrier_name(one.encoding.program, event.object)
    still = "" if asked == state.phase else f" in phase {state.phase}"
    arrivals = f"{state.pending} arrival{'' if state.pending == 1 else 's'}"
    bytes_ = f"{-state.bytes} bytes more than expected" if state.bytes < 0 else f"{state.bytes} bytes to come"
    return f"phase {asked} of {name}, which stays incomplete:{still} {arrivals} pending, {bytes_}"


def _line(reads: list[Event]) -> str:
    line = reads[0].statement.at.line if reads and reads[0].statement else 0
    return f" at line {line}" if line else ""


def _text(event: Event) -> str:
    statement = event.statement
    return f"`{statement.text}`" if statement and statement.text else "a barrier"


def _place(one: execution.Concrete, event: Event) -> str:
    return evidence.place_name(one.encoding.program, event.virtual or event.object, event.where)
