"""Runs on a GPU held against models, for people and for programs: one line a test, a summary last; and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ptxmm.compare import Comparison, Hanging, Seen, Standing
from ptxmm.errors import printable
from ptxmm.gpu.statistics import Rate
from ptxmm.report.json import printed
from ptxmm.verdict import Answer

MARKS = {
    Standing.FORBIDDEN_SEEN: ("✗", "x", "31;1"),
    Standing.BROKEN: ("!", "!", "31;1"),
    Standing.SHOULD_END: ("!", "!", "33;1"),
    Standing.SHOULD_RUN: ("!", "!", "33;1"),
    Standing.UNKNOWN: ("?", "?", "33"),
    Standing.UNDEFINED: ("~", "~", "33"),
    Standing.AGREE: ("✓", "+", "32"),
    Standing.SEEN: ("✓", "+", "32"),
    Standing.HUNG: ("✓", "+", "32"),
    Standing.NOT_SEEN: ("○", "o", "36"),
    Standing.NOT_EXERCISED: ("·", ".", "33"),
    Standing.UNSUPPORTED: ("–", "-", "2"),
}
OPEN = (Standing.UNKNOWN, Standing.SHOULD_END, Standing.SHOULD_RUN)
EXIT_CODES = {Standing.BROKEN: 2, Standing.FORBIDDEN_SEEN: 1, **dict.fromkeys(OPEN, 3)}


def exit_code(results: Iterable[Comparison]) -> int:
    """0 no surprise, 1 a forbidden state was seen, 2 a log is no evidence, 3 something is open."""
    found = {result.standing for result in results}
    return next((code for standing, code in EXIT_CODES.items() if standing in found), 0)


# --- text ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class CompareReport:
    """Writes comparisons as they come; `colour` and `unicode` say what the terminal can show."""

    write: Callable[[str], None]
    colour: bool = False
    unicode: bool = True
    seen: Counter[Standing] = field(default_factory=Counter)
    tests: set[tuple[str, str]] = field(default_factory=set)

    def add(self, result: Comparison) -> None:
        """One comparison: its line, the states that the model does not allow, and notes."""
        self.seen[result.standing] += 1
        self.tests.add((result.name, result.hash))
        self.write(self._line(result))
        for state in result.states:
            if state.verdict != "allowed":
                self.write(f"    {printable(state_sentence(state, result))}")
        for note in result.notes:
            self.write(f"    {printable(note)}")

    def end(self, runs: int, seconds: float) -> None:
        """The summary."""
        counts = "; ".join(f"{self.seen[kind]} {kind}" for kind in Standing if self.seen[kind])
        tests = f"{len(self.tests)} test{'' if len(self.tests) == 1 else 's'}"
        self.write(f"{tests}, {runs} run{'' if runs == 1 else 's'}: {counts or 'nothing to do'}; {seconds:.2f} s")

    def _line(self, result: Comparison) -> str:
        mark, plain, colour = MARKS[result.standing]
        sign = mark if self.unicode else plain
        if self.colour:
            sign = f"\x1b[{colour}m{sign}\x1b[0m"
        audit = f"; {result.label}" if result.label in ("merged", "reordered by ptxas") else ""
        told = result.told.removeprefix(f"{result.standing}: ")
        return f"{sign} {printable(result.name):<28} {result.model:<8} {result.standing:<18} {printable(told)}{audit}"


def state_sentence(state: Seen, result: Comparison) -> str:
    """A state that the model does not allow: where it was seen and how often, what forbids it, and the question."""
    where = "the control" if state.control else "the test"
    by = f" by {', '.join(state.by)}" if state.by else f": {state.why}" if state.why else ""
    return f"{state.asks}: seen {state.count:,} times in {where}; {result.model}: {state.verdict}{by}"


# --- JSON ------------------------------------------------------------------------------------------------------------


def compare_report(results: Iterable[Comparison]) -> str:
    """What `ptxmm compare --format json` prints."""
    return printed({"results": [comparison_object(result) for result in results]})


def comparison_object(result: Comparison) -> dict[str, Any]:
    """One test under one model."""
    return {
        "test": result.test,
        "variant": result.variant,
        "path": result.path,
        "hash": result.hash,
        "model": result.model,
        "standing": result.standing.value,
        "told": result.told,
        "condition": result.condition or None,
        "verdict": result.verdict,
        "rate": _rate(result.rate),
        "control": _rate(result.control),
        "control_verdict": result.control_verdict or None,
        "control_changes": list(result.changes),
        "columns": list(result.columns),
        "types": list(result.types),
        "states": [_state(state) for state in result.states],
        "stuck": result.stuck,
        "hung": result.hung,
        "hang": _hang(result.hanging),
        "failed": result.failed,
        "undefined": _undefined(result.undefined),
        "audit": result.label or None,
        "profiles": list(result.profiles),
        "device": result.device or None,
        "notes": list(result.notes),
        "seconds": round(result.seconds, 6),
    }


def _hang(found: Hanging | None) -> dict[str, Any] | None:
    if found is None:
        return None
    ordinary = {"obe": found.ordinary} if found.ordinary and found.progress != "obe" else {}
    return {"verdict": found.verdict, "progress": found.progress, "why": found.why or None, **ordinary}


def _undefined(found: Answer | None) -> dict[str, Any] | None:
    return {"verdict": found.verdict, "why": found.why or None} if found is not None else None


def _rate(rate: Rate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    return {
        "seen": rate.seen,
        "instances": rate.instances,
        "design_effect": round(rate.effect, 3),
        "low": rate.low,
        "high": rate.high,
    }


def _state(state: Seen) -> dict[str, Any]:
    more = {"by": list(state.by), "why": state.why or None, "question": state.question} if state.question else {}
    return {
        "values": list(state.values),
        "count": state.count,
        "holds": state.holds,
        "verdict": state.verdict,
        "control": state.control,
        **more,
    }
