"""The shipped models for people and for programs."""

from __future__ import annotations

import textwrap
from typing import Any

from ptxmm.cat import DEFAULT_MODEL, read_model, shipped_models
from ptxmm.model import Model
from ptxmm.report.json import models_report
from ptxmm.vocabulary import FEATURES


def models_text(width: int = 100) -> str:
    """What `ptxmm models` prints."""
    return "\n\n".join("\n".join(_lines(read_model(name), width)) for name in shipped_models())


def models_json() -> str:
    """What `ptxmm models --format json` prints."""
    return models_report([_object(read_model(name)) for name in shipped_models()])


def _lines(model: Model, width: int) -> list[str]:
    default = " (default)" if model.name == DEFAULT_MODEL else ""
    title = [] if model.title == model.name else textwrap.wrap(model.title, width - 4)
    supports = ", ".join(FEATURES[feature] for feature in FEATURES if feature in model.supports)
    axioms = ", ".join(axiom.name for axiom in model.axioms)
    lines = [
        *title,
        *_wrapped("supports: ", supports or "the generic proxy", width),
        *_wrapped("axioms: ", axioms, width),
    ]
    return [model.name + default, *(f"    {line}" for line in lines)]


def _wrapped(head: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(head + text, width - 4, subsequent_indent="  ", break_on_hyphens=False)


def _object(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "title": model.title,
        "default": model.name == DEFAULT_MODEL,
        "supports": sorted(model.supports),
        "axioms": [axiom.name for axiom in model.axioms],
    }
