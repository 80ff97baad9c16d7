"""Theorems for people and for programs: what is proved, and what each hypothesis is needed for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ptxmm.prove.results import Dropped, Result
from ptxmm.prove.run import STATEMENTS
from ptxmm.report.json import theorems_report

INDENT = "    "


def list_text(width: int = 100) -> str:
    """What `ptxmm prove --list` prints."""
    return "\n".join("\n".join([one.name, *_wrapped(one.words, width)]) for one in STATEMENTS)


def list_json() -> str:
    """What `ptxmm prove --list --format json` prints."""
    return theorems_report([{"name": one.name, "statement": one.words} for one in STATEMENTS])


def theorem_text(result: Result, width: int = 100, *, examples: bool = True) -> str:
    """One theorem; with `examples`, the counterexample to each hypothesis that was dropped."""
    why = f" ({result.why})" if result.why else ""
    head = f"{result.name} under {result.model}: {result.verdict}{why}  {_time(result.seconds)}"
    lines = [head, *_wrapped(result.words, width)]
    if result.steps:
        lines += _wrapped(f"steps: {', '.join(step.name for step in result.steps)}", width)
    lines += [f"{INDENT}WRONG: {line}" for line in result.wrong]
    for dropped in result.dropped:
        lines += _dropped(dropped, width, examples=examples)
    return "\n".join(lines)


def _dropped(dropped: Dropped, width: int, *, examples: bool) -> Iterator[str]:
    judged = f"IDLE: {dropped.idle}" if dropped.idle else "needed"
    yield from _wrapped(f"{judged}: {dropped.hypothesis}: {dropped.words}", width)
    example = dropped.counterexample
    if example is not None and examples:
        yield ""
        yield textwrap.indent(example.test.rstrip("\n"), INDENT * 2)
        if example.events:
            yield ""
            yield from (f"{INDENT * 2}// {name}: {event}" for name, event in example.events.items())
        yield ""


def summary(results: Sequence[Result], seconds: float) -> str:
    """The last line."""
    counts = {word: sum(r.verdict == word for r in results) for word in ("proved", "not proved", "unknown")}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    needed = sum(len(r.dropped) - len(r.idle) for r in results)
    idle = sum(len(r.idle) for r in results)
    hypotheses = f"{needed} hypotheses needed" + (f", {idle} IDLE" if idle else "")
    wrong = sum(len(r.wrong) for r in results)
    return f"{told}; {hypotheses}" + (f"; {wrong} WRONG" if wrong else "") + f"; {seconds:.2f} s"


def exit_code(results: Sequence[Result]) -> int:
    """What the process returns: 1 for anything that is not as it must be, 3 where the solver gave up."""
    wrong = any(not result.ok and result.verdict != "unknown" for result in results)
    doubtful = any(result.verdict == "unknown" for result in results)
    return 1 if wrong or not results else 3 if doubtful else 0


def prove_report(results: Iterable[Result]) -> str:
    """What `ptxmm prove --format json` prints."""
    return theorems_report([_object(result) for result in results])


def _object(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "model": result.model,
        "verdict": result.verdict,
        "ok": result.ok,
        "statement": result.words,
        "steps": [{"name": step.name, "used": sorted(step.used)} for step in result.steps],
        "dropped": [_dropped_object(one) for one in result.dropped],
        "wrong": list(result.wrong),
        "why": result.why or None,
        "seconds": round(result.seconds, 6),
    }


def _dropped_object(dropped: Dropped) -> dict[str, Any]:
    example = dropped.counterexample
    return {
        "hypothesis": dropped.hypothesis,
        "statement": dropped.words,
        "verdict": dropped.verdict,
        "counterexample": example.test if example else None,
        "events": dict(example.events) if example and example.events else None,
        "idle": dropped.idle or None,
    }


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width - 4, initial_indent=INDENT, subsequent_indent=INDENT, break_on_hyphens=False, break_long_words=False
    )


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
