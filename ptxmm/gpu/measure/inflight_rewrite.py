"""Whether rewriting a tensor map reaches copies that were started before, and which drain prevents it."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.gpu.measure.arms import Arm, Plan, Reading
from ptxmm.gpu.measure.claims import Stated, every, never, rare, shows
from ptxmm.gpu.measure.machine import CYCLES, EXTRA, Machine, insist
from ptxmm.gpu.measure.measure import Lab, Measure
from ptxmm.gpu.measure.results import Role
from ptxmm.gpu.measure.sources import source

COMMIT = 'asm volatile("cp.async.bulk.commit_group;" ::: "memory");'
READ, WAIT = (f'asm volatile("cp.async.bulk.wait_group{form} 0;" ::: "memory");' for form in (".read", ""))
NOTHING, PAIR, OBSERVED = "no drain", "commit_group, wait_group.read", "the mbarrier is observed"
DRAINS = {
    NOTHING: ("", Role.POSITIVE),
    "commit_group only": (COMMIT, Role.POSITIVE),
    "wait_group.read only": (READ, Role.POSITIVE),
    PAIR: (COMMIT + READ, Role.SUBJECT),
    "commit_group, wait_group": (COMMIT + WAIT, Role.SUBJECT),
    OBSERVED: ("stuck += !wait_phase(&mine, phase);", Role.NEGATIVE),
}
ROWS = 1 << 17


def _many(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


@dataclass(frozen=True, slots=True)
class Shape:
    """Copies in flight when the map is rewritten, and the copies of 32 KB in front of them."""

    copies: int
    height: int
    fillers: int
    warm: int = 0

    def __str__(self) -> str:
        size = f"{self.height * 128 // 1024} KB"
        used = "used before" if self.warm else "not used before"
        return f"{_many(self.copies, 'copy', 'copies')} of {size}, {self.fillers} fillers, map {used}"


@dataclass(frozen=True, slots=True)
class Ring:
    """Steps in flight, copies a step, fillers a step."""

    flight: int
    copies: int
    fillers: int

    def __str__(self) -> str:
        copies = _many(self.copies, "copy", "copies")
        return f"{self.flight} steps in flight, {copies} of 1 KB a step, {self.fillers} fillers a step"


SETTINGS: tuple[Shape | Ring, ...] = (
    Shape(1, 8, 0),
    Shape(1, 8, 4),
    Shape(1, 8, 16),
    Shape(4, 8, 16),
    Shape(16, 8, 16),
    Shape(4, 256, 16),
    Shape(1, 8, 16, warm=1),
    Ring(2, 1, 0),
    Ring(2, 1, 7),
    Ring(4, 1, 7),
)
MAPS = (1, 2, 4, 8)
ALONE, REWRITTEN, RINGED = "1 copy of 1 KB, 16 fillers, map not", "map rewritten", "ring of maps"
DELAYS = (1000, 4000, 16000)
RING_DRAINS = ("no drain", PAIR, OBSERVED)


def prepare(machine: Machine) -> Lab:
    """Four tensors whose words say where they are, their maps for each box, and the plan of each setting."""
    cp, sms = machine.cp, machine.multiprocessors
    fillings = [{"ID": str(n), "DRAIN": drain} for n, (drain, _) in enumerate(DRAINS.values())]
    module = machine.module(source("tma", "inflight_rewrite", arms={"each": fillings}))
    index, tensor = cp.arange(ROWS * 32, dtype="uint32"), cp.arange(4, dtype="uint32")
    tensors = (index[None] | (tensor << 28)[:, None]).copy()
    addresses = [machine.address(tensors) + ROWS * 128 * t for t in range(4)]
    bases = machine.words(addresses)
    encoded = {
        height: machine.maps([machine.tensor_map(address, 32, ROWS, height) for address in addresses])
        for height in (8, 256)
    }
    filler = encoded[256][3 * 128 :].copy()
    filler_map = machine.aligned(128, 128)
    filler_map[:] = filler
    maps = machine.aligned(1024 * sms, 1024)
    memory = 200 * 1024

    def kernel(name: str) -> object:
        found = module.get_function(name)
        found.max_dynamic_shared_size_bytes = memory
        return found

    def rewritten(shape: Shape, number: int, name: str, role: Role, delay: int = 0, rounds: int = 60) -> Arm:
        def run() -> Reading:
            out = machine.results()
            knobs = (rounds, shape.copies, shape.height, shape.fillers, shape.warm, delay, ROWS)
            arguments = (maps, encoded[shape.height], filler_map, bases, out, *knobs)
            machine.launch(kernel(f"rewrite_{number}"), sms, 32, *arguments, shared=memory)
            count, slots = machine.counted(out)
            insist(slots[EXTRA], "tiles of no tensor, or of the old one after the acquire fence")
            return Reading(slots[CYCLES] / (sms * rounds), count)

        return Arm(name, role, run)

    def ring(setting: Ring, many: int, drain: int, role: Role, steps: int = 1000) -> Arm:
        def run() -> Reading:
            out = machine.results()
            knobs = (steps, setting.copies, 8, many, setting.flight, drain, setting.fillers, ROWS)
            machine.launch(kernel("ring"), sms, 32, maps, encoded[8], filler_map, bases, out, *knobs, shared=memory)
            count, slots = machine.counted(out)
            insist(slots[EXTRA], "tiles of no tensor")
            return Reading(count=count)

        return Arm(f"{_many(many, 'map', 'maps')}, {RING_DRAINS[drain]}", role, run)

    def plan(setting: Shape | Ring) -> Plan:
        if isinstance(setting, Ring):
            subjects = [ring(setting, k, 0, Role.POSITIVE if k == 1 else Role.SUBJECT) for k in MAPS]
            drained = [ring(setting, 1, 1, Role.SUBJECT), ring(setting, 1, 2, Role.NEGATIVE)]
            return Plan(RINGED, str(setting), (*subjects, *drained), wrong="tiles of another step's tensor")
        arms = [rewritten(setting, n, name, role) for n, (name, (_, role)) in enumerate(DRAINS.items())]
        arms += [rewritten(setting, 0, f"no drain, {delay} cycles later", Role.SUBJECT, delay) for delay in DELAYS]
        return Plan(REWRITTEN, str(setting), tuple(arms), "cycles to drain", "tiles of the new tensor")

    return plan


MEASURE = Measure(
    "inflight-rewrite",
    "Does a copy that was started use the tensor map as it was then, or as it is when the copy's turn comes?",
    SETTINGS,
    prepare,
    (
        Stated(
            "The map is read when the copy is issued, so that it may be changed while the copy is on its way.",
            never(REWRITTEN, NOTHING, ALONE),
        ),
        Stated(
            "An idle unit shows that in less than 1 % of copies, and a map that was used before in none.",
            every(
                rare(REWRITTEN, NOTHING, "1 KB, 0 fillers", most=0.01),
                rare(REWRITTEN, NOTHING, "map used before", most=0),
            ),
        ),
        Stated(
            "commit_group and wait_group.read prevent it, although PTX has them for copies that complete by groups.",
            every(*(never(REWRITTEN, PAIR, where) for where in (ALONE, "4 copies of 1 KB", "4 copies of 32 KB"))),
        ),
        Stated("Observing the mbarrier prevents it.", never(REWRITTEN, OBSERVED, ALONE)),
        Stated(
            "Half of the pair alone does nothing.",
            every(
                *(shows(REWRITTEN, f"{half} only", ALONE, least=0.8) for half in ("commit_group", "wait_group.read"))
            ),
        ),
        Stated(
            "A fixed delay of 4000 cycles prevents it.",
            never(REWRITTEN, "no drain, 4000 cycles later", ALONE),
        ),
        Stated(
            "One map that is rewritten at every step shows it behind fillers.",
            shows(RINGED, f"1 map, {NOTHING}", "7 fillers"),
        ),
        Stated(
            "A map for each step in flight does not, and two maps for four steps do not either.",
            every(*(never(RINGED, f"{maps} maps, {NOTHING}", "4 steps in flight") for maps in (2, 4, 8))),
        ),
    ),
    needs=(9, 0),
)
