"""How fast a kernel reads several inputs by TMA, by how it uses its mbarriers."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.gpu.measure.arms import Arm, Plan, Reading
from ptxmm.gpu.measure.claims import Stated, costs, every, shows
from ptxmm.gpu.measure.machine import FLOAT32, STUCK, Machine
from ptxmm.gpu.measure.measure import Lab, Measure
from ptxmm.gpu.measure.results import Role
from ptxmm.gpu.measure.sources import source
from ptxmm.gpu.measure.statistics import Count

STAGED = "tile[i][j]"
SERIAL, SERIAL_ALL = "per load: init, sync, wait, sync, inval", "per load, every thread inits and invals"
BATCHED, SINGLE, ELECTED = "batched, N barriers", "one barrier for N copies", "batched, one thread waits, bar.sync"
PLAIN, COPIED = "plain loads, no TMA", "a copy of as many bytes"
LATE = "one barrier, waited for after the tiles are read"
FORMS = {
    BATCHED: ("BATCH_ALL_WAIT", STAGED),
    SERIAL: ("SERIAL(tid == 0)", STAGED),
    SERIAL_ALL: ("SERIAL(true)", STAGED),
    ELECTED: ("BATCH_ONE_WAITS", STAGED),
    SINGLE: ("TOGETHER(true, COPY_TILE, false)", STAGED),
    "one barrier, copies before expect_tx": ("TOGETHER(false, COPY_TILE, true)", STAGED),
    "one barrier, copies without a tensor map": ("TOGETHER(true, COPY_FLAT, false)", STAGED),
    LATE: ("TOGETHER(true, COPY_TILE, false)", STAGED),
    PLAIN: ("NOTHING", "in.of[i][(u64)at * 256 + j]"),
}
"""Each form by how it loads, as a macro of the kernel's file, and where the sum reads what was loaded."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How many inputs, and how many threads a CTA has."""

    inputs: int
    threads: int


SETTINGS = tuple(Setting(inputs, threads) for threads in (128, 256) for inputs in (1, 2, 4, 8))
TILES = 1 << 16
THOUSANDS = TILES
NAME = "sum of N inputs"


def _filling(id: str, inputs: int, form: str) -> dict[str, str]:
    load, read = FORMS[form]
    shared, late = (str(each).lower() for each in (load.startswith("TOGETHER"), form == LATE))
    return {"ID": id, "N": str(inputs), "SHARED": shared, "LATE": late, "LOAD": load, "READ": read}


def prepare(machine: Machine) -> Lab:
    """Eight inputs of 256 MB each, their tensor maps, and the plan of each setting."""
    cp, sms = machine.cp, machine.multiprocessors
    names = {(n, form): f"{n}_{number}" for n in (1, 2, 4, 8) for number, form in enumerate(FORMS)}
    fillings = [_filling(id, n, form) for (n, form), id in names.items()]
    module = machine.module(source("tma", "tma_batch", arms={"each": fillings}))
    inputs = [cp.empty(TILES * 1024, "float32") for _ in range(8)]
    to = cp.empty(TILES * 1024, "float32")
    copy_from, copy_to = (cp.full(TILES * 9 * 512, 0x3F5A1B2C, "uint32") for _ in range(2))
    for number, each in enumerate(inputs):
        machine.launch(module.get_function("fill"), 8 * sms, 256, each, THOUSANDS, 77 * number + 1)
    maps = machine.by_value(
        b"".join(machine.tensor_map(machine.address(each), 256, 4 * TILES, 4, FLOAT32) for each in inputs)
    )
    addresses = machine.by_value(b"".join(machine.address(each).to_bytes(8, "little") for each in inputs))

    def arm(setting: Setting, form: str) -> Arm:
        kernel = module.get_function(f"sum_{names[setting.inputs, form]}")
        judged: list[Count] = []

        def run() -> Reading:
            out = machine.results()
            to.fill(float("nan"))
            took = machine.timed(lambda: machine.launch(kernel, TILES, setting.threads, maps, addresses, to, out))
            if not judged:
                check = module.get_function("check")
                machine.launch(check, 8 * sms, 256, addresses, to, THOUSANDS, setting.inputs, out)
                judged.append(machine.counted(out)[0])
                return Reading(1e3 * took, judged[0])
            return Reading(1e3 * took, Count(0, 0, int(out[STUCK])))

        # Initialising from many threads at once is undefined in PTX: what it does is the question.
        roles = {SERIAL_ALL: Role.SUBJECT, LATE: Role.POSITIVE}
        return Arm(form, roles.get(form, Role.NEGATIVE), run)

    def copied(setting: Setting) -> Arm:
        half = (setting.inputs + 1) * TILES * 4096 // 2
        stream, copy = cp.cuda.get_current_stream().ptr, cp.cuda.runtime.memcpyAsync

        def run() -> Reading:
            return Reading(1e3 * machine.timed(lambda: copy(copy_to.data.ptr, copy_from.data.ptr, half, 3, stream)))

        return Arm(COPIED, Role.SUBJECT, run)

    def plan(setting: Setting) -> Plan:
        told = f"{setting.inputs} input{'s' * (setting.inputs > 1)}, CTAs of {setting.threads} threads"
        arms = (*(arm(setting, form) for form in FORMS), copied(setting))
        return Plan(NAME, told, arms, "µs", "wrong words", BATCHED)

    return plan


MEASURE = Measure(
    "tma-batch",
    "Does it pay to start all copies before the first wait, and is TMA faster than plain loads?",
    SETTINGS,
    prepare,
    (
        Stated(
            "All loads before the first wait are faster than loads one by one, for any number of inputs.",
            costs(NAME, SERIAL, least=1.02),
        ),
        Stated(
            "They are for 8 inputs, by 10 % or more.",
            costs(NAME, SERIAL, "8 inputs", least=1.1),
        ),
        Stated(
            "For 1 to 4 inputs and CTAs of 128 threads they are not: other CTAs hide the waits.",
            every(
                *(
                    costs(NAME, SERIAL, f"{n} input{'s' * (n > 1)}, CTAs of 128", least=0.96, most=1.04)
                    for n in (1, 2, 4)
                )
            ),
        ),
        Stated(
            "One mbarrier or N, one waiting thread or all: the same, within 4 %.",
            every(*(costs(NAME, form, least=0.96, most=1.04) for form in (SINGLE, ELECTED))),
        ),
        Stated("TMA is faster than plain loads here, by 2 % or more.", costs(NAME, PLAIN, least=1.02)),
        Stated(
            "A batch takes as long as a copy of as many bytes, within 10 %.",
            costs(NAME, COPIED, least=0.9, most=1.1),
        ),
        Stated("Tiles that are read before the wait are wrong.", shows(NAME, LATE, least=0.5)),
    ),
    needs=(9, 0),
)
