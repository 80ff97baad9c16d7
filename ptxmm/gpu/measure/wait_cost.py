"""What the forms of a wait cost: the poll, what closes it, and what runs beside it."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.gpu.measure.arms import Arm, Plan, Reading
from ptxmm.gpu.measure.claims import Stated, costs, every, grows, never, shows
from ptxmm.gpu.measure.machine import CYCLES, Machine
from ptxmm.gpu.measure.measure import Lab, Measure
from ptxmm.gpu.measure.results import Role
from ptxmm.gpu.measure.sources import source

UNUSED = 'u32 d; asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(d) : "l"(p) : "memory");'
USED = f"{UNUSED} if (!reached(d, target)) return false;"
FENCE = 'asm volatile("fence.acq_rel.gpu;" ::: "memory");'
FENCE_SC = 'asm volatile("fence.sc.gpu;" ::: "memory");'
FIRST = "if (reached(load_acquire(p), target)) return true;"
RELAXED, ACQUIRE, VOLATILE = "ld.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32", "ld.volatile.global.u32"

BASE, EMITTED, OPEN, NOBODY = "acquire poll", "relaxed poll + ld.acquire", "relaxed poll, no close", "nobody polls"
RELAXED_FENCE, RELAXED_FENCE_SC = "relaxed poll + fence.acq_rel", "relaxed poll + fence.sc"


@dataclass(frozen=True, slots=True)
class Form:
    """A wait: an instruction before the loop, the poll, what closes the loop, and the nanoseconds between polls."""

    name: str
    poll: str
    close: str = ""
    first: str = ""
    sleep: int = 0

    def filling(self, id: int) -> dict[str, str]:
        add = ", 0" if self.poll.startswith("atom") else ""
        sleep = f"__nanosleep({self.sleep});" if self.sleep else ""
        return {"ID": str(id), "POLL": self.poll, "ADD": add, "CLOSE": self.close, "FIRST": self.first, "SLEEP": sleep}


FORMS = (
    Form(BASE, ACQUIRE),
    Form(EMITTED, RELAXED, UNUSED),
    Form("relaxed poll + ld.acquire, value used", RELAXED, USED),
    Form(RELAXED_FENCE, RELAXED, FENCE),
    Form(RELAXED_FENCE_SC, RELAXED, FENCE_SC),
    Form("volatile poll + ld.acquire", VOLATILE, UNUSED),
    Form("acquire poll + fence.acq_rel", ACQUIRE, FENCE),
    Form("acquire, then relaxed poll + fence.acq_rel", RELAXED, FENCE, FIRST),
    Form("atom poll + ld.acquire", "atom.relaxed.gpu.global.add.u32", UNUSED),
    Form(OPEN, RELAXED),
    *(
        Form(f"relaxed poll + ld.acquire, {ns} ns between polls", RELAXED, UNUSED, sleep=ns)
        for ns in (20, 100, 500, 2000)
    ),
    Form("acquire poll, 100 ns between polls", ACQUIRE, sleep=100),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A kernel, how many CTAs of how many threads run it, its rounds, and its knob: unrelated stores before a round.

    The grid is given as CTAs a multiprocessor, or as 2 CTAs in all for 0.
    """

    name: str
    kernel: str
    ctas: int
    threads: int
    rounds: int
    stores: int = 0


SETTINGS = (
    Setting("ping-pong", "ping", 0, 32, 1000),
    Setting("ping-pong", "ping", 0, 32, 1000, 64),
    Setting("grid barrier", "grid", 1, 256, 200),
    Setting("grid barrier", "grid", 1, 256, 200, 8),
    Setting("grid barrier", "grid", 8, 128, 100),
    *(Setting("satisfied wait", "satisfied", 1, 32, 200, stores) for stores in (0, 8, 64)),
    Setting("L1-using neighbour", "neighbour", 1, 288, 200),
)


def prepare(machine: Machine) -> Lab:
    """The kernels of all forms, and the plan of each setting."""
    module = machine.module(source("wait_cost", arms={"each": [form.filling(n) for n, form in enumerate(FORMS)]}))
    words, data, scratch = machine.zeros(1024), machine.zeros(1 << 18), machine.zeros(1 << 24)

    def arm(setting: Setting, form: Form, number: int) -> Arm:
        kernel = module.get_function(f"{setting.kernel}_{number}")
        grid = setting.ctas * machine.multiprocessors or 2
        polls = setting.kernel == "neighbour"
        knob = int(form.name != NOBODY) if polls else setting.stores

        def run() -> Reading:
            words.fill(0)
            data.fill(0)
            out = machine.results()
            arguments = (words, data, scratch, out, setting.rounds, knob)
            took = machine.timed(lambda: machine.launch(kernel, grid, setting.threads, *arguments))
            count, slots = machine.counted(out)
            if setting.kernel == "satisfied":
                return Reading(slots[CYCLES] / (grid * setting.rounds), count)
            return Reading(1e3 * took if polls else 1e6 * took / setting.rounds, count)

        stale = setting.kernel in ("ping", "grid") and form.name == OPEN
        return Arm(form.name, Role.POSITIVE if stale else Role.NEGATIVE, run)

    def plan(setting: Setting) -> Plan:
        arms = [arm(setting, form, number) for number, form in enumerate(FORMS)]
        units = {"satisfied": "cycles", "neighbour": "µs"}
        polls = setting.kernel == "neighbour"
        if polls:
            arms.append(arm(setting, Form(NOBODY, RELAXED), 1))
        where = f"{setting.ctas * machine.multiprocessors or 2} CTAs of {setting.threads} threads"
        told = where if polls else f"{where}, {setting.stores} unrelated stores before"
        unit = units.get(setting.kernel, "ns a round")
        return Plan(setting.name, told, tuple(arms), unit, "stale reads", BASE)

    return plan


MEASURE = Measure(
    "wait-cost",
    "What does a wait cost: polled with acquire, or relaxed and closed with an acquire or a fence?",
    SETTINGS,
    prepare,
    (
        Stated(
            "A relaxed poll that is closed with ld.acquire is as fast as an acquire poll, within 5 %.",
            every(*(costs(name, EMITTED, least=0.95, most=1.05) for name in ("ping-pong", "grid barrier"))),
        ),
        Stated(
            "A close by fence.acq_rel or fence.sc makes a round trip 15 % longer or more.",
            every(*(costs("ping-pong", form, least=1.15) for form in (RELAXED_FENCE, RELAXED_FENCE_SC))),
        ),
        Stated(
            "What that fence costs is the stores that it waits for.",
            costs("satisfied wait", RELAXED_FENCE, " 0 unrelated", most=1.1),
        ),
        Stated(
            "64 stores on their way make the close by a fence 10 % longer or more, and not that by ld.acquire.",
            every(
                grows("satisfied wait", RELAXED_FENCE, " 0 unrelated", "64 unrelated", least=1.1),
                grows("satisfied wait", EMITTED, " 0 unrelated", "64 unrelated", most=1.05),
            ),
        ),
        Stated(
            "An acquire poll makes a neighbour that reads out of L1 three times slower, a relaxed one does not.",
            every(*(costs("L1-using neighbour", form, most=1 / 3) for form in (EMITTED, NOBODY))),
        ),
        Stated(
            "Pauses between acquire polls give the neighbour its L1 back.",
            costs("L1-using neighbour", "acquire poll, 100 ns between polls", most=0.5),
        ),
        Stated(
            "A relaxed poll that is closed with ld.acquire never reads stale data.",
            every(*(never(name, EMITTED) for name in ("ping-pong", "grid barrier"))),
        ),
        Stated(
            "A poll that is not closed reads stale data.",
            every(*(shows(name, OPEN) for name in ("ping-pong", "grid barrier"))),
        ),
    ),
)
