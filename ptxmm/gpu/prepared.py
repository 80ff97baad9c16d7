"""A test made ready for a GPU: its kernel and those of its controls, in one entry; or why it does not run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ptxmm.errors import Unsupported
from ptxmm.gpu.controls import BOLD, Control, controls
from ptxmm.gpu.kernel import Entry, Kernel, entry
from ptxmm.gpu.reach import ALONE, Reach
from ptxmm.gpu.source import kernel
from ptxmm.program import Program


@dataclass(frozen=True, slots=True)
class Prepared:
    """A test with its `entry` and the controls in it, in their order; or `skipped` with the reason."""

    program: Program
    entry: Entry | None = None
    controls: tuple[Control, ...] = ()
    skipped: str | None = None

    @property
    def bold(self) -> bool:
        """Whether the last control may break what the test keeps, and others may not."""
        return len(self.controls) > 1 and self.controls[-1].kind in BOLD


def prepared(program: Program, capability: str, reach: Reach = ALONE, *, with_controls: bool) -> Prepared:
    """The kernels of a test for a device of a compute capability, and the GPUs that it has beside it."""
    try:
        made = kernel(program)
    except Unsupported as wrong:
        return Prepared(program, skipped=str(wrong))
    lacking = reach.lacking(len(made.layout.devices.numbers))
    if refused := lacking or required(program, capability) or too_new(made.target, capability):
        return Prepared(program, skipped=refused)
    found = [*_controls(program, made, capability)] if with_controls else []
    return Prepared(program, entry(made, *(its for _, its in found)), tuple(control for control, _ in found))


def _controls(program: Program, made: Kernel, capability: str) -> Iterator[tuple[Control, Kernel]]:
    """The controls that become other code than the test and those before them."""
    known = {made.lines}
    for control in controls(program):
        try:
            its = kernel(control.program, made.layout)
        except Unsupported:
            continue
        if its.lines not in known and not too_new(its.target, capability):
            known.add(its.lines)
            yield control, its


def too_new(target: str, capability: str) -> str | None:
    """Why a device cannot run a kernel, or None."""
    found = re.fullmatch(r"sm_(\d+)(\d)(a?)", target)
    assert found is not None
    wanted, have = (int(found[1]), int(found[2])), tuple(map(int, capability.split(".")))
    if wanted > have or (found[3] and wanted != have):
        return f"it needs {target}, and this device has compute capability {capability}"
    return None


def required(program: Program, capability: str) -> str | None:
    """Why a device is not what the test requires, or None."""
    wanted = program.hardware.require
    found = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", wanted or "")
    if found is None or (int(found[1]), int(found[2])) <= tuple(map(int, capability.split("."))):
        return None
    return f"it requires {wanted}, and this device has compute capability {capability}"


def without(here: Prepared, reason: str) -> Prepared:
    """A test that does not run after all."""
    return replace(here, skipped=reason)
