"""What copies to all CTAs of a cluster need to be right, and what they gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptxmm.gpu.measure.alone import alone
from ptxmm.gpu.measure.arms import Arm, Plan, Reading
from ptxmm.gpu.measure.claims import Stated, costs, every, never, shows
from ptxmm.gpu.measure.machine import Machine
from ptxmm.gpu.measure.measure import Lab, Measure
from ptxmm.gpu.measure.results import Role
from ptxmm.gpu.measure.sources import Filling, source
from ptxmm.gpu.measure.statistics import Count

OWN, OWN_APART = "each its own copy", "each its own copy, of tiles of its own"
ALL, ALL_CTA = "multicast, arrive.release.cluster", "multicast, arrive.release.cta"
LOOSE = "multicast, nobody says that a stage is empty"


@dataclass(frozen=True, slots=True)
class Form:
    """How the CTAs of a cluster load: together or each for itself, and how a stage is handed back."""

    name: str
    role: Role
    together: bool
    apart: bool = False
    handshake: bool = True
    arrive: str = "release.cluster"
    wait: str = "wait_cluster"
    arm: str = "ARM_ALL"

    def filling(self, id: str, ctas: int) -> dict[str, str]:
        truth = {True: "true", False: "false"}
        return {
            "ID": id,
            "C": str(ctas),
            "TOGETHER": truth[self.together],
            "HANDSHAKE": truth[self.handshake],
            "WAIT": self.wait,
            "ARRIVE": self.arrive,
            "ARM": self.arm,
            "COPY": "COPY_SLICE" if self.together else "COPY_OWN",
        }


FORMS = (
    Form(OWN, Role.NEGATIVE, False, wait="wait_phase"),
    Form(OWN_APART, Role.NEGATIVE, False, apart=True, wait="wait_phase"),
    Form(ALL, Role.NEGATIVE, True),
    Form(ALL_CTA, Role.SUBJECT, True, arrive="release.cta", wait="wait_phase"),
    Form(LOOSE, Role.POSITIVE, True, handshake=False, wait="wait_phase"),
)
ARMED = (
    Form("every CTA expects all bytes", Role.NEGATIVE, True),
    Form("every CTA expects its own slice", Role.POSITIVE, True, arm="ARM_SLICE"),
    Form("the first CTA expects all bytes, the others none", Role.POSITIVE, True, arm="ARM_FIRST"),
)
SCOPES = {
    "release.cluster, acquire.cluster": (".release.cluster", ".acquire.cluster", Role.NEGATIVE),
    "release.cta, acquire.cluster": (".release.cta", ".acquire.cluster", Role.SUBJECT),
    "release.cluster, acquire.cta": (".release.cluster", ".acquire.cta", Role.SUBJECT),
    "no qualifiers": ("", "", Role.SUBJECT),
    "relaxed.cluster, relaxed.cluster": (".relaxed.cluster", ".relaxed.cluster", Role.POSITIVE),
}
PLACES = ("global memory, the line in the reader's L1", "the reader's shared memory", "the writer's shared memory")


@dataclass(frozen=True, slots=True)
class Setting:
    """Clusters of `ctas`, `tiles` of 16 KB in all; `check` compares every word, and one CTA reads `late`."""

    told: str
    ctas: int
    tiles: int = 1 << 15
    check: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the data lie that a remote arrive publishes."""

    place: int


@dataclass(frozen=True, slots=True)
class Armed:
    """Launches in a process of their own: what the mbarriers of clusters of `ctas` expect."""

    ctas: int


CHECKED, SPEED, REMOTE = "words of the tiles", "tiles that reach shared memory", "remote arrive"
EXPECTED = "bytes that are expected"
SETTINGS: tuple[Setting | Scope | Armed, ...] = (
    *(Setting(f"clusters of {c}, the last CTA reads late", c, check=1, late=3000) for c in (2, 4)),
    *(Setting(f"clusters of {c}, tiles in L2", c, tiles=1024) for c in (2, 4)),
    *(Setting(f"clusters of {c}, tiles in DRAM", c) for c in (2, 4)),
    *(Scope(place) for place in range(3)),
    *(Armed(c) for c in (2, 4)),
)
MEMORY = 4 * 16384
HEIGHTS = (128, 64, 32)
TILES = 1 << 15


@dataclass(frozen=True, slots=True)
class Bench:
    """A source whose words say where they are, its tensor maps, and the kernels that load it."""

    machine: Machine
    module: Any
    maps: Any

    @classmethod
    def of(cls, machine: Machine, loads: list[Filling], tiles: int) -> Bench:
        """Kernels for some loads and all scopes of a remote arrive, and a source of so many tiles."""
        scopes = [{"ID": str(n), "RELEASE": e[0], "ACQUIRE": e[1]} for n, e in enumerate(SCOPES.values())]
        module = machine.module(source("tma", "multicast", arms={"each": loads, "scope": scopes}))
        data = machine.cp.empty(tiles * 4096, "uint32")
        number = module.get_function("number")
        machine.launch(number, 8 * machine.multiprocessors, 256, data, tiles * 4)
        encoded = [machine.tensor_map(machine.address(data), 32, tiles * 128, height) for height in HEIGHTS]
        return cls(machine, module, machine.by_value(b"".join(encoded)))

    def load(self, id: str, setting: Setting, apart: bool) -> tuple[float, int, Count]:
        """One launch: its milliseconds, the kilobytes that reached shared memory, and the words that were wrong."""
        machine, kernel = self.machine, self.module.get_function(f"load_{id}")
        kernel.max_dynamic_shared_size_bytes = MEMORY
        grid = machine.multiprocessors // setting.ctas * setting.ctas * (2 if setting.check else 3)
        out, turns = machine.results(), 64 if setting.check else 128
        knobs = (turns, setting.tiles, int(apart), setting.check, setting.late)
        took = machine.timed(lambda: machine.launch(kernel, grid, 160, self.maps, out, *knobs, shared=MEMORY))
        return took, grid * turns * 16, machine.counted(out)[0]


def armed(device: str, ctas: str, number: str) -> Count:
    """One launch whose mbarriers expect what the form says: whether a word was wrong, or a wait did not end."""
    machine = Machine(int(device))
    bench = Bench.of(machine, [ARMED[int(number)].filling("0", int(ctas))], 1024)
    _, _, count = bench.load("0", Setting("", int(ctas), tiles=1024, check=1), apart=False)
    return Count(int(count.wrong > 0 or count.stuck > 0), 1)


def prepare(machine: Machine) -> Lab:
    """The kernels of all forms, and the plan of each setting."""
    ids = {(form.name, c): f"{c}_{n}" for c in (2, 4) for n, form in enumerate(FORMS)}
    bench = Bench.of(machine, [form.filling(ids[form.name, c], c) for c in (2, 4) for form in FORMS], TILES)
    scratch = machine.zeros(1 << 24)
    pairs = machine.multiprocessors // 2

    def load(setting: Setting, form: Form) -> Arm:
        def run() -> Reading:
            took, kilobytes, count = bench.load(ids[form.name, setting.ctas], setting, form.apart)
            return Reading(1e3 * took, count) if setting.check else Reading(1e9 * took / kilobytes)

        return Arm(form.name, form.role, run)

    def scope(place: int, number: int, name: str, rounds: int = 1000) -> Arm:
        def run() -> Reading:
            words, out = machine.zeros(pairs * 64), machine.results()
            kernel = bench.module.get_function(f"scope_{number}")
            took = machine.timed(lambda: machine.launch(kernel, 2 * pairs, 32, words, scratch, out, rounds, place, 32))
            return Reading(1e6 * took / rounds, machine.counted(out)[0])

        role = SCOPES[name][2]
        return Arm(name, role if place == 0 or role is Role.NEGATIVE else Role.SUBJECT, run)

    def expecting(setting: Armed, number: int, form: Form) -> Arm:
        arguments = (str(machine.number), str(setting.ctas), str(number))
        return Arm(form.name, form.role, lambda: Reading(count=alone(f"{__name__}:armed", *arguments)))

    def plan(setting: Setting | Scope | Armed) -> Plan:
        if isinstance(setting, Armed):
            arms = tuple(expecting(setting, n, form) for n, form in enumerate(ARMED))
            told = f"clusters of {setting.ctas}, each launch in a process of its own"
            return Plan(EXPECTED, told, arms, wrong="launches that failed", rounds=1)
        if isinstance(setting, Scope):
            arms = tuple(scope(setting.place, n, name) for n, name in enumerate(SCOPES))
            return Plan(REMOTE, PLACES[setting.place], arms, "ns a round", "stale reads", next(iter(SCOPES)))
        arms = tuple(load(setting, form) for form in FORMS if setting.check or form.handshake)
        name, unit = (CHECKED, "µs") if setting.check else (SPEED, "ps a KB")
        return Plan(name, setting.told, arms, unit, "wrong words", OWN)

    return plan


MEASURE = Measure(
    "multicast",
    "What do copies to all CTAs of a cluster need to be right, and what do they gain?",
    SETTINGS,
    prepare,
    (
        Stated(
            "Where every CTA expects all bytes and every CTA says that a stage is empty, every word is right.",
            never(CHECKED, ALL),
        ),
        Stated(
            "Without that word from the others, stages are overwritten while they are read.",
            shows(CHECKED, LOOSE, least=0.01),
        ),
        Stated(
            "A CTA that expects fewer bytes than arrive costs the launch.",
            every(*(shows(EXPECTED, form.name, least=1.0) for form in ARMED[1:]), never(EXPECTED, ARMED[0].name)),
        ),
        Stated("Multicast delivers a tile faster than own copies of the same tile.", costs(SPEED, ALL, most=0.98)),
        Stated(
            "What it loses is the release of cluster scope: with cta scope it is within 15 % of own copies.",
            costs(SPEED, ALL_CTA, least=0.85, most=1.15),
        ),
        Stated("With arrives of cta scope no word is wrong.", never(CHECKED, ALL_CTA)),
        Stated(
            "The default scope of arrive and wait is enough for data that another CTA wrote.",
            never(REMOTE, "no qualifiers", PLACES[0]),
        ),
        Stated(
            "It is the acquire that matters there: an acquire of cta scope reads stale global data.",
            shows(REMOTE, "release.cluster, acquire.cta", PLACES[0], least=0.9),
        ),
        Stated(
            "A release of cta scope shows nothing wrong, with 32 stores on their way.",
            never(REMOTE, "release.cta, acquire.cluster", PLACES[0]),
        ),
    ),
    needs=(9, 0),
)
