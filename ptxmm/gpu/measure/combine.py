"""Weighted sums of scattered rows: by atomics into the result, or gathered by the result's owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptxmm.gpu.measure.arms import Arm, Plan, Reading
from ptxmm.gpu.measure.claims import Stated, costs, every, never, rare, shows
from ptxmm.gpu.measure.machine import EXTRA, WRONG, Machine, insist
from ptxmm.gpu.measure.measure import Lab, Measure
from ptxmm.gpu.measure.results import Role
from ptxmm.gpu.measure.sources import source
from ptxmm.gpu.measure.statistics import Count

TOKENS, WIDTH = 8192, 4096
GATHER = "the owner gathers"
SCATTERS = {
    "f32": {"memset, red.f32": "scatter_f32", "memset, red.v4.f32": "scatter_f32x4"},
    "bf16": {"memset, red.bf16x2": "scatter_bf16", "memset, red.v4.bf16x2": "scatter_bf16x8"},
}
ACCURATE = {"f32": 1e-6, "bf16": 6e-3}
"""The largest relative error that counts as right: rounding of every addition, and no more."""
SUM, ERROR = "the sum of k rows", "the sum against f64"


@dataclass(frozen=True, slots=True)
class Setting:
    """The type of the elements, and how many rows make a token."""

    type: str
    k: int

    def __str__(self) -> str:
        return f"{self.type}, k = {self.k}, {TOKENS} tokens of {WIDTH}"


SETTINGS = tuple(Setting(type, k) for type in ("f32", "bf16") for k in (2, 4, 8))


def prepare(machine: Machine) -> Lab:
    """Random rows in a random order, random weights, and the plan of each setting."""
    cp, np, sms = machine.cp, machine.np, machine.multiprocessors
    module = machine.module(source("combine", arms={"each": [{"K": str(k)} for k in (2, 4, 8)]}))
    dice = np.random.default_rng(11)

    def plan(setting: Setting) -> Plan:
        half, k = setting.type == "bf16", setting.k
        words = WIDTH // 2 if half else WIDTH
        rows = dice.permutation(TOKENS * k).astype("uint32")
        tokens = np.empty(TOKENS * k, "uint32")
        tokens[rows] = np.repeat(np.arange(TOKENS, dtype="uint32"), k)
        listed, token = cp.asarray(rows), cp.asarray(tokens)
        weight = cp.asarray(dice.random(TOKENS * k).astype("float32") + np.float32(0.1))
        x, to = cp.empty(TOKENS * k * words, "uint32"), cp.empty(TOKENS * words, "uint32")
        machine.launch(module.get_function(f"fill_{setting.type}"), 16 * sms, 256, x, TOKENS * k * words // 1024, k)
        first: dict[str, Any] = {}

        def combined(name: str) -> None:
            if name == GATHER:
                kernel = module.get_function(f"gather_{setting.type}_{k}")
                machine.launch(kernel, TOKENS, 256, x, listed, weight, to, WIDTH)
                return
            stream = cp.cuda.get_current_stream().ptr
            cp.cuda.runtime.memsetAsync(to.data.ptr, 0, to.nbytes, stream)
            kernel = module.get_function(SCATTERS[setting.type][name])
            machine.launch(kernel, TOKENS * k, 256, x, token, weight, to, WIDTH)

        def arm(name: str) -> Arm:
            def run() -> Reading:
                to.fill(0x7FC07FC0)
                took = machine.timed(lambda: combined(name))
                if name not in first:
                    first[name] = to.copy()
                    _judge_error(machine, module, (x, listed, weight, to), k, half, name)
                    return Reading(1e3 * took)
                out = machine.results()
                machine.launch(module.get_function("compare"), 8 * sms, 256, to, first[name], out, to.size // 1024)
                return Reading(1e3 * took, Count(int(out[WRONG]), to.size))

            repeats = name == GATHER
            return Arm(name, Role.NEGATIVE if repeats else Role.POSITIVE if k > 2 else Role.SUBJECT, run)

        arms = tuple(map(arm, (GATHER, *SCATTERS[setting.type])))
        return Plan(SUM, str(setting), arms, "µs", "words that differ from the first run", GATHER)

    return plan


def _judge_error(machine: Machine, module: Any, arrays: tuple[Any, ...], k: int, half: bool, name: str) -> None:
    """Stop if the sums are further from those in f64 than rounding explains."""
    x, listed, weight, to = arrays
    out = machine.zeros(8, "float64")
    machine.launch(module.get_function("error"), TOKENS // 16, 256, x, listed, weight, to, out, WIDTH, k, int(half))
    squared, whole = float(out[EXTRA]), float(out[EXTRA + 1])
    relative = (squared / whole) ** 0.5
    wrong = not relative < ACCURATE["bf16" if half else "f32"]
    insist(wrong, f"sums of {name}, k = {k}: off by {relative:.2g} of their size")


MEASURE = Measure(
    "combine",
    "Is it faster to add rows into their token with atomics, or to let the token gather them, and do the bits repeat?",
    SETTINGS,
    prepare,
    (
        Stated(
            "Gathering is faster than adding with atomics, by 1.8 times or more.",
            every(*(costs(SUM, name, type, least=1.8) for type, names in SCATTERS.items() for name in names)),
        ),
        Stated("Gathered sums repeat bit for bit.", every(*(never(SUM, GATHER, f"k = {k}") for k in (4, 8)))),
        Stated(
            "Sums by atomics do not, from k = 4 on.",
            every(
                *(
                    shows(SUM, name, f"{type}, k = {k}")
                    for type, names in SCATTERS.items()
                    for name in names
                    for k in (4, 8)
                )
            ),
        ),
        Stated(
            "With k = 2 they repeat, because 0 + a + b is rounded once: a test with k = 2 proves nothing.",
            every(*(rare(SUM, name, f"{type}, k = 2", most=0) for type, names in SCATTERS.items() for name in names)),
        ),
    ),
)
