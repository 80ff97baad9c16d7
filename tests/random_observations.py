"""Small random tests in which threads tell each other what they found out about mbarriers, and act on it.

A thread looks at the parity of a phase or at the state that its arrival returns, and tells of it in a flag; another
one reads the flag and arrives or not. `reachable` lets such threads run: each step waits for what it depends on and
for the steps before it in its thread on the same mbarrier, but not to know that one of these does not happen. A flag
that was told may still be read as 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import strategies as some

from ptxmm.program import Program
from ptxmm.syntax.lit import read

NAMES = "ABC"
OBSERVES = {
    "parity 0": "mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 {r}, [{on}], 0;",
    "parity 1": "mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 {r}, [{on}], 1;",
    "state": "mbarrier.arrive.relaxed.cta.shared::cta.b64 {r}, [{on}];",
    "flag": "ld.relaxed.cta.shared::cta.u32 {r}, [{on}];",
}
ACTS = {
    "arrive": "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [{on}];",
    "tell": "st.relaxed.cta.shared::cta.u32 [{on}], 1;",
}


@dataclass(frozen=True)
class Step:
    """One step of a thread, on an mbarrier or a flag; it acts only `when` (a step of its thread, the value found)."""

    kind: str
    on: str
    when: tuple[int, int] | None = None


Thread = tuple[Step, ...]
Threads = tuple[Thread, ...]
Counts = dict[str, int]


@dataclass(frozen=True)
class Moment:
    """What has happened: by thread and step what was found (None for what did not happen), phases, and flags."""

    found: tuple[tuple[tuple[int, int | None], ...], ...]
    phases: tuple[tuple[str, int, int], ...]
    told: frozenset[str] = frozenset()


def reachable(threads: Threads, counts: Counts) -> set[tuple[int, ...]]:
    """What all the observations of the threads together can be, in the order of the threads."""
    first = Moment(tuple(() for _ in threads), tuple((name, 0, count) for name, count in counts.items()))
    seen, stack, ends = {first}, [first], set[tuple[int, ...]]()
    while stack:
        moment = stack.pop()
        following = set(steps(threads, counts, moment))
        if all(len(found) == len(thread) for found, thread in zip(moment.found, threads, strict=True)):
            ends.add(observed(threads, moment))
        stack += following - seen
        seen |= following
    return ends


def observed(threads: Threads, moment: Moment) -> tuple[int, ...]:
    """The values that the threads found."""
    every = [(thread, dict(found)) for thread, found in zip(threads, moment.found, strict=True)]
    return tuple(found[n] or 0 for thread, found in every for n, step in enumerate(thread) if step.kind in OBSERVES)


def steps(threads: Threads, counts: Counts, moment: Moment) -> Iterator[Moment]:
    """What can happen next."""
    for number, thread in enumerate(threads):
        found = dict(moment.found[number])
        for at, step in enumerate(thread):
            same = [n for n in range(len(thread)) if thread[n].on == step.on]
            open_ones = any(n not in found and thread[n].when is None for n in same if n < at)
            if at in found or open_ones or (step.when is not None and step.when[0] not in found):
                continue
            if step.when is not None and found[step.when[0]] != step.when[1]:
                yield noted(moment, number, at, None)
            elif not any(n in found for n in same if n > at):
                yield from done(moment, counts, number, at, step)


def noted(moment: Moment, thread: int, at: int, value: int | None) -> Moment:
    found = list(moment.found)
    found[thread] = tuple(sorted((*found[thread], (at, value))))
    return replace(moment, found=tuple(found))


def done(moment: Moment, counts: Counts, thread: int, at: int, step: Step) -> Iterator[Moment]:
    """A step that happens."""
    phases = {name: (phase, pending) for name, phase, pending in moment.phases}
    if step.kind == "flag":
        yield from (noted(moment, thread, at, value) for value in {0, int(step.on in moment.told)})
    elif step.kind == "tell":
        yield replace(noted(moment, thread, at, None), told=moment.told | {step.on})
    elif step.kind.startswith("parity"):
        phase, _ = phases[step.on]
        yield noted(moment, thread, at, int(phase % 2 != int(step.kind[-1])))
    else:
        phase, pending = phases[step.on]
        phases[step.on] = (phase, pending - 1) if pending > 1 else (phase + 1, counts[step.on])
        after = replace(moment, phases=tuple((name, *state) for name, state in phases.items()))
        yield noted(after, thread, at, phase if step.kind == "state" else None)


def written(threads: Threads, counts: Counts) -> Program:
    """The test that asks for all that the threads can observe."""
    flags = sorted({step.on for thread in threads for step in thread} - counts.keys())
    objects = [f".shared @ d0.c0.b0 .mbarrier {name}({count});" for name, count in counts.items()]
    objects += [f".shared @ d0.c0.b0 .u32 {name};" for name in flags]
    asked, bodies = [], []
    for name, thread in zip(NAMES, threads, strict=False):
        lines = []
        for at, step in enumerate(thread):
            line = (OBSERVES | ACTS)[step.kind].format(r=f"r{at}", on=step.on)
            lines.append(line if step.when is None else f"if (r{step.when[0]} == {step.when[1]}) {{ {line} }}")
            asked += [f"{name}.r{at}"] if step.kind in OBSERVES else []
        bodies.append(f"thread {name} @ d0.c0.b0 {{\n" + "\n".join(lines) + "\n}")
    return read("\n".join(["ptx told", *objects, *bodies, f"locations [{'; '.join(asked)}]"]), "told.lit")[0]


@some.composite
def threads_that_tell(draw: some.DrawFn, most: int = 5) -> tuple[Threads, Counts]:
    """Two or three threads; each flag is told once and read once."""
    counts = {name: draw(some.integers(1, 3)) for name in draw(some.sampled_from(("m", "m", "mn")))}
    bodies: list[list[Step]] = [[] for _ in range(draw(some.integers(2, 3)))]
    one_of = some.sampled_from(list(counts))
    for number in range(draw(some.integers(1, 2))):
        teller, told = draw(some.permutations(bodies))[:2] if draw(some.booleans()) else bodies[:2]
        flag, looks = f"f{number}", draw(some.sampled_from(("parity 0", "parity 1", "state")))
        value = draw(some.integers(0, 1))
        teller += [Step(looks, draw(one_of)), Step("tell", flag, (len(teller), value))]
        told += [Step("flag", flag), Step("arrive", draw(one_of), (len(told), draw(some.sampled_from((1, 1, 0)))))]
    for _ in range(draw(some.integers(1, most - 2))):
        kind = draw(some.sampled_from(("arrive", "arrive", "parity 0", "parity 1", "state")))
        draw(some.sampled_from(bodies)).append(Step(kind, draw(one_of)))
    return tuple(tuple(body) for body in bodies if body), counts
