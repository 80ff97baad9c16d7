"""What is launched: the kernel of a test, alone or in one entry with those of its controls, and CTAs that only stress.

The CTAs of a launch are divided by the number of their cluster: one in `every` stresses memory, half of the others
play the test, half of them the control that the launch chooses; each half has parameters and memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxmm.gpu import parameters, stress
from ptxmm.gpu.columns import Column
from ptxmm.gpu.layout import Layout
from ptxmm.gpu.maps import Described
from ptxmm.gpu.views import BANK, SYMBOL, Views

ENTRY = "litmus"

PARAMETERS = (
    ("memory", 64), ("stride", 64), ("slot", 32), ("results", 64), ("sync", 64), ("table", 64), ("scratch", 64),
    ("templates", 64), ("alias", 64), ("first", 32), ("met", 32), ("units", 32), ("rounds", 32), ("passes", 32),
    ("turn", 32), ("preload", 32), ("busy", 32), ("patience", 64), ("seed", 32), ("stage", 32),
    ("texture", 64), ("surface", 64), ("bank", 64), ("inset", 32),
)  # fmt: skip
"""Parameters of one kernel, in order."""

SPREAD = ("clusters_before", "clusters_here")
"""Parameters where several GPUs play the clusters of a copy: how many those before this one have, and how many it."""

DIVISION = (("every", 32), ("enough", 32), ("half", 32), ("flipped", 32), ("chosen", 32))
"""Parameters that divide the CTAs, behind those of the kernels."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """What one test does in a launch, as PTX: `registers` are declared in its scope, `lines` are its code.

    `meetings` is how often a team meets in each launch of a pass beyond once a round. `result_bytes` are those of a
    copy's results, `objects` the number of global objects and `object_bytes` the size of the largest, `words` how many
    words of 64 bits each column has. `stamped` says that values tell rounds apart, `maps` what the tensor maps
    describe, `parameters` those that are parameters of the kernel, each with the number of its array among those in
    global memory; `aliased` says that global memory has a second address, `views` what else shows memory;
    `constants` are the declarations of constant memory, `placed` says which of several GPUs has each object.
    """

    registers: tuple[str, ...]
    lines: tuple[str, ...]
    layout: Layout
    columns: tuple[Column, ...]
    words: tuple[int, ...]
    meetings: tuple[int, ...]
    result_bytes: int
    objects: int
    object_bytes: int
    version: tuple[int, int]
    target: str
    stamped: bool
    maps: tuple[Described, ...]
    parameters: tuple[tuple[Described, int], ...]
    aliased: bool
    views: Views
    constants: tuple[str, ...]
    placed: tuple[int, ...]

    @property
    def text(self) -> str:
        """The kernel alone, as an assembler takes it."""
        return entry(self).text


@dataclass(frozen=True, slots=True)
class Entry:
    """PTX text with the kernels that it holds: that of a test, then those of its controls."""

    kernels: tuple[Kernel, ...]
    text: str

    @property
    def target(self) -> str:
        """The newest target that a kernel needs: `sm_90a`."""
        return max((kernel.target for kernel in self.kernels), key=_rank)


def entry(*kernels: Kernel) -> Entry:
    """One entry with the kernels of a test and its controls, which have one layout."""
    first = kernels[0].layout
    target = max((kernel.target for kernel in kernels), key=_rank)
    major, minor = max(kernel.version for kernel in kernels)
    lines = [f".version {major}.{minor}", f".target {target}", ".address_size 64", ""]
    if any(kernel.layout.shared for kernel in kernels):
        lines += [".extern .shared .align 128 .b8 dynamic[];", ""]
    if any(kernel.views.bank for kernel in kernels):
        lines += [f".const .align 256 .b8 {SYMBOL}[{2 * BANK}];", ""]
    lines += list(dict.fromkeys(line for kernel in kernels for line in kernel.constants))
    spread = SPREAD if first.devices.spread else ()
    declared = (*_parameters(len(kernels), len(first.parameters)), *(f"    .param .u32 in_{name}" for name in spread))
    lines += [f".visible .entry {ENTRY}(", ",\n".join(declared), ")"]
    lines.append(f".maxntid {first.threads}, 1, 1")
    if first.cluster_size > 1:
        lines += [".explicitcluster", f".reqnctapercluster {first.cluster_size}, 1, 1"]
    lines.append("{")
    for name in spread:
        lines += [f"    .reg .b32 {name};", f"    ld.param.u32 {name}, [in_{name}];"]
    lines += _division(len(kernels), first.cluster_size)
    for number, kernel in enumerate(kernels):
        lines += [
            f"KERNEL{number}:",
            "{",
            *kernel.registers,
            *_arguments(min(number, 1), len(first.parameters)),
            *kernel.lines,
            "}",
        ]
    return Entry(kernels, "\n".join([*lines, *stress.lines(first.devices.scope), "}"]) + "\n")


def _rank(target: str) -> tuple[int, str]:
    number = target.removeprefix("sm_").rstrip("a")
    return int(number), target


def _parameters(kernels: int, maps: int) -> Iterator[str]:
    for place in range(min(kernels, 2)):
        yield from (f"    .param .u{bits} in{place}_{name}" for name, bits in PARAMETERS)
        yield from parameters.declared(place, maps)
    yield from (f"    .param .u{bits} in_{name}" for name, bits in DIVISION)


def _arguments(place: int, maps: int) -> Iterator[str]:
    """The registers of a kernel's parameters, at one of two places in the parameters of the launch."""
    for name, bits in PARAMETERS:
        yield f"    .reg .b{bits} {name};"
        yield f"    ld.param.u{bits} {name}, [in{place}_{name}];"
    yield from parameters.registers(place, maps)


def _division(kernels: int, cluster_size: int) -> list[str]:
    """Which kernel this CTA runs, and its number among those that run it, in `cta`."""
    lines = [
        ".reg .b32 cta, cluster_number, within, played, every, enough, half, chosen, part, turned_round;",
        ".reg .pred stressed, stresses, second, flip;",
        *(f"ld.param.u32 {name}, [in_{name}];" for name in ("every", "enough", "half", "chosen")),
        "ld.param.u32 turned_round, [in_flipped];",
        "mov.u32 cta, %ctaid.x;",
        f"div.u32 cluster_number, cta, {cluster_size};",
        f"rem.u32 within, cta, {cluster_size};",
        "setp.ne.u32 stressed, every, 0;",
        "@!stressed bra DIVIDE;",
        "div.u32 played, cluster_number, every;",
        "rem.u32 part, cluster_number, every;",
        "add.u32 part, part, 1;",
        "setp.eq.u32 stresses, part, every;",
        "@stresses bra STRESS;",
        "sub.u32 cluster_number, cluster_number, played;",
        "DIVIDE:",
    ]
    if kernels > 1:
        lines += [
            "setp.ge.u32 second, cluster_number, half;",
            "@second sub.u32 cluster_number, cluster_number, half;",
            "setp.ne.u32 flip, turned_round, 0;",
            "xor.pred second, second, flip;",
            "selp.b32 part, chosen, 0, second;",
        ]
    lines.append(f"mad.lo.u32 cta, cluster_number, {cluster_size}, within;")
    for number in range(1, kernels):
        lines += [f"setp.eq.u32 second, part, {number};", f"@second bra KERNEL{number};"]
    return [line if line.endswith(":") else f"    {line}" for line in lines]
