"""Results for code scanning: SARIF 2.1.0, the OASIS "Static Analysis Results Interchange Format"."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ptxmm import __version__
from ptxmm.report.json import document
from ptxmm.report.text import Standing, remarks, standing, verdict_words
from ptxmm.verdict import Race, Result

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

RULES = {
    "as-expected": "The verdict is the one that the test states.",
    "unexpected-verdict": "The verdict differs from the one that the test states.",
    "unknown-verdict": "The verdict is not known: a time-out, or a loop that was cut at the bound.",
    "unreadable-input": "The test or the model cannot be read.",
    "unsupported-test": "The model has no such instruction or proxy.",
    "verdict": "The test states no verdict for this model.",
}

KINDS = {
    Standing.EXPECTED: ("as-expected", "pass"),
    Standing.SURPRISE: ("unexpected-verdict", "fail"),
    Standing.UNKNOWN: ("unknown-verdict", "open"),
    Standing.ERROR: ("unreadable-input", "fail"),
    Standing.UNSUPPORTED: ("unsupported-test", "notApplicable"),
    Standing.UNSTATED: ("verdict", "informational"),
}


def sarif_report(results: Iterable[Result]) -> str:
    """What `ptxmm check --format sarif` prints."""
    driver = {
        "name": "ptxmm",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [_result(r) for r in results]}
    return document({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(result: Result) -> dict[str, Any]:
    rule, kind = KINDS[standing(result)]
    related = [place for race in result.race.races for place in _places(result, race)]
    return {
        "ruleId": rule,
        "ruleIndex": list(RULES).index(rule),
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": {"text": _message(result)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(result.path)},
                    "region": {"startLine": max(1, result.line)},
                },
                "logicalLocations": [{"name": result.name, "kind": "module"}],
            }
        ],
        **({"relatedLocations": related} if related else {}),
        "properties": {"model": result.model, "seconds": round(result.seconds, 6)},
    }


def _places(result: Result, race: Race) -> Iterator[dict[str, Any]]:
    """The accesses of a race, and what is missing, where the test has lines."""
    events = {event.id: event for event in race.witness.events}
    hazard = f" ({race.hazard} in one execution)" if race.hazard else ""
    said = [(events[id].line, f"races on {race.on}{hazard}") for id in (race.first, race.second)]
    for line, text in (*said, *((one.line, one.why) for one in race.missing if one.lacks)):
        if line:
            place = {"artifactLocation": {"uri": _uri(result.path)}, "region": {"startLine": line}}
            yield {"physicalLocation": place, "message": {"text": text}}


def _uri(path: str) -> str:
    return quote(os.fsencode(Path(path).as_posix()))


def _message(result: Result) -> str:
    if result.verdict == "error":
        return result.why
    said = f"{result.name} under {result.model}: {verdict_words(result)}"
    return ". ".join([said, *remarks(result)])
