"""The forms in which `ptxmm show` prints a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ptxmm.check import check, happenings, smt2
from ptxmm.errors import Unsupported
from ptxmm.program import Order, Program, Proxy
from ptxmm.report.dot import events_dot, execution_dot
from ptxmm.request import Request, model_named, one_model
from ptxmm.syntax.print_lit import to_lit
from ptxmm.verdict import Happening


def shown(program: Program, form: str, request: Request) -> str:
    """A test in one of `FORMS`."""
    return FORMS[form](program, request)


def _lit(program: Program, _request: Request) -> str:
    try:
        return to_lit(program).rstrip()
    except ValueError as reason:
        raise Unsupported(str(reason)) from None


def _events(program: Program, request: Request) -> str:
    """A row for each event: its number, thread, kind, place, value if it is the same always, strength, instruction."""
    header = ("event", "thread", "kind", "place", "value", "strength", "instruction")
    rows = [header, *(_event(event) for event in happenings(program, request.options))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join([f"{program.full_name}", *lines])


def _event(event: Happening) -> tuple[str, ...]:
    strength = [event.order.value] if event.order is not Order.WEAK or event.kind in "RW" else []
    if event.scope is not None:
        strength.append(event.scope.value)
    if event.proxy is not Proxy.GENERIC:
        strength.append(event.proxy.value)
    value = "" if event.value is None else str(event.value)
    text = " ".join(event.text.split()).rstrip(";")
    return (str(event.id), event.thread or "", event.kind, event.place or "", value, " ".join(strength), text)


def _smt2(program: Program, request: Request) -> str:
    models = request.models or one_model(program)
    return "\n".join(smt2(program, model_named(model), request.options) for model in models).rstrip()


def _dot(program: Program, request: Request) -> str:
    """An execution that reaches the condition, else the events in program order."""
    for model in request.models or one_model(program):
        result = check(program, model_named(model), replace(request.options, witness=True))
        if result.witness is not None:
            return execution_dot(result.witness, program).rstrip()
    return events_dot(happenings(program, request.options), program).rstrip()


FORMS: dict[str, Callable[[Program, Request], str]] = {
    "program": _lit,
    "events": _events,
    "smt2": _smt2,
    "lit": _lit,
    "dot": _dot,
}
