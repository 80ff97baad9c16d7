"""Results for programs: the JSON objects of `docs/commands.md`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ptxmm import __version__
from ptxmm.verdict import Answer, Execution, Happening, MbarrierHistory, Missing, Outcomes, Race, Result

_UNPRINTABLE = re.compile(r"[^\n -~]")


def check_report(results: Iterable[Result]) -> str:
    """What `ptxmm check --format json` prints."""
    return _printed({**_versions(), "results": [result_object(r) for r in results]})


def outcomes_report(all_outcomes: Iterable[Outcomes | Result]) -> str:
    """What `ptxmm outcomes --format json` prints; a test without outcomes says why."""
    found = [outcomes_object(o) if isinstance(o, Outcomes) else result_object(o) for o in all_outcomes]
    return _printed({**_versions(), "results": found})


def models_report(models: Sequence[dict[str, Any]]) -> str:
    """What `ptxmm models --format json` prints."""
    return _printed({**_versions(), "models": list(models)})


def theorems_report(theorems: Sequence[dict[str, Any]]) -> str:
    """What `ptxmm prove --format json` prints."""
    return _printed({**_versions(), "theorems": list(theorems)})


def _printed(value: dict[str, Any]) -> str:
    return document(value)


def printed(value: dict[str, Any]) -> str:
    """An object after the versions that made it."""
    return document({**_versions(), **value})


def document(value: dict[str, Any]) -> str:
    r"""A value as JSON text in which characters that cannot be printed are escaped.

    >>> print(document({"café": "\u202e"}))
    {
     "café": "\u202e"
    }
    """
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return text if text.replace("\n", "").isprintable() else _UNPRINTABLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    if found[0].isprintable():
        return found[0]
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4))


def _versions() -> dict[str, str | None]:
    try:
        z3: str | None = version("z3-solver")
    except PackageNotFoundError:
        z3 = None
    return {"ptxmm": __version__, "z3": z3}


def result_object(result: Result) -> dict[str, Any]:
    """One result; `error` is the reason where the verdict is `error`, `why` any other reason."""
    failed = result.verdict == "error"
    return {
        "test": result.test,
        "variant": result.variant,
        "path": result.path,
        "line": result.line or None,
        "model": result.model or None,
        "condition": result.condition or None,
        "verdict": result.verdict,
        "race": _answer(result.race) | {"on": list(result.race.on), "pairs": [_race(r) for r in result.race.races]},
        "hang": _hang(result.hang, result.progress),
        "hangs": [_hang(answer, progress) for progress, answer in result.hangs],
        "undefined": {
            "verdict": result.undefined.verdict,
            "why": [result.undefined.why] if result.undefined.why else [],
        },
        "expected": list(result.expected),
        "ok": result.ok,
        "surprises": list(result.surprises),
        "by": list(result.by),
        "why": None if failed else result.why or None,
        "notes": list(result.notes),
        "witness": execution_object(result.witness) if result.witness is not None else None,
        "bound": result.bound,
        "complete": result.complete,
        "seconds": round(result.seconds, 6),
        "error": result.why if failed else None,
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {"verdict": answer.verdict} | ({"why": answer.why} if answer.why else {})


def _hang(answer: Answer, progress: str) -> dict[str, Any]:
    witness = {"witness": execution_object(answer.witness)} if answer.witness is not None else {}
    return _answer(answer) | {"progress": progress} | witness


def _race(race: Race) -> dict[str, Any]:
    return {
        "on": race.on,
        "first": race.first,
        "second": race.second,
        "mixed": race.mixed,
        "hazard": race.hazard or None,
        "why": race.why,
        "missing": [_missing(one) for one in race.missing],
        "witness": execution_object(race.witness),
    }


def _missing(one: Missing) -> dict[str, Any]:
    return {
        "lacks": list(one.lacks),
        "event": one.event,
        "thread": one.thread,
        "line": one.line or None,
        "text": one.text,
        "why": one.why,
        "instead": one.instead or None,
    }


def execution_object(execution: Execution) -> dict[str, Any]:
    """An execution: events, edges between their ids, and the final state."""
    return {
        "events": [event_object(e) for e in execution.events],
        "edges": {name: sorted(map(list, pairs)) for name, pairs in execution.edges.items()},
        "registers": {f"{thread}.{register}": value for (thread, register), value in execution.registers.items()},
        "memory": execution.memory,
    } | ({"mbarriers": [_mbarrier(one) for one in execution.mbarriers]} if execution.mbarriers else {})


def _mbarrier(one: MbarrierHistory) -> dict[str, Any]:
    state = {"phase": one.phase, "pending": one.pending, "bytes": one.bytes} if one.valid else {}
    left = {"undefined": one.undefined} if one.undefined else state
    return {"name": one.name, "operations": list(one.operations), "valid": one.valid} | left


def event_object(event: Happening) -> dict[str, Any]:
    """One event; what it does not have is left out."""
    fields = {
        "id": event.id,
        "kind": event.kind,
        "thread": event.thread,
        "step": event.step,
        "text": event.text,
        "place": event.place,
        "value": event.value,
        "type": str(event.type) if event.place is not None else None,
        "order": event.order.value,
        "scope": event.scope.value if event.scope else None,
        "proxy": event.proxy.value,
        "line": event.line or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def outcomes_object(outcomes: Outcomes) -> dict[str, Any]:
    """All final states of one test under one model."""
    return {
        "test": outcomes.test,
        "variant": outcomes.variant,
        "path": outcomes.path,
        "model": outcomes.model,
        "condition": outcomes.condition or None,
        "columns": list(outcomes.columns),
        "types": [str(t) for t in outcomes.types],
        "states": [
            {"values": list(state.values), "satisfies": state.satisfies}
            | ({"witness": execution_object(state.witness)} if state.witness is not None else {})
            for state in outcomes.states
        ],
        "complete": outcomes.complete,
        "why": outcomes.why or None,
        "seconds": round(outcomes.seconds, 6),
    }
