"""Tensor maps that are parameters of a kernel: each copy of the test in a launch has one of its own.

The host writes them before the launch, in which they stay as they are: all passes go through the same. There are
as many copies as the parameters of a kernel have room for (32,764 bytes, CUDA programming guide, "compute
capabilities"), those of a control beside them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptxmm.errors import Unsupported
from ptxmm.gpu.maps import MAP_BYTES, Described, described
from ptxmm.instructions import operands
from ptxmm.program import AsyncCopy, Program, Space, Statement, named

ROOM = 96
"""Tensor maps among the parameters of the test, and of its control."""

VERSION = (8, 1)
"""The PTX version since which a kernel may have more than 4,352 bytes of parameters."""

NAME = "parameter{}"
"""The register with the address of an array of tensor maps, and the end of the name of that parameter."""


def parameters(program: Program) -> tuple[str, ...]:
    """The tensor maps in `.param` that a test goes through; Unsupported where it uses `.param` otherwise."""
    inside = {item.name for item in program.objects if item.space is Space.PARAM}
    other, mapped = set[str](), set[str]()
    for thread in program.threads:
        for statement in thread.body:
            other.update(_names(statement, inside, maps=False))
            mapped.update(_names(statement, inside, maps=True))
    if other:
        raise Unsupported("it uses kernel parameters otherwise than as tensor maps of copies")
    if len(mapped) > 1:
        raise Unsupported("it has several tensor maps that are kernel parameters")
    return tuple(item.name for item in program.objects if item.name in mapped)


def described_parameters(program: Program, names: tuple[str, ...]) -> tuple[tuple[Described, int], ...]:
    """What such tensor maps describe, each with the number of its array among those in global memory.

    Unsupported where one points to its array by another address than its first.
    """
    arrays = [item.name for item in program.objects if item.space is Space.GLOBAL]
    maps = [program.physical(name) for name in names]
    if any(item.tensormap is not None and item.tensormap.target not in arrays for item in maps):
        raise Unsupported("it has a tensor map as a kernel parameter that points to the second address of its array")
    return tuple(
        (described(program, item), arrays.index(item.tensormap.target)) for item in maps if item.tensormap is not None
    )


def declared(place: int, number: int) -> Iterator[str]:
    """The parameters with so many arrays of tensor maps, of the test (place 0) or of its control."""
    for each in range(number):
        yield f"    .param .align 64 .b8 in{place}_{NAME.format(each)}[{ROOM * MAP_BYTES}]"


def registers(place: int, number: int) -> Iterator[str]:
    """Registers with the addresses of these arrays."""
    for each in range(number):
        name = NAME.format(each)
        yield f"    .reg .b64 {name};"
        yield f"    mov.b64 {name}, in{place}_{name};"
        yield f"    cvta.param.u64 {name}, {name};"


def _names(statement: Statement, inside: set[str], *, maps: bool) -> Iterator[str]:
    """Kernel parameters that an instruction names: as the tensor map of a copy, or otherwise."""
    for place, expr in operands(statement):
        if maps == (isinstance(statement, AsyncCopy) and place == "map"):
            yield from (name for name in named(expr) if name in inside)
