"""Results for code scanning: SARIF 2.1.0, the OASIS "Static Analysis Results Interchange Format"."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ptxmm import __version__
from ptxmm.report.json import document
from ptxmm.report.text import Standing, remarks, standing, verdict_words
from ptxmm.verdict import Result

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
    return {
        "ruleId": rule,
        "ruleIndex": list(RULES).index(rule),
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": {"text": _message(result)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(os.fsencode(Path(result.path).as_posix()))},
                    "region": {"startLine": max(1, result.line)},
                },
                "logicalLocations": [{"name": result.name, "kind": "module"}],
            }
        ],
        "properties": {"model": result.model, "seconds": round(result.seconds, 6)},
    }


def _message(result: Result) -> str:
    if result.verdict == "error":
        return result.why
    said = f"{result.name} under {result.model}: {verdict_words(result)}"
    return ". ".join([said, *remarks(result)])
